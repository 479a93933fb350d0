//! Comparison of files with those of the compiled model.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use burn::tensor::Device;
use onnx_embed_kernels::{attempt, fault};

use super::decode::{self, Stored};
use super::fingerprint::fnv1a;
use super::{ByteRange, Encoding, Entry, File, Fixed, Table, WeightSource, Weights};
use crate::{ElementType, Error};

/// Copies of weights whose values were checked, by name. They are used even if the file changes after the check.
pub type Kept = BTreeMap<&'static str, Vec<u8>>;

impl Table {
    /// Runs `load` on the weights in `source` after [checking](Table::check) them.
    pub fn load<T>(
        &'static self,
        source: WeightSource<'_>,
        device: &Device,
        load: impl FnOnce(&Weights<'_>) -> T,
    ) -> Result<T, Error> {
        let kept = self.check(source)?;
        let weights = Weights::of(self, source, kept, device);
        attempt::attempt(|| load(&weights)).map_err(|fault| Error::Load { reason: fault.reason })
    }

    /// Returns the files without their signatures, which follow them if the model has a key, after checking these.
    pub fn verified<'f, 'b>(
        &self,
        key: Option<&str>,
        files: &'f [&'b [u8]],
    ) -> Result<&'f [&'b [u8]], Error> {
        let Some(key) = key else {
            return Ok(files);
        };
        let expected = 2 * self.files.len();
        if files.len() != expected {
            return Err(Error::FileCount { expected, found: files.len() });
        }
        #[cfg(feature = "std")]
        return super::signed::in_memory(self, key, files);
        #[cfg(not(feature = "std"))]
        return Err(Error::Load {
            reason: alloc::format!("signatures of the key {key} are checked only with the feature `std`"),
        });
    }

    /// Checks that the files of `source` are the compiled ones, except for the values of weights that are not fixed.
    /// Returns copies of the fixed weights.
    pub fn check(&self, source: WeightSource<'_>) -> Result<Kept, Error> {
        if source.count() != self.files.len() {
            return Err(Error::FileCount { expected: self.files.len(), found: source.count() });
        }
        let kept = self.check_structure(source)?;
        for entry in self.entries {
            let kept = kept.get(entry.name).map(Vec::as_slice);
            check_entry(entry, Stored { source, kept })?;
        }
        Ok(kept)
    }

    /// Fails if the files of the program are not those that the macro read.
    ///
    /// rustc and the assembler read them later, and a training may have written them in between. Each process compares
    /// the files of a table once.
    #[cfg(feature = "std")]
    pub fn check_embedded(&'static self, files: &[&[u8]]) {
        use std::sync::{Mutex, PoisonError};

        /// Addresses of tables whose files were compared.
        static COMPARED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

        let address = core::ptr::from_ref(self).addr();
        let mut compared = COMPARED.lock().unwrap_or_else(PoisonError::into_inner);
        if compared.contains(&address) {
            return;
        }
        if let Err(error) = self.check_structure(WeightSource::Memory(files)) {
            drop(compared);
            fault::fail(format_args!(
                "the model file changed during compilation; build the program again ({error})"
            ));
        }
        compared.push(address);
    }

    /// Checks everything except the values of weights that are not fixed. Returns copies of the fixed weights.
    fn check_structure(&self, source: WeightSource<'_>) -> Result<Kept, Error> {
        for (index, file) in self.files.iter().enumerate() {
            check_file(file, index, source, &self.parts(index))?;
        }
        self.fixed.iter().map(|fixed| self.fixed(fixed, source)).collect()
    }

    /// Returns the name and the bytes of a fixed weight, which must have the compiled value.
    fn fixed(&self, fixed: &Fixed, source: WeightSource<'_>) -> Result<(&'static str, Vec<u8>), Error> {
        let entry = &self.entries[fixed.entry];
        let name = entry.name;
        let bytes = Stored { source, kept: None }.joined(entry);
        let bytes = bytes.map_err(|reason| Error::BadWeight { name, reason })?;
        if fnv1a(&bytes) == fixed.hash {
            Ok((name, bytes.into_owned()))
        } else {
            Err(Error::WeightDiffers { name })
        }
    }

    /// Returns the parts of weights in a file in order, with the names of their weights.
    fn parts(&self, file: usize) -> Vec<(&'static str, &'static ByteRange)> {
        let of = |entry: &'static Entry| entry.parts.iter().map(|part| (entry.name, part));
        let all = self.entries.iter().flat_map(of);
        let mut parts: Vec<_> = all.filter(|(_, part)| part.file == file).collect();
        parts.sort_by_key(|(_, part)| part.start);
        parts
    }
}

fn check_file(
    file: &File,
    index: usize,
    source: WeightSource<'_>,
    parts: &[(&'static str, &ByteRange)],
) -> Result<(), Error> {
    let found = source.length(index);
    if found != file.length {
        return Err(Error::FileLength { file: file.name, expected: file.length, found });
    }
    let differs = |before| Error::FileDiffers { file: file.name, before };
    // Bytes that cannot be read count as a difference: the file is being changed.
    let hash = |start, end| source.hash(index, start, end, fnv1a(&[])).ok();
    let mut seen = 0;
    for (name, part) in parts {
        if hash(seen, part.start) != Some(part.gap) {
            return Err(differs(Some(*name)));
        }
        seen = seen.max(part.start + part.length);
    }
    if hash(seen, found) == Some(file.tail) { Ok(()) } else { Err(differs(None)) }
}

/// Checks the number of values: varints and records of equal length in bytes may contain more or fewer than the
/// compiled ones.
fn check_entry(entry: &Entry, stored: Stored<'_>) -> Result<(), Error> {
    let decoded = match (entry.encoding, entry.dtype) {
        (Encoding::Raw, _) => Ok(()),
        (_, ElementType::String) => decode::strings(entry, stored).map(drop),
        _ => decode::numbers(entry, stored).map(drop),
    };
    decoded.map_err(|reason| Error::BadWeight { name: entry.name, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `head` `[1, 2]` `mid` `[3, 4]` `end`; the second weight consists of varints.
    const FILE: &[u8] = b"head\x01\x02mid\x03\x04end";

    fn table() -> Table {
        let part = |start, gap: &[u8]| ByteRange { file: 0, start, length: 2, gap: fnv1a(gap) };
        let entry = |name, part: ByteRange, encoding| Entry {
            name,
            dtype: ElementType::UInt8,
            shape: &[2],
            parts: Box::leak(Box::new([part])),
            encoding,
        };
        Table {
            files: Box::leak(Box::new([File { name: "m.onnx", length: FILE.len(), tail: fnv1a(b"end") }])),
            entries: Box::leak(Box::new([
                entry("b", part(9, b"mid"), Encoding::Varint),
                entry("a", part(4, b"head"), Encoding::Raw),
            ])),
            fixed: &[],
        }
    }

    fn check(table: &Table, files: &[&[u8]]) -> Result<Kept, Error> {
        table.check(WeightSource::Memory(files))
    }

    fn complaint(file: &[u8]) -> String {
        check(&table(), &[file]).unwrap_err().to_string()
    }

    #[test]
    fn other_values_of_the_weights_are_welcome() {
        check(&table(), &[FILE]).unwrap();
        check(&table(), &[b"head\xff\xfemid\x07\x08end"]).unwrap();
    }

    #[test]
    fn another_length_is_reported() {
        assert_eq!(
            complaint(b"head"),
            "the bytes of `m.onnx` differ from the compiled model: its size in bytes is 4, expected 14; export with \
             the same exporter and opset, or compile again"
        );
    }

    #[test]
    fn a_difference_is_reported_by_the_weight_after_it() {
        assert_eq!(
            complaint(b"head\x01\x02MID\x03\x04end"),
            "the bytes of `m.onnx` differ from the compiled model: it differs just before \
             weight `b`; export with the same exporter and opset, or compile again"
        );
        assert_eq!(
            complaint(b"head\x01\x02mid\x03\x04END"),
            "the bytes of `m.onnx` differ from the compiled model: it differs after its last \
             weight; export with the same exporter and opset, or compile again"
        );
    }

    #[test]
    fn varints_must_be_as_many_as_before() {
        assert_eq!(
            complaint(b"head\x01\x02mid\x83\x04end"),
            "weight `b` has a number of values that does not match its shape"
        );
    }

    #[test]
    fn a_weight_on_which_the_code_depends_has_its_value() {
        let fixed = |entry, bytes: &[u8]| Fixed { entry, hash: fnv1a(bytes) };
        let table = Table { fixed: Box::leak(Box::new([fixed(0, b"\x03\x04")])), ..table() };
        let kept = check(&table, &[b"head\xff\xfemid\x03\x04end"]).unwrap();
        assert_eq!(kept, Kept::from([("b", vec![3, 4])]));
        let refused = check(&table, &[b"head\x01\x02mid\x03\x05end"]);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "weight `b` differs from the compiled model, whose code depends on its value; compile \
             the model again from this file"
        );
    }

    #[test]
    fn a_layer_that_cannot_be_made_is_an_error() {
        let table: &'static Table = Box::leak(Box::new(table()));
        let load = |file: &[u8]| {
            table.load(WeightSource::Memory(&[file]), &Device::flex(), |weights| {
                match *weights.array::<u8>("a").data() {
                    [1, other] => other,
                    _ => fault::fail("`a` does not begin with 1"),
                }
            })
        };
        assert_eq!(load(FILE).unwrap(), 2);
        assert_eq!(
            load(b"head\x02\x01mid\x03\x04end").unwrap_err().to_string(),
            "cannot load the model: `a` does not begin with 1"
        );
    }

    #[test]
    fn embedded_files_that_changed_before_rustc_read_them_are_refused() {
        let table: &'static Table = Box::leak(Box::new(table()));
        let refused = |file: &[u8]| {
            let checked = attempt::attempt(|| table.check_embedded(&[file]));
            checked.err().map(|fault| fault.reason)
        };
        let reason = refused(b"head\x01\x02MID\x03\x04end").unwrap();
        assert!(reason.starts_with("the model file changed during compilation"), "{reason}");
        assert_eq!(refused(FILE), None);
    }

    #[test]
    fn every_file_must_be_there() {
        assert_eq!(check(&table(), &[]).unwrap_err().to_string(), "the number of files is 0, expected 1");
    }
}
