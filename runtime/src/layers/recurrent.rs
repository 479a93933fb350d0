//! Recurrent layers with their weights.

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor};
use onnx_embed_kernels::recurrent::{self, Packed, State};

use crate::weights::Weights;

/// Weights of a recurrent layer in the layout of ONNX. Their first axis is the direction.
#[derive(Module, Debug)]
pub struct Recurrence {
    pub input: Param<Tensor<3>>,
    pub recurrent: Param<Tensor<3>>,
    pub bias: Option<Param<Tensor<2>>>,
    pub peepholes: Option<Param<Tensor<2>>>,
    #[module(skip)]
    packed: [Packed; 2],
}

impl Recurrence {
    /// Loads the weights `input` and `recurrent`, and the others if any.
    fn load(
        weights: &Weights<'_>,
        [input, recurrent]: [&str; 2],
        bias: Option<&str>,
        peepholes: Option<&str>,
    ) -> Self {
        Self::new(
            weights.tensor(input),
            weights.tensor(recurrent),
            bias.map(|name| weights.tensor(name)),
            peepholes.map(|name| weights.tensor(name)),
        )
    }

    fn new(
        input: Tensor<3>,
        recurrent: Tensor<3>,
        bias: Option<Tensor<2>>,
        peepholes: Option<Tensor<2>>,
    ) -> Self {
        Self {
            input: Param::from_tensor(input),
            recurrent: Param::from_tensor(recurrent),
            bias: bias.map(Param::from_tensor),
            peepholes: peepholes.map(Param::from_tensor),
            packed: Default::default(),
        }
    }

    fn weights(&self) -> recurrent::Weights {
        recurrent::Weights {
            input: self.input.val(),
            recurrent: self.recurrent.val(),
            bias: self.bias.as_ref().map(Param::val),
            peepholes: self.peepholes.as_ref().map(Param::val),
            packed: Some(self.packed.clone()),
        }
    }
}

/// A long short-term memory (LSTM).
#[derive(Module, Debug)]
pub struct Lstm {
    pub recurrence: Recurrence,
    #[module(skip)]
    options: recurrent::Lstm,
}

impl Lstm {
    pub fn load(
        weights: &Weights<'_>,
        names: [&str; 2],
        bias: Option<&str>,
        peepholes: Option<&str>,
        options: recurrent::Lstm,
    ) -> Self {
        let recurrence = Recurrence::load(weights, names, bias, peepholes);
        Self { recurrence, options }
    }

    pub fn new(
        input: Tensor<3>,
        recurrent: Tensor<3>,
        bias: Option<Tensor<2>>,
        peepholes: Option<Tensor<2>>,
        options: recurrent::Lstm,
    ) -> Self {
        let recurrence = Recurrence::new(input, recurrent, bias, peepholes);
        Self { recurrence, options }
    }

    pub fn forward(
        &self,
        x: Tensor<3>,
        lengths: Option<Tensor<1, Int>>,
        hidden: Option<Tensor<3>>,
        cell: Option<Tensor<3>>,
    ) -> (Tensor<4>, Tensor<3>, Tensor<3>) {
        let state = State { lengths, hidden, cell };
        recurrent::lstm(x, self.recurrence.weights(), state, &self.options)
    }
}

/// An LSTM with 8-bit integer weights.
#[derive(Module, Debug)]
pub struct QuantizedLstm {
    input: QuantizedMatrices,
    recurrent: QuantizedMatrices,
    bias: Option<Tensor<2>>,
    peepholes: Option<Tensor<2>>,
    #[module(skip)]
    packed: [Packed; 2],
    #[module(skip)]
    options: recurrent::Lstm,
}

/// Integer weights of all directions with their scales and zero points.
#[derive(Module, Debug)]
struct QuantizedMatrices {
    weight: Tensor<3, Int>,
    scale: Tensor<2>,
    zero: Tensor<2, Int>,
}

impl QuantizedMatrices {
    fn new(matrices: recurrent::Quantized) -> Self {
        Self { weight: matrices.weight, scale: matrices.scale, zero: matrices.zero }
    }

    fn quantized(&self) -> recurrent::Quantized {
        recurrent::Quantized {
            weight: self.weight.clone(),
            scale: self.scale.clone(),
            zero: self.zero.clone(),
        }
    }
}

impl QuantizedLstm {
    pub fn new(
        input: recurrent::Quantized,
        recurrent: recurrent::Quantized,
        bias: Option<Tensor<2>>,
        peepholes: Option<Tensor<2>>,
        options: recurrent::Lstm,
    ) -> Self {
        Self {
            input: QuantizedMatrices::new(input),
            recurrent: QuantizedMatrices::new(recurrent),
            bias,
            peepholes,
            packed: Default::default(),
            options,
        }
    }

    pub fn forward(
        &self,
        x: Tensor<3>,
        lengths: Option<Tensor<1, Int>>,
        hidden: Option<Tensor<3>>,
        cell: Option<Tensor<3>>,
    ) -> (Tensor<4>, Tensor<3>, Tensor<3>) {
        let state = State { lengths, hidden, cell };
        let weights = recurrent::Weights {
            input: self.input.quantized(),
            recurrent: self.recurrent.quantized(),
            bias: self.bias.clone(),
            peepholes: self.peepholes.clone(),
            packed: Some(self.packed.clone()),
        };
        recurrent::lstm(x, weights, state, &self.options)
    }
}

macro_rules! layers {
    ($($(#[$doc:meta])* $name:ident $function:ident),*) => {$(
        $(#[$doc])*
        #[derive(Module, Debug)]
        pub struct $name {
            pub recurrence: Recurrence,
            #[module(skip)]
            options: recurrent::$name,
        }

        impl $name {
            pub fn load(
                weights: &Weights<'_>,
                names: [&str; 2],
                bias: Option<&str>,
                options: recurrent::$name,
            ) -> Self {
                let recurrence = Recurrence::load(weights, names, bias, None);
                Self { recurrence, options }
            }

            pub fn new(
                input: Tensor<3>,
                recurrent: Tensor<3>,
                bias: Option<Tensor<2>>,
                options: recurrent::$name,
            ) -> Self {
                let recurrence = Recurrence::new(input, recurrent, bias, None);
                Self { recurrence, options }
            }

            pub fn forward(
                &self,
                x: Tensor<3>,
                lengths: Option<Tensor<1, Int>>,
                hidden: Option<Tensor<3>>,
            ) -> (Tensor<4>, Tensor<3>) {
                let state = State { lengths, hidden, cell: None };
                recurrent::$function(x, self.recurrence.weights(), state, &self.options)
            }
        }
    )*};
}

layers!(
    /// A gated recurrent unit.
    Gru gru,
    /// A recurrent layer of one gate.
    Rnn rnn
);
