//! Attributes of a node. An attribute that is not read is a problem.

mod expected;
mod field;
mod value;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;

use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::files::{Files, is_strings};
use crate::proto::{AttributeProto, AttributeType, GraphProto, TypeProto};
use crate::types::{Known, Shape};
use crate::weight::Weight;

pub use expected::{any_of, missing};
pub use field::have_types;
pub(crate) use value::attributes;
pub use value::{Attribute, Described, variant};

/// Attributes of one node. Attributes that an operator does not read are errors.
pub struct Attributes<'a> {
    list: Vec<NamedAttribute<'a>>,
    asked: Vec<Cell<bool>>,
    files: &'a Files,
    version: i64,
    inputs: usize,
    outputs: usize,
    has_first_output: bool,
    kept: RefCell<Vec<(String, Weight)>>,
}

/// An attribute and its name in the node.
pub type NamedAttribute<'a> = (&'a str, &'a AttributeProto);

/// Sizes and elements of a tensor of strings.
pub type Strings = (Vec<usize>, Vec<String>);

/// An attribute that became a constant of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Index among the inputs.
    pub input: usize,
    /// Number of elements.
    pub count: usize,
    pub dtype: DType,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.input)
    }
}

impl<'a> Attributes<'a> {
    pub fn new(list: Vec<NamedAttribute<'a>>, files: &'a Files, version: i64) -> Self {
        Attributes {
            asked: vec![Cell::new(false); list.len()],
            list,
            files,
            version,
            inputs: 0,
            outputs: 1,
            has_first_output: true,
            kept: RefCell::default(),
        }
    }

    /// Sets the numbers of inputs and outputs of the node.
    #[must_use]
    pub fn with_arity(mut self, inputs: usize, outputs: usize) -> Self {
        (self.inputs, self.outputs) = (inputs, outputs);
        self
    }

    /// Records whether the node names its first output.
    #[must_use]
    pub fn with_first_output(mut self, is_named: bool) -> Self {
        self.has_first_output = is_named;
        self
    }

    /// Returns `true` if the node names its first output, used or not.
    pub fn has_first_output(&self) -> bool {
        self.has_first_output
    }

    /// Returns the version of the operator that the model's opset selects.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Returns the number of inputs of the node, including absent ones before the last.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of outputs of the node.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    pub fn int(&self, name: &str) -> Result<Option<i64>, Problem> {
        self.value(name, AttributeType::Int, |attribute| Some(attribute.i.unwrap_or_default()))
    }

    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, Problem> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// Reads a flag. Other integers are refused: ONNX Runtime takes them for true in Gemm, and for false in reductions.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.int(name)? {
            None => Ok(default),
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            Some(value) => Err(Problem::expected(format_args!("`{name}`"), value, "0 or 1")),
        }
    }

    pub fn float(&self, name: &str) -> Result<Option<f32>, Problem> {
        self.value(name, AttributeType::Float, |attribute| Some(attribute.f.unwrap_or_default()))
    }

    pub fn float_or(&self, name: &str, default: f32) -> Result<f32, Problem> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    pub fn string(&self, name: &str) -> Result<Option<String>, Problem> {
        self.value(name, AttributeType::String, |attribute| {
            let bytes = attribute.s.as_deref().unwrap_or_default();
            String::from_utf8(bytes.to_vec()).ok()
        })
    }

    pub fn string_or(&self, name: &str, default: &str) -> Result<String, Problem> {
        Ok(self.string(name)?.unwrap_or_else(|| default.to_owned()))
    }

    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, Problem> {
        self.value(name, AttributeType::Ints, |attribute| Some(attribute.ints().to_vec()))
    }

    pub fn floats(&self, name: &str) -> Result<Option<Vec<f32>>, Problem> {
        self.value(name, AttributeType::Floats, |attribute| Some(attribute.floats().to_vec()))
    }

    pub fn strings(&self, name: &str) -> Result<Option<Vec<String>>, Problem> {
        self.value(name, AttributeType::Strings, |attribute| {
            let text = |bytes: &bytes::Bytes| String::from_utf8(bytes.to_vec()).ok();
            attribute.strings().iter().map(text).collect()
        })
    }

    /// Reads a tensor without copying its elements.
    pub fn tensor(&self, name: &str) -> Result<Option<Weight>, Problem> {
        match self.find(name) {
            Some(attribute) => match &attribute.t {
                Some(tensor) => self.files.weight(tensor).map(Some),
                None => Err(wrong_type(name, attribute, AttributeType::Tensor)),
            },
            None => Ok(None),
        }
    }

    /// Reads a list without copying its elements.
    pub fn stored(&self, name: &str) -> Result<Option<Weight>, Problem> {
        match self.find(name).and_then(|attribute| attribute.list.as_ref()) {
            Some(list) => self.files.stored(list).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a sparse tensor as a dense one.
    pub fn sparse(&self, name: &str) -> Result<Option<(DType, Shape, Known)>, Problem> {
        match self.find(name) {
            Some(attribute) => match &attribute.sparse_tensor {
                Some(sparse) => self.files.sparse(sparse).map(Some),
                None => Err(wrong_type(name, attribute, AttributeType::SparseTensor)),
            },
            None => Ok(None),
        }
    }

    /// Reads a list or tensor that may be long. It becomes a constant of the model and an input of the node, after the
    /// node's own inputs, at the returned index.
    pub fn keep(&self, name: &str) -> Result<Option<Kept>, Problem> {
        let Some(attribute) = self.find(name) else {
            return Ok(None);
        };
        let weight = match (&attribute.t, &attribute.list) {
            (Some(tensor), _) => self.files.weight(tensor)?,
            (None, Some(list)) => self.files.stored(list)?,
            (None, None) => return Ok(None),
        };
        let (Some(count), dtype) = (weight.count(), weight.dtype) else {
            return Ok(None);
        };
        let mut kept = self.kept.borrow_mut();
        let input = self.inputs.saturating_add(kept.len());
        kept.push((name.to_owned(), weight));
        Ok(Some(Kept { input, count, dtype }))
    }

    /// Returns the constants that [`Attributes::keep`] created, in order.
    pub fn kept(self) -> Vec<(String, Weight)> {
        self.kept.into_inner()
    }

    /// Reads the sizes and elements of a tensor of strings. Returns `None` if it has another type.
    pub fn string_tensor(&self, name: &str) -> Result<Option<Strings>, Problem> {
        let found = self.list.iter().find(|entry| entry.0 == name);
        match found.and_then(|attribute| attribute.1.t.as_deref()) {
            Some(tensor) if is_strings(tensor) => {
                self.find(name);
                self.files.strings(tensor).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub fn type_proto(&self, name: &str) -> Result<Option<TypeProto>, Problem> {
        match self.find(name) {
            Some(attribute) => match &attribute.tp {
                Some(found) => Ok(Some((**found).clone())),
                None => Err(wrong_type(name, attribute, AttributeType::TypeProto)),
            },
            None => Ok(None),
        }
    }

    /// Reads a graph, which is a block of the node.
    pub fn graph(&self, name: &str) -> Result<Option<&GraphProto>, Problem> {
        match self.find(name) {
            Some(attribute) => match attribute.g.as_deref() {
                Some(graph) => Ok(Some(graph)),
                None => Err(wrong_type(name, attribute, AttributeType::Graph)),
            },
            None => Ok(None),
        }
    }

    /// Reads all attributes, sorted by name.
    pub fn all(&self) -> Vec<NamedAttribute<'a>> {
        self.asked.iter().for_each(|asked| asked.set(true));
        let mut all = self.list.clone();
        all.sort_by_key(|entry| entry.0);
        all
    }

    /// Marks attributes as read that do not affect the result.
    pub fn ignore(&self, names: &[&str]) {
        for name in names {
            self.find(name);
        }
    }

    /// Fails if an attribute was not read. Names that begin with two underscores are private to the writer and are
    /// ignored.
    pub fn finish(&self) -> Result<(), Problem> {
        let mut names = BTreeSet::new();
        if let Some(again) = self.list.iter().find(|entry| !names.insert(entry.0)) {
            let problem = Problem::new(format!("attribute `{}` is specified twice", again.0));
            return Err(problem.inconsistent());
        }
        self.list.iter().try_for_each(|(name, attribute)| field::has_its_type(name, attribute))?;
        let mut left = self.list.iter().zip(&self.asked);
        let left = left.find(|((name, _), asked)| !asked.get() && !name.starts_with("__"));
        match left {
            None => Ok(()),
            Some(((name, _), _)) => {
                Err(Problem::new(format!("attribute `{name}` is unknown to this version of the operator"))
                    .help("remove the attribute, or export the model with an opset that supports it"))
            }
        }
    }

    fn find(&self, name: &str) -> Option<&AttributeProto> {
        let mut found = self.list.iter().zip(&self.asked);
        let ((_, attribute), asked) = found.find(|((key, _), _)| *key == name)?;
        asked.set(true);
        Some(attribute)
    }

    fn value<T>(
        &self,
        name: &str,
        expected: AttributeType,
        value: impl Fn(&AttributeProto) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(attribute) = self.find(name) else {
            return Ok(None);
        };
        // Files of IR version 1 lack types: the field that is present determines it.
        let named = attribute.r#type.unwrap_or(AttributeType::Undefined as i32);
        if named != expected as i32 && named != AttributeType::Undefined as i32 {
            return Err(wrong_type(name, attribute, expected));
        }
        match value(attribute) {
            Some(value) => Ok(Some(value)),
            None => Err(wrong_type(name, attribute, expected)),
        }
    }
}

/// Returns the problem of an attribute that has another type, or no value of the expected one.
fn wrong_type(name: &str, attribute: &AttributeProto, expected: AttributeType) -> Problem {
    let lower = |ty: AttributeType| format!("{ty:?}").to_lowercase();
    let declared = attribute.r#type.and_then(|ty| AttributeType::try_from(ty).ok());
    let problem = match declared.filter(|&ty| ty != expected && ty != AttributeType::Undefined) {
        Some(found) => {
            format!("attribute `{name}` has type {}, expected {}", lower(found), lower(expected))
        }
        None => format!("attribute `{name}` has no valid value of type {}", lower(expected)),
    };
    Problem::new(problem).inconsistent()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn an_attribute_is_given_once() {
        check(
            "g (float[2] x) => (float[2] y) { y = Softmax <axis = 0, axis = 0> (x) }",
            expect![[r#"
                cannot compile `model`

                  attribute `axis` is specified twice
                    at node `y` (Softmax opset 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn a_flag_is_0_or_1() {
        problems(
            &[
                "(float[2, 2] x) => (float[2, 2] y) { y = Gemm <transB = 1> (x, x) }",
                "(float[2, 2] x) => (float[2, 2] y) { y = Gemm <transB = 2> (x, x) }",
                "(float[2, 2] x) => (float[2, 1] y) { y = ArgMax <keepdims = -9223372036854775808> (x) }",
            ],
            expect![[r#"
                fine
                `transB` is 2, expected 0 or 1
                `keepdims` is -9223372036854775808, expected 0 or 1
            "#]],
        );
    }

    #[test]
    fn an_attribute_must_be_known() {
        check(
            "g (float[2] x) => (float[2] y) { y = Relu <alpha = 0.5> (x) }",
            expect![[r#"
                cannot compile `model`

                  attribute `alpha` is unknown to this version of the operator
                    at node `y` (Relu opset 21)
                    help: remove the attribute, or export the model with an opset that supports it

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn programs_may_leave_notes() {
        check(
            "g (float[2] x) => (float[2] y) { y = Relu <__made = 1> (x) }",
            expect![[r#"
                g (float32[2] x) => (float32[2] y)
                {
                    float32[2] y = Relu (x)
                }
            "#]],
        );
    }

    #[test]
    fn an_attribute_is_of_its_type() {
        check(
            "g (float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 1> (x) }",
            expect![[r#"
                cannot compile `model`

                  attribute `alpha` has type int, expected float
                    at node `y` (LeakyRelu opset 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
