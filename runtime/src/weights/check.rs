//! Whether files are those that a model was compiled from.

use alloc::vec::Vec;
use burn::tensor::Device;
use onnx_embed_kernels::fault;

use super::fingerprint::{fnv1a, fnv1a_behind};
use super::{Encoding, Entry, File, Fixed, Part, Table, Weights, decode};
use crate::{ElementType, Error};

impl Table {
    /// What `load` makes of the weights in `files`, which are [checked](Table::check).
    pub fn load<T>(
        &'static self,
        files: &[&[u8]],
        device: &Device,
        load: impl FnOnce(&Weights<'_>) -> T,
    ) -> Result<T, Error> {
        self.check(files)?;
        let weights = Weights::of_files(self, files, device);
        fault::attempt(|| load(&weights)).map_err(|fault| Error::Load {
            reason: fault.reason,
        })
    }

    /// Whether `files` are the compiled ones, apart from the values of weights that are not fixed.
    pub fn check(&self, files: &[&[u8]]) -> Result<(), Error> {
        if files.len() != self.files.len() {
            return Err(Error::FileCount {
                expected: self.files.len(),
                found: files.len(),
            });
        }
        for (i, (file, bytes)) in self.files.iter().zip(files).enumerate() {
            check_file(file, bytes, &self.parts(i))?;
        }
        self.entries
            .iter()
            .try_for_each(|entry| check_entry(entry, files))?;
        self.fixed
            .iter()
            .try_for_each(|fixed| self.check_fixed(fixed, files))
    }

    fn check_fixed(&self, fixed: &Fixed, files: &[&[u8]]) -> Result<(), Error> {
        let entry = &self.entries[fixed.entry];
        let bytes = |part: &Part| {
            let end = part.start.checked_add(part.length)?;
            files.get(part.file)?.get(part.start..end)
        };
        let parts = entry
            .parts
            .iter()
            .map(|part| bytes(part).unwrap_or_default());
        if parts.fold(fnv1a(&[]), fnv1a_behind) == fixed.hash {
            Ok(())
        } else {
            Err(Error::WeightDiffers { name: entry.name })
        }
    }

    /// The parts that lie in one file, with the names of their weights, in order.
    fn parts(&self, file: usize) -> Vec<(&'static str, &'static Part)> {
        let of = |entry: &'static Entry| entry.parts.iter().map(|part| (entry.name, part));
        let all = self.entries.iter().flat_map(of);
        let mut parts: Vec<_> = all.filter(|(_, part)| part.file == file).collect();
        parts.sort_by_key(|(_, part)| part.start);
        parts
    }
}

fn check_file(file: &File, bytes: &[u8], parts: &[(&'static str, &Part)]) -> Result<(), Error> {
    if bytes.len() != file.length {
        return Err(Error::FileLength {
            file: file.name,
            expected: file.length,
            found: bytes.len(),
        });
    }
    let differs = |before| Error::FileDiffers {
        file: file.name,
        before,
    };
    let mut seen = 0;
    for (name, part) in parts {
        let gap = bytes.get(seen..part.start).unwrap_or_default();
        if fnv1a(gap) != part.gap {
            return Err(differs(Some(*name)));
        }
        seen = seen.max(part.start + part.length);
    }
    if fnv1a(bytes.get(seen..).unwrap_or_default()) == file.tail {
        Ok(())
    } else {
        Err(differs(None))
    }
}

/// Varints and records may be shorter or longer than those that were compiled though their bytes
/// are as many.
fn check_entry(entry: &Entry, files: &[&[u8]]) -> Result<(), Error> {
    let decoded = match (entry.encoding, entry.dtype) {
        (Encoding::Raw, _) => Ok(()),
        (_, ElementType::String) => decode::strings(entry, files).map(drop),
        _ => decode::numbers(entry, files).map(drop),
    };
    decoded.map_err(|reason| Error::BadWeight {
        name: entry.name,
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `head` `[1, 2]` `mid` `[3, 4]` `end`, where the second weight is written as varints.
    const FILE: &[u8] = b"head\x01\x02mid\x03\x04end";

    fn table() -> Table {
        let part = |start, gap: &[u8]| Part {
            file: 0,
            start,
            length: 2,
            gap: fnv1a(gap),
        };
        let entry = |name, part: Part, encoding| Entry {
            name,
            dtype: ElementType::UInt8,
            shape: &[2],
            parts: Box::leak(Box::new([part])),
            encoding,
        };
        Table {
            files: Box::leak(Box::new([File {
                name: "m.onnx",
                length: FILE.len(),
                tail: fnv1a(b"end"),
            }])),
            entries: Box::leak(Box::new([
                entry("b", part(9, b"mid"), Encoding::Varint),
                entry("a", part(4, b"head"), Encoding::Raw),
            ])),
            fixed: &[],
        }
    }

    fn complaint(file: &[u8]) -> String {
        table().check(&[file]).unwrap_err().to_string()
    }

    #[test]
    fn other_values_of_the_weights_are_welcome() {
        table().check(&[FILE]).unwrap();
        table().check(&[b"head\xff\xfemid\x07\x08end"]).unwrap();
    }

    #[test]
    fn another_length_is_reported() {
        assert_eq!(
            complaint(b"head"),
            "the bytes of `m.onnx` are not those of the model that was compiled: 4 bytes, not 14; export with \
             the same exporter and opset, or compile again"
        );
    }

    #[test]
    fn a_difference_is_reported_by_the_weight_after_it() {
        assert_eq!(
            complaint(b"head\x01\x02MID\x03\x04end"),
            "the bytes of `m.onnx` are not those of the model that was compiled: it differs just before \
             weight `b`; export with the same exporter and opset, or compile again"
        );
        assert_eq!(
            complaint(b"head\x01\x02mid\x03\x04END"),
            "the bytes of `m.onnx` are not those of the model that was compiled: it differs after its last \
             weight; export with the same exporter and opset, or compile again"
        );
    }

    #[test]
    fn varints_must_be_as_many_as_before() {
        assert_eq!(
            complaint(b"head\x01\x02mid\x83\x04end"),
            "weight `b` does not have as many values as its shape says"
        );
    }

    #[test]
    fn a_weight_on_which_the_code_depends_has_its_value() {
        let fixed = |entry, bytes: &[u8]| Fixed {
            entry,
            hash: fnv1a(bytes),
        };
        let table = Table {
            fixed: Box::leak(Box::new([fixed(0, b"\x03\x04")])),
            ..table()
        };
        table.check(&[b"head\xff\xfemid\x03\x04end"]).unwrap();
        let refused = table.check(&[b"head\x01\x02mid\x03\x05end"]);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "weight `b` differs from the compiled model, whose code depends on its value: compile \
             the model again from this file"
        );
    }

    #[test]
    fn a_layer_that_cannot_be_made_is_an_error() {
        let table: &'static Table = Box::leak(Box::new(table()));
        let load = |file: &[u8]| {
            table.load(&[file], &Device::flex(), |weights| {
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
    fn every_file_must_be_there() {
        assert_eq!(
            table().check(&[]).unwrap_err().to_string(),
            "0 files are given, the model was compiled from 1"
        );
    }
}
