//! Unary operators on known elements.

use super::Unary;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::ops::elementwise::cast::stays;
use crate::types::Known;

/// Returns the known elements of the result.
pub(super) fn fold(unary: &Unary, known: &Known, dtype: DType) -> Option<Known> {
    let float = |&value: &f64| (unary.known)(value).map(|value| rounded(value, dtype));
    Some(match known {
        Known::Floats(values) if unary.bool_result => Known::Bools(
            values
                .iter()
                .map(|&value| (unary.known)(value).map(|result| result != 0.0))
                .collect::<Option<_>>()?,
        ),
        Known::Floats(values) => Known::Floats(values.iter().map(float).collect::<Option<_>>()?),
        Known::Ints(dims) => {
            let numbers = dims.iter().map(|dim| (unary.ints)(dim));
            let numbers: Vec<Dim> = numbers.collect::<Option<_>>()?;
            let stay = numbers.iter().all(|number| stays(number, dtype));
            stay.then_some(Known::Ints(numbers))?
        }
        Known::Bools(values) => Known::Bools(
            values
                .iter()
                .map(|&value| (unary.known)(f64::from(value)).map(|result| result != 0.0))
                .collect::<Option<_>>()?,
        ),
        Known::Strings(_) => return None,
    })
}

/// Rounds a value to its type.
pub fn rounded(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(value as f32),
        DType::F16 => half::f16::from_f64(value).to_f64(),
        DType::Bf16 => half::bf16::from_f64(value).to_f64(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn sizes_have_signs() {
        check(
            "g (float[n, 3] x) => (int64[2] a, int64[2] b, int64[2] c, int64[2] d) {
                s = Shape (x)
                one = Constant <value_int = 1> ()
                less = Sub (s, one)
                a = Neg (s)
                b = Abs (a)
                c = Abs (less)
                d = Relu (less)
            }",
            expect![[r#"
                g (float32[n, 3] x) => (int64[2] a, int64[2] b, int64[2] c, int64[2] d)
                <
                    int64[2] a = {-n, -3},
                    int64[2] b = {n, 3},
                    int64[2] c = {max(n - 1, -n + 1), 2},
                    int64[2] d = {max(n - 1, 0), 2}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn nan_stays_nan() {
        check(
            "g () => (float[2] a, float[2] b) {
                x = Constant <value_floats = [nan, -1.0]> ()
                one = Constant <value_float = 1.0> ()
                a = Relu (x)
                b = Max (one, x)
            }",
            expect![[r#"
                g () => (float32[2] a, float32[2] b)
                <
                    float32[2] a = {NaN, 0},
                    float32[2] b = {NaN, 1}
                >
                {
                }
            "#]],
        );
    }
}
