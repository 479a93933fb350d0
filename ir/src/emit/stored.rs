//! Constants as expressions over the weights.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use proc_macro2::Literal;

use super::layer::PackedWeight;
use super::{Context, Emit, Layer, Source, rust_type, variable};
use crate::diagnostics::Problem;
use crate::dtype::ElementClass;
use crate::graph::{Node, ValueId};
use crate::rust::{Code, code};
use crate::types::{Placement, TensorType, Type};

impl Emit<'_, '_> {
    /// Returns `true` if an input is a constant that the layer may own.
    pub fn is_stored(&self, input: usize) -> bool {
        let id = self.node.input(input);
        !self.source.loading && id.is_some_and(|id| self.source.cx.may_stand_in_layer(id))
    }

    /// Returns `true` if an input is a constant, regardless of the struct that contains it, and the node is not computed when the
    /// model is loaded.
    pub fn is_layer_constant(&self, input: usize) -> bool {
        let id = self.node.input(input);
        !self.source.loading && id.is_some_and(|id| self.source.cx.values[id].is_constant())
    }

    /// Returns the name of the weight of an input, if the layer that uses it may own it.
    pub fn weight(&mut self, input: usize) -> Option<Code> {
        let id = self.node.input(input)?;
        if self.source.cx.may_stand_in_layer(id) { self.list(input) } else { None }
    }

    /// Returns the name of a weight that the operator uses as a list, for `weights.array("name")` and similar calls.
    pub fn list(&mut self, input: usize) -> Option<Code> {
        let id = self.node.input(input).filter(|_| !self.source.loading)?;
        self.source.cx.values[id].weight.as_ref()?;
        Some(Code::weight(&self.source.cx.weight_name(id)))
    }

    /// Returns `true` if parameters are trained. Layers then cannot contain values that are computed from them.
    pub fn is_training(&self) -> bool {
        self.source.cx.training
    }

    /// Adds a field to the struct, with the expression `load` over `weights: &Weights`, and returns `self.field`.
    pub fn layer(&mut self, hint: &str, ty: Code, load: Code) -> Code {
        self.layer_of(hint, ty, load, &[])
    }

    /// Adds a field like [`Emit::layer`], with the inputs that are parameters of the layer, by path.
    pub fn layer_of(&mut self, hint: &str, ty: Code, load: Code, parameters: &[(&str, usize)]) -> Code {
        let values = self.source.cx.values;
        let parameters = parameters.iter().filter_map(|(path, input)| {
            let id = self.node.input(*input)?;
            values[id].parameter.then(|| ((*path).to_owned(), id))
        });
        let parameters = parameters.collect();
        self.add_layer(None, hint, ty, load, parameters)
    }

    /// Adds a field that keeps the packed form of a weight, an input that another struct contains. `transposed` if the node
    /// uses it transposed.
    pub fn packed_layer(&mut self, input: usize, transposed: bool, ty: Code, load: Code) -> Code {
        let hint = self.layer_hint(input);
        let packed = self.node.input(input).map(|id| (id, transposed));
        self.add_layer(packed, &hint, ty, load, Vec::new())
    }

    fn add_layer(
        &mut self,
        packed: Option<PackedWeight>,
        hint: &str,
        ty: Code,
        load: Code,
        parameters: Vec<(String, ValueId)>,
    ) -> Code {
        let layer = &mut *self.source.layer;
        layer.latest = Some(layer.relative(super::name::plain(hint)));
        let name = layer.field_for(packed, hint, ty, load, parameters);
        Code::field(&name)
    }

    /// Returns a stored input as a tensor, over `weights: &Weights`.
    pub fn loaded(&mut self, input: usize) -> Result<Code, Problem> {
        let id = self.required(input)?;
        self.source.loaded(id)
    }

    /// Returns `Some(tensor)` over `weights: &Weights`, or the code `None` for an omitted input.
    pub fn loaded_optional(&mut self, input: usize) -> Result<Code, Problem> {
        if self.has(input) {
            let tensor = self.loaded(input)?;
            Ok(code!(Some(#tensor)))
        } else {
            Ok(code!(None))
        }
    }
}

impl Emit<'_, '_> {
    /// Returns the field of a layer with a weight and an optional bias, or `None` if they are not stored. The field is
    /// created by `load` from their names, or by `new` if one is computed. `rest` contains further arguments. The layer
    /// applies `activation` last.
    pub fn stored_layer(
        &mut self,
        ty: Code,
        [weight, bias]: [usize; 2],
        rest: Code,
        activation: Option<Code>,
    ) -> Result<Option<Code>, Problem> {
        let stored = self.is_stored(weight) && (!self.has(bias) || self.is_stored(bias));
        if !stored {
            return Ok(None);
        }
        let hint = self.layer_hint(weight);
        let names =
            if self.has(bias) { self.weight(bias).map(|name| code!(Some(#name))) } else { Some(code!(None)) };
        let (load, parameters) = match (self.weight(weight), names) {
            (Some(name), Some(bias_name)) => (
                code!(#ty::load(weights, #name, #bias_name, #rest)),
                &[("weight", weight), ("bias", bias)][..],
            ),
            _ => {
                let (weight, bias) = (self.loaded(weight)?, self.loaded_optional(bias)?);
                (code!(#ty::new(#weight, #bias, #rest)), &[][..])
            }
        };
        let load = match activation {
            Some(activation) => code!(#load.activation(#activation)),
            None => load,
        };
        Ok(Some(self.layer_of(&hint, ty, load, parameters)))
    }
}

impl Source<'_, '_> {
    /// Returns a constant as a tensor, over `weights: &Weights`.
    pub(super) fn loaded(&mut self, id: ValueId) -> Result<Code, Problem> {
        let values = self.cx.values;
        let value = &values[id];
        let Some(Type::Tensor(tensor)) = &value.ty else {
            return Err(Problem::new(format!("constant `{}` is not a tensor", value.name)));
        };
        if value.weight.is_some() {
            return Ok(self.weight(id, tensor));
        }
        self.bind_before(id)?;
        self.expression(id, tensor)
    }

    /// Returns a constant as an expression, or as its variable if it is bound. Bindings of its operands must exist.
    pub(super) fn expression(&mut self, id: ValueId, tensor: &TensorType) -> Result<Code, Problem> {
        if self.layer.bindings.has(id) {
            let name = variable(id);
            return Ok(code!(#name));
        }
        let value = &self.cx.values[id];
        let expression = match (value.known.read(), value.maker.as_deref()) {
            (Some(known), _) if known.is_concrete() => self.constant(tensor, known),
            (_, Some(node)) => self.made(node)?,
            _ => {
                return Err(Problem::new(format!(
                    "value `{}` is known only at run time, expected a constant",
                    value.name
                )));
            }
        };
        Ok(self.bound(id, tensor, expression))
    }

    /// Returns the expression of a node that is computed from constants.
    fn made(&mut self, node: &Node) -> Result<Code, Problem> {
        let mut inner = Layer::default();
        std::mem::swap(&mut inner.bindings, &mut self.layer.bindings);
        let mut emit = Emit {
            node,
            source: Source { layer: &mut inner, cx: self.cx, loading: true },
            fails: false,
            made: OnceCell::new(),
        };
        let expression = emit.expression();
        self.layer.bindings = inner.bindings;
        expression
    }

    fn weight(&mut self, id: ValueId, tensor: &TensorType) -> Code {
        let name = Code::weight(&self.cx.weight_name(id));
        let rank = Literal::usize_unsuffixed(tensor.burn_rank());
        match tensor.dtype.kind() {
            ElementClass::Float => code!(weights.tensor::<#rank>(#name)),
            ElementClass::Bool => code!(weights.boolean::<#rank>(#name)),
            _ => code!(weights.int::<#rank>(#name)),
        }
    }

    /// Returns a weight that is a field of this struct.
    pub(super) fn owned(&mut self, id: ValueId) -> Code {
        match self.cx.values[id].ty.as_ref().and_then(Type::as_tensor) {
            Some(tensor) => self.stored(id, &tensor.clone()),
            None => self.whole(id),
        }
    }

    /// Returns a constant of the file as a field.
    pub(super) fn stored(&mut self, id: ValueId, tensor: &TensorType) -> Code {
        let hint = self.cx.weight_name(id);
        let name = Code::weight(&hint);
        let rank = Literal::usize_unsuffixed(tensor.burn_rank());
        let ty = rust_type(&Type::Tensor(tensor.clone()), Placement::Device);
        if self.cx.values[id].parameter {
            let load = if self.cx.statistics.contains(&id) {
                code!(weights.statistic::<#rank>(#name))
            } else {
                code!(weights.float::<#rank>(#name))
            };
            let make = || (hint, code!(Param<#ty>), load);
            let field = self.layer.constant(id, true, make);
            return code!(#field.val());
        }
        let load = match tensor.dtype.kind() {
            ElementClass::Float => code!(weights.tensor::<#rank>(#name)),
            ElementClass::Bool => code!(weights.boolean::<#rank>(#name)),
            _ => code!(weights.int::<#rank>(#name)),
        };
        let field = self.layer.constant(id, false, || (hint, ty, load));
        code!(#field.clone())
    }

    /// Returns a constant that is computed when the model is loaded, as a field.
    pub(super) fn computed(&mut self, id: ValueId, tensor: &TensorType) -> Result<Code, Problem> {
        let load = self.loaded(id)?;
        let hint = self.cx.stored_name(id);
        let ty = rust_type(&Type::Tensor(tensor.clone()), Placement::Device);
        let field = self.layer.constant(id, false, || (hint, ty, load));
        Ok(code!(#field.clone()))
    }
}

impl Context<'_> {
    /// Returns `true` if a value is a constant that the layer using it may own: no other layer uses it, and during
    /// training it is a parameter or not a float.
    pub(super) fn may_stand_in_layer(&self, id: ValueId) -> bool {
        let value = &self.values[id];
        let float = value.ty.as_ref().and_then(Type::as_tensor);
        let float = float.is_some_and(|tensor| tensor.dtype.kind() == ElementClass::Float);
        let fixed = self.training && float && !value.parameter;
        value.is_constant() && !fixed && !self.is_tied(id)
    }

    /// Returns the name of a constant. A computed constant may have the name of a constant that it is computed from.
    pub(super) fn stored_name(&self, id: ValueId) -> String {
        let (mut left, mut seen) = (vec![id], BTreeSet::new());
        while let Some(id) = left.pop() {
            let value = &self.values[id];
            if !value.name.is_empty() {
                return value.name.clone();
            }
            if seen.insert(id) {
                let inputs = value.maker.iter().flat_map(|node| node.inputs.iter());
                left.extend(inputs.rev().flatten());
            }
        }
        String::new()
    }
}

/// Encloses code in parentheses if it has an operator whose precedence is lower than that of a call.
pub fn whole(code: Code) -> Code {
    if code.is_loose() { code!((#code)) } else { code }
}
