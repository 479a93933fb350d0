//! Pad: elements added around a tensor, or removed.

mod center_crop;

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::ElementClass;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, Shape};

pub const ROWS: &[Row] = &[
    row("CenterCropPad", &[18], center_crop::read).follows().arity("rr", "r"),
    row("Pad", &[1, 2, 11, 13, 18, 19, 21, 23, 24, 25], pad)
        .follows()
        .arity("rroo", "r")
        .before(&[(11, "r", "r"), (18, "rro", "r")]),
    // ONNX Runtime also accepts `wrap`, which the schema does not name.
    row("Pad", &[1], |a| Ok(Rc::new(Pad { mode: mode(a, &MODES[..3])?, attributes: None })))
        .follows()
        .arity("rro", "r")
        .of(MICROSOFT),
];

/// Values of `mode`. Version 19 introduced the last.
const MODES: [(&str, Mode); 4] =
    [("constant", Mode::Constant), ("reflect", Mode::Reflect), ("edge", Mode::Edge), ("wrap", Mode::Wrap)];

/// Number of elements added before and after each axis. Negative pads remove elements.
#[derive(Debug)]
pub struct Pad {
    mode: Mode,
    /// Pads and constant, which are attributes before version 11.
    attributes: Option<(Vec<i64>, f32)>,
}

attributes!(struct Pad { mode, attributes });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Constant,
    Reflect,
    Edge,
    Wrap,
}

attributes!(
    enum Mode {
        Constant,
        Reflect,
        Edge,
        Wrap,
    }
);

fn pad(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let mode = mode(a, if a.version() < 19 { &MODES[..3] } else { &MODES })?;
    let attributes = match a.version() {
        ..11 => {
            let name = if a.version() < 2 { "paddings" } else { "pads" };
            Some((a.required(name, Attributes::ints)?, a.float_or("value", 0.0)?))
        }
        _ => None,
    };
    Ok(Rc::new(Pad { mode, attributes }))
}

fn mode(a: &Attributes<'_>, modes: &[(&str, Mode)]) -> Result<Mode, Problem> {
    a.choice("mode", "constant", modes)
}

impl Operator for Pad {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let axes = self.axes(cx.has(3), cx.numbers(3), x.rank())?;
        let pads = match &self.attributes {
            Some((pads, _)) => Some(pads.iter().map(|&pad| Dim::from(pad)).collect()),
            None => cx.ints(1),
        };
        if cx.has(2) {
            sizes::same_type(("`constant_value`", &cx.tensor(2)?), ("the input", &x))?;
        }
        let (Some(pads), Some(axes)) = (pads, &axes) else {
            let padded = |axis: usize| axes.as_ref().is_none_or(|axes| axes.contains(&axis));
            let sizes = x.shape.iter().enumerate();
            let sizes = sizes.map(|(axis, size)| if padded(axis) { cx.fresh("pad") } else { size.clone() });
            let shape = sizes.collect();
            cx.output(0, x.dtype, shape);
            return Ok(());
        };
        let mut shape = x.shape.clone();
        for (axis, (begin, end)) in pairs(axes, &pads)? {
            if let Some(size) = shape.get_mut(axis) {
                let padded = size.add(&begin).and_then(|size| size.add(&end));
                if padded.as_ref().and_then(Dim::number).is_some_and(|size| size < 0) {
                    return Err(Problem::new(format!(
                        "pads {begin} and {end} remove more elements than axis {axis} of size {size} has"
                    )));
                }
                *size = cx.dim_or_fresh(padded, "pad");
            }
        }
        cx.output(0, x.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let axes = self.axes(cx.has(3), cx.numbers(3), operand.rank())?;
        let known = match (&self.attributes, cx.known(1)) {
            (Some((pads, _)), _) => Some(pads.iter().map(|&pad| Dim::from(pad)).collect()),
            (None, Some(Known::Ints(pads))) => Some(pads.clone()),
            (None, _) => None,
        };
        let pads = match (known, axes) {
            (Some(pads), Some(axes)) => {
                let pairs = pairs(&axes, &pads)?;
                let none = |(_, (begin, end)): &Pair| begin.is(0) && end.is(0);
                if pairs.iter().all(none) {
                    return cx.tensor(0);
                }
                let adds = |pad: &Dim| pad.number().is_some_and(|pad| pad >= 0);
                let adds = |(_, (begin, end)): &Pair| adds(begin) && adds(end);
                if cx.output_tensor(0)?.count().is_none() && !pairs.iter().all(adds) {
                    cx.may_fail();
                }
                around(cx, operand.rank(), &pairs)
            }
            (_, axes) => {
                cx.may_fail();
                let pads = cx.host_ints(1)?;
                let axes = match axes {
                    Some(axes) => {
                        let axes = axes.into_iter().map(Literal::usize_unsuffixed);
                        code!(&[#(#axes),*])
                    }
                    None => cx.host_ints(3)?,
                };
                code!(ops::pad::along(#pads, #axes))
            }
        };
        let x = cx.tensor(0)?;
        let mode = match self.mode {
            Mode::Constant => {
                let value = match &self.attributes {
                    Some((_, value)) => Some(float_literal(f64::from(*value), operand.dtype)),
                    None if cx.has(2) => cx.scalar(2),
                    None => Some(zero(operand.dtype.kind())),
                };
                return Ok(match value {
                    Some(value) => code!(ops::pad::pad_constant(#x, #pads, #value)),
                    None => {
                        let value = cx.tensor(2)?;
                        code!(ops::pad::pad_tensor(#x, #pads, #value))
                    }
                });
            }
            Mode::Reflect => code!(Reflect),
            Mode::Edge => code!(Edge),
            Mode::Wrap => code!(Wrap),
        };
        Ok(code!(ops::pad::pad(#x, #pads, ops::pad::PadMode::#mode)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1 || input == 3
    }

    fn moves(&self) -> bool {
        true
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let (at, rank) = (rows.alone()?, rows.tensor(0)?.rank());
        let pads = match &self.attributes {
            Some((pads, _)) => pads.clone(),
            None => rows.numbers(1)?,
        };
        let axes = self.axes(rows.tensor(3).is_some(), rows.numbers(3), rank).ok()??;
        let pads: Vec<Dim> = pads.into_iter().map(Dim::from).collect();
        let is_kept = |(axis, (begin, end)): Pair| axis != at || begin.is(0) && end.is(0);
        pairs(&axes, &pads).ok()?.into_iter().all(is_kept).then(|| vec![at])
    }
}

impl Pad {
    /// Returns the number of constants, in old versions zeros, added before and after each axis, if all pads are known.
    pub fn zeros(
        &self,
        pads: Option<Vec<i64>>,
        (has_axes, axes): (bool, Option<Vec<i64>>),
        rank: usize,
    ) -> Option<Vec<(i64, i64)>> {
        let pads = match (self.mode, &self.attributes) {
            (Mode::Constant, Some((pads, 0.0))) => pads.clone(),
            (Mode::Constant, None) => pads?,
            _ => return None,
        };
        let axes = self.axes(has_axes, axes, rank).ok()??;
        let (begins, ends) = pads.split_at_checked(axes.len())?;
        let mut all = vec![(0, 0); rank];
        for (axis, (&begin, &end)) in axes.into_iter().zip(begins.iter().zip(ends)) {
            *all.get_mut(axis)? = (begin, end);
        }
        Some(all)
    }

    /// Returns the axes of the pads; `None` if they are known only at run time.
    fn axes(
        &self,
        has_axes: bool,
        numbers: Option<Vec<i64>>,
        rank: usize,
    ) -> Result<Option<Vec<usize>>, Problem> {
        match (has_axes, numbers) {
            (false, _) => Ok(Some((0..rank).collect())),
            (true, None) => Ok(None),
            (true, Some(axes)) => {
                let axes = axes.iter().map(|&at| axis(at, rank));
                axes.collect::<Result<_, _>>().map(Some)
            }
        }
    }
}

type Pair = (usize, (Dim, Dim));

/// Returns the begin and end of each axis. The ends follow all begins.
fn pairs(axes: &[usize], pads: &[Dim]) -> Result<Vec<Pair>, Problem> {
    if pads.len() != axes.len().saturating_mul(2) {
        let expected = format_args!("{}, two for each axis", axes.len().saturating_mul(2));
        return Err(Problem::expected("the number of pads", pads.len(), expected));
    }
    let (begins, ends) = pads.split_at(axes.len());
    let pairs = axes.iter().zip(begins.iter().cloned().zip(ends.iter().cloned()));
    Ok(pairs.map(|(&axis, pair)| (axis, pair)).collect())
}

/// Generates `[(0, 0), (1, 2)]`.
fn around(cx: &mut Emit<'_, '_>, rank: usize, pairs: &[Pair]) -> Code {
    let mut all: Shape = vec![Dim::default(); rank * 2];
    for (axis, (begin, end)) in pairs {
        if let Some([first, second]) = all.get_mut(axis * 2..axis * 2 + 2) {
            (*first, *second) = (begin.clone(), end.clone());
        }
    }
    let pads = all.chunks(2).map(|pair| {
        let pair: Vec<Code> = pair.iter().map(|pad| cx.int(pad)).collect();
        code!((#(#pair),*))
    });
    let pads: Vec<Code> = pads.collect();
    code!([#(#pads),*])
}

pub fn zero(kind: ElementClass) -> Code {
    match kind {
        ElementClass::Bool => code!(false),
        ElementClass::Int | ElementClass::String => code!(0),
        _ => code!(0.0),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn pads_add_to_sizes() {
        check(
            "g (float[n, 3] x) => (float[a, b] y, float[c, d] z)
            <int64[4] pads = {1, 0, 1, -1}, int64[1] axes = {-1}, int64[2] more = {0, 2}> {
                y = Pad(x, pads)
                z = Pad(x, more, , axes)
            }",
            expect![[r#"
                g (float32[n, 3] x) => (float32[n + 2, 2] y, float32[n, 5] z)
                <
                    int64[4] pads = {1, 0, 1, -1},
                    int64[1] axes = {-1},
                    int64[2] more = {0, 2}
                >
                {
                    float32[n + 2, 2] y = Pad <mode: Constant> (x, pads)
                    float32[n, 5] z = Pad <mode: Constant> (x, more, , axes)
                }
            "#]],
        );
    }

    #[test]
    fn pads_are_two_for_each_axis() {
        check(
            "g (float[n, 3] x) => (float[a, b] y) <int64[2] pads = {1, 0}> { y = Pad(x, pads) }",
            expect![[r#"
                cannot compile `model`

                  the number of pads is 2, expected 4, two for each axis
                    at node `y` (Pad version 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn pads_of_microsoft_may_be_a_row() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            g (float[n, 3] x) => (float[a, b] y) <int64[1, 4] pads = {1, 0, 1, -1}, float v = {2}> {
                y = com.microsoft.Pad(x, pads, v)
            }"#,
            expect![[r#"
                g (float32[n, 3] x) => (float32[n + 2, 2] y)
                <
                    int64[1, 4] pads = {1, 0, 1, -1},
                    float32[] v = {2}
                >
                {
                    float32[n + 2, 2] y = com.microsoft.Pad <mode: Constant> (x, pads, v)
                }
            "#]],
        );
        problems(
            &[
                r#"(float[n, 3] x, int64[4] p) => (float[a, b] y) { y = com.microsoft.Pad <mode = "wrap"> (x, p) }"#,
                r#"(float[n, 3] x, int64[4] p) => (float[a, b] y) { y = com.microsoft.Pad <mode = "edge"> (x, p) }"#,
            ],
            expect![[r#"
                `mode` is `wrap`, expected `constant`, `reflect` or `edge`
                fine
            "#]],
        );
    }

    #[test]
    fn wrap_is_of_version_19() {
        check(
            r#"<ir_version: 9, opset_import: ["": 18]>
            g (float[n, 3] x, int64[4] pads) => (float[a, b] y) {
                y = Pad<mode: string = "wrap">(x, pads)
            }"#,
            expect![[r#"
                cannot compile `model`

                  `mode` is `wrap`, expected `constant`, `reflect` or `edge`
                    at node `y` (Pad opset 18)

                  model: IR version 9, ai.onnx 18"#]],
        );
    }
}
