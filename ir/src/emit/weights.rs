//! Table of the weights in the model's files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::Literal;

use super::fingerprint::Fingerprint;
use super::{Context, element_type};
use crate::files::Files;
use crate::graph::ValueId;
use crate::rust::{Code, code};
use crate::weight::Encoding;

/// Maximum length of a watched file, in bytes. rustc reads about 200 MB per second.
const LARGEST_WATCHED: usize = 256 << 20;

/// Returns `static WEIGHTS: Table = ..;` for all constants of the model.
///
/// The table also contains constants that the code does not use: bytes between constants are hashed, and values of
/// weights must not be. Constants that the code depends on are hashed separately, so that the error of a refused file
/// names the constant that differs.
pub fn table(cx: &mut Context<'_>, files: &Files) -> Code {
    let used = used(cx);
    let values = cx.values;
    let table = Fingerprint::new(values, files, &used, |id| cx.weight_name(id));
    let fixed = table.fixed.iter().map(|(at, hash)| {
        let at = Literal::usize_unsuffixed(*at);
        let hash = Literal::u64_unsuffixed(*hash);
        code!(Fixed { entry: #at, hash: #hash })
    });
    let fixed: Vec<Code> = fixed.collect();
    let entries = table.entries.iter().map(|entry| {
        let (name, weight) = (&entry.name, entry.weight);
        let dtype = element_type(weight.dtype);
        let shape = weight.sizes.iter().map(|&size| Literal::usize_unsuffixed(size));
        let parts = entry.ranges.iter().map(|range| {
            let file = Literal::usize_unsuffixed(range.file);
            let start = Literal::usize_unsuffixed(range.start);
            let length = Literal::usize_unsuffixed(range.end.saturating_sub(range.start));
            let gap = Literal::u64_unsuffixed(range.gap);
            code!(ByteRange { file: #file, start: #start, length: #length, gap: #gap })
        });
        let parts: Vec<Code> = parts.collect();
        let encoding = match weight.encoding {
            Encoding::Raw => code!(Encoding::Raw),
            Encoding::Varint => code!(Encoding::Varint),
            Encoding::Records => code!(Encoding::Records),
        };
        code! {
            Entry {
                name: #name,
                dtype: #dtype,
                shape: &[#(#shape),*],
                parts: &[#(#parts),*],
                encoding: #encoding,
            }
        }
    });
    let entries: Vec<Code> = entries.collect();
    let files = table.files.iter().map(|file| {
        let name = file.name.to_string_lossy().into_owned();
        let length = Literal::usize_unsuffixed(file.length);
        let tail = Literal::u64_unsuffixed(file.tail);
        code!(File { name: #name, length: #length, tail: #tail })
    });
    code! {
        /// Locations of the weights in the model's files.
        static WEIGHTS: Table = Table {
            files: &[#(#files),*],
            entries: &[#(#entries),*],
            fixed: &[#(#fixed),*],
        };
    }
}

/// Returns the weights that the code uses. Those of an array are consecutive.
fn used(cx: &Context<'_>) -> Vec<ValueId> {
    let ids = cx.weights.iter().map(|(id, name)| (name.as_str(), *id));
    let ids: BTreeMap<&str, ValueId> = ids.collect();
    let in_rows = cx.structs.rows().iter().flatten().filter_map(|name| ids.get(&**name)).copied();
    let in_rows: Vec<ValueId> = in_rows.collect();
    let seen: BTreeSet<ValueId> = in_rows.iter().copied().collect();
    let others = cx.weights.keys().copied().filter(|id| !seen.contains(id));
    in_rows.iter().copied().chain(others).collect()
}

/// Returns an unused function that makes rustc watch the model's file, for weights that are not in the binary. A file
/// longer than `LARGEST_WATCHED` is not watched; if it has another graph, it is refused when the weights are loaded.
pub fn watched(files: &Files, folder: &Path) -> Code {
    let files = files.list();
    let Some((name, _)) = files.first().filter(|(_, bytes)| bytes.len() <= LARGEST_WATCHED) else {
        return Code::default();
    };
    let path = folder.join(name).to_string_lossy().into_owned();
    code! {
        /// Makes Cargo compile the model again when its file changes.
        #[allow(dead_code)]
        fn watched() {
            include_bytes!(#path);
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use crate::emit::Item;
    use crate::options::{Options, Weights};

    /// Checks which constants the code depends on, with weights in the file and with embedded weights.
    #[track_caller]
    fn check(graph: &str, in_file: &[&str], embedded: &[&str]) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {graph}");
        let bytes = crate::text::model(&text).unwrap().encode_to_vec();
        let item = Item { visibility: Default::default(), ..Item::model("m.onnx") };
        for (weights, expected) in [(Weights::File, in_file), (Weights::Embed, embedded)] {
            let options = Options { weights, ..Options::default() };
            let model = crate::load_bytes(bytes.clone().into(), &options).unwrap();
            crate::code(&model, &item, &options).unwrap();
            let values = &model.graph.values;
            let fixed = values.iter().filter(|(_, value)| {
                let weight = value.weight.as_ref();
                weight.is_some_and(|weight| values.sources().is_consulted(weight))
            });
            let mut fixed: Vec<&str> = fixed.map(|(_, value)| value.name.as_str()).collect();
            fixed.sort_unstable();
            fixed.dedup();
            assert_eq!(fixed, expected, "{weights:?}");
        }
    }

    #[test]
    fn a_factor_of_one_is_dropped_where_weights_are_final() {
        check(
            "g (float[N, 2] x) => (float[N, 2] z) <float[2] alpha = {1, 1}> {
                y = Mul (x, alpha)
                z = Relu (y)
            }",
            &[],
            &["alpha"],
        );
    }

    #[test]
    fn what_a_rule_read_in_vain_is_free() {
        check(
            "g (float[N, 2] x) => (float[N, 2] z) <float[2] alpha = {1, 2}, float[2] b = {0, 1}> {
                y = Mul (x, alpha)
                s = Add (y, b)
                z = Relu (s)
            }",
            &[],
            &[],
        );
    }

    #[test]
    fn parameters_that_are_equal_are_not_compared() {
        check(
            "g (float[N, 2] x) => (float[N, 2] z) <float[2] a = {3, 4}, float[2] b = {3, 4}> {
                y = Add (x, a)
                e = Exp (y)
                z = Mul (e, b)
            }",
            &[],
            &[],
        );
    }

    #[test]
    fn bounds_shapes_and_scalars_are_fixed() {
        check(
            "g (float[6] x) => (float[2, 3] z) <float low = {-1}, int64[2] shape = {2, 3},
                float scale = {0.5}, uint8 zero = {3}, float[6] w = {1, 2, 3, 4, 5, 6}> {
                c = Clip (x, low)
                q = QuantizeLinear (c, scale, zero)
                d = DequantizeLinear (q, scale, zero)
                m = Mul (d, w)
                z = Reshape (m, shape)
            }",
            &["low", "scale", "shape", "zero"],
            &["low", "scale", "shape", "zero"],
        );
    }

    #[test]
    fn a_table_of_integers_is_free() {
        check(
            "g (int64[N] i) => (int64[N] z) <int64[3] table = {5, 6, 7}> { z = Gather (table, i) }",
            &[],
            &[],
        );
    }

    #[test]
    fn what_constants_determine_fixes_them() {
        check(
            "g (float[N, 2] x) => (float[N, 2] z) <float[2] a = {3, 4}, float[2] b = {1, 2}> {
                c = Mul (a, b)
                z = Add (x, c)
            }",
            &[],
            &["a", "b"],
        );
    }

    #[test]
    fn scales_that_shapes_are_computed_from_are_no_parameters() {
        check(
            "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 6] z)
                <float[2] some = {1, 1}, float[2] others = {2, 3}> {
                scales = Concat <axis = 0> (some, others)
                z = Resize <mode = \"nearest\"> (x, , scales)
            }",
            &["others", "some"],
            &["others", "some"],
        );
    }
}
