//! `new`: writes a program that runs a model.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use expect_test::expect;
use onnx_embed_ir::proto::StringStringEntryProto;
use onnx_embed_ir::text;
use prost::Message;

use super::{folder, model, run, run_in};

/// Builds the program in `folder` in the target folder of the checkout, runs it, and returns its output.
///
/// Packages are added to its manifest only for the features that they enable. It gets the lock file of the checkout, so
/// that Burn and our crates are not built again.
fn printed(folder: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let manifest = folder.join("Cargo.toml");
    let mut text = std::fs::read_to_string(&manifest).unwrap();
    for (name, path) in [("features", "ui-tests/features"), ("kernels", "kernels")] {
        let path = root.join(path);
        write!(text, "\n[dependencies.onnx-embed-{name}]\npath = {path:?}\n").unwrap();
    }
    let (plain, all) = ("onnx-embed = { ", r#"onnx-embed = { features = ["image", "regex"], "#);
    assert!(text.contains(plain), "{text}");
    let text = text.replace(plain, all);
    std::fs::write(manifest, text).unwrap();
    let target = target().to_str().unwrap();
    cargo(folder, &["run", "--quiet", "--target-dir", target])
}

/// Runs cargo in `folder` and returns its standard output.
fn cargo(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(words)
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the target folder of the checkout.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

#[test]
fn a_program_that_builds_and_prints_probabilities() {
    let folder = folder("new_mnist").join("digits");
    let answer = run(&["new", "examples/mnist/mnist.onnx", folder.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let main = std::fs::read_to_string(folder.join("src/main.rs")).unwrap();
    expect![[r#"
        mod model {
            onnx_embed::onnx_model!("model/mnist.onnx");
        }

        use onnx_embed::{Device, Tensor};

        fn main() {
            let device = Device::default();
            let model = model::Model::new(&device);
            // `image`: float32[batch, 1, 28, 28]
            let image = Tensor::<4>::zeros([1, 1, 28, 28], &device);
            let output = model.forward(image);
            // `probabilities`: float32[batch, 10]
            println!("probabilities: {}", output.into_data());
        }
    "#]]
    .assert_eq(&main);
    let printed = printed(&folder);
    assert!(printed.starts_with("probabilities: ["), "{printed}");
}

#[test]
fn labels_of_the_file_stand_beside_the_best_scores() {
    let source = r#"<ir_version: 10, opset_import: ["": 21], metadata_props: ["names": "{0: 'cat', 1: 'dog'}"]>
        g (float[n, 2] x) => (float[n, 2] scores) { scores = Softmax (x) }"#;
    let folder = folder("new_labels");
    model(&folder, "pets.onnx", source);
    assert_eq!(run_in(&folder, &["new", "pets.onnx"]).code, 0);
    let main = std::fs::read_to_string(folder.join("pets/src/main.rs")).unwrap();
    expect![[r#"
        mod model {
            onnx_embed::onnx_model!("model/pets.onnx");
        }

        use onnx_embed::{Device, Tensor};

        /// Class names from the model.
        const LABELS: [&str; 2] = ["cat", "dog"];

        fn main() {
            let device = Device::default();
            let model = model::Model::new(&device);
            // `x`: float32[n, 2]
            let x = Tensor::<2>::zeros([1, 2], &device);
            let output = model.forward(x);
            // `scores`: float32[n, 2]
            let scores = output.into_data().try_to_vec::<f32>().expect("`scores` has type float32");
            let mut best: Vec<usize> = (0..LABELS.len()).collect();
            best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            for class in best.into_iter().take(3) {
                println!("{} {:.3}", LABELS[class], scores[class]);
            }
        }
    "#]]
    .assert_eq(&main);
}

#[test]
fn sizes_that_are_asked_for_and_inputs_of_every_kind() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (int64[batch, sequence] ids, bool[batch, sequence] mask, int64 length, string[batch] names)
            => (float[batch, sequence] scores, string[batch] names) {
            hidden = Not (mask)
            kept = Cast <to = 1> (hidden)
            weights = Cast <to = 1> (ids)
            all = Mul (kept, weights)
            factor = Cast <to = 1> (length)
            scores = Mul (all, factor)
        }"#;
    let folder = folder("new_kinds");
    model(&folder, "Kinds.onnx", source);
    let answer = run_in(&folder, &["new", "Kinds.onnx", "--dim", "sequence=16"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.contains("kinds"), "{}", answer.out);
    let main = std::fs::read_to_string(folder.join("kinds/src/main.rs")).unwrap();
    expect![[r#"
        mod model {
            onnx_embed::onnx_model!("model/kinds.onnx");
        }

        use onnx_embed::{Array, Device, Int, Tensor};

        fn main() {
            let device = Device::default();
            let model = model::Model::new(&device);
            // `ids`: int64[batch, sequence]
            let ids = Tensor::<2, Int>::zeros([1, 16], &device);
            // `mask`: bool[batch, sequence]
            let mask = Tensor::<2, Int>::zeros([1, 16], &device).bool();
            // `length`: int64
            let length = Tensor::<1, Int>::zeros([1], &device);
            // `names`: string[batch]
            let names = Array::new([1], vec![String::new(); 1]);
            let output = model.forward(model::ModelInput { ids, mask, length, names });
            // `scores`: float32[batch, sequence]
            println!("scores: {}", output.scores.into_data());
            // `names`: string[batch]
            println!("names: {:?}", output.names);
        }
    "#]]
    .assert_eq(&main);
    let again = run_in(&folder, &["new", "Kinds.onnx"]);
    expect![[r#"
        error: `kinds` is not empty, expected a new or empty folder
    "#]]
    .assert_eq(&again.err);
}

/// Writes a model whose only constant is in the file `data`, and that file.
fn with_external_data(folder: &Path, data: &str) {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> { y = Add (x, w) }"#;
    let mut model = text::model(source).unwrap();
    let weight = &mut model.graph.as_mut().unwrap().initializer[0];
    weight.float_data.clear();
    weight.raw_data = None;
    weight.data_location = 1;
    weight.external_data = vec![StringStringEntryProto { key: "location".into(), value: data.into() }];
    std::fs::write(folder.join("m.onnx"), model.encode_to_vec()).unwrap();
    let data = folder.join(data);
    std::fs::create_dir_all(data.parent().unwrap()).unwrap();
    std::fs::write(data, b"fn main() { }   ").unwrap();
}

/// Returns the files of a folder, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inner = files(&entry.path());
            found.extend(inner.iter().map(|inner| format!("{name}/{inner}")));
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn external_data_never_becomes_a_part_of_the_crate() {
    for data in ["build.rs", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "src/main.rs", "src/bin/x.rs"]
    {
        let folder = folder("new_planted");
        with_external_data(&folder, data);
        let answer = run_in(&folder, &["new", "m.onnx", "crate"]);
        assert_eq!(answer.code, 0, "{data}: {}", answer.err);
        let mut expected = vec![
            ".gitignore".to_owned(),
            "Cargo.toml".to_owned(),
            "README.md".to_owned(),
            "model/m.onnx".to_owned(),
            format!("model/{data}"),
            "src/main.rs".to_owned(),
        ];
        expected.sort();
        assert_eq!(files(&folder.join("crate")), expected, "{data}");
        let manifest = std::fs::read_to_string(folder.join("crate/Cargo.toml")).unwrap();
        assert!(manifest.starts_with("[package]\nname = \"m\"\n"), "{manifest}");
        // Targets that cargo finds in the crate: one program, no build script.
        let words = ["metadata", "--no-deps", "--offline", "--format-version=1"];
        let metadata = cargo(&folder.join("crate"), &words);
        let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
        let targets = metadata["packages"][0]["targets"].as_array().unwrap();
        let kinds: Vec<&str> = targets.iter().map(|target| target["kind"][0].as_str().unwrap()).collect();
        assert_eq!(kinds, ["bin"], "{data}");
    }
}

#[test]
fn external_data_with_hidden_names_or_the_names_of_others_is_refused() {
    for data in [".cargo/config.toml", ".git/config", "data/.hidden", "m.onnx.data/../.x"] {
        let folder = folder("new_hidden");
        with_external_data(&folder, data);
        let answer = run_in(&folder, &["new", "m.onnx", "crate"]);
        assert_ne!(answer.code, 0, "{data}");
        assert!(!folder.join("crate").exists(), "{data}: {:?}", files(&folder.join("crate")));
    }
    // The model is written as `two_words.onnx`, which equals the name of its data except for case.
    let folder = folder("new_twice");
    with_external_data(&folder, "Two_Words.onnx");
    std::fs::rename(folder.join("m.onnx"), folder.join("two words.onnx")).unwrap();
    let answer = run_in(&folder, &["new", "two words.onnx", "crate"]);
    expect![[r#"
        error: external data `Two_Words.onnx` has the same name as another file of the crate; rename it
    "#]]
    .assert_eq(&answer.err);
    assert!(!folder.join("crate").exists());
}

/// Returns a model with a weight of 2.4 MB, whose last element is 7.25 and all others 0.
fn with_large_weight() -> Vec<u8> {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[1, 600] x) => (float[1, 1] y) <float[1] w = {0}> {
            sums = Add (x, w)
            y = ReduceMax (sums)
        }"#;
    let mut model = text::model(source).unwrap();
    let weight = &mut model.graph.as_mut().unwrap().initializer[0];
    let mut bytes = vec![0; 4 * 1000 * 600];
    let end = bytes.len() - 4;
    bytes[end..].copy_from_slice(&7.25f32.to_le_bytes());
    weight.dims = vec![1000, 600];
    weight.float_data.clear();
    weight.raw_data = Some(bytes.into());
    model.encode_to_vec()
}

#[test]
fn a_large_model_is_assembled_into_a_crate_that_forbids_unsafe_code() {
    // The path has characters that are special in an assembler, a shell or the macro.
    let folder = folder("new_large").join("a {b} 'c\" $d");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("large.onnx"), with_large_weight()).unwrap();
    let answer = run_in(&folder, &["new", "large.onnx"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let main = folder.join("large/src/main.rs");
    let text = std::fs::read_to_string(&main).unwrap();
    std::fs::write(&main, format!("#![forbid(unsafe_code)]\n#![deny(warnings)]\n{text}")).unwrap();
    assert_eq!(printed(&folder.join("large")), "y: [7.25]\n");
    if cfg!(target_os = "linux") {
        let program = std::fs::read(target().join("debug/large")).unwrap();
        let symbol = program
            .windows(27)
            .any(|name| name.starts_with(b"onnx_embed_") && name[11..].iter().all(u8::is_ascii_hexdigit));
        assert!(symbol, "the weights were not assembled");
    }
}
