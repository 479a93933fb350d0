//! tract, for `bench.py`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bench_protocol::{Engine, Result, Value, serve};
use tract_linalg::multithread::{Executor, set_default_executor};
use tract_onnx::prelude::*;

type Plan = Arc<TypedRunnableModel>;

/// A model that is compiled for the sizes of its inputs.
struct Tract {
    plan: Plan,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Engine for Tract {
    type Inputs = TVec<TValue>;
    type Outputs = TVec<TValue>;

    fn load(model: &Path, threads: usize, values: &[Value]) -> Result<Self> {
        if threads > 1 {
            set_default_executor(Executor::multithread(threads));
        }
        let mut model = onnx().model_for_path(model)?;
        let names = |outlets: &[OutletId], model: &InferenceModel| -> Vec<String> {
            let name = |outlet: &OutletId| match model.outlet_label(*outlet) {
                Some(label) => label.to_owned(),
                None => model.node(outlet.node).name.clone(),
            };
            outlets.iter().map(name).collect()
        };
        let inputs = names(model.input_outlets()?, &model);
        let outputs = names(model.output_outlets()?, &model);
        for (at, name) in inputs.iter().enumerate() {
            let value = find(values, name)?;
            let fact = InferenceFact::dt_shape(dtype(value)?, &value.shape);
            model.set_input_fact(at, fact)?;
        }
        let plan = model.into_optimized()?.into_runnable()?;
        Ok(Self { plan, inputs, outputs })
    }

    fn inputs(&self, values: &[Value]) -> Result<Self::Inputs> {
        let input = |name: &String| {
            let value = find(values, name)?;
            // SAFETY: any bits are valid elements of these types, except for `bool`, which numpy writes as 0 and 1.
            let tensor = unsafe { Tensor::from_raw_dt(dtype(value)?, &value.shape, &value.bytes)? };
            Ok(tensor.into_tvalue())
        };
        self.inputs.iter().map(input).collect()
    }

    fn run(&self, inputs: &Self::Inputs) -> Result<Self::Outputs> {
        Ok(self.plan.run(inputs.clone())?)
    }

    fn outputs(&self, outputs: Self::Outputs) -> Result<Vec<Value>> {
        let output = |(name, tensor): (&String, &TValue)| {
            let float = tensor.cast_to_dt(DatumType::F32)?;
            let shape = float.shape().to_vec();
            let elements = float.into_owned().into_plain_array::<f32>()?;
            let elements: Vec<f32> = elements.iter().copied().collect();
            Ok(Value::new(name, "float32", &shape, &elements, f32::to_le_bytes))
        };
        self.outputs.iter().zip(&outputs).map(output).collect()
    }
}

fn find<'v>(values: &'v [Value], name: &str) -> Result<&'v Value> {
    let value = values.iter().find(|value| value.name == name);
    value.ok_or_else(|| format!("there is no value for the input {name:?}").into())
}

fn dtype(value: &Value) -> Result<DatumType> {
    Ok(match value.dtype.as_str() {
        "float16" => DatumType::F16,
        "float32" => DatumType::F32,
        "float64" => DatumType::F64,
        "bool" => DatumType::Bool,
        "int8" => DatumType::I8,
        "int16" => DatumType::I16,
        "int32" => DatumType::I32,
        "int64" => DatumType::I64,
        "uint8" => DatumType::U8,
        other => return Err(format!("an input of type {other}").into()),
    })
}

fn main() -> ExitCode {
    serve::<Tract>()
}
