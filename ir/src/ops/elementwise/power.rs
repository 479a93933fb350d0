//! Powers, whose operands may be of different types.

use std::rc::Rc;

use super::cast::{nearest, stays};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::{Infer, LARGEST_KNOWN};
use crate::ops::elementwise::unary::rounded;
use crate::ops::{Operator, Row, broadcast, row};
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};

pub const ROWS: &[Row] = &[row("Pow", &[1, 7, 12, 13, 15], power).elementwise().arity("rr", "r")];

/// The first operand to the power of the second, with the type of the first.
#[derive(Debug)]
struct Power {
    /// Axis of the base to which the first axis of the exponent is aligned, before version 7.
    axis: Option<i64>,
}

attributes!(struct Power { axis });

fn power(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let mut axis = None;
    if a.version() < 7 {
        a.ignore(&["broadcast"]);
        axis = a.int("axis")?;
    }
    Ok(Rc::new(Power { axis }))
}

impl Operator for Power {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (base, mut exponent) = (cx.tensor(0)?, cx.tensor(1)?);
        let number = |operand: &TensorType| operand.dtype.is_float() || operand.dtype.is_int();
        if !number(&base) || !number(&exponent) {
            return Err(Problem::new(format!(
                "the inputs have types {} and {}, expected floats or integers",
                base.dtype, exponent.dtype
            )));
        }
        if let Some(trailing) = broadcast::trailing(self.axis, &base) {
            let missing = trailing.saturating_sub(exponent.rank());
            exponent.shape.extend(vec![Dim::from(1); missing]);
        }
        let shape = broadcast::shape(cx, &[base.shape.clone(), exponent.shape.clone()])?;
        let known = known(cx, &base, &exponent, &shape);
        cx.output(0, base.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let agree = self.axis.is_some() || broadcast::check(cx)?;
        if cx.on_host() {
            let (base, exponent) = (cx.host(0)?, cx.host(1)?);
            return Ok(code!(host::pow(#base, #exponent)));
        }
        let (base, exponent) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let shape = cx.output_tensor(0)?.shape.clone();
        if base.dtype.is_float() && base.shape == shape {
            let value = match cx.known(1) {
                Some(Known::Floats(values)) if values.len() == 1 => values.first().copied(),
                Some(Known::Ints(dims)) if dims.len() == 1 => {
                    dims.first().and_then(Dim::number).map(|number| number as f64)
                }
                _ => None,
            };
            // An exponent that the type of the base cannot represent would result in another power.
            if let Some(value) = value.filter(|&value| rounded(value, base.dtype) == value) {
                // Of the type of the base, so that its digits are few.
                let dtype = if value.is_finite() { base.dtype } else { DType::F64 };
                let literal = float_literal(value, dtype);
                let x = cx.tensor(0)?;
                return Ok(match value {
                    1.0 => x,
                    2.0 => code!(#x.square()),
                    _ => code!(ops::elementary::power_by(#x, #literal)),
                });
            }
        }
        let rank = shape.len().max(1);
        let (x, y) = (cx.tensor_of_rank(0, rank)?, broadcast::second(cx, self.axis, rank)?);
        let operands = (!agree).then(|| code!(ops::expand::agreed(#x, #y)));
        let (x, y) = match &operands {
            Some(_) => (code!(a), code!(b)),
            None => (x, y),
        };
        let power = match (base.dtype.kind(), exponent.dtype.kind()) {
            (ElementClass::Int, ElementClass::Int) => code!(ops::arithmetic::pow_int_int(#x, #y)),
            (ElementClass::Int, _) => code!(ops::arithmetic::pow_int_float(#x, #y)),
            (_, ElementClass::Int) => code!(ops::arithmetic::pow_float_int(#x, #y)),
            _ => code!(ops::arithmetic::pow_float_float(#x, #y)),
        };
        Ok(match operands {
            Some(operands) => code!({ let (a, b) = #operands; #power }),
            None => power,
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

fn known(cx: &Infer<'_>, base: &TensorType, exponent: &TensorType, shape: &[Dim]) -> Option<Known> {
    let to = broadcast::fixed(shape)?;
    let count = to.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    count.filter(|&count| count <= LARGEST_KNOWN)?;
    let operand = |at: usize, tensor: &TensorType| {
        let from = broadcast::fixed(&tensor.shape)?;
        cx.folded(at)?.pick(&broadcast::positions(&from, &to))
    };
    match (operand(0, base)?, operand(1, exponent)?) {
        (Known::Ints(bases), Known::Ints(exponents)) => {
            let pairs = bases.iter().zip(&exponents);
            let powers = pairs.map(|(factor, exponent)| {
                let power = repeated(factor, exponent.number()?)?;
                stays(&power, base.dtype).then_some(power)
            });
            powers.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Ints(bases), Known::Floats(exponents)) => {
            let pairs = bases.iter().zip(&exponents);
            let powers = pairs.map(|(factor, &exponent)| {
                let power = match whole(exponent) {
                    Some(exponent) => repeated(factor, exponent)?,
                    None => nearest((factor.number()? as f64).powf(exponent), base.dtype)?.into(),
                };
                stays(&power, base.dtype).then_some(power)
            });
            powers.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Floats(bases), exponents) => {
            let exponents: Vec<f64> = match exponents {
                Known::Floats(values) => values,
                Known::Ints(dims) => {
                    let numbers = dims.iter().map(|dim| dim.number().map(|number| number as f64));
                    numbers.collect::<Option<_>>()?
                }
                _ => return None,
            };
            let pairs = bases.iter().zip(exponents);
            let powers = pairs.map(|(value, exponent)| rounded(value.powf(exponent), base.dtype));
            Some(Known::Floats(powers.collect()))
        }
        _ => None,
    }
}

/// Returns a float exponent that is an integer. Magnitudes above 2^62 are clamped to it; they are even, too.
fn whole(exponent: f64) -> Option<i64> {
    const EVEN: f64 = (1i64 << 62) as f64;
    let is_whole = exponent.fract() == 0.0;
    is_whole.then(|| exponent.clamp(-EVEN, EVEN) as i64)
}

/// Returns the power of an integer. Negative powers are truncated fractions: 0 except for bases 1 and -1. Those of 0
/// are 0, as are its quotients.
fn repeated(base: &Dim, exponent: i64) -> Option<Dim> {
    match (base.number(), exponent) {
        (Some(base @ -1..=1), _) => Some(match (base, exponent) {
            (_, 0) => 1.into(),
            (-1, _) if exponent % 2 == 0 => 1.into(),
            (0, ..0) => 0.into(),
            _ => base.into(),
        }),
        (Some(_), ..0) => Some(0.into()),
        (_, 0..64) => (0..exponent).try_fold(Dim::from(1), |power, _| power.mul(base)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_base_has_the_say() {
        check(
            r#"
            main (float[N, 2] x, int32[2] e) => (float[N, 2] a, int32[N, 2] b) {
                a = Pow (x, e)
                b = Pow (e, x)
            }
            "#,
            expect![[r#"
                main (float32[N, 2] x, int32[2] e) => (float32[N, 2] a, int32[N, 2] b)
                {
                    float32[N, 2] a = Pow (x, e)
                    int32[N, 2] b = Pow (e, x)
                }
            "#]],
        );
    }

    #[test]
    fn known_powers_are_computed() {
        check(
            r#"
            main () => (int64[2] a, float[2] b)
            <int64[2] i = {-3, 2}, int64 n = {3}, float[2] f = {4, 2}, float[2] g = {0.5, -1}> {
                a = Pow (i, n)
                b = Pow (f, g)
            }
            "#,
            expect![[r#"
                main () => (int64[2] a, float32[2] b)
                <
                    int64[2] a = {-27, 8},
                    float32[2] b = {2, 0.5}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn exponents_keep_their_type() {
        check(
            r#"
            main () => (int32[7] a, int32[6] b, float[3] c)
            <int32[7] i = {0, 1, -1, -1, 5, 0, 2}, int64[7] n = {4294967296, 4294967297, 8589934593, -2, -9223372036854775807, -1, 0},
             int32[6] j = {9, -2, 5, 1, -8, 2}, double[6] g = {0.5, 3, -1, nan, 0.5, -0.5},
             float[3] f = {inf, 0, 2}, double[3] e = {5e-72, 1e-60, 1e60}> {
                a = Pow (i, n)
                b = Pow (j, g)
                c = Pow (f, e)
            }
            "#,
            expect![[r#"
                main () => (int32[7] a, int32[6] b, float32[3] c)
                <
                    int32[7] a = {0, 1, -1, 1, 0, 0, 1},
                    int32[6] b = {3, -8, 0, 1, 0, 0},
                    float32[3] c = {inf, 0, inf}
                >
                {
                }
            "#]],
        );
    }
}
