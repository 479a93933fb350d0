//! rten, for `bench.py`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bench_protocol::{Engine, Result, Value, serve};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value as Tensor};
use rten_tensor::prelude::*;

struct Rten {
    model: Model,
    threads: Arc<ThreadPool>,
}

impl Engine for Rten {
    type Inputs = Vec<(NodeId, Tensor)>;
    type Outputs = Vec<Tensor>;

    fn load(model: &Path, threads: usize, _: &[Value]) -> Result<Self> {
        let mut options = ModelOptions::with_all_ops();
        // SAFETY: the file is not modified while the program runs.
        let model = unsafe { options.prepack_weights(true).load_mmap(model)? };
        let threads = Arc::new(ThreadPool::with_num_threads(threads));
        Ok(Self { model, threads })
    }

    fn inputs(&self, values: &[Value]) -> Result<Self::Inputs> {
        let input = |value: &Value| Ok((self.model.node_id(&value.name)?, tensor(value)?));
        values.iter().map(input).collect()
    }

    fn run(&self, inputs: &Self::Inputs) -> Result<Self::Outputs> {
        let inputs = inputs.iter().map(|(node, value)| (*node, value.into()));
        let options = RunOptions::default().with_thread_pool(Some(self.threads.clone()));
        let outputs = self.model.output_ids();
        Ok(self.model.run(inputs.collect(), outputs, Some(options))?)
    }

    fn outputs(&self, outputs: Self::Outputs) -> Result<Vec<Value>> {
        let nodes = self.model.output_ids().iter();
        let output = |(node, tensor): (&NodeId, &Tensor)| {
            let info = self.model.node_info(*node);
            let name = info.and_then(|info| info.name()).unwrap_or_default();
            let elements: Vec<f32> = match tensor {
                Tensor::FloatTensor(tensor) => tensor.to_vec(),
                Tensor::Int32Tensor(tensor) => tensor.iter().map(|x| *x as f32).collect(),
                Tensor::Int8Tensor(tensor) => tensor.iter().map(|x| f32::from(*x)).collect(),
                Tensor::UInt8Tensor(tensor) => tensor.iter().map(|x| f32::from(*x)).collect(),
                _ => return Err("an output is no tensor".into()),
            };
            let shape = tensor.shape().to_vec();
            Ok(Value::new(name, "float32", &shape, &elements, f32::to_le_bytes))
        };
        nodes.zip(&outputs).map(output).collect()
    }
}

/// Converts a value. rten represents 64-bit integers with 32 bits.
fn tensor(value: &Value) -> Result<Tensor> {
    let shape = &value.shape[..];
    Ok(match value.dtype.as_str() {
        "float32" => Tensor::from_shape(shape, value.elements(f32::from_le_bytes))?,
        "int64" => {
            let narrow = |bytes| i64::from_le_bytes(bytes) as i32;
            Tensor::from_shape(shape, value.elements(narrow))?
        }
        "int32" => Tensor::from_shape(shape, value.elements(i32::from_le_bytes))?,
        "bool" => Tensor::from_shape(shape, value.elements(|[byte]: [u8; 1]| i32::from(byte)))?,
        "int8" => Tensor::from_shape(shape, value.elements(i8::from_le_bytes))?,
        "uint8" => Tensor::from_shape(shape, value.elements(u8::from_le_bytes))?,
        other => return Err(format!("an input of type {other}").into()),
    })
}

fn main() -> ExitCode {
    serve::<Rten>()
}
