//! DFT: Fourier transforms along an axis.

mod stft;

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::TensorType;
use stft::stft;

pub const ROWS: &[Row] = &[
    row("DFT", &[17, 20], dft).arity("roo", "r").before(&[(20, "ro", "r")]),
    row("STFT", &[17], stft).arity("rroo", "r"),
];

#[derive(Debug)]
struct Dft {
    /// Axis from the attribute of version 17. In later versions it is input 2.
    axis: Option<i64>,
    inverse: bool,
    onesided: bool,
}

attributes!(struct Dft { axis, inverse, onesided });

fn dft(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Dft {
        axis: match a.version() {
            17 => Some(a.int_or("axis", 1)?),
            _ => None,
        },
        inverse: a.flag("inverse", false)?,
        onesided: a.flag("onesided", false)?,
    }))
}

impl Operator for Dft {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        parts(&x, 2)?;
        let at = self.axis(cx.numbers(2), cx.has(2), x.rank())?;
        let half = self.onesided && self.inverse;
        let mut shape = x.shape.clone();
        match at {
            Some(at) => {
                let size = x.shape.get(at).cloned().unwrap_or_default();
                let length = if cx.has(1) {
                    cx.ints(1).and_then(|dims| dims.into_iter().next())
                } else if half {
                    size.sub(&Dim::from(1)).and_then(|m| m.mul(&Dim::from(2)))
                } else {
                    Some(size)
                };
                let outputs = if self.onesided && !self.inverse {
                    length.and_then(|length| bins(&length))
                } else {
                    length
                };
                let number = outputs.as_ref().and_then(Dim::number);
                if let Some(length) = number.filter(|&length| length < 1) {
                    return Err(Problem::expected("the length of the result", length, "a positive integer"));
                }
                let outputs = cx.dim_or_fresh(outputs.filter(Dim::is_size), "dft");
                if let Some(slot) = shape.get_mut(at) {
                    *slot = outputs;
                }
            }
            // Any axis may have a different size in the result.
            None if self.onesided || cx.has(1) => {
                let last = shape.len().saturating_sub(1);
                for slot in shape.iter_mut().take(last) {
                    *slot = cx.fresh("dft");
                }
            }
            None => {}
        }
        if let Some(last) = shape.last_mut() {
            *last = Dim::from(if half { 1 } else { 2 });
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let x = cx.tensor(0)?;
        let known = self.axis(cx.numbers(2), cx.has(2), operand.rank())?;
        let size = known.and_then(|at| operand.shape.get(at).cloned());
        let half = self.onesided && self.inverse;
        let length = match (cx.has(1), size.as_ref().and_then(Dim::fixed)) {
            (true, _) => cx.numbers(1).and_then(|length| usize::try_from(*length.first()?).ok()),
            (false, Some(size)) if half => size.checked_sub(1).map(|size| 2 * size),
            (false, size) => size,
        };
        if let (Some(at), Some(length)) = (known, length) {
            let at = Literal::usize_unsuffixed(at);
            let length = Literal::usize_unsuffixed(length);
            let options = self.options(&code!(#length));
            let load = code!(layers::Dft::new(#options));
            let layer = cx.layer("dft", code!(layers::Dft), load);
            return Ok(code!(#layer.forward(#x, #at)));
        }
        cx.may_fail();
        let at = match known {
            Some(at) => {
                let at = Literal::usize_unsuffixed(at);
                code!(#at)
            }
            None => {
                let (at, rank) = (cx.host(2)?, Literal::usize_unsuffixed(operand.rank()));
                code!(host::axes(#at, #rank)[0])
            }
        };
        if !cx.has(1) && size.is_none() {
            let options =
                self.options(&if half { code!(2 * (x.dims()[axis] - 1)) } else { code!(x.dims()[axis]) });
            return Ok(code!({
                let (x, axis) = (#x, #at);
                let options = #options;
                ops::dft::dft(x, axis, &options)
            }));
        }
        let length = match (cx.has(1), size) {
            (true, _) => {
                let length = cx.host_int(1)?;
                code!(ops::sizes::positive(#length))
            }
            (false, size) => {
                let size = cx.size(&size.unwrap_or_default());
                if half { code!(2 * (#size - 1)) } else { size }
            }
        };
        let options = self.options(&length);
        Ok(code!(ops::dft::dft(#x, #at, &#options)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }
}

impl Dft {
    /// Returns the axis, if it is known. The last axis contains the real and imaginary parts.
    fn axis(&self, input: Option<Vec<i64>>, has_axis: bool, rank: usize) -> Result<Option<usize>, Problem> {
        let position = match (self.axis, has_axis) {
            (Some(at), _) => Some(at),
            (None, true) => input.and_then(|axis| axis.first().copied()),
            (None, false) => Some(-2),
        };
        let Some(position) = position else {
            return Ok(None);
        };
        match axis(position, rank)? {
            at if at + 1 < rank => Ok(Some(at)),
            _ => Err(Problem::expected("the axis", position, "an axis before the last one")),
        }
    }

    fn options(&self, length: &Code) -> Code {
        options(length, self.inverse, self.onesided)
    }
}

fn options(length: &Code, inverse: bool, onesided: bool) -> Code {
    let plain = code!(ops::dft::Dft::new(#length));
    let inverse = inverse.then(|| code!(inverse: true,));
    let onesided = onesided.then(|| code!(onesided: true,));
    match (&inverse, &onesided) {
        (None, None) => plain,
        _ => code!(ops::dft::Dft { #inverse #onesided ..#plain }),
    }
}

/// Returns the size of the last axis: 1 for real and 2 for complex numbers.
fn parts(x: &TensorType, rank: usize) -> Result<usize, Problem> {
    if x.rank() < rank || !x.dtype.is_float() {
        return Err(Problem::expected("the input", x, format_args!("floats of rank {rank} or more")));
    }
    match x.shape.last().and_then(Dim::fixed) {
        Some(parts @ 1..=2) => Ok(parts),
        size => {
            let expected = "a last axis of size 1 for real or 2 for complex numbers";
            let problem = Problem::expected("the input", x, expected);
            Err(match size {
                Some(_) => problem,
                None => problem.help("fix the size with `dims(..)` or `inputs(..)`").about(Topic::Shape),
            })
        }
    }
}

/// Returns the number of elements of a one-sided spectrum.
fn bins(length: &Dim) -> Option<Dim> {
    length.div(&Dim::from(2))?.add(&Dim::from(1))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, named, problems};

    #[test]
    fn lengths_give_the_sizes() {
        check(
            r#"g (float[n, 9, 1] x, float[n, 5, 2] c, int64 l) => (float[a, b, c] y, float[a, b, c] h, float[a, b, c] r, float[a, b, c] z, float[a, b, c, d] s) { y = DFT (x) h = DFT <onesided = 1> (x) r = DFT <onesided = 1, inverse = 1> (c) z = DFT (x, l) f = Constant <value_int = 2> () g = Constant <value_int = 4> () s = STFT (x, f, , g) }"#,
            expect![[r#"
                g (float32[n, 9, 1] x, float32[n_2, 5, 2] c, host int64[] l) => (float32[n, 9, 2] y, float32[n, 5, 2] h, float32[n_2, 8, 1] r, float32[n, dft, 2] z, float32[n, 3, 3, 2] s)
                <
                    int64[] f = {2},
                    int64[] g = {4}
                >
                {
                    float32[n, 9, 2] y = DFT (x)
                    float32[n, 5, 2] h = DFT <onesided: true> (x)
                    float32[n_2, 8, 1] r = DFT <inverse: true, onesided: true> (c)
                    float32[n, dft, 2] z = DFT (x, l)
                    float32[n, 3, 3, 2] s = STFT <onesided: true> (x, f, , g)
                }
            "#]],
        );
    }

    #[test]
    fn axes_lengths_and_parts_fit() {
        problems(
            &[
                r#"(float[1, 9, 3] x) => (float[a, b, c] y) { y = DFT (x) }"#,
                r#"(float[1, 9, 1] x) => (float[a, b, c] y) { t = Constant <value_int = 2> () y = DFT (x, , t) }"#,
                r#"(float[1, 9, 1] x) => (float[a, b, c] y) { t = Constant <value_int = 0> () y = DFT (x, t) }"#,
                r#"(int64[1, 9, 1] x) => (int64[a, b, c] y) { y = DFT (x) }"#,
                r#"(float[1, 9, 1] x) => (float[a, b, c, d] y) { f = Constant <value_int = 0> () g = Constant <value_int = 4> () y = STFT (x, f, , g) }"#,
                r#"(float[1, 9, 1] x) => (float[a, b, c, d] y) { f = Constant <value_int = 2> () g = Constant <value_int = 10> () y = STFT (x, f, , g) }"#,
                r#"(float[1, 9, 1] x) => (float[a, b, c, d] y) { f = Constant <value_int = 2> () y = STFT (x, f) }"#,
            ],
            expect![[r#"
                the input is float32[1, 9, 3], expected a last axis of size 1 for real or 2 for complex numbers
                the axis is 2, expected an axis before the last one
                the length of the result is 0, expected a positive integer
                the input is int64[1, 9, 1], expected floats of rank 2 or more
                `frame_step` is 0, expected a positive integer
                the signal is float32[1, 9, 1], expected at least 10 samples
                fine
            "#]],
        );
    }

    #[test]
    fn a_length_that_only_the_run_tells_has_a_name() {
        named(
            &[
                r#"(float[1, 9, 1] x) => (float[a, b, c] y) { y = DFT (x) }"#,
                r#"(float[1, 9, 1] x, int64 l) => (float[a, b, c] y) { y = DFT (x, l) }"#,
            ],
            expect![[r#"
                none
                "y" , "DFT"
            "#]],
        );
    }
}
