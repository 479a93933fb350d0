//! Declared types of values that nodes compute.

use super::Reader;
use super::input::is_name;
use super::scope::Scope;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::graph::{ValueId, Values};
use crate::proto::{DimensionValue, GraphProto, TensorType, TypeProto, TypeValue, ValueInfoProto};
use crate::types::{self, Type};

/// Maximum number of declarations that are compared.
const MAX_DECLARATIONS: usize = 200_000;

/// Declaration of a value.
#[derive(Clone, Debug)]
pub struct Declaration {
    value: ValueId,
    /// Class and declared name of the value, for messages.
    what: String,
    ty: TypeProto,
    compared: Compared,
}

impl Reader<'_> {
    /// Records the declarations of a graph's values.
    pub(super) fn declarations(&mut self, graph: &GraphProto, scope: &Scope<'_>) {
        let mut attributes = graph.node.iter().flat_map(|node| &node.attribute);
        let is_guess = self.depth > 0 || attributes.any(|attribute| attribute.g.is_some());
        for (infos, what, compared) in
            [(&graph.output, "output", Compared::Sizes), (&graph.value_info, "value", Compared::Shape)]
        {
            let compared = if is_guess { Compared::Nothing } else { compared };
            for info in infos {
                self.declaration(info, (what, compared), scope);
            }
        }
    }

    /// Records the declaration of a constant that the main graph lists as an input.
    pub(super) fn constant_declaration(&mut self, info: &ValueInfoProto, scope: &Scope<'_>) {
        self.declaration(info, ("initializer", Compared::Constant), scope);
    }

    fn declaration(&mut self, info: &ValueInfoProto, (what, compared): (&str, Compared), scope: &Scope<'_>) {
        if let (Some(value), Some(ty)) = (scope.value(&info.name), &info.r#type)
            && self.declarations.len() < MAX_DECLARATIONS
        {
            self.declarations.push(Declaration {
                value,
                what: format!("{what} `{}`", info.name),
                ty: ty.clone(),
                compared,
            });
        }
    }
}

/// The part of a shape that is compared with the declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    /// The shape of a constant, which depends on no options and no branches.
    Constant,
    Shape,
    Rank,
    /// Sizes, if the ranks are equal: CatBoost declares outputs of rank 2 as vectors.
    Sizes,
    /// Nothing. In models with branches and loops, exporters guess shapes: PyTorch declares the result of one branch as
    /// if it were flattened as in the other.
    Nothing,
}

/// Reports declarations that contradict the inferred types. Sizes are compared if the caller fixed none.
pub fn contradictions(declarations: &[Declaration], values: &Values, with_sizes: bool) -> Vec<Problem> {
    let problem = |declaration: &Declaration| {
        let value = &values[declaration.value];
        let found = value.ty.as_ref().filter(|_| !value.guessed)?;
        let compared = match declaration.compared {
            Compared::Shape if !with_sizes => Compared::Rank,
            Compared::Sizes if !with_sizes => Compared::Nothing,
            compared => compared,
        };
        if agree(&declaration.ty, found, compared) {
            return None;
        }
        let (what, declared) = (&declaration.what, shown(&declaration.ty));
        let message = format!("{what} is declared as {declared}, but has type {found}");
        Some(Problem::new(message).inconsistent())
    };
    declarations.iter().filter_map(problem).collect()
}

/// Returns `true` if a declaration agrees with the inferred type, which may be more specific.
fn agree(declared: &TypeProto, found: &Type, compared: Compared) -> bool {
    // Exporters specify little about the items of sequences.
    let inner = |declared: &Option<Box<TypeProto>>, found: &Type| {
        let declared = declared.as_deref();
        declared.is_none_or(|declared| agree(declared, found, Compared::Nothing))
    };
    // Exporters leave the type of some values undefined.
    let same = |number: i32, dtype: DType| number == 0 || DType::from_onnx(number) == Some(dtype);
    match (&declared.value, found) {
        (None, _) => true,
        (Some(TypeValue::Tensor(tensor)), Type::Tensor(found)) => {
            same(tensor.elem_type, found.dtype) && shapes_agree(tensor, found, compared)
        }
        (Some(TypeValue::Tensor(tensor)), Type::Unranked(dtype) | Type::Nothing(dtype)) => {
            same(tensor.elem_type, *dtype)
        }
        (Some(TypeValue::Sequence(sequence)), Type::Sequence(found)) => inner(&sequence.elem_type, found),
        (Some(TypeValue::Optional(optional)), Type::Optional(found)) => inner(&optional.elem_type, found),
        (Some(TypeValue::Optional(optional)), found @ Type::Nothing(_)) => inner(&optional.elem_type, found),
        (Some(TypeValue::Map(map)), Type::Map(key, found)) => {
            same(map.key_type, *key) && inner(&map.value_type, found)
        }
        _ => false,
    }
}

fn shapes_agree(declared: &TensorType, found: &types::TensorType, compared: Compared) -> bool {
    let shape = declared.shape.as_ref();
    let Some(declared) = shape.filter(|_| compared != Compared::Nothing) else {
        return true;
    };
    if declared.dim.len() != found.rank() {
        // A tensor of one element may have any number of axes: in loops and branches it has those of one of their
        // values.
        let may_be_one = |size: &Option<DimensionValue>| match size {
            Some(DimensionValue::Value(size)) => *size == 1,
            _ => true,
        };
        let is_one = declared.dim.iter().all(|dim| may_be_one(&dim.value));
        return match compared {
            Compared::Constant => false,
            Compared::Sizes => true,
            _ => is_one && found.count() == Some(1),
        };
    }
    let mut sizes = declared.dim.iter().zip(&found.shape);
    sizes.all(|(declared, found)| match (&declared.value, found.number()) {
        (Some(DimensionValue::Value(declared)), Some(found)) => {
            compared == Compared::Rank || *declared < 0 || *declared == found
        }
        _ => true,
    })
}

/// Formats a declared type as in signatures.
fn shown(declared: &TypeProto) -> String {
    let inner = |declared: &Option<Box<TypeProto>>| declared.as_deref().map_or("?".to_owned(), shown);
    let dtype = |number: i32| match DType::from_onnx(number) {
        Some(dtype) => dtype.name().to_owned(),
        None => format!("element type {number}"),
    };
    match &declared.value {
        Some(TypeValue::Tensor(tensor)) => {
            let size = |value: &Option<DimensionValue>| match value {
                Some(DimensionValue::Value(size)) => size.to_string(),
                Some(DimensionValue::Name(name)) if is_name(name) => name.clone(),
                _ => "?".to_owned(),
            };
            let sizes = tensor.shape.as_ref().map_or("[..]".to_owned(), |shape| {
                let sizes: Vec<String> = shape.dim.iter().map(|dim| size(&dim.value)).collect();
                if sizes.is_empty() { String::new() } else { format!("[{}]", sizes.join(", ")) }
            });
            format!("{}{sizes}", dtype(tensor.elem_type))
        }
        Some(TypeValue::Sequence(sequence)) => format!("sequence({})", inner(&sequence.elem_type)),
        Some(TypeValue::Optional(optional)) => format!("optional({})", inner(&optional.elem_type)),
        Some(TypeValue::Map(map)) => {
            format!("map({}, {})", dtype(map.key_type), inner(&map.value_type))
        }
        Some(TypeValue::SparseTensor(_)) => "a sparse tensor".to_owned(),
        Some(TypeValue::Opaque(_)) => "an opaque type".to_owned(),
        None => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn declared_types_are_those_of_the_values() {
        problems(
            &[
                "(float[2] x) => (float[3] y) { y = Relu (x) }",
                "(float[2] x) => (double[2] y) { y = Relu (x) }",
                "(float[2] x) => (seq(float[2]) y) { y = Relu (x) }",
                "(float[2] x) => (seq(double[2]) y) { y = SequenceConstruct (x) }",
                "(float[2] x) => (float[2] y) <float[3] z> { z = Relu (x) y = Neg (z) }",
                "(float[2] x) => (float[2] y) <float[1, 2] z> { z = Relu (x) y = Neg (z) }",
                "(float[2] x) => (float[2] y) <int64[2] z> { z = Relu (x) y = Neg (z) }",
                "(float[2] x, float[3] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }",
                "(float[2] x, double[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }",
                "(float[2] x, float w) => (float[2] y) <float[1] w = {1}> { y = Add (x, w) }",
                "(float[2] x, bool c) => (float[2] y) { y = If (c) <
                    then_branch = t () => (float[2, 2] p) { p = Neg (x) },
                    else_branch = e () => (double[2] q) { q = Exp (x) }> }",
            ],
            expect![[r#"
                output `y` is declared as float32[3], but has type float32[2]
                output `y` is declared as float64[2], but has type float32[2]
                output `y` is declared as sequence(float32[2]), but has type float32[2]
                output `y` is declared as sequence(float64[2]), but has type sequence(float32[2])
                value `z` is declared as float32[3], but has type float32[2]
                value `z` is declared as float32[1, 2], but has type float32[2]
                value `z` is declared as int64[2], but has type float32[2]
                initializer `w` is declared as float32[3], but has type float32[2]
                initializer `w` is declared as float64[2], but has type float32[2]
                initializer `w` is declared as float32, but has type float32[1]
                output `q` is declared as float64[2], but has type float32[2]
            "#]],
        );
    }

    #[test]
    fn a_declaration_may_say_less() {
        problems(
            &[
                "(float[2] x, bool c) => (float[2] y) <float[7, 2] z> { z = Relu (x) y = If (c) <
                    then_branch = t () => (float[2] p) { p = Neg (z) },
                    else_branch = e () => (float[2] q) { q = Exp (x) }> }",
                "(float[2] x) => (float[] y) { y = Relu (x) }",
                "(float[2] x) => (float[?] y) { y = Relu (x) }",
                "(float[2] x) => (float[m] y) { y = Relu (x) }",
                "(float[n, 3] x) => (float[4, 3] y) { y = Relu (x) }",
                "(float[2] x) => (seq(float) y) { y = SequenceConstruct (x) }",
                "(float[2] x) => (float[7, 7] y) { y = Relu (x) }",
                "(float[n] x, bool c) => (float[n] y) { y = If (c) <
                    then_branch = t () => (float[] p) { p = Neg (x) },
                    else_branch = e () => (float[7] q) { q = Exp (x) }> }",
            ],
            expect![[r#"
                fine
                fine
                fine
                fine
                fine
                fine
                fine
                fine
            "#]],
        );
    }
}
