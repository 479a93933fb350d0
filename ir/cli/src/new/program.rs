//! Source of the program: inputs, a call and its outputs.

use std::fmt::Write;

use anyhow::Result;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dim::Dim;
use onnx_embed_ir::dtype::{DType, ElementClass};
use onnx_embed_ir::emit::arguments::Argument;
use onnx_embed_ir::inspect::cost;
use onnx_embed_ir::types::{Placement, TensorType, Type};

pub struct Program<'a> {
    /// Path of the model file, relative to the crate.
    pub file: &'a str,
    pub inputs: &'a [Argument],
    pub outputs: &'a [Argument],
    pub dims: &'a [(String, i64)],
    pub labels: Vec<String>,
}

impl Program<'_> {
    /// Returns the source of `main.rs`.
    pub fn source(&self) -> Result<String> {
        let body = self.body()?;
        let mut text = format!("mod model {{\n    onnx_embed::onnx_model!({:?});\n}}\n\n", self.file);
        let mut names: Vec<&str> = Vec::new();
        let is_used = [("Array", "Array::"), ("Device", "Device::"), ("Int", "Int>"), ("Tensor", "Tensor::")];
        let used = is_used.iter().filter(|(_, word)| body.contains(word));
        names.extend(used.map(|(name, _)| *name));
        match names.as_slice() {
            [only] => writeln!(text, "use onnx_embed::{only};")?,
            names => writeln!(text, "use onnx_embed::{{{}}};", names.join(", "))?,
        }
        if self.chosen_output().is_some() {
            let labels: Vec<String> = self.labels.iter().map(|label| format!("{label:?}")).collect();
            writeln!(text, "\n/// Class names from the model.")?;
            writeln!(text, "const LABELS: [&str; {}] = [{}];", labels.len(), labels.join(", "))?;
        }
        write!(text, "\nfn main() {{\n{body}}}\n")?;
        Ok(text)
    }

    fn body(&self) -> Result<String> {
        let mut body = String::new();
        writeln!(body, "    let device = Device::default();")?;
        writeln!(body, "    let model = model::Model::new(&device);")?;
        for input in self.inputs {
            writeln!(body, "    // `{}`: {}", shown(&input.name), shown(&input.ty.to_string()))?;
            writeln!(body, "    let {} = {};", input.field, self.value(input))?;
        }
        let fields: Vec<&str> = self.inputs.iter().map(|input| input.field.as_str()).collect();
        let arguments = match fields.as_slice() {
            [] => String::new(),
            [only] => (*only).to_owned(),
            fields => format!("model::ModelInput {{ {} }}", fields.join(", ")),
        };
        writeln!(body, "    let output = model.forward({arguments});")?;
        for output in self.outputs {
            let value = match self.outputs {
                [_] => "output".to_owned(),
                _ => format!("output.{}", output.field),
            };
            writeln!(body, "    // `{}`: {}", shown(&output.name), shown(&output.ty.to_string()))?;
            let name = &output.field;
            let is_tensor = output.rust.starts_with("Tensor<");
            if is_tensor && self.chosen_output() == Some(output.name.as_str()) {
                write!(body, "{}", best(&value, name))?;
            } else if is_tensor {
                writeln!(body, "    println!(\"{name}: {{}}\", {value}.into_data());")?;
            } else {
                writeln!(body, "    println!(\"{name}: {{:?}}\", {value});")?;
            }
        }
        Ok(body)
    }

    /// Returns the name of the first float32 output whose last size is the number of labels.
    fn chosen_output(&self) -> Option<&str> {
        let is_it = |output: &&Argument| {
            let tensor = output.ty.as_tensor();
            let last = tensor.and_then(|tensor| tensor.shape.last()?.fixed());
            let is_float = tensor.is_some_and(|tensor| tensor.dtype == DType::F32);
            is_float && !self.labels.is_empty() && last == Some(self.labels.len())
        };
        self.outputs.iter().find(is_it).map(|output| output.name.as_str())
    }

    /// Returns an expression for zeros, or for an empty value, of the type of an input.
    fn value(&self, input: &Argument) -> String {
        match &input.ty {
            Type::Tensor(tensor) if input.is_scalar => scalar(tensor.dtype).to_owned(),
            Type::Tensor(tensor) => self.tensor(tensor, input.placement),
            Type::Sequence(_) => "Vec::new()".to_owned(),
            Type::Optional(_) => "None".to_owned(),
            Type::Map(..) => "std::collections::BTreeMap::new()".to_owned(),
            _ => "Default::default()".to_owned(),
        }
    }

    fn tensor(&self, tensor: &TensorType, placement: Placement) -> String {
        let sizes: Vec<u64> = tensor.shape.iter().map(|dim| self.size(dim)).collect();
        let (rank, zero) = (tensor.burn_rank(), scalar(tensor.dtype));
        if placement == Placement::Host || tensor.dtype == DType::String {
            let count = sizes.iter().fold(1u64, |count, size| count.saturating_mul(*size));
            return format!("Array::new({sizes:?}, vec![{zero}; {count}])");
        }
        let sizes = if sizes.is_empty() { vec![1] } else { sizes };
        match tensor.dtype.kind() {
            ElementClass::Int => format!("Tensor::<{rank}, Int>::zeros({sizes:?}, &device)"),
            ElementClass::Bool => format!("Tensor::<{rank}, Int>::zeros({sizes:?}, &device).bool()"),
            _ => format!("Tensor::<{rank}>::zeros({sizes:?}, &device)"),
        }
    }

    /// Returns the size that the caller specified. Otherwise evaluates it with 1 for each named size.
    fn size(&self, dim: &Dim) -> u64 {
        let chosen = dim.name().and_then(|name| self.dims.iter().find(|(own, _)| **own == **name));
        match chosen {
            Some((_, size)) => u64::try_from(*size).unwrap_or(1),
            None => cost::at_one(dim).unwrap_or(1),
        }
    }
}

/// Returns code that prints the three best labels of the first row.
fn best(value: &str, name: &str) -> String {
    format!(
        "    let scores = {value}.into_data().try_to_vec::<f32>().expect(\"`{name}` has type float32\");\n\
         \x20   let mut best: Vec<usize> = (0..LABELS.len()).collect();\n\
         \x20   best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));\n\
         \x20   for class in best.into_iter().take(3) {{\n\
         \x20       println!(\"{{}} {{:.3}}\", LABELS[class], scores[class]);\n\
         \x20   }}\n"
    )
}

fn scalar(dtype: DType) -> &'static str {
    match dtype.kind() {
        ElementClass::Float if matches!(dtype, DType::F16 | DType::Bf16) => "Default::default()",
        ElementClass::Float => "0.0",
        ElementClass::Int => "0",
        ElementClass::Bool => "false",
        ElementClass::String => "String::new()",
        ElementClass::Complex => "[0.0; 2]",
    }
}
