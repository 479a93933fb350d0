//! Causes of problems, and advice for the exporter.

use onnx_embed_ir::diagnostics::Problem;
use onnx_embed_ir::ops;

/// Cause of one or more problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub title: String,
    pub advice: Vec<String>,
}

/// Program that wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    PyTorch,
    TensorFlow,
    ScikitLearn,
    OnnxRuntime,
    Unknown,
}

impl Source {
    /// Returns the program that the producer name of a file identifies.
    pub fn of(producer: &str) -> Self {
        let producer = producer.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| producer.contains(word));
        if names(&["pytorch", "torch"]) {
            Source::PyTorch
        } else if names(&["tf2onnx", "keras", "tflite"]) {
            Source::TensorFlow
        } else if names(&["skl2onnx", "onnxmltools", "sklearn"]) {
            Source::ScikitLearn
        } else if names(&["onnxruntime", "onnx.quantize", "optimum"]) {
            Source::OnnxRuntime
        } else {
            Source::Unknown
        }
    }

    /// Returns commands that export the model again, with an opset that is supported.
    fn export(self) -> Vec<String> {
        let torch = "PyTorch: torch.onnx.export(model.eval(), (example,), \"model.onnx\", dynamo=True, opset_version=20)";
        let tensorflow = "TensorFlow: python -m tf2onnx.convert --saved-model FOLDER --opset 18 --output model.onnx (--keras FILE, --tflite FILE)";
        let sklearn = "scikit-learn: skl2onnx.to_onnx(model, X[:1], target_opset=18)";
        let convert =
            "without the exporter: onnx.version_converter.convert_version(onnx.load(\"model.onnx\"), 20)";
        let lines: &[&str] = match self {
            Source::PyTorch => &[torch],
            Source::TensorFlow => &[tensorflow],
            Source::ScikitLearn => &[sklearn],
            Source::OnnxRuntime => &["export the model before ONNX Runtime optimized it"],
            Source::Unknown => &[torch, tensorflow, sklearn, convert],
        };
        lines.iter().map(|line| (*line).to_owned()).collect()
    }
}

/// Prefixes of messages about files that are not ONNX models, with advice for each.
const OTHER_FILES: &[(&str, &str)] = &[
    (
        "the file is a Git LFS pointer",
        "git lfs install && git lfs pull (on Hugging Face: hf download REPOSITORY model.onnx)",
    ),
    (
        "the file is a web page",
        "download the file itself: on GitHub the link called Raw, on Hugging Face /resolve/ in place of /blob/",
    ),
    (
        "the file is a ZIP archive or a PyTorch checkpoint",
        "a checkpoint is loaded in PyTorch and exported: torch.onnx.export(model.eval(), (example,), \"model.onnx\", dynamo=True); an archive is unpacked",
    ),
    (
        "the file is a Python pickle",
        "a pickled scikit-learn model: skl2onnx.to_onnx(joblib.load(FILE), X[:1]).SerializeToString(); a PyTorch one: torch.onnx.export",
    ),
    ("the file is a Keras model", "python -m tf2onnx.convert --keras FILE --output model.onnx"),
    ("the file is a TensorFlow Lite model", "python -m tf2onnx.convert --tflite FILE --output model.onnx"),
    (
        "the file is a GGUF model",
        "GGUF holds weights without a graph: export the original model, as by optimum-cli export onnx --model NAME FOLDER",
    ),
    (
        "the file holds weights in safetensors form",
        "export the model that these weights belong to: optimum-cli export onnx --model NAME FOLDER",
    ),
    (
        "the file is a model in ONNX Runtime's own format",
        "take the .onnx file that the .ort file was made from",
    ),
    ("the file is compressed", "unpack it"),
    ("the file is empty", "export or download it again; an interrupted download leaves such files"),
    (
        "the file is no ONNX model, or only",
        "export or download it again, and compare its length with that of the source",
    ),
];

/// Returns the cause of a problem in a file that was written by `source`.
pub fn cause(problem: &Problem, source: Source) -> Cause {
    let message = problem.message();
    let help = problem.advice().unwrap_or_default();
    let has = |word: &str| message.contains(word);
    if let Some((_, advice)) = OTHER_FILES.iter().find(|(start, _)| message.starts_with(start)) {
        return of("the file is not an ONNX model", [advice.to_string()]);
    }
    if has("this version of onnx-embed knows up to") {
        return newer(source);
    }
    if has("external") {
        return external(help);
    }
    if let Some(kind) = unsupported(message) {
        return operator(kind, help, source);
    }
    if has("is stored in segments")
        || help.contains("damaged")
        || help.contains("inconsistent")
        || help.contains("cut after its graph")
    {
        let mut advice = vec![
            "python -c 'import onnx; onnx.checker.check_model(\"model.onnx\", full_check=True)' names what is wrong".to_owned(),
            "download the file again, or export it anew:".to_owned(),
        ];
        advice.extend(source.export());
        return of("the file contradicts itself", advice);
    }
    if help.contains("inputs(..)") || help.contains("dims(..)") || has("rank") {
        return shapes(help, source);
    }
    let advice = if help.is_empty() { Vec::new() } else { vec![help.to_owned()] };
    let mut advice = advice;
    if advice.is_empty() {
        advice.push(
            "cargo onnx-embed view --as-read -o graph.html shows the node and what it takes".to_owned(),
        );
        advice.extend(source.export());
    }
    of("a node cannot be compiled", advice)
}

fn of(title: &str, advice: impl IntoIterator<Item = String>) -> Cause {
    Cause { title: title.to_owned(), advice: advice.into_iter().collect() }
}

fn newer(source: Source) -> Cause {
    let mut advice = vec![
        "update onnx-embed: cargo update -p onnx-embed".to_owned(),
        "or write the model in an older opset, which loses nothing:".to_owned(),
    ];
    advice.extend(source.export());
    of("the file is of a newer version of ONNX", advice)
}

fn external(help: &str) -> Cause {
    let mut advice = Vec::new();
    if !help.is_empty() {
        advice.push(help.to_owned());
    }
    advice.extend([
        "the weights are in files of their own, often model.onnx.data or model.onnx_data: they belong into the folder \
         of the model, under the names that it has for them"
            .to_owned(),
        "one file with all of it, below 2 GB: onnx.save(onnx.load(\"model.onnx\"), \"one.onnx\", save_as_external_data=False)"
            .to_owned(),
        "from PyTorch: torch.onnx.export(.., external_data=False)".to_owned(),
    ]);
    of("weights outside of the file are not found", advice)
}

/// Returns the operator that a message reports as unsupported.
fn unsupported(message: &str) -> Option<&str> {
    message.strip_prefix("operator `")?.strip_suffix("` is not supported")
}

fn operator(kind: &str, help: &str, source: Source) -> Cause {
    let (domain, name) = kind.rsplit_once('.').unwrap_or(("", kind));
    let mut advice = vec!["cargo onnx-embed operators lists what is supported".to_owned()];
    match domain {
        "" | "ai.onnx.ml" => {
            if help.contains("is written") {
                advice.insert(0, help.to_owned());
            }
            let near = near(domain, name);
            if !near.is_empty() {
                advice.push(format!("operators of nearly this name: {}", near.join(", ")));
            }
            advice.extend(source.export());
            of("the standard has no such operator", advice)
        }
        "com.microsoft" => {
            advice.extend([
                "this operator comes of ONNX Runtime's optimizer or quantizer: take the model from before it, or \
                 optimize less (optimization_level=ORT_ENABLE_BASIC, optimum: -O1)"
                    .to_owned(),
                "quantize in the form that others read: quantize_static(.., quant_format=QuantFormat.QDQ)".to_owned(),
            ]);
            of("an operator of ONNX Runtime alone", advice)
        }
        _ if domain.contains("aten") => {
            advice.push("torch.onnx.export(.., dynamo=True) writes standard operators where the older exporter fell back to ATen".to_owned());
            of("the exporter fell back to operators of PyTorch", advice)
        }
        _ => of(
            "operators of a domain of your own",
            [
                format!(
                    "bind the operator to a function of your crate:\n\
                     #[onnx(ops(\"{kind}\" = crate::{}))]",
                    snake(name)
                ),
                format!("or define it in the model as a function of `{domain}` made of standard operators (onnx.helper.make_function)"),
                "or export the layer by standard operators: a symbolic function in PyTorch (torch.onnx.ops.symbolic), a converter in skl2onnx".to_owned(),
            ],
        ),
    }
}

fn shapes(help: &str, source: Source) -> Cause {
    let mut advice = Vec::new();
    if !help.is_empty() {
        advice.push(help.to_owned());
    }
    advice.push(
        "try sizes without changing the file: cargo onnx-embed inspect model.onnx --dim batch=1 --input x=batch,3,224,224"
            .to_owned(),
    );
    advice.push("then in the macro: #[onnx(dims(batch = 1), inputs(x: [batch, 3, 224, 224]))]".to_owned());
    match source {
        Source::PyTorch => advice.push(
            "or name the sizes that vary, and no others: torch.onnx.export(.., dynamic_shapes={\"x\": {0: \"batch\"}}), \
             with the older exporter dynamic_axes={\"x\": {0: \"batch\"}}"
                .to_owned(),
        ),
        Source::TensorFlow => advice.push("or fix them: python -m tf2onnx.convert .. --inputs x:0[1,224,224,3]".to_owned()),
        _ => advice.push(
            "or fix them in the file: python -m onnxruntime.tools.make_dynamic_shape_fixed --dim_param batch --dim_value 1 model.onnx fixed.onnx"
                .to_owned(),
        ),
    }
    of("sizes or ranks are open", advice)
}

/// Returns the operators whose names are similar.
fn near(domain: &str, name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase();
    let close = |row: &&ops::Row| {
        let most = (name.len() / 4).max(1);
        row.domain == domain && onnx_embed_ir::files::distance(&row.name.to_lowercase(), &name) <= most
    };
    ops::all().filter(close).map(|row| row.name).collect()
}

/// Returns a function name for an operator; characters other than letters and digits become `_`.
fn snake(name: &str) -> String {
    let name = onnx_embed_ir::emit::snake(name);
    if name.is_empty() { "operator".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(message: &str) -> String {
        cause(&Problem::new(message), Source::Unknown).title
    }

    #[test]
    fn messages_lead_to_causes() {
        assert_eq!(title("operator `Relux` is not supported"), "the standard has no such operator");
        assert_eq!(
            title("operator `com.microsoft.MoE` is not supported"),
            "an operator of ONNX Runtime alone"
        );
        assert_eq!(title("operator `acme.Twist` is not supported"), "operators of a domain of your own");
        assert_eq!(title("external data `w.bin` is not there"), "weights outside of the file are not found");
        assert_eq!(title("`x` is of rank 3"), "sizes or ranks are open");
    }

    #[test]
    fn near_names_are_found() {
        assert!(near("", "Relux").contains(&"Relu"));
        assert!(near("", "Wolf").is_empty());
    }

    #[test]
    fn what_wrote_the_file_is_known_by_its_producer() {
        assert_eq!(Source::of("pytorch 2.9.0"), Source::PyTorch);
        assert_eq!(Source::of("tf2onnx 1.16"), Source::TensorFlow);
        assert_eq!(Source::of("skl2onnx 1.19"), Source::ScikitLearn);
        assert_eq!(Source::of("onnx.quantize 0.1.0"), Source::OnnxRuntime);
    }
}
