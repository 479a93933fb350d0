//! What a model's file says of itself.

/// What a model's file says of itself, as it stands in the file.
///
/// Texts that no file should have in a program are left out: see [`entries`](Self::entries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The program that wrote the file, as `pytorch`.
    pub producer: &'static str,
    /// The version of that program.
    pub producer_version: &'static str,
    /// The reverse DNS name of whom the model is of.
    pub domain: &'static str,
    /// The version of the model, 0 where the file gives none.
    pub version: i64,
    /// What the model does, in words.
    pub doc: &'static str,
    /// The name of the graph.
    pub graph: &'static str,
    /// The version of the operators of `ai.onnx`.
    pub opset: i64,
    /// Further properties by name, in the order of the file.
    ///
    /// All texts of the metadata have 64 KiB at most: a property that would exceed this is left out, and so
    /// are those behind the first 256.
    pub entries: &'static [(&'static str, &'static str)],
}

impl Metadata {
    /// That of a file that says nothing.
    pub const EMPTY: Self = Self {
        producer: "",
        producer_version: "",
        domain: "",
        version: 0,
        doc: "",
        graph: "",
        opset: 0,
        entries: &[],
    };

    /// The property of this name.
    pub fn get(&self, name: &str) -> Option<&'static str> {
        let found = self.entries.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    }
}
