//! Inputs and outputs of a model as Rust items.

use proc_macro2::{Ident, Literal};
use quote::format_ident;

use super::described::{self, Described, documentation};
use super::name::{self, Unique};
use super::{Context, element_type, host_element, rust_type};
use crate::diagnostics::plain;
use crate::dtype::{DType, ElementClass};
use crate::graph::ValueId;
use crate::rust::{Code, CodeNode, code};
use crate::types::{Placement, Type};

/// An input or output of the typed `forward`.
#[derive(Clone, Debug)]
pub struct Port {
    pub id: ValueId,
    /// Name in the file.
    pub onnx: String,
    pub ident: Ident,
    pub ty: Type,
    /// Rust type in the signature of `forward`.
    pub rust: Code,
    pub placement: Placement,
    /// Whether it is a host scalar, which is a plain Rust value in the signature.
    pub scalar: bool,
}

impl Port {
    /// Returns the documentation of the input or output.
    pub fn documentation(&self) -> String {
        format!("{}: {}", self.span(), self.spelled())
    }

    /// Returns the name as a code span.
    pub fn span(&self) -> String {
        described::span(&self.onnx)
    }

    /// Returns the type for documentation, with a note if it is a scalar in a tensor.
    pub fn spelled(&self) -> String {
        let scalar = self.ty.as_tensor().is_some_and(|tensor| tensor.rank() == 0);
        let note = if scalar && !self.scalar { " as a tensor with one element" } else { "" };
        format!("{}{note}", plain(&self.ty.to_string()))
    }

    /// Returns the shape that is checked, if any: `shape [batch, 3]`.
    pub fn sizes(&self) -> Option<String> {
        let tensor = self.ty.as_tensor()?;
        let sizes: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        match (tensor.rank(), self.scalar) {
            (0, true) => None,
            (0, false) => Some("one element".to_owned()),
            _ => Some(format!("shape [{}]", plain(&sizes.join(", ")))),
        }
    }

    /// Returns `true` if `forward` converts tensors of other element types.
    pub fn is_converted(&self) -> bool {
        let kind = self.ty.as_tensor().map(|tensor| tensor.dtype.kind());
        self.is_device() && kind != Some(ElementClass::Bool)
    }

    /// Returns `true` if it is a plain number or Boolean in the signature.
    pub fn is_number(&self) -> bool {
        self.scalar && self.is_numeric()
    }

    /// Returns `true` if it is a tensor on the device.
    pub fn is_device(&self) -> bool {
        self.is_numeric() && !self.scalar && self.placement == Placement::Device
    }

    fn is_numeric(&self) -> bool {
        let tensor = self.ty.as_tensor();
        tensor.is_some_and(|tensor| tensor.dtype != DType::String)
    }
}

/// Returns a value for each port: in a struct of this name, unless there is exactly one.
pub fn joined(structure: &Ident, ports: &[Port], values: &[Code]) -> Code {
    if let ([_], [only]) = (ports, values) {
        return only.clone();
    }
    let fields = ports.iter().zip(values);
    let fields =
        fields.map(|(port, value)| Code::from(CodeNode::Entry(port.ident.to_string().into(), value.clone())));
    code!(#structure { #(#fields),* })
}

/// Variables of `forward`, whose names inputs must not have.
const LOCAL: [&str; 4] = ["device", "entry", "parts", "rows"];

/// Returns the inputs, which may be on the host.
pub fn inputs(ids: &[ValueId], cx: &Context<'_>) -> Vec<Port> {
    let placement = |id: ValueId| {
        if cx.lives_on_host(id) { Placement::Host } else { Placement::Device }
    };
    let named = ids.iter().map(|&id| (id, cx.values[id].name.clone(), placement(id)));
    ports(named, &LOCAL, cx)
}

/// Returns the outputs, which are on the device except for strings.
pub fn outputs(ids: &[ValueId], names: &[String], cx: &Context<'_>) -> Vec<Port> {
    let named = ids.iter().zip(names);
    ports(named.map(|(&id, name)| (id, name.clone(), Placement::Device)), &[], cx)
}

/// Returns the structs of inputs and outputs, if `forward` takes several values or does not return exactly one.
pub fn structures(described: &Described<'_>) -> Code {
    let mut items = Code::default();
    let name = &described.item.name;
    if described.inputs.len() > 1 {
        let what = format!("Inputs of [`{name}::forward`].");
        items.extend(structure(described.input, described.inputs, what));
    }
    if described.outputs.len() != 1 {
        let what = format!("Outputs of [`{name}::forward`].");
        items.extend(structure(described.output, described.outputs, what));
    }
    items
}

/// Returns `pub struct IrisInput { .. }` with a documented field for each port.
pub fn structure(ident: &Ident, ports: &[Port], what: String) -> Code {
    let names: Vec<&Ident> = ports.iter().map(|port| &port.ident).collect();
    let fields = ports.iter().map(|port| {
        let (name, ty) = (&port.ident, &port.rust);
        let doc = documentation([port.documentation()]);
        code! {
            #doc
            pub #name: #ty,
        }
    });
    let doc = documentation([what]);
    code! {
        #doc
        #[derive(Clone)]
        pub struct #ident {
            #(#fields)*
        }

        printed!(#ident { #(#names),* });
    }
}

/// Returns `Signature { inputs: &[..], outputs: &[..] }`.
pub fn signature(inputs: &[Port], outputs: &[Port]) -> Code {
    let ports = |ports: &[Port]| {
        let ports = ports.iter().map(|port| {
            let (name, kind) = (&port.onnx, kind(&port.ty));
            code!(Port { name: #name, kind: #kind })
        });
        ports.collect::<Vec<_>>()
    };
    let (inputs, outputs) = (ports(inputs), ports(outputs));
    code! {
        Signature {
            inputs: &[#(#inputs),*],
            outputs: &[#(#outputs),*],
        }
    }
}

/// Returns the arguments of a call of `forward` in a function with the same parameters.
pub fn passed(inputs: &[Port]) -> Code {
    match inputs {
        [] => Code::default(),
        [only] => {
            let ident = &only.ident;
            code!(#ident)
        }
        _ => code!(input),
    }
}

/// Returns the parameters of `forward`: one, or `input` of the struct.
pub fn arguments(inputs: &[Port], structure: &Ident) -> Code {
    match inputs {
        [] => Code::default(),
        [only] => {
            let (ident, ty) = (&only.ident, &only.rust);
            code!(#ident: #ty)
        }
        _ => code!(input: #structure),
    }
}

fn ports(
    named: impl Iterator<Item = (ValueId, String, Placement)>,
    reserved: &[&str],
    cx: &Context<'_>,
) -> Vec<Port> {
    let mut unique = Unique::default();
    reserved.iter().for_each(|name| unique.reserve(name));
    let mut ports = Vec::new();
    for (id, onnx, placement) in named {
        let Some(ty) = cx.values[id].ty.clone() else {
            continue;
        };
        let scalar = match &ty {
            Type::Tensor(tensor) if tensor.rank() == 0 => (placement == Placement::Host
                || tensor.dtype == DType::String)
                .then(|| host_element(tensor.dtype)),
            _ => None,
        };
        ports.push(Port {
            id,
            ident: format_ident!("{}", unique.name(&name::snake(&onnx))),
            onnx,
            placement,
            scalar: scalar.is_some(),
            rust: scalar.unwrap_or_else(|| rust_type(&ty, placement)),
            ty,
        });
    }
    ports
}

/// Returns the expression of a type.
pub fn kind(ty: &Type) -> Code {
    match ty {
        Type::Tensor(tensor) => {
            let dtype = element_type(tensor.dtype);
            let sizes = tensor.shape.iter().map(|dim| match dim.fixed() {
                None if dim.is_any() => code!(Size::Unknown),
                Some(size) => {
                    let size = Literal::usize_unsuffixed(size);
                    code!(Size::Fixed(#size))
                }
                None => {
                    let name = dim.to_string();
                    code!(Size::Named(#name))
                }
            });
            code!(ValueType::Tensor { dtype: #dtype, sizes: &[#(#sizes),*] })
        }
        Type::Unranked(dtype) | Type::Nothing(dtype) => {
            let dtype = element_type(*dtype);
            code!(ValueType::Unranked(#dtype))
        }
        Type::Sequence(item) => {
            let item = kind(item);
            code!(ValueType::Sequence(&#item))
        }
        Type::Optional(item) => {
            let item = kind(item);
            code!(ValueType::Optional(&#item))
        }
        Type::Map(key, item) => {
            let (key, item) = (element_type(*key), kind(item));
            code!(ValueType::Map { key: #key, value: &#item })
        }
    }
}
