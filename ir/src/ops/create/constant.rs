//! Constants and identities.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes, missing};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::{Infer, LARGEST_KNOWN};
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::{Known, Shape};
use crate::weight::Weight;

pub const ROWS: &[Row] = &[
    row("Constant", &[1, 9, 11, 12, 13, 19, 21, 23, 24, 25], constant).arity("", "r").newer(&[
        ("sparse_value", 11),
        ("value_float", 12),
        ("value_floats", 12),
        ("value_int", 12),
        ("value_ints", 12),
        ("value_string", 12),
        ("value_strings", 12),
    ]),
    row("Identity", &[1, 13, 14, 16, 19, 21, 23, 24, 25], identity).follows(),
];

/// A constant that is stored in the file, or is created from a few attribute values.
#[derive(Debug)]
enum Constant {
    Stored(Weight),
    Written(DType, Shape, Known),
}

attributes!(
    enum Constant {
        Stored(inner),
        Written(first, second, third),
    }
);

#[derive(Debug)]
struct Identity;

attributes!(struct Identity);

fn constant(attributes: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let size = |len: usize| vec![Dim::from(i64::try_from(len).unwrap_or(i64::MAX))];
    let ints = |ints: Vec<i64>| Known::Ints(ints.into_iter().map(Dim::from).collect());
    let floats = |floats: Vec<f32>| Known::Floats(floats.into_iter().map(f64::from).collect());
    let long = |name: &str, len: usize| {
        if len > LARGEST_KNOWN { attributes.stored(name) } else { Ok(None) }
    };
    let made = if let Some(strings) = attributes.string_tensor("value")? {
        let (sizes, strings) = strings;
        let shape = sizes.iter().flat_map(|&len| size(len)).collect();
        Constant::Written(DType::String, shape, Known::Strings(strings))
    } else if let Some(weight) = attributes.tensor("value")? {
        Constant::Stored(weight)
    } else if let Some(value) = attributes.int("value_int")? {
        Constant::Written(DType::I64, vec![], ints(vec![value]))
    } else if let Some(values) = attributes.ints("value_ints")? {
        match long("value_ints", values.len())? {
            Some(weight) => Constant::Stored(weight),
            None => Constant::Written(DType::I64, size(values.len()), ints(values)),
        }
    } else if let Some(value) = attributes.float("value_float")? {
        Constant::Written(DType::F32, vec![], floats(vec![value]))
    } else if let Some(values) = attributes.floats("value_floats")? {
        match long("value_floats", values.len())? {
            Some(weight) => Constant::Stored(weight),
            None => Constant::Written(DType::F32, size(values.len()), floats(values)),
        }
    } else if let Some(value) = attributes.string("value_string")? {
        Constant::Written(DType::String, vec![], Known::Strings(vec![value]))
    } else if let Some(values) = attributes.strings("value_strings")? {
        Constant::Written(DType::String, size(values.len()), Known::Strings(values))
    } else if let Some((dtype, shape, known)) = attributes.sparse("sparse_value")? {
        Constant::Written(dtype, shape, known)
    } else {
        return Err(missing("value"));
    };
    Ok(Rc::new(made))
}

fn identity(_: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Identity))
}

impl Operator for Constant {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        match self {
            Constant::Stored(weight) => cx.output_weight(0, weight.clone()),
            Constant::Written(dtype, shape, known) => {
                cx.output(0, *dtype, shape.clone());
                cx.output_written(0, known.clone());
            }
        }
        Ok(())
    }

    fn emit(&self, _: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        Err(Problem::new("the elements of the constant do not match its type").inconsistent())
    }
}

impl Operator for Identity {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        if let Some(id) = cx.part(0) {
            cx.output_copy(0, id);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.value(0)?;
        Ok(code!(#x))
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn values_of_attributes_have_types() {
        check(
            r#"g () => (int64[2] a, float b, string[1] c) { a = Constant <value_ints = [3, -1]> () b = Constant <value_float = 0.5> () c = Constant <value_strings = ["s"]> () }"#,
            expect![[r#"
                g () => (int64[2] a, float32[] b, string[1] c)
                <
                    int64[2] a = {3, -1},
                    float32[] b = {0.5},
                    string[1] c = {"s"}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn one_attribute_has_the_value() {
        problems(
            &[
                r#"() => (int64[2] y) { y = Constant () }"#,
                r#"() => (int64[2] y) { y = Constant <value_int = 1, value_float = 1.0> () }"#,
                r#"() => (int64[2] y) { y = Constant <valu = 1> () }"#,
            ],
            expect![[r#"
                attribute `value` is missing
                attribute `value_float` is unknown to this version of the operator
                attribute `value` is missing
            "#]],
        );
    }
}
