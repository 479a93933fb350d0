//! References to external data, from each place of a model that can have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::{
    AttributeProto, AttributeType, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    SparseTensorProto, StringStringEntryProto, TensorProto, ValueInfoProto,
};
use prost::Message;
use tempfile::TempDir;

use crate::compile::{item, limit};
use crate::memory::within;

/// Number that no file in the folder of the model contains.
const SECRET: i64 = 12_345_678_901;
/// Number of integers in each file.
const COUNT: usize = 8;

const LOCATIONS: [&str; 18] = [
    "data.bin",
    "below/data.bin",
    "../outside.bin",
    "below/../../outside.bin",
    "below/../data.bin",
    "link.bin",
    "linked/outside.bin",
    "hard.bin",
    "model.onnx",
    ".",
    "",
    "below",
    "missing.bin",
    "/dev/zero",
    "/proc/self/environ",
    "pipe",
    "data.bin\0",
    "C:\\data.bin",
];
const KEYS: [&str; 6] = ["location", "offset", "length", "checksum", "basepath", "Location"];
const NUMBERS: [&str; 14] = [
    "0",
    "8",
    "16",
    "64",
    "65",
    "4096",
    "-1",
    "",
    "1e1",
    "+8",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    " 8",
];

/// A folder with a model, next to a file that models must not read.
struct Folder {
    root: TempDir,
}

static FOLDER: LazyLock<Folder> = LazyLock::new(|| Folder::new().expect("a temporary folder can be written"));

impl Folder {
    fn new() -> std::io::Result<Self> {
        let folder = Folder { root: tempfile::tempdir()? };
        let numbers = |number: i64| -> Vec<u8> { (0..COUNT).flat_map(|_| number.to_le_bytes()).collect() };
        let (outside, inside) = (folder.root.path().join("outside.bin"), folder.inside());
        fs::create_dir_all(inside.join("below"))?;
        fs::write(&outside, numbers(SECRET))?;
        fs::write(inside.join("data.bin"), numbers(3))?;
        fs::write(inside.join("below/data.bin"), numbers(5))?;
        fs::hard_link(&outside, inside.join("hard.bin"))?;
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&outside, inside.join("link.bin"))?;
            std::os::unix::fs::symlink(folder.root.path(), inside.join("linked"))?;
            let pipe = std::process::Command::new("mkfifo").arg(inside.join("pipe")).status()?;
            assert!(pipe.success(), "mkfifo makes a pipe");
        }
        Ok(folder)
    }

    /// The folder of the model.
    fn inside(&self) -> PathBuf {
        self.root.path().join("model")
    }
}

/// Compiles a model whose references the bytes choose. Its code must read files below the folder of the model alone.
pub fn run(bytes: &[u8]) {
    let Ok(model) = model(&mut Unstructured::new(bytes)) else {
        return;
    };
    let inside = FOLDER.inside();
    let (path, file) = (inside.join("model.onnx"), model.encode_to_vec());
    fs::write(&path, &file).expect("a temporary folder can be written");
    let code = within(limit(file.len()), || {
        let options = Options::default();
        let model = onnx_embed_ir::load(&path, &options).ok()?;
        onnx_embed_ir::code(model, &item(), &options).ok()
    });
    if let Some(code) = code {
        check(&code.to_string(), &inside);
    }
}

/// # Panics
/// If the code contains what is outside of the folder.
fn check(code: &str, inside: &Path) {
    assert!(!code.contains(&SECRET.to_string()), "a number of another folder is in the code");
    let inside = fs::canonicalize(inside).expect("the folder exists");
    for embedded in code.split("include_bytes ! (\"").skip(1) {
        let name = embedded.split('"').next().unwrap_or_default();
        let path = fs::canonicalize(inside.join(name)).expect("the compiler has read the file");
        assert!(path.starts_with(&inside), "`{name}` is embedded");
    }
}

fn model(choices: &mut Unstructured) -> Result<ModelProto> {
    let mut graph = GraphProto { name: "g".to_owned(), ..GraphProto::default() };
    let mut functions = Vec::new();
    for at in 0..choices.int_in_range(1..=3)? {
        let name = format!("c{at}");
        let made = match choices.int_in_range(0..=4)? {
            0 | 1 => {
                graph.initializer.push(TensorProto { name: name.clone(), ..reference(choices)? });
                name
            }
            2 => {
                graph.node.push(constant(choices, &name)?);
                name
            }
            3 => {
                let mut values = reference(choices)?;
                values.name = name.clone();
                let indices = Some(reference(choices)?);
                let dims = vec![1 << choices.int_in_range(0..=5)?];
                graph.sparse_initializer.push(SparseTensorProto { values: Some(values), indices, dims });
                name
            }
            _ => {
                let kind = format!("F{at}");
                functions.push(FunctionProto {
                    name: kind.clone(),
                    domain: "f".to_owned(),
                    output: vec!["r".to_owned()],
                    node: vec![constant(choices, "r")?],
                    opset_import: vec![import("", 21)],
                    ..FunctionProto::default()
                });
                let domain = "f".to_owned();
                graph.node.push(NodeProto { domain, ..node(&kind, &[], &name) });
                name
            }
        };
        // Half of the constants steer a shape, so that the compiler reads their values.
        let output = format!("y{at}");
        let kind = if choices.ratio(1, 2)? { "ConstantOfShape" } else { "Neg" };
        graph.node.push(node(kind, &[&made], &output));
        graph.output.push(ValueInfoProto { name: output, ..ValueInfoProto::default() });
    }
    Ok(ModelProto {
        ir_version: Some(10),
        opset_import: vec![import("", 21), import("f", 1)],
        graph: Some(graph),
        functions,
        ..ModelProto::default()
    })
}

fn import(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: domain.to_owned(), version: Some(version) }
}

fn node(kind: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: kind.to_owned(),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

fn constant(choices: &mut Unstructured, output: &str) -> Result<NodeProto> {
    let value = AttributeProto {
        name: "value".to_owned(),
        r#type: Some(AttributeType::Tensor.into()),
        t: Some(Box::new(reference(choices)?)),
        ..AttributeProto::default()
    };
    Ok(NodeProto { attribute: vec![value], ..node("Constant", &[], output) })
}

/// Chooses a tensor whose values are in a file.
fn reference(choices: &mut Unstructured) -> Result<TensorProto> {
    let mut entries = Vec::new();
    let location = match choices.ratio(1, 10)? {
        true => choices.arbitrary::<&str>()?,
        false => choices.choose(&LOCATIONS)?,
    };
    entries.push(("location", location));
    for key in &KEYS[1..3] {
        if choices.ratio(2, 3)? {
            entries.push((key, choices.choose(&NUMBERS)?));
        }
    }
    if choices.ratio(1, 8)? {
        entries.push((choices.choose(&KEYS)?, choices.choose(&NUMBERS)?));
    }
    let entry =
        |(key, value): (&str, &str)| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
    Ok(TensorProto {
        data_type: if choices.ratio(9, 10)? { 7 } else { choices.int_in_range(0..=28)? },
        dims: vec![*choices.choose(&[8, 1, 2, 4, 0, 9, 1 << 40, -1])?],
        external_data: entries.into_iter().map(entry).collect(),
        data_location: 1,
        ..TensorProto::default()
    })
}
