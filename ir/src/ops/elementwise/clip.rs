//! Clip: values limited by bounds.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::Known;

pub const ROWS: &[Row] = &[row("Clip", &[1, 6, 11, 12, 13], clip)
    .elementwise()
    .follows()
    .arity("roo", "r")
    .before(&[(11, "r", "r")])];

/// Bounds, which are attributes in old versions and inputs 1 and 2 in new ones.
///
/// The attributes of version 6 are the least and the greatest number by default, so that no result is infinite. Those of
/// version 1 have no default, and the function of later versions compares with given bounds only.
#[derive(Debug)]
pub struct Clip {
    lower: Option<f32>,
    upper: Option<f32>,
}

attributes!(struct Clip { lower, upper });

fn clip(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 6 {
        a.ignore(&["consumed_inputs"]);
    }
    let (lower, upper) = match a.version() {
        ..6 => (a.float("min")?, a.float("max")?),
        6..11 => (Some(a.float_or("min", f32::MIN)?), Some(a.float_or("max", f32::MAX)?)),
        _ => (None, None),
    };
    Ok(Rc::new(Clip { lower, upper }))
}

impl Operator for Clip {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if !x.dtype.is_float() && !x.dtype.is_int() {
            return Err(Problem::new(format!("the input has type {}, expected floats or integers", x.dtype)));
        }
        for input in [1, 2] {
            if !cx.has(input) {
                continue;
            }
            let bound = cx.tensor(input)?;
            let single = bound.count().is_none_or(|count| count == 1);
            if bound.dtype != x.dtype || bound.rank() > 1 || !single {
                return Err(Problem::expected("a bound", bound, format_args!("one {}", x.dtype)));
            }
        }
        let known = self.known(cx);
        cx.output(0, x.dtype, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if cx.on_host() {
            let mut result = cx.host(0)?;
            if cx.has(1) {
                let lower = cx.host(1)?;
                result = code!(host::max(#result, #lower));
            }
            if cx.has(2) {
                let upper = cx.host(2)?;
                if cx.has(1) {
                    result = code!(&#result);
                }
                result = code!(host::min(#result, #upper));
            }
            return if cx.has(1) || cx.has(2) { Ok(result) } else { cx.value(0) };
        }
        let dtype = cx.tensor_type(0)?.dtype;
        let x = cx.tensor(0)?;
        let lower = self.bound(cx.known(1), self.lower);
        let upper = self.bound(cx.known(2), self.upper);
        let open = |input, known: &Option<Bound>| cx.has(input) && known.is_none();
        if open(1, &lower) || open(2, &upper) {
            let (lower, upper) = (cx.optional(1)?, cx.optional(2)?);
            return Ok(code!(ops::arithmetic::clip(#x, #lower, #upper)));
        }
        Ok(match (lower, upper) {
            (None, None) => x,
            (Some(lower), None) => {
                let lower = lower.literal(dtype);
                code!(#x.clamp_min(#lower))
            }
            (None, Some(upper)) => {
                let upper = upper.literal(dtype);
                code!(#x.clamp_max(#upper))
            }
            (Some(lower), Some(upper)) => {
                let ordered = lower.at_most(&upper);
                let (lower, upper) = (lower.literal(dtype), upper.literal(dtype));
                if ordered {
                    code!(#x.clamp(#lower, #upper))
                } else {
                    // The upper bound takes precedence.
                    code!(#x.clamp_min(#lower).clamp_max(#upper))
                }
            }
        })
    }

    fn runs_on_host(&self) -> bool {
        self.lower.is_none() && self.upper.is_none()
    }
}

/// A bound that is known at compile time.
enum Bound {
    Float(f64),
    Int(i64),
}

impl Bound {
    fn literal(&self, dtype: DType) -> Code {
        match self {
            Bound::Float(value) => float_literal(*value, dtype),
            Bound::Int(value) => {
                let literal = Literal::i64_suffixed(*value);
                code!(#literal)
            }
        }
    }

    fn at_most(&self, other: &Bound) -> bool {
        match (self, other) {
            (Bound::Float(a), Bound::Float(b)) => a <= b,
            (Bound::Int(a), Bound::Int(b)) => a <= b,
            _ => false,
        }
    }
}

impl Clip {
    /// Returns a bound that is a number, by the index of its input in new versions.
    pub fn number(&self, input: usize, known: Option<&Known>) -> Option<f64> {
        let attribute = if input == 1 { self.lower } else { self.upper };
        match self.bound(known, attribute)? {
            Bound::Float(bound) => Some(bound),
            Bound::Int(bound) => Some(bound as f64),
        }
    }

    fn bound(&self, known: Option<&Known>, attribute: Option<f32>) -> Option<Bound> {
        match (known, attribute) {
            (Some(Known::Floats(values)), _) => values.first().copied().map(Bound::Float),
            (Some(Known::Ints(values)), _) => values.first()?.number().map(Bound::Int),
            (_, Some(value)) => Some(Bound::Float(value.into())),
            _ => None,
        }
    }

    fn known(&self, cx: &Infer<'_>) -> Option<Known> {
        let missing = |input: usize| cx.has(input) && cx.folded(input).is_none();
        if missing(1) || missing(2) {
            return None;
        }
        match cx.folded(0)? {
            Known::Ints(dims) => {
                let bound = |input| match cx.folded(input) {
                    Some(Known::Ints(dims)) => dims.first().cloned(),
                    _ => None,
                };
                let (lower, upper) = (bound(1), bound(2));
                let clip = |dim: &Dim| {
                    let raised = match &lower {
                        Some(lower) => dim.larger(lower)?,
                        None => dim.clone(),
                    };
                    match &upper {
                        Some(upper) => raised.smaller(upper),
                        None => Some(raised),
                    }
                };
                dims.iter().map(clip).collect::<Option<_>>().map(Known::Ints)
            }
            Known::Floats(values) => {
                let bound = |input, attribute| match self.bound(cx.folded(input), attribute) {
                    Some(Bound::Float(bound)) => Some(bound),
                    _ => None,
                };
                let (lower, upper) = (bound(1, self.lower), bound(2, self.upper));
                let clip = |&value: &f64| {
                    let raised = lower.map_or(value, |lower| if value < lower { lower } else { value });
                    upper.map_or(raised, |upper| if raised > upper { upper } else { raised })
                };
                Some(Known::Floats(values.iter().map(clip).collect()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn known_values_are_clipped_and_the_upper_bound_wins() {
        check(
            r#"
            main () => (int64[3] a, float[2] b)
            <int64[3] i = {-7, 2, 9}, int64 low = {0}, int64 high = {5},
             float[2] f = {nan, 4}, float most = {1}, float least = {2}> {
                a = Clip (i, low, high)
                b = Clip (f, least, most)
            }
            "#,
            expect![[r#"
                main () => (int64[3] a, float32[2] b)
                <
                    int64[3] a = {0, 2, 5},
                    float32[2] b = {NaN, 1}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn bounds_of_version_6_are_numbers_by_default() {
        let infinities = |version| {
            format!(
                r#"<ir_version: 10, opset_import: ["": {version}]> main () => (float[2] a, float[2] b)
                   <float[2] x = {{-inf, inf}}> {{ a = Clip (x) b = Clip <min = -1.0> (x) }}"#
            )
        };
        check(
            &infinities(6),
            expect![[r#"
                main () => (float32[2] a, float32[2] b)
                <
                    float32[2] a = {-340282350000000000000000000000000000000, 340282350000000000000000000000000000000},
                    float32[2] b = {-1, 340282350000000000000000000000000000000}
                >
                {
                }
            "#]],
        );
        check(
            &infinities(5),
            expect![[r#"
                main () => (float32[2] a, float32[2] b)
                <
                    float32[2] a = {-inf, inf},
                    float32[2] b = {-1, inf}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn bounds_are_single_elements_of_the_same_type() {
        check(
            "main (float[N] x, float[2] low) => (float[N] y) { y = Clip (x, low) }",
            expect![[r#"
                cannot compile `model`

                  a bound is float32[2], expected one float32
                    at node `y` (Clip version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
