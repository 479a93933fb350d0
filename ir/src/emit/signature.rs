//! The inputs and outputs of a model as Rust items.

use proc_macro2::{Ident, Literal};
use quote::format_ident;

use super::described::{self, Described, documentation};
use super::name::{self, Unique};
use super::{Context, element_type, host_element, rust_type};
use crate::diagnostics::plain;
use crate::dtype::{DType, Kind};
use crate::graph::ValueId;
use crate::rust::{Code, code};
use crate::types::{Place, Type};

/// One input or output of the typed `forward`.
#[derive(Debug)]
pub struct Port {
    pub id: ValueId,
    /// The name in the file.
    pub onnx: String,
    pub ident: Ident,
    pub ty: Type,
    /// The Rust type at the border.
    pub rust: Code,
    pub place: Place,
    /// A host scalar is a plain Rust value at the border.
    pub scalar: bool,
}

impl Port {
    /// What the documentation says of it.
    pub fn documentation(&self) -> String {
        format!("{}: {}", self.span(), self.spelled())
    }

    /// Its name as code.
    pub fn span(&self) -> String {
        described::span(&self.onnx)
    }

    /// Its type, as the signature spells it.
    pub fn spelled(&self) -> String {
        let scalar = self.ty.as_tensor().is_some_and(|tensor| tensor.rank() == 0);
        let note = if scalar && !self.scalar { " as a tensor of one element" } else { "" };
        format!("{}{note}", plain(&self.ty.to_string()))
    }

    /// The sizes that are checked, if there are any.
    pub fn sizes(&self) -> Option<String> {
        let tensor = self.ty.as_tensor()?;
        let sizes: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        match (tensor.rank(), self.scalar) {
            (0, true) => None,
            (0, false) => Some("one element".to_owned()),
            _ => Some(format!("[{}]", plain(&sizes.join(", ")))),
        }
    }

    /// Whether `forward` converts tensors of other element types.
    pub fn is_converted(&self) -> bool {
        let kind = self.ty.as_tensor().map(|tensor| tensor.dtype.kind());
        self.is_device() && kind != Some(Kind::Bool)
    }

    /// Whether it is a plain number or truth at the border.
    pub fn is_number(&self) -> bool {
        self.scalar && self.is_numeric()
    }

    /// Whether it is a tensor of the device.
    pub fn is_device(&self) -> bool {
        self.is_numeric() && !self.scalar && self.place == Place::Device
    }

    fn is_numeric(&self) -> bool {
        let tensor = self.ty.as_tensor();
        tensor.is_some_and(|tensor| tensor.dtype != DType::String)
    }
}

/// What `forward` calls variables of its own.
const LOCAL: [&str; 2] = ["device", "entry"];

/// The inputs, which may live on the host.
pub fn inputs(ids: &[ValueId], cx: &Context<'_>) -> Vec<Port> {
    let place = |id: ValueId| {
        if cx.lives_on_host(id) { Place::Host } else { Place::Device }
    };
    let named = ids.iter().map(|&id| (id, cx.values[id].name.clone(), place(id)));
    ports(named, &LOCAL, cx)
}

/// The outputs, on the device but for strings.
pub fn outputs(ids: &[ValueId], names: &[String], cx: &Context<'_>) -> Vec<Port> {
    let named = ids.iter().zip(names);
    ports(named.map(|(&id, name)| (id, name.clone(), Place::Device)), &[], cx)
}

/// The structs of inputs and outputs, where `forward` takes or returns several values.
pub fn structures(described: &Described<'_>) -> Code {
    let mut items = Code::default();
    let name = &described.item.name;
    if described.inputs.len() > 1 {
        let what = format!("What [`{name}::forward`] takes.");
        items.extend(structure(described.input, described.inputs, what));
    }
    if described.outputs.len() != 1 {
        let what = format!("What [`{name}::forward`] returns.");
        items.extend(structure(described.output, described.outputs, what));
    }
    items
}

/// `pub struct IrisInput { .. }` with a documented field per port.
fn structure(ident: &Ident, ports: &[Port], what: String) -> Code {
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

/// `Signature { inputs: &[..], outputs: &[..] }`.
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

fn ports(
    named: impl Iterator<Item = (ValueId, String, Place)>,
    reserved: &[&str],
    cx: &Context<'_>,
) -> Vec<Port> {
    let mut unique = Unique::default();
    reserved.iter().for_each(|name| unique.reserve(name));
    let mut ports = Vec::new();
    for (id, onnx, place) in named {
        let Some(ty) = cx.values[id].ty.clone() else {
            continue;
        };
        let scalar = match &ty {
            Type::Tensor(tensor) if tensor.rank() == 0 => {
                (place == Place::Host || tensor.dtype == DType::String).then(|| host_element(tensor.dtype))
            }
            _ => None,
        };
        ports.push(Port {
            id,
            ident: format_ident!("{}", unique.name(&name::snake(&onnx))),
            onnx,
            place,
            scalar: scalar.is_some(),
            rust: scalar.unwrap_or_else(|| rust_type(&ty, place)),
            ty,
        });
    }
    ports
}

/// The expression of a type.
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
            code!(Kind::Tensor { dtype: #dtype, sizes: &[#(#sizes),*] })
        }
        Type::Unranked(dtype) | Type::Nothing(dtype) => {
            let dtype = element_type(*dtype);
            code!(Kind::Unranked(#dtype))
        }
        Type::Sequence(item) => {
            let item = kind(item);
            code!(Kind::Sequence(&#item))
        }
        Type::Optional(item) => {
            let item = kind(item);
            code!(Kind::Optional(&#item))
        }
        Type::Map(key, item) => {
            let (key, item) = (element_type(*key), kind(item));
            code!(Kind::Map { key: #key, value: &#item })
        }
    }
}
