//! Inputs of a node as expressions.

use proc_macro2::Literal;

use super::literal::double;
use super::pattern::{Pattern, pattern};
use super::stored::whole;
use super::{Emit, Source, element_type, float_literal, rust_type, variable};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::graph::ValueId;
use crate::rust::{Code, code};
use crate::types::{Known, Placement, TensorType, Type};

/// Maximum number of elements of known values that are written into the code.
const INLINE: usize = 64;

impl Emit<'_, '_> {
    /// Returns a device tensor with the rank of its type. Strings that are only moved are represented by numbers.
    pub fn tensor(&mut self, input: usize) -> Result<Code, Problem> {
        if self.is_string(input) && self.node.operator.moves() {
            return self.numbered(input);
        }
        let id = self.required(input)?;
        self.source.device_value(id)
    }

    /// Returns a device tensor with leading axes of size 1 up to `rank`.
    pub fn tensor_of_rank(&mut self, input: usize, rank: usize) -> Result<Code, Problem> {
        let ty = self.tensor_type(input)?.clone();
        let tensor = self.tensor(input)?;
        Ok(lifted(tensor, &ty, rank))
    }

    /// Returns `Some(tensor)`, or the code `None` for an omitted input.
    pub fn optional(&mut self, input: usize) -> Result<Code, Problem> {
        if self.has(input) {
            let tensor = self.tensor(input)?;
            Ok(code!(Some(#tensor)))
        } else {
            Ok(code!(None))
        }
    }

    /// Returns the value with its own placement: a tensor, a host array by value, or a sequence.
    pub fn value(&mut self, input: usize) -> Result<Code, Problem> {
        let id = self.required(input)?;
        match self.source.cx.values[id].ty {
            Some(Type::Tensor(_)) if !self.source.cx.lives_on_host(id) && !self.on_host() => {
                self.source.device_value(id)
            }
            Some(Type::Tensor(_)) => self.source.host_value(id),
            _ => Ok(self.source.whole(id)),
        }
    }

    /// Returns a host array by reference: `&Array<T>`.
    pub fn host(&mut self, input: usize) -> Result<Code, Problem> {
        let id = self.required(input)?;
        let value = self.source.host_value(id)?;
        Ok(code!(&#value))
    }

    /// Returns integers on the host as `&[i64]`.
    pub fn host_ints(&mut self, input: usize) -> Result<Code, Problem> {
        let id = self.required(input)?;
        if let Some(Known::Ints(dims)) = self.known(input).cloned() {
            let numbers: Vec<Code> = dims.iter().map(|dim| self.source.cx.sizes.signed(dim)).collect();
            return Ok(code!(&[#(#numbers),*]));
        }
        let value = self.source.host_value(id)?;
        match self.tensor_type(input)?.dtype {
            DType::I64 => Ok(code!(#value.data())),
            _ => Ok(code!(host::cast::<_, i64>(&#value).data())),
        }
    }

    /// Returns an integer on the host as `i64`.
    pub fn host_int(&mut self, input: usize) -> Result<Code, Problem> {
        if let Some(Known::Ints(dims)) = self.known(input).cloned()
            && let [dim] = dims.as_slice()
        {
            return Ok(self.source.cx.sizes.signed(dim));
        }
        let id = self.required(input)?;
        let value = self.source.host_value(id)?;
        Ok(match self.tensor_type(input)?.dtype {
            DType::I64 => code!(#value.item()),
            DType::U64 => code!(#value.item() as i64),
            dtype if dtype.kind() == ElementClass::Float => code!(f64::from(#value.item()) as i64),
            _ => code!(i64::from(#value.item())),
        })
    }

    /// Returns a float on the host as `f64`.
    pub fn host_float(&mut self, input: usize) -> Result<Code, Problem> {
        if let Some(Known::Floats(values)) = self.known(input)
            && let [value] = values.as_slice()
        {
            return Ok(float_literal(*value, DType::F64));
        }
        let id = self.required(input)?;
        let value = self.source.host_value(id)?;
        Ok(match self.tensor_type(input)?.dtype {
            DType::F64 => code!(#value.item()),
            _ => code!(f64::from(#value.item())),
        })
    }

    /// Returns a single known element as a literal. Integers are `i64`.
    pub fn scalar(&self, input: usize) -> Option<Code> {
        let dtype = self.tensor_type(input).ok()?.dtype;
        if self.known_count(input) != Some(1) {
            return None;
        }
        match self.known(input)? {
            Known::Floats(values) => match values.as_slice() {
                [value] if dtype == DType::F64 && value.is_finite() => Some(double(*value)),
                [value] => Some(float_literal(*value, dtype)),
                _ => None,
            },
            Known::Ints(values) => match values.as_slice() {
                [value] => {
                    let literal = Literal::i64_suffixed(value.number()?);
                    Some(code!(#literal))
                }
                _ => None,
            },
            Known::Bools(values) => match values.as_slice() {
                [value] => Some(code!(#value)),
                _ => None,
            },
            Known::Strings(_) => None,
        }
    }

    /// Returns the device of the model, by reference.
    pub fn device(&mut self) -> Code {
        self.source.device()
    }

    /// Returns `true` if a known value is small enough to be written into the code.
    pub fn is_inline(&self, input: usize) -> bool {
        self.known_count(input).is_some_and(|count| count <= INLINE)
    }

    /// Returns the number of known elements of an input, if any.
    fn known_count(&self, input: usize) -> Option<usize> {
        let id = self.node.input(input)?;
        self.source.cx.values[id].known.peek().map(Known::len)
    }
}

impl Source<'_, '_> {
    pub(super) fn device_value(&mut self, id: ValueId) -> Result<Code, Problem> {
        let values = self.cx.values;
        let value = &values[id];
        let Some(Type::Tensor(tensor)) = &value.ty else {
            return Ok(self.whole(id));
        };
        if tensor.dtype.kind() == ElementClass::String {
            return Err(Problem::defect("a string tensor cannot be on a device"));
        }
        if self.loading {
            return self.loaded(id).map(whole);
        }
        if self.cx.is_tied(id) && !self.layer.owned.contains(&id) {
            let name = variable(id);
            return Ok(code!(#name));
        }
        if value.weight.is_some() {
            return Ok(self.stored(id, tensor));
        }
        if value.maker.is_some() {
            return self.computed(id, tensor);
        }
        match value.known.read() {
            Some(known) if known.is_concrete() => Ok(self.written(id, tensor, known)),
            Some(Known::Ints(dims)) => Ok(self.symbolic(tensor, dims)),
            _ => {
                let name = variable(id);
                match value.placement {
                    Placement::Device => Ok(code!(#name)),
                    Placement::Host => self.moved(id, tensor),
                }
            }
        }
    }

    /// Copies a host value to a tensor on the device of the model.
    fn moved(&mut self, id: ValueId, tensor: &TensorType) -> Result<Code, Problem> {
        let name = variable(id);
        let rank = Literal::usize_unsuffixed(tensor.burn_rank());
        let to = match tensor.dtype.kind() {
            ElementClass::Int => code!(to_device_int),
            ElementClass::Bool => code!(to_device_bool),
            ElementClass::Float => code!(to_device),
            ElementClass::String | ElementClass::Complex => {
                return Err(Problem::new(format!("a {} tensor cannot be on a device", tensor.dtype)));
            }
        };
        let element = super::host_element(tensor.dtype);
        let device = self.device();
        Ok(match tensor.dtype.kind() {
            ElementClass::Bool => code!(host::#to::<#rank>(&#name, #device)),
            _ => code!(host::#to::<#element, #rank>(&#name, #device)),
        })
    }

    /// Returns a constant that the compiler computed, as a field.
    fn written(&mut self, id: ValueId, tensor: &TensorType, known: &Known) -> Code {
        let load = self.constant(tensor, known);
        let ty = rust_type(&Type::Tensor(tensor.clone()), Placement::Device);
        let name = &self.cx.values[id].name;
        let hint = if name.chars().any(char::is_alphabetic) { name.clone() } else { "constant".to_owned() };
        let field = self.layer.constant(id, false, || (hint, ty, load));
        code!(#field.clone())
    }

    /// Returns a constant that the compiler computed, over `weights: &Weights`.
    pub(super) fn constant(&mut self, tensor: &TensorType, known: &Known) -> Code {
        let rank = Literal::usize_unsuffixed(tensor.burn_rank());
        let element = element_type(tensor.dtype);
        let shape = self.cx.shape(&tensor.shape);
        let (call, elements) = match known {
            Known::Ints(dims) => {
                let numbers =
                    dims.iter().map(|dim| Literal::i64_unsuffixed(dim.number().unwrap_or_default()));
                (code!(int), code!(#(#numbers),*))
            }
            Known::Bools(values) => (code!(boolean), code!(#(#values),*)),
            Known::Floats(values) => {
                let numbers = values.iter().map(|value| float_literal(*value, DType::F64));
                (code!(float), code!(#(#numbers),*))
            }
            Known::Strings(_) => return code!(compile_error!("strings are host values")),
        };
        let device = code!(weights.device());
        match (tensor.dtype.kind(), pattern(known)) {
            (ElementClass::Bool, Some(Pattern::Equal(value))) => {
                code!(constant::full_boolean(#device, #shape, #value))
            }
            (ElementClass::Int, Some(Pattern::Equal(value))) => {
                code!(constant::full_int(#device, #element, #shape, #value))
            }
            (_, Some(Pattern::Equal(value))) => {
                code!(constant::full(#device, #element, #shape, #value))
            }
            (_, Some(Pattern::Steps(start, step))) => {
                code!(constant::steps(#device, #element, #shape, #start, #step))
            }
            (ElementClass::Bool, None) => {
                code!(constant::boolean::<#rank>(#device, #shape, &[#elements]))
            }
            _ => code!(constant::#call::<#rank>(#device, #element, #shape, &[#elements])),
        }
    }

    /// Returns sizes as a tensor that each call creates.
    fn symbolic(&mut self, tensor: &TensorType, dims: &[Dim]) -> Code {
        let rank = Literal::usize_unsuffixed(tensor.burn_rank());
        let element = element_type(tensor.dtype);
        let shape = self.cx.shape(&tensor.shape);
        let device = self.device();
        let numbers: Vec<Code> = dims.iter().map(|dim| self.cx.sizes.signed(dim)).collect();
        code!(constant::int::<#rank>(#device, #element, #shape, &[#(#numbers),*]))
    }

    /// Returns a value as an expression of type `Array<T>`.
    pub(super) fn host_value(&mut self, id: ValueId) -> Result<Code, Problem> {
        let values = self.cx.values;
        let value = &values[id];
        let name = variable(id);
        let tensor = match &value.ty {
            Some(Type::Tensor(tensor)) => tensor,
            Some(Type::Unranked(_)) => return Ok(code!(#name)),
            _ => return Err(Problem::new(format!("value `{}` is not a tensor", value.name))),
        };
        let Some(known) = value.known.read().cloned() else {
            if self.cx.lives_on_host(id) {
                return Ok(code!(#name));
            }
            return self.read(id, tensor);
        };
        let element = super::host_element(tensor.dtype);
        let shape: Vec<Code> = tensor.shape.iter().map(|dim| self.cx.sizes.expression(dim)).collect();
        let elements: Vec<Code> = match &known {
            Known::Ints(dims) => dims.iter().map(|dim| self.cx.sizes.signed(dim)).collect(),
            Known::Bools(values) => values.iter().map(|value| code!(#value)).collect(),
            Known::Strings(values) => values.iter().map(|value| code!(String::from(#value))).collect(),
            Known::Floats(values) => values
                .iter()
                .map(|value| match tensor.dtype {
                    DType::F32 | DType::F64 => float_literal(*value, tensor.dtype),
                    _ => {
                        let literal = float_literal(*value, DType::F64);
                        code!(#element::from_f64(#literal))
                    }
                })
                .collect(),
        };
        let symbolic = !known.is_concrete() && tensor.dtype != DType::I64;
        let typed = |value: &Code| {
            if symbolic { code!((#value) as #element) } else { value.clone() }
        };
        let elements = elements.iter().map(typed);
        Ok(code!(Array::<#element>::new([#(#shape),*], vec![#(#elements),*])))
    }

    /// Reads a tensor from the device. The program waits for the device here.
    fn read(&mut self, id: ValueId, tensor: &TensorType) -> Result<Code, Problem> {
        let rank = Literal::usize_unsuffixed(tensor.rank());
        let element = super::host_element(tensor.dtype);
        let value = self.device_value(id)?;
        Ok(code!(host::to_host::<#element, _, _>(#value, #rank)))
    }

    /// Returns the device of the model, by reference.
    pub fn device(&mut self) -> Code {
        if self.loading { code!(weights.device()) } else { code!(device) }
    }
}

/// Returns the tensor with leading axes of size 1 up to `rank`. Burn's `unsqueeze` interprets a size of 0 as one that
/// is to be copied.
pub fn lifted(tensor: Code, ty: &TensorType, rank: usize) -> Code {
    let to = Literal::usize_unsuffixed(rank);
    let filled = |dim: &Dim| dim.number().is_some_and(|size| size > 0);
    match ty.burn_rank() == rank {
        true => tensor,
        false if ty.shape.iter().all(filled) => code!(#tensor.unsqueeze::<#to>()),
        false => code!(ops::shape::lift::<_, #to, _>(#tensor)),
    }
}
