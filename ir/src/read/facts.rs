//! Versions, producer and metadata of a file.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

use super::limits::MAX_NODES;
use super::{foreign, size};
use crate::diagnostics::{Format, Problem, Topic, counted};
use crate::labels;
use crate::metadata::Metadata;
use crate::model::Facts;
use crate::ops::{MICROSOFT, ML, PREVIEW, TRAINING};
use crate::proto::{Cost, ModelProto, cost};

/// Newest IR version and `ai.onnx` opset that this compiler supports.
pub const NEWEST_IR: i64 = 14;
pub const NEWEST_OPSET: i64 = 28;
/// Newest versions of the other domains.
const NEWEST: [(&str, i64); 4] = [(ML, 5), (MICROSOFT, 1), (PREVIEW, 1), (TRAINING, 1)];
/// Models of this and later IR versions import their opsets.
const IMPORTING_IR: i64 = 3;

/// Memory that reading a file may need in addition to ten times its length, in bytes.
const SPARE: usize = 40 << 20;

/// Decodes the message of a file.
pub fn decode(bytes: Bytes) -> Result<ModelProto, Problem> {
    let length = bytes.len();
    let start = bytes.slice(..length.min(64));
    let failed = |error: prost::DecodeError| {
        foreign::recognize(&start).unwrap_or_else(|| {
            Problem::new("the file is not an ONNX model, or it is truncated")
                .help(format!("export or download it again; it has {} ({error})", counted(length, "bytes")))
                .about(Topic::Format(Format::Unknown))
        })
    };
    if bytes.is_empty() {
        let empty = Problem::new("the file is empty");
        Err(empty.help("export or download it again").about(Topic::Format(Format::Empty)))
    } else {
        affordable(&bytes)?;
        ModelProto::decode(bytes).map_err(failed)
    }
}

/// Checks that a file can be read in memory proportional to its length.
fn affordable(bytes: &[u8]) -> Result<(), Problem> {
    let Cost { bytes: needed, nodes } = cost(bytes);
    if nodes > MAX_NODES {
        return Err(size::too_many());
    }
    if needed > bytes.len().saturating_mul(10).saturating_add(SPARE) {
        let (length, needed) = (bytes.len() >> 20, needed >> 20);
        let message = format!("reading the file of {length} MiB requires {needed} MiB of memory");
        return Err(Problem::new(message)
            .help("export it again; it consists of empty Protobuf messages, which exporters do not write"));
    }
    Ok(())
}

/// Returns the short name of a domain: `ai.onnx` is the empty one.
pub fn domain(name: &str) -> String {
    match name {
        "ai.onnx" => String::new(),
        _ => name.to_owned(),
    }
}

impl Facts {
    pub fn new(message: &ModelProto) -> Self {
        let ir_version = message.ir_version.unwrap_or(0);
        let imports = message.opset_import.iter();
        let mut opsets: BTreeMap<String, i64> =
            imports.map(|import| (domain(&import.domain), import.version.unwrap_or(1))).collect();
        if opsets.is_empty() && ir_version < IMPORTING_IR {
            opsets.insert(String::new(), 1);
        }
        let producer = [&message.producer_name, &message.producer_version];
        Facts {
            ir_version,
            opsets,
            producer: producer.map(String::as_str).join(" ").trim().to_owned(),
            metadata: Metadata::new(message),
            labels: labels::find(message),
            outputs: Vec::new(),
            ranks: Vec::new(),
            operators: BTreeMap::new(),
        }
    }

    /// Checks that this compiler supports the versions.
    pub fn check(&self) -> Result<(), Problem> {
        if self.ir_version > NEWEST_IR {
            return Err(newer("IR version", self.ir_version, NEWEST_IR));
        }
        if self.opsets.is_empty() {
            return Err(Problem::new("the file does not specify its opset")
                .help("export or download it again; it may be truncated after its graph")
                .about(Topic::Inconsistency));
        }
        newest("", self.opsets.get("").copied())
    }
}

/// Checks that this compiler supports the version of a domain whose operators are used.
pub fn newest(domain: &str, opset: Option<i64>) -> Result<(), Problem> {
    let others = NEWEST.iter().find(|(name, _)| *name == domain);
    let (what, newest) = match (domain, others) {
        ("", _) => ("opset".to_owned(), NEWEST_OPSET),
        (_, Some(&(name, newest))) => (format!("`{name}` opset"), newest),
        _ => return Ok(()),
    };
    match opset {
        Some(opset) if opset > newest => Err(newer(&what, opset, newest)),
        _ => Ok(()),
    }
}

fn newer(what: &str, found: i64, newest: i64) -> Problem {
    let message =
        format!("the model uses {what} {found}, but this version of onnx-embed supports up to {newest}");
    let help = "update onnx-embed, or export the model for an older version";
    Problem::new(message).help(help).about(Topic::Version)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_first_models_name_no_opset() {
        check(
            "<ir_version: 2> g (float[2, 3] x, float[2] b) => (float[2, 3] y) { y = \
                 Add <axis = 0, broadcast = 1> (x, b) }",
            expect![[r#"
                g (float32[2, 3] x, float32[2] b) => (float32[2, 3] y)
                {
                    float32[2, 3] y = Add <axis: 0, old: true> (x, b)
                }
            "#]],
        );
    }

    #[test]
    fn later_models_must_name_one() {
        check(
            "<ir_version: 3> g (float[n] x) => (float[n] y) { y = Relu (x) }",
            expect![[r#"
                cannot compile `model`

                  the file does not specify its opset
                    help: export or download it again; it may be truncated after its graph

                  model: IR version 3"#]],
        );
    }

    #[test]
    fn ai_onnx_is_the_empty_domain() {
        check(
            r#"<ir_version: 8, opset_import: ["ai.onnx": 17]> g (float[n] x) => (float[n] z) { y = ai.onnx.Relu (x) z = Neg (y) }"#,
            expect![[r#"
                g (float32[n] x) => (float32[n] z)
                {
                    float32[n] y = Relu (x)
                    float32[n] z = Neg (y)
                }
            "#]],
        );
    }

    #[test]
    fn an_operator_younger_than_the_model_is_refused() {
        check(
            r#"<ir_version: 8, opset_import: ["": 12]> g (float[n] x) => (float[n] y) { y = Gelu (x) }"#,
            expect![[r#"
                cannot compile `model`

                  operator `Gelu` was added in opset 20, but the model uses opset 12
                    at node `y` (Gelu opset 12)
                    help: the file is inconsistent; export the model again

                  model: IR version 8, ai.onnx 12"#]],
        );
    }

    #[test]
    fn without_a_version_of_the_standard_its_newest_is_meant() {
        check(
            r#"<ir_version: 8, opset_import: ["com.acme": 1]> g (float[n] x) => (float[n] y) { y = Gelu (x) }"#,
            expect![[r#"
                g (float32[n] x) => (float32[n] y)
                {
                    float32[n] y = Gelu (x)
                }
            "#]],
        );
    }

    #[test]
    fn an_operator_of_a_domain_that_nobody_knows_is_refused() {
        check(
            r#"<ir_version: 8, opset_import: ["com.acme": 1]> g (float[n] x) => (float[n] z) { y = Relu (x) z = com.other.Blend (y) }"#,
            expect![[r#"
                cannot compile `model`

                  operator `com.other.Blend` is not supported
                    at node `z` (com.other.Blend)
                    help: rewrite the node with standard operators, or define the operator in the model, as a function of the domain `com.other`
                          or bind it to a function: #[onnx(ops("com.other.Blend" = crate::blend))], fn blend(x: Tensor<1>) -> Tensor<1>

                  model: IR version 8, com.acme 1"#]],
        );
    }

    #[test]
    fn versions_of_other_domains_are_known_where_they_are_used() {
        check(
            r#"<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 6, "com.acme": 99, "com.microsoft": 2]>
            g (float[n, 1] x) => (float[n, 1] z) {
                y = ai.onnx.ml.Scaler <offset = [0.0], scale = [1.0]> (x)
                z = Neg (y)
            }"#,
            expect![[r#"
                cannot compile `model`

                  the model uses `ai.onnx.ml` opset 6, but this version of onnx-embed supports up to 5
                    at node `y` (ai.onnx.ml.Scaler opset 6)
                    help: update onnx-embed, or export the model for an older version

                  model: IR version 8, ai.onnx 17, ai.onnx.ml 6, com.acme 99, com.microsoft 2"#]],
        );
    }

    #[test]
    fn a_function_is_of_a_version_that_is_known() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "f": 1]>
            g (float[n] x) => (float[n] y) { y = f.Act (x) }
            <domain: "f", opset_import: ["": 99]> Act (v) => (w) { w = Relu (v) }
            "#,
            expect![[r#"
                cannot compile `model`

                  the model uses opset 99, but this version of onnx-embed supports up to 28
                    at node `Act/w` (Relu opset 99)
                    help: update onnx-embed, or export the model for an older version

                  model: IR version 10, ai.onnx 21, f 1"#]],
        );
    }

    #[test]
    fn versions_of_the_future_are_refused() {
        check(
            r#"<ir_version: 99, opset_import: ["": 99]> g (float[n] x) => (float[n] y) { y = Relu (x) }"#,
            expect![[r#"
                cannot compile `model`

                  the model uses IR version 99, but this version of onnx-embed supports up to 14
                    help: update onnx-embed, or export the model for an older version

                  model: IR version 99, ai.onnx 99"#]],
        );
    }
}
