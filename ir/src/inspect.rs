//! Contents of a file, even if it cannot be compiled.

pub mod about;
pub mod contents;
pub mod cost;
pub mod rows;
pub mod states;
pub mod values;

use std::collections::BTreeMap;
use std::path::Path;

use prost::Message;

use about::About;
use cost::Cost;

use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Item;
use crate::graph::{Graph, ValueId};
use crate::model::Facts;
use crate::options::{Kept, Options};
use crate::proto::{DimensionValue, ModelProto, TypeProto, TypeValue, ValueInfoProto};
use crate::read::{self, Untyped};
use crate::types::Type;
use crate::weight::is_weight;
use crate::{passes, text};

/// Facts about a file that require no code.
#[derive(Debug)]
pub struct Inspection {
    pub facts: Facts,
    pub about: About,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Inputs that look like a state, and the outputs that continue them, as `state(..)` names them.
    pub states: Vec<Kept>,
    /// All constants once, in the order of the file.
    pub constants: Vec<Constant>,
    /// The simplified graph, if the model can be compiled.
    pub compiled: Option<Compiled>,
    /// Problems that prevent the model from being compiled.
    pub problems: Diagnostics,
}

impl Inspection {
    /// Returns the number of elements of the model's weights, including statistics of normalizations.
    pub fn parameters(&self) -> usize {
        let weights = self.constants.iter();
        let weights = weights.filter(|constant| is_weight(constant.dtype, &constant.sizes));
        weights.map(|constant| constant.sizes.iter().product::<usize>()).sum()
    }
}

/// The simplified graph of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Number of nodes, including nested ones, except constants.
    pub nodes: usize,
    pub cost: Cost,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub name: String,
    /// Inferred type, else the declared one. `None` if the rank is unknown.
    pub ty: Option<Type>,
}

/// A constant of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub name: String,
    pub dtype: DType,
    pub sizes: Vec<usize>,
    /// Bytes in the file.
    pub bytes: usize,
}

/// Inspects the file at `path`. Fails only if the file cannot be read as a model.
pub fn inspect(path: &Path, options: &Options) -> Result<Inspection, Diagnostics> {
    let untyped = read(path, options)?;
    let (mut model, mut problems) = crate::attempts::typed(&untyped, options);
    let declared = ModelProto::decode(model.files.model()).unwrap_or_default();
    let declared = declared.graph.unwrap_or_default();
    let body = &model.graph.body;
    let inspection = Inspection {
        inputs: ports(&model.graph, &body.inputs, &[], &declared.input),
        outputs: ports(&model.graph, &body.outputs, &model.facts.outputs, &declared.output),
        states: states::states(&model),
        constants: constants(&model.graph),
        facts: model.facts.clone(),
        about: About::of(model.files.model()),
        compiled: None,
        problems: Diagnostics::default(),
    };
    let mut compiled = None;
    if problems.is_empty() {
        let (graph, names) = (&mut model.graph, &mut model.names);
        passes::run(graph, names, options, &mut |_| ());
        compiled = Some(Compiled { nodes: model.graph.body.count(), cost: cost::cost(&model.graph) });
        problems = crate::check(&model, &item(), options).err().unwrap_or_default();
    }
    Ok(Inspection { compiled: compiled.filter(|_| problems.is_empty()), problems, ..inspection })
}

/// Reads a model, in ONNX's text syntax if the file name ends in `.onnxtxt`.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Untyped, Diagnostics> {
    if path.extension().is_none_or(|ending| ending != "onnxtxt") {
        return read::read(path, options);
    }
    let source = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let model = source.and_then(|source| text::model(&source).map_err(|error| error.to_string()));
    match model {
        Ok(model) => read::read_bytes(model.encode_to_vec().into(), options),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", path.display());
            Err(Problem::new(message).into())
        }
    }
}

/// Returns the inputs with the names of their values, or the outputs with the listed names.
fn ports(graph: &Graph, ids: &[ValueId], names: &[String], declared: &[ValueInfoProto]) -> Vec<Port> {
    let mut names = names.iter();
    let port = |&id: &ValueId| {
        let value = &graph.values[id];
        let name = names.next().unwrap_or(&value.name).clone();
        let found = declared.iter().find(|info| info.name == name);
        let declared = || found.and_then(|info| declared_type(info.r#type.as_ref()?));
        Port { ty: value.ty.clone().filter(|_| !value.guessed).or_else(declared), name }
    };
    ids.iter().map(port).collect()
}

/// Returns the type that the file declares, if it declares a rank.
fn declared_type(ty: &TypeProto) -> Option<Type> {
    let inner = |ty: &Option<Box<TypeProto>>| declared_type(ty.as_deref()?).map(Box::new);
    Some(match ty.value.as_ref()? {
        TypeValue::Tensor(tensor) => {
            let size = |size: &Option<DimensionValue>| match size {
                Some(DimensionValue::Value(size)) => Dim::from(*size),
                Some(DimensionValue::Name(name)) => Dim::named(name.as_str()),
                None => Dim::named("?"),
            };
            let sizes = tensor.shape.as_ref()?.dim.iter();
            let sizes = sizes.map(|dim| size(&dim.value)).collect();
            Type::tensor(DType::from_onnx(tensor.elem_type)?, sizes)
        }
        TypeValue::Sequence(container) => Type::Sequence(inner(&container.elem_type)?),
        TypeValue::Optional(container) => Type::Optional(inner(&container.elem_type)?),
        TypeValue::Map(container) => {
            let key = DType::from_onnx(container.key_type)?;
            Type::Map(key, inner(&container.value_type)?)
        }
        _ => return None,
    })
}

fn constants(graph: &Graph) -> Vec<Constant> {
    let mut constants = BTreeMap::new();
    for (_, value) in graph.values.iter() {
        let Some(weight) = &value.weight else {
            continue;
        };
        let Some(start) = weight.start() else {
            continue;
        };
        constants.entry(start).or_insert_with(|| Constant {
            name: value.name.clone(),
            dtype: weight.dtype,
            sizes: weight.sizes.clone(),
            bytes: weight.parts.iter().map(|part| part.bytes.len()).sum(),
        });
    }
    constants.into_values().collect()
}

/// The name of the expansion does not affect the problems.
fn item() -> Item {
    Item::model("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_no_weights() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/mnist/mnist.onnx");
        let inspection = inspect(&path, &Options::default()).unwrap();
        // Convolutions with their normalizations, and the linear layer.
        let numbers = 8 * 9 + 4 * 8 + 16 * 8 * 9 + 4 * 16 + 7840 + 10;
        assert_eq!(inspection.parameters(), numbers);
        assert!(!is_weight(DType::I64, &[2]) && !is_weight(DType::F32, &[]));
        assert_eq!(inspection.facts.metadata.graph, "mnist");
    }
}
