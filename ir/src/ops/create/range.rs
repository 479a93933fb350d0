//! Range: equally spaced numbers.

use std::rc::Rc;

use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::elementwise::unary::rounded;
use crate::ops::{MICROSOFT, Operator, Row, broadcast, row};
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};

pub const ROWS: &[Row] = &[
    row("Range", &[11, 27], range).arity("rrr", "r"),
    row("Range", &[1], range).arity("rro", "r").of(MICROSOFT),
];

/// Numbers from a start to a limit, which is excluded. The step is 1 if it is left out.
#[derive(Debug)]
struct Range;

attributes!(struct Range);

/// `stash_type` is ignored: half floats are always computed in a wider type.
fn range(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() >= 27 {
        a.ignore(&["stash_type"]);
    }
    Ok(Rc::new(Range))
}

impl Operator for Range {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (start, limit) = (cx.tensor(0)?, cx.tensor(1)?);
        let dtype = start.dtype;
        let delta = if cx.has(2) { cx.tensor(2)? } else { TensorType::new(dtype, Vec::new()) };
        let number = |tensor: &TensorType| tensor.dtype == dtype && tensor.count() == Some(1);
        if ![&start, &limit, &delta].into_iter().all(number) {
            return Err(Problem::new(format!(
                "the inputs are {start}, {limit} and {delta}, expected three numbers of the same type"
            )));
        }
        if !dtype.is_float() && !dtype.is_int() {
            return Err(Problem::new(format!("the inputs have type {dtype}, expected floats or integers")));
        }
        let ints = |at: usize| cx.ints(at).and_then(|ints| ints.first().cloned());
        let float = |at: usize| match cx.known(at) {
            Some(Known::Floats(values)) => values.first().copied(),
            _ => None,
        };
        let (whole, real) = match cx.has(2) {
            true => (ints(2).and_then(|delta| delta.number()), float(2)),
            false => (Some(1), Some(1.0)),
        };
        if whole == Some(0) || real == Some(0.0) {
            return Err(Problem::expected("`delta`", 0, "a nonzero number"));
        }
        let (size, known) = match (ints(0), ints(1), whole) {
            (Some(start), Some(limit), Some(delta)) => integers(&start, &limit, delta),
            _ => match (float(0), float(1), real) {
                (Some(start), Some(limit), Some(delta)) => floats(start, limit, delta, dtype)?,
                _ => (None, None),
            },
        };
        let size = cx.dim_or_fresh(size, "range");
        cx.output(0, dtype, vec![size]);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let has_delta = cx.has(2);
        if has_delta && !cx.is_known(2) || cx.output_tensor(0)?.count().is_none() {
            cx.may_fail();
        }
        let dtype = cx.output_tensor(0)?.dtype;
        let one = if dtype.is_int() { code!(1) } else { code!(1.0) };
        if cx.on_host() {
            let (start, limit) = (cx.host(0)?, cx.host(1)?);
            let delta = if has_delta { cx.host(2)? } else { code!(&Array::scalar(#one)) };
            return Ok(code!(host::range(#start, #limit, #delta)));
        }
        let (device, carrier) = (cx.device(), format_ident!("{}", dtype.carrier()));
        if dtype.is_int() {
            let (start, limit) = (cx.host_int(0)?, cx.host_int(1)?);
            let delta = if has_delta { cx.host_int(2)? } else { one };
            return Ok(code! {
                ops::select::range_int(#start, #limit, #delta, DType::#carrier, #device)
            });
        }
        let (start, limit) = (cx.host_float(0)?, cx.host_float(1)?);
        let delta = if has_delta { cx.host_float(2)? } else { one };
        Ok(code! {
            ops::select::range_float(#start, #limit, #delta, DType::#carrier, #device)
        })
    }

    fn wants_host(&self, _: usize) -> bool {
        true
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

type Ranged = (Option<Dim>, Option<Known>);

/// Returns the size of a range of integers and, if it is a number, the elements.
fn integers(start: &Dim, limit: &Dim, delta: i64) -> Ranged {
    let size = || {
        let (low, high) = if delta > 0 { (start, limit) } else { (limit, start) };
        let step = Dim::from(delta.checked_abs()?);
        let length = high.sub(low)?.larger(&0.into())?;
        length.add(&step)?.sub(&1.into())?.div(&step)
    };
    let size = size();
    let count = size.as_ref().and_then(Dim::number);
    let largest = i64::try_from(broadcast::MAX_KNOWN_ELEMENTS).unwrap_or(i64::MAX);
    let known = count.filter(|&count| count <= largest).and_then(|count| {
        let element = |at: i64| start.add(&Dim::from(at.checked_mul(delta)?));
        (0..count).map(element).collect::<Option<_>>()
    });
    (size, known.map(Known::Ints))
}

fn floats(start: f64, limit: f64, delta: f64, dtype: DType) -> Result<Ranged, Problem> {
    if !start.is_finite() || !limit.is_finite() || delta.is_nan() {
        return Err(Problem::new(format!(
            "the inputs are {start}, {limit} and {delta}, expected finite numbers"
        )));
    }
    let count = ((limit - start) / delta).ceil().max(0.0);
    if count > (1u64 << 31) as f64 {
        return Err(Problem::new("the range has too many elements, expected at most 2^31"));
    }
    let count = count as i64;
    let largest = i64::try_from(broadcast::MAX_KNOWN_ELEMENTS).unwrap_or(i64::MAX);
    let element = |at: i64| rounded(start + at as f64 * delta, dtype);
    let known = (count <= largest).then(|| Known::Floats((0..count).map(element).collect()));
    Ok((Some(count.into()), known))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn ranges_of_sizes_have_a_size() {
        check(
            "g (float[n, m] x) => (int64[k] y, int64[l] z, float[f] w)
            <int64 zero = {0}, int64 two = {2}, float a = {0.0}, float b = {1.0}, float c = {0.3}> {
                s = Shape(x)
                n = Gather(s, zero)
                y = Range(zero, n, two)
                z = Range(n, zero, two)
                w = Range(a, b, c)
            }",
            expect![[r#"
                g (float32[n, m] x) => (int64[floor((n + 1) / (2))] y, int64[0] z, float32[4] w)
                <
                    int64[] zero = {0},
                    int64[] two = {2},
                    int64[] n = {n},
                    int64[0] z = {},
                    float32[4] w = {0, 0.3, 0.6, 0.90000004}
                >
                {
                    int64[floor((n + 1) / (2))] y = Range (zero, n, two)
                }
            "#]],
        );
    }

    #[test]
    fn the_step_of_microsoft_is_1_if_it_is_left_out() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            g (float[n, m] x, int32[1] l) => (int64[k] y, int32[i] z)
            <int64 zero = {0}, int64 one = {1}, int32 s = {0}> {
                t = Shape(x)
                n = Gather(t, one)
                y = com.microsoft.Range(zero, n)
                z = com.microsoft.Range(s, l)
            }"#,
            expect![[r#"
                g (float32[n, m] x, host int32[1] l) => (int64[m] y, int32[range] z)
                <
                    int64[] zero = {0},
                    int32[] s = {0},
                    int64[] n = {m}
                >
                {
                    int64[m] y = com.microsoft.Range (zero, n)
                    int32[range] z = com.microsoft.Range (s, l)
                }
            "#]],
        );
    }

    #[test]
    fn a_step_is_not_zero() {
        check(
            "g (int64 n) => (int64[k] y) <int64 zero = {0}> { y = Range(n, n, zero) }",
            expect![[r#"
                cannot compile `model`

                  `delta` is 0, expected a nonzero number
                    at node `y` (Range version 11)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
