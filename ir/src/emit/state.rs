//! Functions that keep the state of a model from step to step.

mod pairs;

use proc_macro2::{Ident, Literal};
use quote::format_ident;

use super::described::{Described, documentation, span};
use super::name::{self, Unique};
use super::signature::{Port, arguments, joined, passed, structure};
use crate::diagnostics::Problem;
use crate::dim::Symbol;
use crate::options::{Options, Step};
use crate::rust::{Code, CodeNode, code};
use pairs::Pair;

/// Items of a model with a state.
pub struct State<'a> {
    described: &'a Described<'a>,
    pairs: Vec<Pair<'a>>,
    /// Inputs and outputs that are not part of the state.
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Sizes of the state that the program chooses, with the names of their parameters.
    sizes: Vec<(Symbol, Ident)>,
}

/// Returns the names of the structs of the state, and of further inputs and outputs of a step.
pub fn structures(model: &Ident) -> [Ident; 3] {
    ["State", "Step", "StepOutput"].map(|part| format_ident!("{model}{part}"))
}

impl<'a> State<'a> {
    /// Returns the state that the options declare, if any.
    pub fn new(described: &'a Described<'a>, options: &Options) -> Result<Option<Self>, Problem> {
        if options.states.is_empty() {
            return Ok(None);
        }
        let pairs = pairs::of(&options.states, described.inputs, described.outputs)?;
        let inputs = described.inputs.iter();
        let inputs = inputs.filter(|port| pairs.iter().all(|pair| pair.input.onnx != port.onnx));
        let outputs = described.outputs.iter();
        let outputs = outputs.filter(|port| pairs.iter().all(|pair| pair.output.onnx != port.onnx));
        let (inputs, outputs) = (inputs.cloned().collect(), outputs.cloned().collect());
        let mut names = Unique::default();
        let mut sizes: Vec<(Symbol, Ident)> = Vec::new();
        for symbol in pairs.iter().flat_map(Pair::chosen) {
            let symbol = symbol?;
            if sizes.iter().all(|(other, _)| other != symbol) {
                let ident = format_ident!("{}", names.name(&name::snake(symbol)));
                sizes.push((symbol.clone(), ident));
            }
        }
        Ok(Some(State { described, pairs, inputs, outputs, sizes }))
    }

    /// Returns the names of the public structs.
    pub fn names(&self) -> Vec<Ident> {
        let [state, step, output] = structures(&self.described.item.name);
        let several = (self.inputs.len() > 1).then_some(step);
        let results = (self.outputs.len() > 1).then_some(output);
        [state].into_iter().chain(several).chain(results).collect()
    }

    /// Returns the structs of the state, and of further inputs and outputs.
    pub fn structs(&self) -> Code {
        let model = &self.described.item.name;
        let [name, step, output] = structures(model);
        let idents: Vec<&Ident> = self.pairs.iter().map(|pair| &pair.input.ident).collect();
        let fields = self.pairs.iter().map(|pair| {
            let (ident, ty) = (&pair.input.ident, pair.kept());
            let next = span(&pair.output.onnx);
            let of_step = if pair.step == Step::First { " of the first step" } else { "" };
            let doc = documentation([format!("{}, then {next}{of_step}", pair.input.documentation())]);
            code! {
                #doc
                pub #ident: #ty,
            }
        });
        let fields: Code = fields.collect();
        let doc = documentation([format!("State of [`{model}`] between two calls of [`{model}::step`].")]);
        let grows = self.pairs.iter().any(|pair| pair.grows.is_some()).then(|| code!(, grows));
        let of_step = |ident, ports: &[Port], what| {
            let what = format!("{what} of [`{model}::step`].");
            (ports.len() > 1).then(|| structure(ident, ports, what))
        };
        let inputs = of_step(&step, &self.inputs, "Inputs");
        let outputs = of_step(&output, &self.outputs, "Outputs");
        code! {
            #doc
            #[derive(Clone, Debug)]
            pub struct #name {
                #fields
            }

            state!(#name { #(#idents),* } #grows);

            #inputs

            #outputs
        }
    }

    /// Returns the functions of the model. `device` is the device of the model.
    pub fn functions(&self, device: &Code) -> Code {
        let [name, step, output] = structures(&self.described.item.name);
        let parameters = self.sizes.iter().map(|(_, ident)| code!(#ident: usize));
        let parameters: Vec<Code> = parameters.collect();
        let fields = self.pairs.iter().map(|pair| entry(&pair.input.ident, self.first(pair)));
        let fields: Vec<Code> = fields.collect();
        let result = match self.outputs.as_slice() {
            [] => code!(()),
            [only] => only.rust.clone(),
            _ => code!(#output),
        };
        let state = self.variable();
        let (taken, given) = (arguments(&self.inputs, &step), passed(&self.inputs));
        let [body, async_body] = [false, true].map(|is_async| self.body(&state, is_async));
        code! {
            /// Returns the state before the first step: zeros, and nothing along axes that grow.
            pub fn state(&self, #(#parameters),*) -> #name {
                let device = #device;
                #name { #(#fields),* }
            }

            /// Runs the model like [`forward`](Self::forward) with a state, which becomes that of the next step.
            ///
            /// # Panics
            ///
            /// In the same cases as `forward`. [`try_step`](Self::try_step) returns an error instead.
            pub fn step(&self, #state: &mut #name, #taken) -> #result {
                #body
            }

            /// Runs the model like [`step`](Self::step) and returns an error instead of panicking. After an error, the
            /// state is that before the first step.
            ///
            /// # Errors
            ///
            /// If an input has a wrong shape, or if a node cannot process the data.
            pub fn try_step(&self, #state: &mut #name, #taken) -> Result<#result, Error> {
                attempt(|| Ok(self.step(#state, #given))).inspect_err(|_| #state.reset())
            }

            /// Runs the model like [`step`](Self::step) on a thread that must not block, as in a browser.
            ///
            /// # Panics
            ///
            /// In the same cases as `forward`. [`try_step_async`](Self::try_step_async) returns an error instead.
            pub async fn step_async(&self, #state: &mut #name, #taken) -> #result {
                #async_body
            }

            /// Runs the model like [`step_async`](Self::step_async) and returns an error instead of panicking. After an
            /// error, the state is that before the first step.
            ///
            /// # Errors
            ///
            /// If an input has a wrong shape, or if a node cannot process the data.
            pub async fn try_step_async(&self, #state: &mut #name, #taken) -> Result<#result, Error> {
                let result = attempt_async(async { Ok(self.step_async(#state, #given).await) }).await;
                result.inspect_err(|_| #state.reset())
            }
        }
    }

    /// Returns the first value of a tensor.
    fn first(&self, pair: &Pair<'_>) -> Code {
        let at = self.described.inputs.iter().position(|port| port.onnx == pair.input.onnx);
        let at = Literal::usize_unsuffixed(at.unwrap_or_default());
        let sizes = pair.shape().iter().enumerate().map(|(axis, dim)| {
            if pair.is_empty(axis) {
                return code!(0);
            }
            let chosen = self.sizes.iter().find(|(symbol, _)| Some(symbol) == dim.name());
            let chosen = chosen.map(|(_, ident)| code!(#ident));
            chosen.unwrap_or_else(|| {
                let size = Literal::usize_unsuffixed(dim.fixed().unwrap_or_default());
                code!(#size)
            })
        });
        let sizes: Vec<Code> = sizes.collect();
        let shape = if sizes.is_empty() { code!([1]) } else { code!([#(#sizes),*]) };
        let grows = match pair.grows.map(Literal::usize_unsuffixed) {
            Some(axis) => code!(Some(#axis)),
            None => code!(None),
        };
        code!(Kept::new(&Self::SIGNATURE.inputs[#at], #shape, #grows, &device))
    }

    /// Returns the body of `step`.
    fn body(&self, state: &Ident, is_async: bool) -> Code {
        let Described { input, output, inputs, outputs, .. } = *self.described;
        let [_, step, results] = structures(&self.described.item.name);
        let idents = |ports: &[Port]| ports.iter().map(|port| port.ident.clone()).collect::<Vec<_>>();
        let bound = (self.inputs.len() > 1).then(|| {
            let idents = idents(&self.inputs);
            code!(let #step { #(#idents),* } = input;)
        });
        let values = inputs.iter().map(|port| {
            let ident = &port.ident;
            match self.pairs.iter().find(|pair| pair.input.onnx == port.onnx).map(|pair| pair.step) {
                Some(Step::Last) => code!(#state.#ident.take()),
                Some(Step::First) => code!(#state.#ident.take_first()),
                None => code!(#ident),
            }
        });
        let argument = joined(input, inputs, &values.collect::<Vec<_>>());
        let call = match is_async {
            true => code!(self.forward_async(#argument).await),
            false => code!(self.forward(#argument)),
        };
        let made = match idents(outputs).as_slice() {
            [only] => code!(let #only = #call;),
            several => code!(let #output { #(#several),* } = #call;),
        };
        let kept = self.pairs.iter().map(|pair| {
            let (before, after) = (&pair.input.ident, &pair.output.ident);
            match pair.step {
                Step::Last => code!(#state.#before.set(#after);),
                Step::First => code!(#state.#before.set_first(#after);),
            }
        });
        let kept: Code = kept.collect();
        let values: Vec<Code> = idents(&self.outputs).iter().map(|ident| code!(#ident)).collect();
        let result = match values.is_empty() {
            true => Code::default(),
            false => joined(&results, &self.outputs, &values),
        };
        code!(#bound #made #kept #result)
    }

    /// Returns the name of the parameter with the state, which no input or output has.
    fn variable(&self) -> Ident {
        let mut names = Unique::default();
        let ports = self.described.inputs.iter().chain(self.described.outputs);
        ports.for_each(|port| names.reserve(&port.ident.to_string()));
        format_ident!("{}", names.name("state"))
    }
}

fn entry(ident: &Ident, value: Code) -> Code {
    CodeNode::Entry(ident.to_string().into(), value).into()
}
