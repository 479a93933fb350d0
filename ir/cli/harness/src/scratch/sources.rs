//! Source code of libraries and programs.

use std::path::Path;

use onnx_embed_ir::options::{Options, Precision};

use super::{EMBEDDED, literal};
use crate::models::Model;

/// Returns a library that contains a model, as users write it.
pub fn library(model: &Model, options: &Options) -> String {
    let (package, path) = (model.package(), macro_literal(&model.path));
    let file = model.bytes() > EMBEDDED;
    let load = if file {
        format!("model::Model::from_file({}, device)", literal(&model.path))
    } else {
        "Ok(model::Model::new(device))".to_owned()
    };
    let storage = file.then(|| "weights = \"file\"".to_owned());
    let simplify = (!options.simplify).then(|| "simplify = false".to_owned());
    let trace = options.trace.then(|| "trace".to_owned());
    let subject = if options.trace { "traced" } else { "new" };
    let options = [storage, simplify, precision(options), trace, bound(options)];
    let options: Vec<String> = options.into_iter().flatten().collect();
    let item = if options.is_empty() {
        path
    } else {
        format!("#[onnx({})] pub struct Model = {path};", options.join(", "))
    };
    format!(
        "mod model {{\n    onnx_embed::onnx_model! {{ {item} }}\n}}\n\n\
         pub fn subject() -> onnx_embed_runner::Subject {{\n    \
         onnx_embed_runner::Subject::{subject}(\"{package}\", |device| {load})\n}}\n"
    )
}

/// Returns a library with a model that is compiled twice: with weights in the file, and with embedded weights.
pub fn reloading_library(model: &Model, options: &Options) -> String {
    let (package, path) = (model.package(), macro_literal(&model.path));
    let simplify = options.simplify;
    let others = [precision(options), bound(options)];
    let others: String = others.iter().flatten().map(|text| format!(", {text}")).collect();
    let item = |weights: &str| {
        format!(
            "onnx_embed::onnx_model! {{\n        \
             #[onnx(weights = \"{weights}\", simplify = {simplify}{others})]\n        \
             pub struct Model = {path};\n    }}"
        )
    };
    let (file, embed) = (item("file"), item("embed"));
    format!(
        "mod file {{\n    {file}\n}}\n\nmod embed {{\n    {embed}\n}}\n\n\
         pub fn subject() -> onnx_embed_runner::Subject {{\n    \
         onnx_embed_runner::Subject::new(\"{package}\", |device| Ok(embed::Model::new(device)))\n        \
         .reloaded::<file::Model>(\"file\")\n        .reloaded::<embed::Model>(\"embed\")\n}}\n"
    )
}

/// Formats a path as an argument of the macro, where `$NAME` is an environment variable and `$$` a `$`.
fn macro_literal(path: &Path) -> String {
    literal(path).replace('$', "$$")
}

/// Returns code that imports the functions of a file into the root of a library.
pub fn functions(file: &Path) -> String {
    format!("\n#[path = {}]\nmod functions;\n#[allow(unused_imports)]\nuse functions::*;\n", literal(file))
}

/// Returns the macro option for functions that compute operators, if any.
fn bound(options: &Options) -> Option<String> {
    let operators = options.operators.iter();
    let pairs = operators.map(|(name, binding)| format!("{name:?} = {}", binding.function));
    let pairs: Vec<String> = pairs.collect();
    (!pairs.is_empty()).then(|| format!("ops({})", pairs.join(", ")))
}

/// Returns the macro option for the precision, unless it is that of the file.
fn precision(options: &Options) -> Option<String> {
    let own = |(_, precision): &&(&str, Precision)| *precision == options.precision;
    let (name, precision) = Precision::ALL.iter().find(own)?;
    precision.half().map(|_| format!("precision = {name:?}"))
}

/// Returns a program that links models.
pub fn main(models: &[&Model]) -> String {
    let subjects = models.iter().map(|model| format!("        {}::subject(),\n", model.package()));
    let subjects: String = subjects.collect();
    format!(
        "fn main() -> std::process::ExitCode {{\n    \
         onnx_embed_runner::main(&[\n{subjects}    ])\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use onnx_embed_ir::options::Binding;

    use super::super::tests::model;
    use super::*;

    #[test]
    fn a_library_calls_the_macro_as_users_do() {
        expect![[r#"
            mod model {
                onnx_embed::onnx_model! { "/models/a.onnx" }
            }

            pub fn subject() -> onnx_embed_runner::Subject {
                onnx_embed_runner::Subject::new("m_a_31433721", |device| Ok(model::Model::new(device)))
            }
        "#]]
        .assert_eq(&library(&model("a"), &Options::default()));
    }

    #[test]
    fn a_dollar_sign_of_a_path_is_no_variable() {
        let model = model("$HOME/a");
        for source in [library(&model, &Options::default()), reloading_library(&model, &Options::default())] {
            assert!(source.contains("\"/models/$$HOME/a.onnx\""), "{source}");
        }
        assert!(functions(Path::new("/$src/ops.rs")).contains("\"/$src/ops.rs\""));
    }

    #[test]
    fn a_library_has_options() {
        let options = Options { simplify: false, precision: Precision::F16, ..Options::default() };
        expect![[r#"
            mod model {
                onnx_embed::onnx_model! { #[onnx(simplify = false, precision = "f16")] pub struct Model = "/models/a.onnx"; }
            }

            pub fn subject() -> onnx_embed_runner::Subject {
                onnx_embed_runner::Subject::new("m_a_31433721", |device| Ok(model::Model::new(device)))
            }
        "#]]
        .assert_eq(&library(&model("a"), &options));
    }

    #[test]
    fn a_library_may_compute_operators_itself() {
        let binding = Binding { function: "crate::bias_swish".to_owned(), results: Vec::new() };
        let options =
            Options { operators: [("my.BiasSwish".to_owned(), binding)].into(), ..Options::default() };
        let text = library(&model("a"), &options) + &functions(Path::new("/src/ops.rs"));
        expect![[r#"
            mod model {
                onnx_embed::onnx_model! { #[onnx(ops("my.BiasSwish" = crate::bias_swish))] pub struct Model = "/models/a.onnx"; }
            }

            pub fn subject() -> onnx_embed_runner::Subject {
                onnx_embed_runner::Subject::new("m_a_31433721", |device| Ok(model::Model::new(device)))
            }

            #[path = "/src/ops.rs"]
            mod functions;
            #[allow(unused_imports)]
            use functions::*;
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn a_library_may_show_its_values() {
        let options = Options { trace: true, ..Options::default() };
        expect![[r#"
            mod model {
                onnx_embed::onnx_model! { #[onnx(trace)] pub struct Model = "/models/a.onnx"; }
            }

            pub fn subject() -> onnx_embed_runner::Subject {
                onnx_embed_runner::Subject::traced("m_a_31433721", |device| Ok(model::Model::new(device)))
            }
        "#]]
        .assert_eq(&library(&model("a"), &options));
    }

    #[test]
    fn a_library_may_take_other_weights() {
        expect![[r#"
            mod file {
                onnx_embed::onnx_model! {
                    #[onnx(weights = "file", simplify = true)]
                    pub struct Model = "/models/a.onnx";
                }
            }

            mod embed {
                onnx_embed::onnx_model! {
                    #[onnx(weights = "embed", simplify = true)]
                    pub struct Model = "/models/a.onnx";
                }
            }

            pub fn subject() -> onnx_embed_runner::Subject {
                onnx_embed_runner::Subject::new("m_a_31433721", |device| Ok(embed::Model::new(device)))
                    .reloaded::<file::Model>("file")
                    .reloaded::<embed::Model>("embed")
            }
        "#]]
        .assert_eq(&reloading_library(&model("a"), &Options::default()));
    }
}
