//! Values that may be absent.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::proto::{DimensionValue, TypeProto, TypeValue};
use crate::rust::{Code, code};
use crate::types::{Known, Type};

pub const ROWS: &[Row] = &[
    row("Optional", &[15, 28], optional).arity("o", "r"),
    row("OptionalGetElement", &[15, 18, 28], |_| Ok(Rc::new(GetElement))),
    row("OptionalHasElement", &[15, 18, 28], |_| Ok(Rc::new(HasElement)))
        .arity("o", "r")
        .before(&[(18, "r", "r")]),
];

/// The input, or an absent value.
#[derive(Debug)]
struct Optional {
    /// Type of an absent value.
    ty: Option<Type>,
}

attributes!(struct Optional { ty });

/// The value of an optional.
#[derive(Debug)]
struct GetElement;

attributes!(struct GetElement);

/// Whether an optional has a value.
#[derive(Debug)]
struct HasElement;

attributes!(struct HasElement);

fn optional(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let ty = a.type_proto("type")?;
    let ty = ty.map(|ty| nothing(&ty, 0)).transpose()?;
    Ok(Rc::new(Optional { ty }))
}

impl Operator for Optional {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let ty = match (cx.has(0), &self.ty) {
            (true, _) => cx.ty(0)?.clone(),
            (false, Some(ty)) => ty.clone(),
            (false, None) => {
                return Err(Problem::new("expected an input or attribute `type`, found neither"));
            }
        };
        cx.output_type(0, Type::Optional(Box::new(ty)));
        cx.output_parts(0, Some(cx.part(0).into_iter().collect()));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let item = cx.output_items(0)?.clone();
        let value = cx.item(0, &item)?;
        Ok(code!(Some(#value)))
    }
}

impl Operator for GetElement {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let element = match cx.ty(0)?.clone() {
            Type::Optional(item) => {
                if let Some(&[part]) = cx.parts(0).as_deref() {
                    cx.output_copy(0, part);
                    return Ok(());
                }
                cx.taken_out(&item, "element")
            }
            // A value that is always present.
            _ => {
                if let Some(id) = cx.part(0) {
                    cx.output_copy(0, id);
                }
                return Ok(());
            }
        };
        cx.output_type(0, element);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let value = cx.value(0)?;
        Ok(code!(host::present(#value)))
    }
}

impl Operator for HasElement {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let known = if cx.has(0) {
            match cx.ty(0)? {
                Type::Optional(_) => cx.parts(0).map(|parts| !parts.is_empty()),
                _ => Some(true),
            }
        } else {
            Some(false)
        };
        cx.output(0, DType::Bool, vec![]);
        cx.output_known(0, known.map(|known| Known::Bools(vec![known])));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let value = cx.value(0)?;
        Ok(code!(Array::scalar(#value.is_some())))
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn makes_host(&self) -> bool {
        true
    }
}

/// Maximum nesting depth of types.
const MAX_TYPE_DEPTH: usize = 8;

/// Returns the type of an absent value, as far as the file specifies it.
fn nothing(ty: &TypeProto, depth: usize) -> Result<Type, Problem> {
    let unknown = || {
        Problem::new(
            "attribute `type` contains an unsupported type, expected a tensor, sequence, optional or map",
        )
    };
    let inner = |ty: &Option<Box<TypeProto>>| match ty {
        Some(ty) if depth < MAX_TYPE_DEPTH => nothing(ty, depth + 1).map(Box::new),
        _ => Err(unknown()),
    };
    match ty.value.as_ref().ok_or_else(unknown)? {
        TypeValue::Tensor(tensor) => {
            let dtype = DType::from_onnx(tensor.elem_type).ok_or_else(unknown)?;
            let Some(shape) = &tensor.shape else {
                return Ok(Type::Nothing(dtype));
            };
            let size = |dim: &Option<DimensionValue>| match dim {
                Some(DimensionValue::Value(size)) if *size >= 0 => Dim::from(*size),
                _ => Dim::any(),
            };
            let shape = shape.dim.iter().map(|dim| size(&dim.value)).collect();
            Ok(Type::tensor(dtype, shape))
        }
        TypeValue::Sequence(container) => inner(&container.elem_type).map(Type::Sequence),
        TypeValue::Optional(container) => inner(&container.elem_type).map(Type::Optional),
        TypeValue::Map(container) => {
            let key = DType::from_onnx(container.key_type).ok_or_else(unknown)?;
            Ok(Type::Map(key, inner(&container.value_type)?))
        }
        TypeValue::SparseTensor(_) | TypeValue::Opaque(_) => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn what_is_known_to_be_there_is_no_optional() {
        check(
            r#"g (float[n] x) => (float[n] y) {
                o = Optional (x)
                c = OptionalHasElement (o)
                y = If (c) <
                    then_branch = t () => (float[n] p) { p = OptionalGetElement (o) },
                    else_branch = e () => (float[n] q) { q = Neg (x) }
                >
            }"#,
            expect![[r#"
                g (float32[n] x) => (float32[n] x)
                {
                }
            "#]],
        );
    }

    #[test]
    fn sizes_of_an_optional_are_those_that_other_inputs_tell() {
        check(
            r#"g (float[n] x, optional(float[n, m]) o) => (float[n, k] y) {
                e = OptionalGetElement (o)
                y = Neg (e)
            }"#,
            expect![[r#"
                g (float32[n] x, optional(float32[n, ?]) o) => (float32[n, element] y)
                {
                    float32[n, element] e = OptionalGetElement (o)
                    float32[n, element] y = Neg (e)
                }
            "#]],
        );
    }

    #[test]
    fn an_optional_is_something_or_of_a_type() {
        check(
            "g (bool c) => (optional(float) y) { y = Optional () }",
            expect![[r#"
                cannot compile `model`

                  expected an input or attribute `type`, found neither
                    at node `y` (Optional version 15)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
