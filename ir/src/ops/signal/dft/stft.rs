//! STFT: Fourier transforms of the frames of a signal.

use std::rc::Rc;

use proc_macro2::Literal;

use super::{bins, options, parts};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, counted};
use crate::dim::Dim;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::rust::{Code, code};
use crate::types::TensorType;

#[derive(Debug)]
struct Stft {
    onesided: bool,
}

attributes!(struct Stft { onesided });

pub(super) fn stft(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Stft { onesided: a.flag("onesided", true)? }))
}

impl Operator for Stft {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        signal(&x)?;
        let size = x.shape.get(1).cloned().unwrap_or_default();
        let frame = self.frame(cx)?;
        let step = cx.ints(1).and_then(|dims| dims.into_iter().next());
        if let Some(step) = step.as_ref().and_then(Dim::number).filter(|&step| step < 1) {
            return Err(Problem::expected("`frame_step`", step, "a positive integer"));
        }
        let outputs = match (&frame, self.onesided) {
            (Some(frame), true) => bins(frame),
            (frame, _) => frame.clone(),
        };
        let rest = frame.as_ref().and_then(|frame| size.sub(frame));
        let count = rest.zip(step).and_then(|(rest, step)| rest.div(&step)?.add(&Dim::from(1)));
        if let (Some(..1), Some(frame)) = (count.as_ref().and_then(Dim::number), &frame) {
            let expected = format!("at least {}", counted(frame, "samples"));
            return Err(Problem::expected("the signal", x, expected));
        }
        let count = cx.dim_or_fresh(count, "frames");
        let outputs = cx.dim_or_fresh(outputs, "bins");
        let batch = x.shape.first().cloned().unwrap_or_default();
        cx.output(0, x.dtype, vec![batch, count, outputs, Dim::from(2)]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let (mut x, step) = (cx.tensor(0)?, cx.host_int(1)?);
        if operand.rank() == 2 {
            x = code!(#x.unsqueeze_dim::<3>(2));
        }
        let step = if cx.numbers(1).is_some() { step } else { code!(ops::sizes::positive(#step)) };
        let given = |at: usize| !cx.has(at) || cx.numbers(at).is_some();
        let size = operand.shape.get(1).and_then(Dim::number);
        if size.is_none() || !given(1) || !given(3) {
            cx.may_fail();
        }
        let length = match (cx.has(3), cx.has(2)) {
            (true, _) => cx.numbers(3).and_then(|length| length.first().copied()),
            (false, true) => cx.tensor_type(2)?.shape.first().and_then(Dim::number),
            (false, false) => operand.shape.get(1).and_then(Dim::number),
        };
        let window = if !cx.has(2) {
            Some(code!(None))
        } else if cx.is_training() {
            // The layer would not train a window.
            None
        } else {
            cx.weight(2).map(|name| code!(Some(#name)))
        };
        if let (Some(length), Some(window)) = (length, window) {
            let length = Literal::i64_unsuffixed(length);
            let options = options(&code!(#length), false, self.onesided);
            let load = code!(layers::Stft::load(weights, #window, #options));
            let layer = cx.layer("stft", code!(layers::Stft), load);
            return Ok(code!(#layer.forward(#x, #step)));
        }
        let frame = match (cx.has(3), cx.has(2)) {
            (true, _) => {
                let frame = cx.host_int(3)?;
                if cx.numbers(3).is_some() { frame } else { code!(ops::sizes::positive(#frame)) }
            }
            (false, true) => {
                let size = cx.tensor_type(2)?.shape.first().cloned().unwrap_or_default();
                cx.size(&size)
            }
            (false, false) => cx.size(&operand.shape.get(1).cloned().unwrap_or_default()),
        };
        let (window, onesided) = (cx.optional(2)?, self.onesided);
        Ok(code!(ops::dft::stft(#x, #step, #window, #frame, #onesided)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1 || input == 3
    }
}

impl Stft {
    /// Returns the length of a frame.
    fn frame(&self, cx: &Infer<'_>) -> Result<Option<Dim>, Problem> {
        let window = if cx.has(2) { cx.tensor_of_rank(2, 1)?.shape.first().cloned() } else { None };
        let frame = cx.ints(3).and_then(|dims| dims.into_iter().next());
        if let (Some(window), Some(frame)) = (&window, &frame)
            && window.number().is_some()
            && frame.number().is_some()
            && window != frame
        {
            return Err(Problem::expected(
                "`frame_length`",
                frame,
                format_args!("{window}, the length of the window"),
            ));
        }
        Ok(match (cx.has(3), window) {
            (true, window) => frame.or(window),
            (false, Some(window)) => Some(window),
            (false, None) => cx.tensor(0)?.shape.get(1).cloned(),
        })
    }
}

/// Returns 1 for a real and 2 for a complex signal. Exporters omit the last axis of real signals.
fn signal(x: &TensorType) -> Result<usize, Problem> {
    match x.rank() {
        2 if x.dtype.is_float() => Ok(1),
        3 => parts(x, 3),
        _ => Err(Problem::expected("the signal", x, "floats of rank 2 or 3")),
    }
}
