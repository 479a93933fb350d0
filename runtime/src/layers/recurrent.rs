//! Recurrent layers with their weights.

use burn::module::{Module, Param};
use burn::tensor::{Int, Tensor};
use onnx_embed_kernels::recurrent::{self, State};

use crate::weights::Weights;

/// What all recurrent layers hold, as ONNX lays it out; the first axis is the direction.
#[derive(Module, Debug)]
pub struct Recurrence {
    pub input: Param<Tensor<3>>,
    pub recurrent: Param<Tensor<3>>,
    pub bias: Option<Param<Tensor<2>>>,
    pub peepholes: Option<Param<Tensor<2>>>,
}

impl Recurrence {
    /// With the weights called input and recurrent.
    fn load(
        weights: &Weights<'_>,
        [input, recurrent]: [&str; 2],
        bias: Option<&str>,
        peepholes: Option<&str>,
    ) -> Self {
        Self {
            input: weights.float(input),
            recurrent: weights.float(recurrent),
            bias: bias.map(|name| weights.float(name)),
            peepholes: peepholes.map(|name| weights.float(name)),
        }
    }

    fn weights(&self) -> recurrent::Weights {
        recurrent::Weights {
            input: self.input.val(),
            recurrent: self.recurrent.val(),
            bias: self.bias.as_ref().map(Param::val),
            peepholes: self.peepholes.as_ref().map(Param::val),
        }
    }
}

/// A long short-term memory.
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
        Self {
            recurrence,
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
        let state = State {
            lengths,
            hidden,
            cell,
        };
        recurrent::lstm(x, self.recurrence.weights(), state, &self.options)
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
