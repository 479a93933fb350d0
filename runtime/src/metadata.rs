//! Metadata of model files.

/// Metadata of a model's file, unchanged.
///
/// Long texts are omitted: the limits are at [`entries`](Self::entries).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Name of the program that wrote the file, such as `pytorch`.
    pub producer: &'static str,
    /// Version of that program.
    pub producer_version: &'static str,
    /// Reverse DNS name of the owner of the model.
    pub domain: &'static str,
    /// Version of the model, 0 if the file specifies none.
    pub version: i64,
    /// Description of the model.
    pub doc: &'static str,
    /// Name of the graph.
    pub graph: &'static str,
    /// Version of the `ai.onnx` operator set.
    pub opset: i64,
    /// Further properties by name, in the order of the file.
    ///
    /// All texts of the metadata have at most 64 KiB, and there are at most 256 properties. Texts and properties beyond
    /// these limits are omitted.
    pub entries: &'static [(&'static str, &'static str)],
}

impl Metadata {
    /// The metadata of a file without any.
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

    /// Returns the property called `name`, if any.
    pub fn get(&self, name: &str) -> Option<&'static str> {
        let found = self.entries.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    }
}
