//! Causes of problems, and advice for the exporter.

use onnx_embed_ir::diagnostics::{Format, Problem, Topic};
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
            Source::OnnxRuntime => &["use the original export, before optimization by ONNX Runtime"],
            Source::Unknown => &[torch, tensorflow, sklearn, convert],
        };
        lines.iter().map(|line| (*line).to_owned()).collect()
    }
}

/// Returns the advice for a file that is not an ONNX model.
fn other_file(format: Format) -> &'static str {
    match format {
        Format::GitLfsPointer => {
            "download the file: git lfs install && git lfs pull (on Hugging Face: hf download REPOSITORY model.onnx)"
        }
        Format::WebPage => {
            "download the file itself: on GitHub with the \"Raw\" link, on Hugging Face with /resolve/ instead of /blob/"
        }
        Format::Archive => {
            "unpack an archive; load a checkpoint in PyTorch and export the model: torch.onnx.export(model.eval(), \
             (example,), \"model.onnx\", dynamo=True)"
        }
        Format::Pickle => {
            "export the model: with scikit-learn skl2onnx.to_onnx(joblib.load(FILE), X[:1]).SerializeToString(), with \
             PyTorch torch.onnx.export"
        }
        Format::Keras => "convert it: python -m tf2onnx.convert --keras FILE --output model.onnx",
        Format::TensorFlowLite => "convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx",
        Format::Gguf => {
            "export the original model, as GGUF contains only weights: optimum-cli export onnx --model NAME FOLDER"
        }
        Format::Safetensors => {
            "export the model of these weights: optimum-cli export onnx --model NAME FOLDER"
        }
        Format::OnnxRuntime => "use the .onnx file that the .ort file was created from",
        Format::Compressed => "decompress it",
        Format::Empty => "export or download it again; interrupted downloads leave empty files",
        Format::Unknown => "export or download it again, and compare its length with that of the source",
    }
}

/// Returns the cause of a problem in a file that was written by `source`.
pub fn cause(problem: &Problem, source: Source) -> Cause {
    let help = problem.advice().unwrap_or_default();
    match problem.topic() {
        Topic::Format(format) => of("the file is not an ONNX model", [other_file(*format).to_owned()]),
        Topic::Version => newer(source),
        Topic::ExternalData => external(help),
        Topic::Operator(kind) => operator(kind, help, source),
        Topic::Inconsistency => {
            let mut advice = vec![
                "check it: python -c 'import onnx; onnx.checker.check_model(\"model.onnx\", full_check=True)'"
                    .to_owned(),
                "export or download it again:".to_owned(),
            ];
            advice.extend(source.export());
            of("the file is inconsistent or damaged", advice)
        }
        Topic::Shape => shapes(help, source),
        Topic::Defect => of("a bug in onnx-embed", [help.to_owned()]),
        Topic::Node => {
            let mut advice = vec![help.to_owned()];
            if help.is_empty() {
                let view = "look at the node and its inputs: cargo onnx-embed view model.onnx --as-read -o graph.html";
                advice = vec![view.to_owned()];
                advice.extend(source.export());
            }
            of("a node or an option is invalid or not supported", advice)
        }
    }
}

fn of(title: &str, advice: impl IntoIterator<Item = String>) -> Cause {
    Cause { title: title.to_owned(), advice: advice.into_iter().collect() }
}

fn newer(source: Source) -> Cause {
    let mut advice = vec![
        "update onnx-embed: cargo update -p onnx-embed".to_owned(),
        "or export the model with an older opset:".to_owned(),
    ];
    advice.extend(source.export());
    of("the file uses a newer version of ONNX", advice)
}

fn external(help: &str) -> Cause {
    let mut advice = Vec::new();
    if !help.is_empty() {
        advice.push(help.to_owned());
    }
    advice.extend([
        "put the files with the weights, often model.onnx.data or model.onnx_data, into the folder of the model, with \
         their original names"
            .to_owned(),
        "or save the model with its weights in one file of at most 2 GB: onnx.save(onnx.load(\"model.onnx\"), \
         \"one.onnx\", save_as_external_data=False)"
            .to_owned(),
        "or export it in one file with PyTorch: torch.onnx.export(.., external_data=False)".to_owned(),
    ]);
    of("external weights cannot be read", advice)
}

fn operator(kind: &str, help: &str, source: Source) -> Cause {
    let (domain, name) = kind.rsplit_once('.').unwrap_or(("", kind));
    let mut advice = vec!["list the supported operators: cargo onnx-embed operators".to_owned()];
    match domain {
        "" | "ai.onnx.ml" => {
            if ops::spelling(domain, name).is_some() {
                advice.insert(0, help.to_owned());
            }
            let near = near(domain, name);
            if !near.is_empty() {
                advice.push(format!("operators with similar names: {}", near.join(", ")));
            }
            advice.extend(source.export());
            of("the model uses an operator that ONNX does not define", advice)
        }
        "com.microsoft" => {
            advice.extend([
                "use the original export, before optimization or quantization by ONNX Runtime, or optimize less: \
                 optimization_level=ORT_ENABLE_BASIC (in optimum: -O1)"
                    .to_owned(),
                "quantize in the portable format: quantize_static(.., quant_format=QuantFormat.QDQ)".to_owned(),
            ]);
            of("the model uses an operator that only ONNX Runtime defines", advice)
        }
        _ if domain.contains("aten") => {
            let export = "export the model again with the newer exporter: torch.onnx.export(.., dynamo=True)";
            advice.push(export.to_owned());
            of("the exporter fell back to operators of PyTorch", advice)
        }
        _ => of(
            "the model uses an operator of a custom domain",
            [
                format!(
                    "bind the operator to a function of your crate:\n\
                     #[onnx(ops(\"{kind}\" = crate::{}))]",
                    snake(name)
                ),
                format!(
                    "or define it in the model as a function of `{domain}` with standard operators: \
                     onnx.helper.make_function"
                ),
                "or export the layer as standard operators: with a symbolic function in PyTorch \
                 (torch.onnx.ops.symbolic), with a converter in skl2onnx"
                    .to_owned(),
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
        "try other sizes without changing the file: cargo onnx-embed inspect model.onnx --dim batch=1 \
         --input x=batch,3,224,224"
            .to_owned(),
    );
    advice.push("then in the macro: #[onnx(dims(batch = 1), inputs(x: [batch, 3, 224, 224]))]".to_owned());
    match source {
        Source::PyTorch => advice.push(
            "or name only the dynamic sizes: torch.onnx.export(.., dynamic_shapes={\"x\": {0: \"batch\"}}), \
             with the older exporter dynamic_axes={\"x\": {0: \"batch\"}}"
                .to_owned(),
        ),
        Source::TensorFlow => advice.push("or fix them: python -m tf2onnx.convert .. --inputs x:0[1,224,224,3]".to_owned()),
        _ => advice.push(
            "or fix them in the file: python -m onnxruntime.tools.make_dynamic_shape_fixed --dim_param batch --dim_value 1 model.onnx fixed.onnx"
                .to_owned(),
        ),
    }
    of("ranks or sizes are unknown", advice)
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

    fn title(topic: Topic) -> String {
        cause(&Problem::new("a problem").about(topic), Source::Unknown).title
    }

    #[test]
    fn topics_lead_to_causes() {
        let operator = |kind: &str| title(Topic::Operator(kind.to_owned()));
        assert_eq!(operator("Relux"), "the model uses an operator that ONNX does not define");
        assert_eq!(
            operator("com.microsoft.MoE"),
            "the model uses an operator that only ONNX Runtime defines"
        );
        assert_eq!(operator("acme.Twist"), "the model uses an operator of a custom domain");
        assert_eq!(title(Topic::ExternalData), "external weights cannot be read");
        assert_eq!(title(Topic::Shape), "ranks or sizes are unknown");
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
