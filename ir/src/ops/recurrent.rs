//! RNN, GRU and LSTM.

mod activation;
mod cell;
mod check;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::{MICROSOFT, Operator, Row, row, sizes};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};
use activation::Activation;
use cell::Cell;

pub const FAMILIES: &[&[Row]] = &[ROWS];

pub const ROWS: &[Row] = &[
    row("RNN", &[1, 7, 14, 22], |a| read(a, Cell::Rnn, false)).newer(&[("layout", 14)]).arity("rrrooo", "oo"),
    row("GRU", &[1, 3, 7, 14, 22], |a| read(a, Cell::Gru, false))
        .newer(&[("linear_before_reset", 3), ("layout", 14)])
        .arity("rrrooo", "oo")
        .before(&[(3, "rrrooo", "or")]),
    row("LSTM", &[1, 7, 14, 22], |a| read(a, Cell::Lstm, false))
        .newer(&[("layout", 14)])
        .arity("rrrooooo", "ooo"),
    row("DynamicQuantizeLSTM", &[1], |a| read(a, Cell::Lstm, true))
        .arity("rrrooooorrrr", "ooo")
        .of(MICROSOFT),
];

/// A recurrent layer: a cell that is applied to each time step.
#[derive(Debug)]
struct Recurrent {
    cell: Cell,
    /// A variant of the kernels' `Direction`.
    direction: &'static str,
    /// Number of hidden units, if the file specifies it.
    hidden: Option<i64>,
    /// One function for each function of the cell and direction; `None` for the cell's defaults.
    activations: Option<Vec<Activation>>,
    clip: Option<f32>,
    /// GRU's `linear_before_reset`, LSTM's `input_forget`.
    variant: bool,
    batch_first: bool,
    /// Whether the weights are integers in the layout of operand B, with scales and zero points in inputs 8 to 11.
    quantized: bool,
    /// Whether the weights are integers and the node does not name the output of all time steps.
    last_alone: bool,
}

attributes!(struct Recurrent {
    cell, direction, hidden, activations, clip, variant, batch_first, quantized, last_alone
});

fn read(a: &Attributes<'_>, cell: Cell, quantized: bool) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 7 && !quantized {
        a.ignore(&["output_sequence"]);
    }
    // The schema of GRU version 1 misspells the default.
    let directions = [
        ("forward", "Forward"),
        ("reverse", "Reverse"),
        ("bidirectional", "Bidirectional"),
        ("foward", "Forward"),
    ];
    let direction = a.choice("direction", "forward", &directions)?;
    let clip = a.float("clip")?;
    if let Some(clip) = clip.filter(|clip| clip.is_nan() || *clip <= 0.0) {
        return Err(Problem::expected("`clip`", clip, "a positive number"));
    }
    let variant = match cell {
        Cell::Rnn => false,
        Cell::Gru => a.flag("linear_before_reset", false)?,
        Cell::Lstm => a.flag("input_forget", false)?,
    };
    let mut recurrent = Recurrent {
        cell,
        direction,
        hidden: a.int("hidden_size")?,
        activations: None,
        clip,
        variant,
        batch_first: !quantized && a.flag("layout", false)?,
        quantized,
        last_alone: quantized && !a.has_first_output(),
    };
    recurrent.activations = activation::read(a, recurrent.directions() * cell.functions().len())?;
    Ok(Rc::new(recurrent))
}

impl Operator for Recurrent {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor_of_rank(0, 3)?;
        let recurrent = cx.tensor_of_rank(2, 3)?;
        let directions = Dim::from(i64::try_from(self.directions()).unwrap_or(1));
        self.check_types(cx, &x)?;
        let at = |tensor: &TensorType, axis: usize| tensor.shape.get(axis).cloned().unwrap_or_default();
        let hidden = at(&recurrent, if self.quantized { 1 } else { 2 });
        if let Some(attribute) =
            self.hidden.map(Dim::from).filter(|attribute| sizes::differ(attribute, &hidden))
        {
            let expected = format_args!("{hidden} as in the recurrent weight");
            return Err(Problem::expected("`hidden_size`", attribute, expected));
        }
        self.check_sizes(cx, &directions, &hidden)?;
        let (first, second) = (at(&x, 0), at(&x, 1));
        let (whole, last) = if self.batch_first {
            (vec![first.clone(), second, directions.clone(), hidden.clone()], vec![first, directions, hidden])
        } else {
            (
                vec![first, directions.clone(), second.clone(), hidden.clone()],
                vec![directions, second, hidden],
            )
        };
        cx.output(0, x.dtype, whole);
        cx.output(1, x.dtype, last.clone());
        cx.output(2, x.dtype, last);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if self.may_contradict(cx)? {
            cx.may_fail();
        }
        let x = cx.tensor(0)?;
        let lengths = self.lengths(cx)?;
        let hidden = cx.optional(5)?;
        let cell = match self.cell {
            Cell::Lstm => cx.optional(6)?,
            _ => code!(None),
        };
        let options = self.options();
        let call = match self.layer(cx, &options)? {
            Some(layer) => match self.cell {
                Cell::Lstm => code!(#layer.forward(#x, #lengths, #hidden, #cell)),
                _ => code!(#layer.forward(#x, #lengths, #hidden)),
            },
            None => {
                let (input, recurrent) =
                    (self.matrices(cx, 1, 8, Emit::tensor)?, self.matrices(cx, 2, 10, Emit::tensor)?);
                let bias = cx.optional(3)?;
                let peepholes = match self.cell {
                    Cell::Lstm => cx.optional(7)?,
                    _ => code!(None),
                };
                let function = format_ident!("{}", self.cell.name().to_lowercase());
                code! {
                    ops::recurrent::#function(
                        #x,
                        ops::recurrent::Weights {
                            input: #input,
                            recurrent: #recurrent,
                            bias: #bias,
                            peepholes: #peepholes,
                            packed: None,
                        },
                        ops::recurrent::State { lengths: #lengths, hidden: #hidden, cell: #cell },
                        &#options,
                    )
                }
            }
        };
        Ok(match (cx.outputs(), self.cell) {
            (1, _) => code!(#call.0),
            (2, Cell::Lstm) => code!({
                let (y, hidden, _) = #call;
                (y, hidden)
            }),
            _ => call,
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        // Quantization rounds states to the range of all rows.
        if self.quantized {
            return None;
        }
        let batch = usize::from(!self.batch_first);
        let is_operand = |input: usize| match input {
            0 => rows.axis(0) == Some(batch),
            4 => rows.tensor(4).is_none() || rows.axis(4) == Some(0),
            5 | 6 => rows.tensor(input).is_none() || rows.axis(input) == Some(batch),
            _ => rows.is_whole(input),
        };
        let of_all = if self.batch_first { 0 } else { 2 };
        (0..rows.inputs()).all(is_operand).then(|| vec![of_all, batch, batch])
    }
}

impl Recurrent {
    /// Returns `true` if a run may contain lengths and states of another batch size, or lengths that exceed the number
    /// of time steps.
    fn may_contradict(&self, cx: &Emit<'_, '_>) -> Result<bool, Problem> {
        let x = &cx.tensor_type(0)?.shape;
        let (times, batch) = if self.batch_first { (1, 0) } else { (0, 1) };
        let (times, size) = (x.get(times), x.get(batch));
        for (input, axis) in [(4, 0), (5, batch), (6, batch)] {
            if cx.has(input) && cx.tensor_type(input)?.shape.get(axis) != size {
                return Ok(true);
            }
        }
        let tells_lengths = cx.has(4) && cx.known(4).is_none();
        Ok(tells_lengths || times.and_then(Dim::number).is_none())
    }

    fn directions(&self) -> usize {
        match self.direction {
            "Bidirectional" => 2,
            _ => 1,
        }
    }

    /// Returns the weights of all directions, which `tensor` reads. Their scale and zero point are inputs `factors` and
    /// the next one.
    fn matrices<'a, 'b>(
        &self,
        cx: &mut Emit<'a, 'b>,
        input: usize,
        factors: usize,
        tensor: fn(&mut Emit<'a, 'b>, usize) -> Result<Code, Problem>,
    ) -> Result<Code, Problem> {
        let weight = tensor(cx, input)?;
        if !self.quantized {
            return Ok(weight);
        }
        let directions = Literal::usize_unsuffixed(self.directions());
        let mut factor = |at: usize| {
            let factor = tensor(cx, at)?;
            Ok(match cx.tensor_type(at)?.rank() {
                1 => code!(#factor.reshape([#directions, 1])),
                _ => factor,
            })
        };
        let (scale, zero) = (factor(factors)?, factor(factors + 1)?);
        Ok(code!(ops::recurrent::Quantized { weight: #weight, scale: #scale, zero: #zero }))
    }

    /// Returns the length of each sequence of the batch; `None` in the generated code if all have the length of the
    /// input.
    fn lengths(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let time = if self.batch_first { 1 } else { 0 };
        let steps = cx.tensor_type(0)?.shape.get(time).cloned();
        match (cx.known(4), steps) {
            (Some(Known::Ints(lengths)), Some(steps)) if lengths.iter().all(|length| *length == steps) => {
                Ok(code!(None))
            }
            _ => cx.optional(4),
        }
    }

    /// Returns the field that contains the weights, if all of them are constants.
    fn layer(&self, cx: &mut Emit<'_, '_>, options: &Code) -> Result<Option<Code>, Problem> {
        let optional: &[usize] = match self.cell {
            Cell::Lstm => &[3, 7],
            _ => &[3],
        };
        let is_stored = |cx: &Emit<'_, '_>, input: &usize| !cx.has(*input) || cx.is_stored(*input);
        let factors: &[usize] = if self.quantized { &[8, 9, 10, 11] } else { &[] };
        let mut inputs = [1, 2].iter().chain(optional).chain(factors);
        if !inputs.all(|input| is_stored(cx, input)) {
            return Ok(None);
        }
        let hint = cx.layer_hint(1);
        let mut tensors = Vec::new();
        if self.quantized {
            let input = self.matrices(cx, 1, 8, Emit::loaded)?;
            let recurrent = self.matrices(cx, 2, 10, Emit::loaded)?;
            for input in optional {
                tensors.push(cx.loaded_optional(*input)?);
            }
            let ty = code!(layers::QuantizedLstm);
            let load = code!(#ty::new(#input, #recurrent, #(#tensors,)* #options));
            return Ok(Some(cx.layer(&hint, ty, load)));
        }
        let name = format_ident!("{}", self.cell.name());
        let names = optional.iter().map(|input| {
            if cx.has(*input) { cx.weight(*input).map(|name| code!(Some(#name))) } else { Some(code!(None)) }
        });
        let names: Option<Vec<Code>> = names.collect();
        let named = [
            ("recurrence.input", 1),
            ("recurrence.recurrent", 2),
            ("recurrence.bias", 3),
            ("recurrence.peepholes", 7),
        ];
        let (load, parameters) = match (cx.weight(1), cx.weight(2), names) {
            (Some(input), Some(recurrent), Some(names)) => {
                (code!(layers::#name::load(weights, [#input, #recurrent], #(#names,)* #options)), &named[..])
            }
            _ => {
                let (input, recurrent) = (cx.loaded(1)?, cx.loaded(2)?);
                for input in optional {
                    tensors.push(cx.loaded_optional(*input)?);
                }
                let load = code!(layers::#name::new(#input, #recurrent, #(#tensors,)* #options));
                (load, &[][..])
            }
        };
        Ok(Some(cx.layer_of(&hint, code!(layers::#name), load, parameters)))
    }

    fn options(&self) -> Code {
        let (name, direction) = (format_ident!("{}", self.cell.name()), format_ident!("{}", self.direction));
        let plain = code!(ops::recurrent::#name::new(ops::recurrent::Direction::#direction));
        let mut fields = Vec::new();
        if let Some(functions) =
            self.activations.as_ref().filter(|activations| !self.are_default(activations))
        {
            let count = self.cell.functions().len();
            let directions: Vec<&[Activation]> = functions.chunks(count).collect();
            // A layer with one direction ignores the second.
            let directions = [directions.first(), directions.last()];
            let direction = |functions: &&[Activation]| {
                let functions: Vec<Code> = functions.iter().map(Activation::emit).collect();
                match self.cell {
                    Cell::Rnn => code!(#(#functions),*),
                    _ => code!([#(#functions),*]),
                }
            };
            let directions = directions.iter().flatten().map(|functions| direction(functions));
            fields.push(code!(activations: [#(#directions),*]));
        }
        if let Some(clip) = self.clip {
            let clip = float_literal(f64::from(clip), DType::F32);
            fields.push(code!(clip: Some(#clip)));
        }
        match (self.cell, self.variant) {
            (Cell::Gru, true) => fields.push(code!(linear_before_reset: true)),
            (Cell::Lstm, true) => fields.push(code!(input_forget: true)),
            _ => {}
        }
        if self.batch_first {
            fields.push(code!(batch_first: true));
        }
        if self.last_alone {
            fields.push(code!(last_alone: true));
        }
        if fields.is_empty() { plain } else { code!(ops::recurrent::#name { #(#fields,)* ..#plain }) }
    }

    fn are_default(&self, functions: &[Activation]) -> bool {
        let names = self.cell.functions().iter().cycle();
        functions.iter().zip(names).all(|(function, name)| function.name == *name)
    }
}
