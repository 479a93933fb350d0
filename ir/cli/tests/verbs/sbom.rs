//! `sbom`: packages and models of a program in CycloneDX.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use serde_json::Value as Json;

use super::{Answer, folder, run, run_in};

/// Checksum of the package in the folder that replaces the registry.
const TINY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn copy(folder: &Path, name: &str, model: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui-tests/models").join(model);
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(from, path).unwrap();
}

/// Writes a program with a library that embeds a model, a package of a registry, a macro and a build script.
fn program(test: &str) -> PathBuf {
    let folder = folder(test);
    let package = |name: &str, version: &str, license: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nlicense = \"{license}\"\n{rest}")
    };
    let dependencies = "[dependencies]\nderive = { path = \"derive\" }\nmodels = { path = \"models\" }\n\
                        onnx-embed = { path = \"onnx-embed\" }\ntiny = \"1\"\n\
                        [build-dependencies]\nbuilder = { path = \"builder\" }\n[workspace]\n";
    write(&folder, "Cargo.toml", &package("program", "1.2.0", "MIT/Apache-2.0", dependencies));
    let macros = "[lib]\nproc-macro = true\n[dependencies]\ntiny = \"1\"\n";
    write(&folder, "derive/Cargo.toml", &package("derive", "0.1.0", "MIT", macros));
    let embedding = "license-file = \"TERMS\"\n[dependencies]\nonnx-embed = { path = \"../onnx-embed\" }\n";
    let embedding = package("models", "0.3.0", "", embedding).replace("license = \"\"\n", "");
    write(&folder, "models/Cargo.toml", &embedding);
    write(&folder, "builder/Cargo.toml", &package("builder", "0.1.0", "MIT", ""));
    write(&folder, "onnx-embed/Cargo.toml", &package("onnx-embed", "0.1.0", "MIT", ""));
    for library in ["derive", "builder", "onnx-embed"] {
        write(&folder, &format!("{library}/src/lib.rs"), "");
    }
    let source = "onnx_embed::onnx_model! {\n    #[onnx(weights = \"file\")]\n    pub struct Sum = \"../sum.onnx\";\n}\n";
    write(&folder, "models/src/lib.rs", source);
    write(&folder, "models/tests/other.rs", "onnx_embed::onnx_model!(\"missing.onnx\");\n");
    write(&folder, "src/main.rs", "mod flowers;\nfn main() {}\n");
    write(&folder, "src/flowers.rs", "onnx_embed::onnx_model!(\"$CARGO_MANIFEST_DIR/data/iris.onnx\");\n");
    write(&folder, "build.rs", "fn main() {}\n");
    copy(&folder, "data/iris.onnx", "iris.onnx");
    copy(&folder, "models/sum.onnx", "signed/external.onnx");
    copy(&folder, "models/external.bin", "signed/external.bin");
    let registry = "[source.crates-io]\nreplace-with = \"folder\"\n[source.folder]\ndirectory = \"vendor\"\n";
    write(&folder, ".cargo/config.toml", registry);
    write(&folder, "vendor/tiny/Cargo.toml", &package("tiny", "1.0.0", "Zlib", ""));
    write(&folder, "vendor/tiny/src/lib.rs", "");
    let checksums = format!("{{\"files\":{{}},\"package\":\"{TINY}\"}}");
    write(&folder, "vendor/tiny/.cargo-checksum.json", &checksums);
    let mut lock = "version = 4\n".to_owned();
    for (name, version, rest) in [
        ("builder", "0.1.0", ""),
        ("derive", "0.1.0", "dependencies = [\n \"tiny\",\n]\n"),
        ("models", "0.3.0", "dependencies = [\n \"onnx-embed\",\n]\n"),
        ("onnx-embed", "0.1.0", ""),
        (
            "program",
            "1.2.0",
            "dependencies = [\n \"builder\",\n \"derive\",\n \"models\",\n \"onnx-embed\",\n \"tiny\",\n]\n",
        ),
    ] {
        lock += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{rest}");
    }
    let source = "registry+https://github.com/rust-lang/crates.io-index";
    lock += &format!(
        "\n[[package]]\nname = \"tiny\"\nversion = \"1.0.0\"\nsource = \"{source}\"\nchecksum = \"{TINY}\"\n"
    );
    write(&folder, "Cargo.lock", &lock);
    folder
}

fn json(answer: &Answer) -> Json {
    assert_eq!(answer.code, 0, "{}", answer.err);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {}", answer.out))
}

#[test]
fn packages_and_models_are_listed() {
    let answer = run_in(&program("sbom"), &["sbom"]);
    assert_eq!((answer.err.as_str(), answer.code), ("", 0));
    let (program, tool) = answer.out.split_once("\"tools\"").unwrap();
    let tool = tool.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    expect_file!["sbom.json"].assert_eq(&format!("{program}\"tools\"{tool}"));
}

#[test]
fn the_document_does_not_depend_on_the_folder_or_the_call() {
    let first = program("sbom_first");
    let second = program("sbom_second/in another folder");
    let answers = [&first, &second, &first].map(|folder| run_in(folder, &["sbom", "--target", "all"]).out);
    assert!(answers[0].starts_with('{'));
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn a_time_is_written_if_it_is_specified() {
    let folder = program("sbom_time");
    let path = folder.join("program.cdx.json");
    let words = ["sbom", "--timestamp", "2026-01-31T12:00:00Z", "-o", "program.cdx.json"];
    let answer = run_in(&folder, &words);
    assert_eq!((answer.out.as_str(), answer.code), ("wrote `program.cdx.json`\n", 0));
    let json: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(json["metadata"]["timestamp"], "2026-01-31T12:00:00Z");
    let answer = run_in(&folder, &["sbom", "--timestamp", "today"]);
    assert!(answer.err.contains("expected a time, as in 2026-01-31T12:00:00Z"), "{}", answer.err);
    assert_eq!(answer.code, 2);
}

#[test]
fn a_path_that_is_not_a_string_needs_the_option() {
    let folder = program("sbom_path");
    let source = "macro_rules! model { ($path:literal) => { onnx_embed::onnx_model!($path); } }\nmodel!(\"a.onnx\");\n";
    write(&folder, "src/flowers.rs", source);
    let answer = run_in(&folder, &["sbom"]);
    assert!(
        answer.err.contains("flowers.rs` has a path that is not a string; list its model with `--model`")
    );
    assert_eq!((answer.out.as_str(), answer.code), ("", 2));
    let found = json(&run_in(&folder, &["sbom", "--model", "data/iris.onnx"]));
    let components = found["components"].as_array().unwrap();
    let models = components.iter().filter(|component| component["type"] == "machine-learning-model");
    let names: Vec<&Json> = models.map(|model| &model["bom-ref"]).collect();
    assert_eq!(names, ["model:models/sum.onnx", "model:program/data/iris.onnx"]);
}

#[test]
fn unreadable_files_are_errors() {
    let error = |folder: &Path, expected: &str, code: i32| {
        let answer = run_in(folder, &["sbom"]);
        assert!(answer.err.contains(expected), "{}", answer.err);
        assert_eq!((answer.out.as_str(), answer.code), ("", code));
    };
    let folder = program("sbom_errors");
    fs::remove_file(folder.join("models/external.bin")).unwrap();
    error(&folder, "external.bin", 1);
    write(&folder, "models/sum.onnx", "<!doctype html>");
    error(&folder, "the file is a web page, not the model", 1);
    fs::remove_file(folder.join("models/sum.onnx")).unwrap();
    error(&folder, "the model in `", 2);
    write(&folder, "models/src/lib.rs", "onnx_embed::onnx_model!(\"$MODELS_OF_SBOM/a.onnx\");");
    error(&folder, "environment variable `MODELS_OF_SBOM` is not set", 2);
    write(&folder, "models/src/lib.rs", "onnx_model!(\"");
    error(&folder, "is not Rust code", 2);
    fs::remove_file(folder.join("Cargo.lock")).unwrap();
    error(&folder, "lock file", 2);
    write(&folder, "Cargo.toml", "[workspace]\nmembers = [\"builder\"]\n");
    let lock = "version = 4\n\n[[package]]\nname = \"builder\"\nversion = \"0.1.0\"\n";
    write(&folder, "Cargo.lock", lock);
    error(&folder, "the folder has no package, only a workspace", 2);
    write(&folder, "Cargo.toml", "[package]\n");
    error(&folder, "cargo metadata --format-version=1", 2);
}

#[test]
fn an_example_of_the_repository() {
    let found = json(&run(&["sbom", "--manifest-path", "examples/mnist/Cargo.toml"]));
    let components = found["components"].as_array().unwrap();
    let named = |name: &str| components.iter().find(|component| component["name"] == name).unwrap();
    assert_eq!(named("burn")["purl"].as_str().unwrap().split('@').next(), Some("pkg:cargo/burn"));
    assert_eq!(named("burn")["hashes"][0]["content"].as_str().map(str::len), Some(64));
    assert_eq!([&named("syn")["scope"], &named("half")["scope"]], ["excluded", "required"]);
    let model = named("mnist.onnx");
    assert_eq!(model["type"], "machine-learning-model");
    let names: BTreeSet<&str> =
        components.iter().filter_map(|component| component["bom-ref"].as_str()).collect();
    assert_eq!(names.len(), components.len());
    assert!(components.iter().all(|component| component["name"] != "trybuild"));
}
