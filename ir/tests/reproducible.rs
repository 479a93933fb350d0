//! Checks that the code of a model depends on its bytes alone, except for the paths that rustc reads.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::{Options, Precision, Weights};
use onnx_embed_ir::text;
use prost::Message;

/// Minimum number of models of the user-interface tests that compile.
const LEAST: usize = 50;

/// A folder for copies of models, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models")
}

/// Returns the paths of all files below a folder, relative to it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let copy = to.join(&file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(from.join(file), copy).unwrap();
    }
}

/// Writes a model with a weight that the assembler embeds.
fn write_large(folder: &Path) {
    let source = r#"<ir_version: 8, opset_import: ["": 17]>
        large (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }"#;
    let mut model = text::model(source).unwrap();
    model.doc_string = vec![b' '; 3 << 20].into();
    fs::write(folder.join("large.onnx"), model.encode_to_vec()).unwrap();
}

/// Returns the code of a model without the path of its folder, or its problems.
fn code(folder: &Path, file: &Path, options: &Options) -> Result<String, String> {
    let code = onnx_embed_ir::compile(&folder.join(file), &Item::model("model.onnx"), options);
    let text = match &code {
        Ok(code) => code.to_string(),
        Err(problems) => problems.report("model.onnx"),
    };
    let canonical = folder.canonicalize().unwrap();
    let text =
        text.replace(canonical.to_str().unwrap(), "FOLDER").replace(folder.to_str().unwrap(), "FOLDER");
    if code.is_ok() { Ok(text) } else { Err(text) }
}

/// Compares the code of each model with that of a second run, in another folder and another thread.
fn check(options: &Options, least: usize) {
    let name = format!("{:?}-{:?}-{}", options.weights, options.precision, options.training);
    let [first, second] =
        ["a", "second/with-a-longer-name"].map(|part| Folder::new(&format!("{name}/{part}")));
    for folder in [&first, &second] {
        copy(&models(), &folder.0);
        write_large(&folder.0);
    }
    let models = files(&first.0).into_iter().filter(|file| file.extension().is_some_and(|end| end == "onnx"));
    let models: Vec<PathBuf> = models.collect();
    let all = |folder: &Path| -> Vec<Result<String, String>> {
        models.iter().map(|file| code(folder, file, options)).collect()
    };
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| all(&second.0));
        (all(&first.0), second.join().unwrap())
    });
    for ((model, first), second) in models.iter().zip(&first).zip(&second) {
        assert!(first == second, "{name}: the code of {} differs between two runs", model.display());
    }
    let compiled = first.iter().filter(|code| code.is_ok()).count();
    assert!(compiled >= least, "{name}: only {compiled} models compile");
    let assembled = first.iter().flatten().filter(|code| code.contains(".incbin")).count();
    assert_eq!(assembled, usize::from(options.weights == Weights::Embed), "{name}");
}

#[test]
fn code_does_not_depend_on_the_folder_or_the_run() {
    check(&Options::default(), LEAST);
}

#[test]
fn options_do_not_change_that() {
    let precision = Precision::F16;
    check(&Options { weights: Weights::File, trace: true, precision, ..Options::default() }, LEAST);
    check(&Options { training: true, ..Options::default() }, LEAST);
}
