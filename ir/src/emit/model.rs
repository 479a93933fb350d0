//! Module that a macro call expands to.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Literal};
use quote::ToTokens;

use super::async_form::async_form;
use super::body::{self, Statement};
use super::described::{self, Described};
use super::functions::Functions;
use super::item::Item;
use super::signature::{self, Port, arguments, passed};
use super::state::{self, State};
use super::{
    Context, Layer, Source, constructors, embedded, imports, metadata, parameters, run, shared_weights,
    signed, split, trace, tree, weights,
};
use crate::diagnostics::Diagnostics;
use crate::graph::{Graph, ValueId};
use crate::model::Model;
use crate::options::{Options, Weights};
use crate::rust::{Code, code};
use crate::types::Type;

/// Returns the module and the `use` of its items.
pub fn module(model: &Model, item: &Item, options: &Options, diagnostics: &mut Diagnostics) -> Code {
    let mut problems = Diagnostics::default();
    if let Some(code) = written(model, item, options, true, &mut problems) {
        diagnostics.extend(problems);
        return code;
    }
    written(model, item, options, false, diagnostics).unwrap_or_default()
}

/// Returns the module, or `None` if weights would be loaded twice because layers considered equal (`alike`) differ.
fn written(
    model: &Model,
    chosen: &Item,
    options: &Options,
    alike: bool,
    diagnostics: &mut Diagnostics,
) -> Option<Code> {
    let mut cx = Context::new(model, options.trace);
    cx.functions = Functions::new(options, chosen);
    let body = &model.graph.body;
    let inputs = signature::inputs(&body.inputs, &cx);
    let outputs = signature::outputs(&body.outputs, &model.facts.outputs, &cx);
    let names = inputs.iter().map(|port| (port.id, port.ident.to_string()));
    cx.inputs = names.collect();
    let mut root = Layer::root(cx.module.clone());
    let item = &chosen.inside();
    let item_name = item.name.to_string();
    let [takes, returns] = chosen.structures();
    let of_state = state::structures(&item.name).map(|name| name.to_string());
    let taken = [item_name, takes.to_string(), returns.to_string()];
    let taken = taken.iter().chain(&of_state).map(String::as_str).chain(imports::names());
    taken.for_each(|name| cx.structs.reserve(name));
    let mut nodes = tree::group(&body.nodes, &model.graph.values);
    shared_weights::assign(&mut nodes, &model.graph, &mut root, alike, &mut cx);
    let mut source = Source { layer: &mut root, cx: &mut cx, loading: false };
    let statements = split::split(nodes, &body.inputs, &body.outputs, &mut source, diagnostics);
    let statements = split::join(statements, &body.outputs, &mut root, &mut cx);
    let described = Described { item, input: &takes, output: &returns, inputs: &inputs, outputs: &outputs };
    let divided = (!options.trace).then_some(&model.graph);
    let Forward { body: forward, async_body, is_async, result } =
        forward(&statements, &described, divided, &mut root, &mut cx, diagnostics)
            .limited(options.memory_limit)
            .deterministic(options.deterministic);
    let name = Code::foreign(item.name.to_token_stream());
    let runtime = Code::foreign(item.runtime.clone());
    let structures = signature::structures(&described);
    let state = State::new(&described, options).unwrap_or_else(|problem| {
        diagnostics.push(problem);
        None
    });
    let of_state = state.as_ref().map(State::names).unwrap_or_default();
    let uses = chosen.uses(item, inputs.len(), outputs.len(), &of_state);
    let states = state.as_ref().map(State::structs);
    let steps = state.as_ref().map(|state| state.functions(&device(&root)));
    let attributes = Code::foreign(item.attributes.clone());
    let fields = root.declarations();
    let (anchor, anchored) = if root.device_field().is_none() {
        (code!(anchor: Anchor,), code!(anchor: Anchor::new(weights.device()),))
    } else {
        Default::default()
    };
    root.finish_steps();
    let load = root.load(anchored, &cx.hints);
    cx.structs.retain_called(&load);
    if alike && parameters::are_loaded_again(&load, &cx) {
        return None;
    }
    let load = cx.structs.shortened(&load);
    // Weights are packed for the instructions that deterministic kernels use.
    let load = if options.deterministic { deterministic(&load) } else { load };
    let note = parameters::note(&root, &cx);
    let parameters = parameters::table(&root, &mut cx);
    let table = weights::table(&mut cx, &model.files);
    let constructors = constructors::constructors(model, options);
    let default = constructors::default(&name, options);
    let documentation = described.model(model, parameters::count(&cx), options);
    let forward_documentation = described.forward();
    let failures = described::documentation([described.failures()]);
    let forward_inputs = arguments(&inputs, &takes);
    let passed = passed(&inputs);
    let run = run::functions(&inputs, &outputs, &takes, &device(&root), is_async);
    let metadata = metadata::constants(&model.facts);
    let key = signed::constant(options);
    let signature = signature::signature(&inputs, &outputs);
    let traced = trace::item(&name, &cx);
    diagnostics.extend(std::mem::take(&mut cx.problems));
    let blocks = cx.structs.items();
    let functions = cx.functions.items();
    let folder = model.files.folder().unwrap_or(std::path::Path::new(""));
    let embedded = match options.weights {
        Weights::Embed => embedded::embedded(&model.files, folder, &chosen.origin),
        Weights::File => weights::watched(&model.files, folder),
    };
    let signatures = signed::watched(&model.files, folder, options);
    let compiled = signed::compiled(model, options);
    let items = code! {
        #structures

        #states

        #attributes
        #documentation
        #[derive(Module, Debug)]
        pub struct #name {
            #fields
            #anchor
        }

        impl #name {
            #constructors

            #forward_documentation
            pub fn forward(&self, #forward_inputs) -> #result {
                #forward
            }

            /// Runs the model like [`forward`](Self::forward) and returns an error instead of panicking. It waits
            /// for devices that check indices only at the end of a run.
            ///
            /// # Errors
            ///
            #failures
            pub fn try_forward(&self, #forward_inputs) -> Result<#result, Error> {
                attempt(|| Ok(self.forward(#passed)))
            }

            /// Runs the model like [`forward`](Self::forward) on a thread that must not block, as in a browser.
            /// Values that the model reads back from the device are awaited.
            ///
            /// # Panics
            ///
            /// In the same cases as `forward`. [`try_forward_async`](Self::try_forward_async) returns an error instead.
            pub async fn forward_async(&self, #forward_inputs) -> #result {
                #async_body
            }

            /// Runs the model like [`forward_async`](Self::forward_async) and returns an error instead of panicking.
            ///
            /// # Errors
            ///
            #failures
            pub async fn try_forward_async(&self, #forward_inputs) -> Result<#result, Error> {
                attempt_async(async { Ok(self.forward_async(#passed).await) }).await
            }

            #steps

            fn load(weights: &Weights<'_>) -> Self {
                #load
            }
        }

        #default

        impl OnnxModel for #name {
            const SIGNATURE: Signature = #signature;

            #metadata

            #key

            #compiled

            #note
            const PARAMETERS: &'static [Parameter] = #parameters;

            fn from_source(source: WeightSource<'_>, device: &Device) -> Result<Self, Error> {
                WEIGHTS.load(source, device, Self::load)
            }

            fn table() -> &'static Table {
                &WEIGHTS
            }

            #run
        }

        #traced

        #(#blocks)*

        #functions

        #table

        #embedded

        #signatures
    };
    let imports = imports::of(&items, &runtime);
    let inner = chosen.module();
    Some(code! {
        #uses

        #[allow(clippy::all, clippy::pedantic, rustdoc::all, unused_parens)]
        mod #inner {
            #imports

            #items
        }
    })
}

/// Functions that run a model.
struct Forward {
    body: Code,
    /// Body of the async version.
    async_body: Code,
    /// Whether the model reads values from the device during a run, so that the two bodies differ.
    is_async: bool,
    /// Type of the result.
    result: Code,
}

impl Forward {
    /// Sets a limit, in bytes, for tensors whose sizes depend on data.
    fn limited(self, limit: Option<u64>) -> Self {
        let Some(limit) = limit.map(Literal::u64_unsuffixed) else {
            return self;
        };
        let (body, async_body) = (&self.body, &self.async_body);
        Self {
            body: code!(or_memory_limit(#limit, || { #body })),
            async_body: code!(or_memory_limit_async(#limit, async move { #async_body }).await),
            ..self
        }
    }

    /// Computes the same bits on every CPU, if that is an option of the model.
    fn deterministic(self, is_option: bool) -> Self {
        if !is_option {
            return self;
        }
        let async_body = &self.async_body;
        Self {
            body: deterministic(&self.body),
            async_body: code!(deterministic_async(async move { #async_body }).await),
            ..self
        }
    }
}

/// Returns code whose kernels compute the same bits on every CPU.
fn deterministic(body: &Code) -> Code {
    code!(deterministic(|| { #body }))
}

/// Returns the functions that run a model, which compute batches of the graph `divided` in parts.
fn forward(
    statements: &[Statement],
    described: &Described<'_>,
    divided: Option<&Graph>,
    root: &mut Layer,
    cx: &mut Context<'_>,
    diagnostics: &mut Diagnostics,
) -> Forward {
    let Described { input, output, inputs, outputs, .. } = *described;
    let results: Vec<Code> = match split::results(outputs, root, cx) {
        Ok(results) => results,
        Err(problem) => {
            diagnostics.push(problem);
            Vec::new()
        }
    };
    let result = signature::joined(output, outputs, &results);
    let ty = match (outputs, results.as_slice()) {
        ([only], [_]) => only.rust.clone(),
        _ => code!(#output),
    };
    let named: Vec<_> = inputs.iter().map(|port| (port.id, port.ident.to_string())).collect();
    // A single output is the value of the last expression, without a variable.
    if let [_, _, ..] = outputs {
        let names = outputs.iter().map(|port| (port.id, port.ident.to_string()));
        cx.outputs = names.collect();
    }
    let scalars = inputs.iter().filter(|port| port.is_number());
    let scalars = scalars.map(|port| port.id).collect();
    let body = body::finish(statements, &result, &named, &[], &scalars, cx);
    cx.report_unbound(body.unbound);
    let code = body.named.code;
    root.order(&code);
    let entry = entry(inputs, input, &body.elements);
    let device = device(root);
    let device = body.device.then(|| code!(let device = &#device;));
    let async_body = async_form(&code, root, &cx.structs);
    let is_async = async_body.is_some();
    // Parts of a cache would be copied in each step.
    let divided = divided.filter(|_| !is_async && cx.grown.is_empty());
    let parts = divided.and_then(|graph| super::rows::statement(graph, described));
    let async_body = match async_body {
        Some(async_body) => code!(#entry #device #async_body),
        None => {
            let passed = passed(inputs);
            code!(self.forward(#passed))
        }
    };
    Forward { body: code!(#entry #parts #device #code), async_body, is_async, result: ty }
}

/// Returns the device of the model, which its first tensor determines.
fn device(root: &Layer) -> Code {
    let field = Code::field(root.device_field().unwrap_or("anchor"));
    code!(device(&#field))
}

/// Returns the statements that bind and check the inputs.
fn entry(inputs: &[Port], structure: &Ident, elements: &BTreeSet<ValueId>) -> Code {
    if inputs.is_empty() {
        return Code::default();
    }
    let names: Vec<&Ident> = inputs.iter().map(|port| &port.ident).collect();
    let bound = match names.as_slice() {
        [_] => Code::default(),
        _ => code!(let #structure { #(#names),* } = input;),
    };
    let checks = inputs.iter().map(|port| {
        let (ident, onnx) = (&port.ident, &port.onnx);
        let Type::Tensor(tensor) = &port.ty else {
            return code!(let #ident = entry.items(#onnx, #ident););
        };
        match (port.is_device(), port.scalar, tensor.dtype.kind()) {
            (_, true, _) if elements.contains(&port.id) => Code::default(),
            (_, true, _) => code!(let #ident = Array::scalar(#ident);),
            (false, ..) => code!(entry.array(#onnx, &#ident);),
            (true, _, crate::dtype::ElementClass::Int) => code!(let #ident = entry.int(#onnx, #ident);),
            (true, _, crate::dtype::ElementClass::Bool) => code!(entry.boolean(#onnx, &#ident);),
            _ => code!(let #ident = entry.float(#onnx, #ident);),
        }
    });
    let opened = inputs.iter().any(|port| !port.scalar);
    let opened = opened.then(|| code!(let mut entry = entry::Entry::new(Self::SIGNATURE);));
    code!(#bound #opened #(#checks)*)
}
