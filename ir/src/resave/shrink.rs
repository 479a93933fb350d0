//! A copy whose weights have fewer bits.

mod names;
mod numbers;
mod products;
mod uses;

use std::collections::BTreeMap;
use std::path::Path;

use super::graph::{self, Changes, Edit, Initializer};
use super::shards::Shards;
use super::storage::{self, Data, SMALL, Storage, joined};
use super::{Copy, Create, Failure, Sharding, message};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::files::Files;
use crate::ops::MICROSOFT;
use crate::options::Options;
use crate::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, Setting, TensorProto};
use crate::{attempts, inspect, read};
use names::Names;
use numbers::{Unfit, int8};
use products::Product;
use uses::{Use, uses};

pub use numbers::Error;

/// Type of the elements of shrunk weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 16-bit floats, converted by `Cast`.
    F16,
    /// 8-bit integers with a scale for each output channel, converted by `DequantizeLinear`.
    I8,
    /// 4-bit integers with a scale for each 32 elements, for `MatMulNBits` of com.microsoft.
    I4,
}

/// A weight with fewer bits.
#[derive(Clone, Debug)]
pub struct Shrunk {
    pub name: String,
    /// Bytes in the original.
    pub before: usize,
    /// Bytes in the copy, with scales.
    pub after: usize,
    pub error: Error,
}

/// A weight that remains as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub name: String,
    pub bytes: usize,
    pub reason: &'static str,
}

/// Differences between the original and its copy.
#[derive(Debug, Default)]
pub struct Report {
    pub shrunk: Vec<Shrunk>,
    pub kept: Vec<Kept>,
}

struct Shrink<'a> {
    width: Width,
    storage: Storage<'a>,
    names: Names,
    /// Ranks of values.
    ranks: BTreeMap<String, usize>,
    report: Report,
}

/// Returns a copy in which weights of products and convolutions have this type, and the differences. Without external
/// data in the original, it has none, and `create` is not called.
pub fn shrink<'a>(
    path: &Path,
    width: Width,
    sharding: &Sharding,
    create: &'a mut Create<'a>,
) -> Result<(Copy, Report), Failure> {
    let files = Files::open(path, None)?;
    let model = read::decode(files.model())?;
    check_opset(&model, width)?;
    let is_external = storage::locations(&model, &files)?;
    let shards = is_external.then(|| Shards::new(sharding, create));
    let mut edit = Shrink {
        width,
        storage: Storage::new(&files, shards),
        names: Names::of(&model),
        ranks: if width == Width::I4 { ranks(path) } else { BTreeMap::new() },
        report: Report::default(),
    };
    let copy = graph::copy(&files.model(), &model, &mut edit)?;
    let shards = edit.storage.shards.map(Shards::finish).transpose()?.unwrap_or_default();
    Ok((Copy { model: message(copy)?, shards }, edit.report))
}

/// Fails if an operator that the copy needs is newer than the opset of the model.
fn check_opset(model: &ModelProto, width: Width) -> Result<(), Problem> {
    let (operator, least) = match width {
        Width::F16 => ("Cast", 9),
        Width::I8 => ("DequantizeLinear with an axis", 13),
        Width::I4 => return Ok(()),
    };
    let found = model.opset_import.iter().find(|opset| ["", "ai.onnx"].contains(&opset.domain.as_str()));
    match found.and_then(|opset| opset.version) {
        Some(version) if version < least => {
            let problem = Problem::new(format!("{operator} needs opset {least}, the model has {version}"));
            Err(problem.help("convert the model with `onnx.version_converter`, or export it again"))
        }
        _ => Ok(()),
    }
}

/// Returns the ranks of values that can be inferred.
fn ranks(path: &Path) -> BTreeMap<String, usize> {
    let options = Options::default();
    let Ok(untyped) = inspect::read(path, &options) else {
        return BTreeMap::new();
    };
    let (model, _) = attempts::typed(&untyped, &options);
    let rank = |value: &crate::graph::Value| {
        let tensor = value.ty.as_ref()?.as_tensor()?;
        Some((value.name.clone(), tensor.rank()))
    };
    model.graph.values.iter().filter_map(|(_, value)| rank(value)).collect()
}

impl Edit for Shrink<'_> {
    fn graph(&mut self, graph: &GraphProto) -> Result<Changes, Failure> {
        let uses = uses(graph);
        let mut changes = Changes::default();
        for (at, tensor) in graph.initializer.iter().enumerate() {
            let used = uses.get(tensor.name.as_str()).map(Vec::as_slice).unwrap_or_default();
            if self.shrunk(graph, at, tensor, used, &mut changes)? {
                continue;
            }
            if let Some(data) = self.moved(tensor)? {
                changes.initializers.insert(at, Initializer::Stored(data));
            }
        }
        Ok(changes)
    }

    fn attribute(&mut self, tensor: &TensorProto) -> Result<Data, Failure> {
        storage::required(self.storage.moved(tensor)?, tensor)
    }

    fn opset(&self) -> Option<OperatorSetIdProto> {
        let is_needed = self.width == Width::I4 && !self.report.shrunk.is_empty();
        is_needed.then(|| OperatorSetIdProto { domain: MICROSOFT.to_owned(), version: Some(1) })
    }

    fn ir_version(&self) -> i64 {
        // Before version 4 initializers are inputs.
        if self.report.shrunk.is_empty() { 0 } else { 4 }
    }
}

impl Shrink<'_> {
    fn moved(&mut self, tensor: &TensorProto) -> Result<Option<Data>, Failure> {
        if self.storage.shards.is_some() { self.storage.moved(tensor) } else { Ok(None) }
    }

    /// Replaces a tensor, if it is a weight of a product or convolution.
    fn shrunk(
        &mut self,
        graph: &GraphProto,
        at: usize,
        tensor: &TensorProto,
        uses: &[Use],
        changes: &mut Changes,
    ) -> Result<bool, Failure> {
        let Some(axis) = uses.iter().find_map(|used| used.axis) else {
            return Ok(false);
        };
        let weight = self.storage.files.weight(tensor)?;
        let before = weight.count().and_then(|count| weight.dtype.bytes(count)).unwrap_or_default();
        if before <= SMALL {
            return Ok(false);
        }
        if weight.dtype != DType::F32 {
            return Ok(self.kept(tensor, before, "its elements are not float32"));
        }
        let parts: Vec<bytes::Bytes> = weight.parts.iter().map(|part| part.bytes.clone()).collect();
        let bytes = joined(&parts);
        let values: Vec<f32> =
            bytes.chunks_exact(4).filter_map(|all| Some(f32::from_le_bytes(all.try_into().ok()?))).collect();
        if !values.iter().all(|value| value.is_finite()) {
            return Ok(self.kept(tensor, before, "it has elements that are not finite"));
        }
        let sizes = &weight.sizes;
        let replaced = match self.width {
            Width::F16 => self.half(tensor, &values, sizes, changes)?,
            Width::I8 => self.bytes(tensor, &values, sizes, axis, changes)?,
            Width::I4 => self.nibbles(graph, tensor, &values, sizes, uses, changes)?,
        };
        match replaced {
            Ok((tensors, error)) => {
                let after = tensors.iter().map(size).sum();
                self.report.shrunk.push(Shrunk { name: tensor.name.clone(), before, after, error });
                changes.initializers.insert(at, Initializer::Replaced(tensors));
                changes.hidden.insert(tensor.name.clone());
                Ok(true)
            }
            Err(Unfit(reason)) => Ok(self.kept(tensor, before, reason)),
        }
    }

    /// Records a weight that remains, and returns `false`.
    fn kept(&mut self, tensor: &TensorProto, bytes: usize, reason: &'static str) -> bool {
        self.report.kept.push(Kept { name: tensor.name.clone(), bytes, reason });
        false
    }

    fn half(
        &mut self,
        tensor: &TensorProto,
        values: &[f32],
        sizes: &[usize],
        changes: &mut Changes,
    ) -> Result<Replaced, Failure> {
        let (bytes, error) = match numbers::half(values) {
            Ok(half) => half,
            Err(unfit) => return Ok(Err(unfit)),
        };
        let name = self.names.fresh(&tensor.name, "float16");
        let stored = self.storage.tensor(name.clone(), DType::F16, sizes, bytes)?;
        let to = i64::from(DType::F32.number());
        changes.first.push(NodeProto {
            name: self.names.fresh(&tensor.name, "Cast"),
            op_type: "Cast".to_owned(),
            input: vec![name],
            output: vec![tensor.name.clone()],
            attribute: vec![Setting::Int(to).named("to")],
            ..NodeProto::default()
        });
        Ok(Ok((vec![stored], error)))
    }

    fn bytes(
        &mut self,
        tensor: &TensorProto,
        values: &[f32],
        sizes: &[usize],
        axis: usize,
        changes: &mut Changes,
    ) -> Result<Replaced, Failure> {
        let (bytes, scales, error) = match int8(values, sizes, axis) {
            Ok(codes) => codes,
            Err(unfit) => return Ok(Err(unfit)),
        };
        let [codes, scale] = ["int8", "scale"].map(|suffix| self.names.fresh(&tensor.name, suffix));
        let tensors = vec![
            self.storage.tensor(codes.clone(), DType::I8, sizes, bytes)?,
            self.storage.tensor(scale.clone(), DType::F32, &[scales.len()], floats(&scales))?,
        ];
        changes.first.push(NodeProto {
            name: self.names.fresh(&tensor.name, "DequantizeLinear"),
            op_type: "DequantizeLinear".to_owned(),
            input: vec![codes, scale],
            output: vec![tensor.name.clone()],
            attribute: vec![Setting::Int(i64::try_from(axis).unwrap_or_default()).named("axis")],
            ..NodeProto::default()
        });
        Ok(Ok((tensors, error)))
    }

    fn nibbles(
        &mut self,
        graph: &GraphProto,
        tensor: &TensorProto,
        values: &[f32],
        sizes: &[usize],
        uses: &[Use],
        changes: &mut Changes,
    ) -> Result<Replaced, Failure> {
        let products = match Product::all(graph, uses, &self.ranks) {
            Ok(products) => products,
            Err(unfit) => return Ok(Err(unfit)),
        };
        let is_transposed = products.iter().any(|(_, product)| product.is_transposed);
        let packed = match numbers::int4(values, sizes, is_transposed) {
            Ok(packed) => packed,
            Err(unfit) => return Ok(Err(unfit)),
        };
        let [codes, scales] = ["int4", "scales"].map(|suffix| self.names.fresh(&tensor.name, suffix));
        let shape = [packed.outputs, packed.blocks, numbers::BLOCK / 2];
        let tensors = vec![
            self.storage.tensor(codes.clone(), DType::U8, &shape, packed.codes)?,
            self.storage.tensor(
                scales.clone(),
                DType::F32,
                &[packed.scales.len()],
                floats(&packed.scales),
            )?,
        ];
        let operands = [codes, scales];
        for (at, product) in products {
            let size = [packed.inputs, packed.outputs];
            changes.nodes.insert(at, product.replaced(&operands, size, &mut self.names));
        }
        Ok(Ok((tensors, packed.error)))
    }
}

/// Tensors in place of a weight.
type Replaced = Result<(Vec<TensorProto>, Error), Unfit>;

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns the number of bytes of a new tensor.
fn size(tensor: &TensorProto) -> usize {
    let dtype = DType::from_onnx(tensor.data_type);
    let count =
        tensor.dims.iter().try_fold(1usize, |count, &size| count.checked_mul(usize::try_from(size).ok()?));
    dtype.zip(count).and_then(|(dtype, count)| dtype.bytes(count)).unwrap_or_default()
}
