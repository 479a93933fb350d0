//! Copies of small models.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use expect_test::{Expect, expect};
use prost::Message;

use super::*;
use crate::options::{Options, Weights};
use crate::proto::{DataLocation, ModelProto, TensorProto};

/// Files in memory.
#[derive(Clone, Default)]
struct Folder(Rc<RefCell<BTreeMap<String, Vec<u8>>>>);

struct Open(Folder, String);

impl Write for Open {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.borrow_mut().entry(self.1.clone()).or_default().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Folder {
    fn create(&self, name: &str) -> io::Result<Box<dyn Write>> {
        Ok(Box::new(Open(self.clone(), name.to_owned())))
    }
}

/// Writes a model to a file. Initializers with these names have their elements in `w.bin`.
fn written(text: &str, external: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mut model = crate::text::model(text).unwrap();
    let mut data = Vec::new();
    for tensor in &mut model.graph.as_mut().unwrap().initializer {
        if external.contains(&tensor.name.as_str()) {
            let bytes = tensor.raw_data.take().unwrap();
            let entry =
                |key: &str, value: String| crate::proto::StringStringEntryProto { key: key.into(), value };
            tensor.external_data = vec![
                entry("location", "w.bin".into()),
                entry("offset", data.len().to_string()),
                entry("length", bytes.len().to_string()),
            ];
            tensor.data_location = DataLocation::External as i32;
            data.extend_from_slice(&bytes);
        }
    }
    let mut bytes = model.encode_to_vec();
    // A field that the compiler does not read: the documentation of the graph.
    bytes.extend_from_slice(b"\x9a\x3f\x03any");
    let path = folder.path().join("m.onnx");
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(folder.path().join("w.bin"), data).unwrap();
    (folder, path)
}

fn sharding() -> Sharding {
    Sharding { name: "c.onnx.data".to_owned(), most: u64::MAX }
}

/// Writes a copy with its files, and returns its messages.
fn stored(folder: &Path, copy: &Copy, files: &Folder) -> ModelProto {
    std::fs::write(folder.join("c.onnx"), &copy.model).unwrap();
    for (name, bytes) in &*files.0.borrow() {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    ModelProto::decode(Bytes::from(copy.model.clone())).unwrap()
}

/// Returns the graph of a file, simplified as for weights in a file.
fn graph(path: &Path) -> String {
    let options = Options { weights: Weights::File, ..Options::default() };
    match crate::load(path, &options) {
        Ok(model) => crate::print::graph(&model.graph),
        Err(problems) => problems.report("model"),
    }
}

fn list(tensors: &[TensorProto]) -> Vec<String> {
    let text = |tensor: &TensorProto| {
        let entries = tensor.external_data.iter().map(|entry| format!(" {}={}", entry.key, entry.value));
        let entries: String = entries.collect();
        format!(
            "{} {:?} {}{entries}",
            tensor.name,
            tensor.dims,
            tensor.raw_data.as_ref().map_or(0, Bytes::len)
        )
    };
    tensors.iter().map(text).collect()
}

/// A text of `count` numbers.
fn numbers(count: usize) -> String {
    let all: Vec<String> = (0..count).map(|at| format!("{}", (at * 37 % 101) as f32 / 50.0 - 1.0)).collect();
    all.join(", ")
}

fn net() -> String {
    let (w, v) = (numbers(32 * 16), numbers(16 * 20));
    format!(
        r#"<ir_version: 8, opset_import: ["": 17], producer_name: "hand", metadata_props: ["k": "v"]>
        g (float[n, 32] x, bool c) => (float[n, 20] y)
        <float[32, 16] w = {{{w}}}, float[16] b = {{{}}}, float[16, 20] v = {{{v}}}> {{
            p = MatMul (x, w)
            q = Add (p, b)
            r = Relu (q)
            y = If (c) <
                then_branch = t () => (float[n, 20] s) {{ s = MatMul (r, v) }},
                else_branch = e () => (float[n, 20] u) {{ m = MatMul (r, v) u = Neg (m) }}>
        }}"#,
        numbers(16)
    )
}

#[test]
fn larger_weights_move_and_everything_else_remains() {
    let (folder, path) = written(&net(), &[]);
    let files = Folder::default();
    let copy = externalize(&path, &sharding(), &mut |name| files.create(name)).unwrap();
    let model = stored(folder.path(), &copy, &files);
    expect![[r#"
        [
            "w [32, 16] 0 location=c.onnx.data offset=0 length=2048",
            "b [16] 64",
            "v [16, 20] 0 location=c.onnx.data offset=2048 length=1280",
        ]
    "#]]
    .assert_debug_eq(&list(&model.graph.as_ref().unwrap().initializer));
    assert_eq!(copy.shards, [Shard { name: "c.onnx.data".into(), bytes: 3328, tensors: 2 }]);
    assert_eq!(graph(&folder.path().join("c.onnx")), graph(&path));
    assert!(copy.model.ends_with(b"\x9a\x3f\x03any"));
    // The copy of the copy is the same, because its data move, too.
    let again = Folder::default();
    let second =
        externalize(&folder.path().join("c.onnx"), &sharding(), &mut |name| again.create(name)).unwrap();
    assert_eq!((second.model, again.0), (copy.model, files.0));
}

#[test]
fn external_data_of_the_original_move_or_return() {
    let (folder, path) = written(&net(), &["b", "v"]);
    assert_eq!(sources(&path).unwrap(), [PathBuf::from("m.onnx"), PathBuf::from("w.bin")]);
    let files = Folder::default();
    let small = Sharding { most: 2000, ..sharding() };
    let copy = externalize(&path, &small, &mut |name| files.create(name)).unwrap();
    let model = stored(folder.path(), &copy, &files);
    expect![[r#"
        [
            "w [32, 16] 0 location=c.onnx.data offset=0 length=2048",
            "b [16] 64",
            "v [16, 20] 0 location=c.onnx.data.1 offset=0 length=1280",
        ]
    "#]]
    .assert_debug_eq(&list(&model.graph.as_ref().unwrap().initializer));
    assert_eq!(graph(&folder.path().join("c.onnx")), graph(&path));
}

#[test]
fn numbers_in_other_fields_are_stored_as_bytes() {
    let text = r#"<ir_version: 8, opset_import: ["": 17]>
        g (int64[400] x) => (int64[400] y) <int64[400] w> { y = Add (x, w) }"#;
    let text =
        text.replace("<int64[400] w>", &format!("<int64[400] w = {{{}}}>", vec!["-3"; 400].join(", ")));
    let (folder, path) = written(&text, &[]);
    let mut model = ModelProto::decode(Bytes::from(std::fs::read(&path).unwrap())).unwrap();
    let tensor = &mut model.graph.as_mut().unwrap().initializer[0];
    let mut packed = Vec::new();
    (0..400).for_each(|_| prost::encoding::encode_varint((-3i64).cast_unsigned(), &mut packed));
    (tensor.raw_data, tensor.int64_data) = (None, vec![packed.into()]);
    std::fs::write(&path, model.encode_to_vec()).unwrap();
    let files = Folder::default();
    let copy = externalize(&path, &sharding(), &mut |name| files.create(name)).unwrap();
    let model = stored(folder.path(), &copy, &files);
    assert_eq!(files.0.borrow()["c.onnx.data"], (-3i64).to_le_bytes().repeat(400));
    let tensor = &model.graph.unwrap().initializer[0];
    assert!(tensor.int64_data.is_empty() && tensor.external_data.len() == 3);
}

#[test]
fn an_error_of_the_disk_is_returned() {
    let (_folder, path) = written(&net(), &[]);
    let failure = externalize(&path, &sharding(), &mut |_| Err(io::Error::other("no space"))).unwrap_err();
    assert!(matches!(&failure, Failure::Write(_)));
    assert_eq!(failure.to_string(), "no space");
    let missing =
        externalize(Path::new("no.onnx"), &sharding(), &mut |_| Err(io::Error::other(""))).unwrap_err();
    assert!(missing.to_string().starts_with("cannot find the file `no.onnx`"), "{missing}");
}

/// Checks the copy of a net, and what it reports.
#[track_caller]
fn check(text: &str, width: Width, external: &[&str], expected: Expect) -> Report {
    let (folder, path) = written(text, external);
    let files = Folder::default();
    let (copy, report) = shrink(&path, width, &sharding(), &mut |name| files.create(name)).unwrap();
    let model = stored(folder.path(), &copy, &files);
    let graph = model.graph.unwrap();
    let mut lines = list(&graph.initializer);
    for node in &graph.node {
        let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", node.domain) };
        let (output, input) = (node.output.join(", "), node.input.join(", "));
        lines.push(format!("{output} = {domain}{} ({input})", node.op_type));
    }
    let inputs: Vec<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    let opsets: Vec<&str> = model.opset_import.iter().map(|opset| opset.domain.as_str()).collect();
    lines.push(format!("inputs {}, domains {opsets:?}, IR version {:?}", inputs.join(" "), model.ir_version));
    for Kept { name, bytes, reason } in &report.kept {
        lines.push(format!("{name} ({bytes}) remains: {reason}"));
    }
    expected.assert_eq(&lines.join("\n"));
    let loaded = crate::load(&folder.path().join("c.onnx"), &Options::default());
    if let Err(problems) = loaded {
        panic!("{}", problems.report("the copy"));
    }
    report
}

#[test]
fn weights_become_halves_behind_a_cast() {
    let report = check(
        &net(),
        Width::F16,
        &[],
        expect![[r#"
        w_float16 [32, 16] 1024
        b [16] 64
        v_float16 [16, 20] 640
        w = Cast (w_float16)
        v = Cast (v_float16)
        p = MatMul (x, w)
        q = Add (p, b)
        r = Relu (q)
        y = If (c)
        inputs x c, domains [""], IR version Some(8)"#]],
    );
    assert!(report.shrunk.iter().all(|weight| weight.after * 2 == weight.before && weight.error.mean < 5e-4));
}

#[test]
fn weights_become_bytes_with_a_scale_for_each_channel() {
    let report = check(
        &net(),
        Width::I8,
        &["w"],
        expect![[r#"
        w_int8 [32, 16] 512
        w_scale [16] 64
        b [16] 64
        v_int8 [16, 20] 320
        v_scale [20] 80
        w = DequantizeLinear (w_int8, w_scale)
        v = DequantizeLinear (v_int8, v_scale)
        p = MatMul (x, w)
        q = Add (p, b)
        r = Relu (q)
        y = If (c)
        inputs x c, domains [""], IR version Some(8)"#]],
    );
    assert!(report.shrunk.iter().all(|weight| weight.error.largest < 0.5 / 127.0 + 1e-6));
}

#[test]
fn products_with_matrices_become_matmul_n_bits() {
    let report = check(
        &net(),
        Width::I4,
        &[],
        expect![[r#"
        w_int4 [16, 1, 16] 256
        w_scales [16] 64
        b [16] 64
        v [16, 20] 1280
        p = com.microsoft.MatMulNBits (x, w_int4, w_scales)
        q = Add (p, b)
        r = Relu (q)
        y = If (c)
        inputs x c, domains ["", "com.microsoft"], IR version Some(8)
        v (1280) remains: a node uses it that is not MatMul or Gemm"#]],
    );
    assert!(report.shrunk.iter().all(|weight| weight.error.largest < 0.13));
    let gemm = format!(
        r#"<ir_version: 3, opset_import: ["": 17]>
        g (float[n, 40] x, float[16, 40] w, float[16] b) => (float[n, 16] y, float[n, 16] z)
        <float[16, 40] w = {{{}}}, float[16] b = {{{}}}> {{
            y = Gemm <transB = 1> (x, w, b)
            z = Gemm <transB = 1> (x, w)
        }}"#,
        numbers(16 * 40),
        numbers(16)
    );
    check(
        &gemm,
        Width::I4,
        &[],
        expect![[r#"
        w_int4 [16, 2, 16] 512
        w_scales [32] 128
        b [16] 64
        y_product = com.microsoft.MatMulNBits (x, w_int4, w_scales)
        y = Add (y_product, b)
        z = com.microsoft.MatMulNBits (x, w_int4, w_scales)
        inputs x b, domains ["", "com.microsoft"], IR version Some(4)"#]],
    );
    let both = gemm.replace("z = Gemm <transB = 1> (x, w)", "z = MatMul (y, w)");
    check(
        &both.replace("float[n, 16] z", "float[n, 40] z"),
        Width::I4,
        &[],
        expect![[r#"
        w [16, 40] 2560
        b [16] 64
        y = Gemm (x, w, b)
        z = MatMul (y, w)
        inputs x w b, domains [""], IR version Some(3)
        w (2560) remains: its products transpose it differently"#]],
    );
    check(
        &gemm.replace("transB = 1> (x, w)", "transB = 1, alpha = 2.0> (x, w)"),
        Width::I4,
        &[],
        expect![[r#"
        w [16, 40] 2560
        b [16] 64
        y = Gemm (x, w, b)
        z = Gemm (x, w)
        inputs x w b, domains [""], IR version Some(3)
        w (2560) remains: its Gemm has factors or transposes the operand"#]],
    );
}

#[test]
fn weights_that_cannot_shrink_remain() {
    let large = net().replacen("<float[32, 16] w = {-1", "<float[32, 16] w = {1e6", 1);
    check(
        &large,
        Width::F16,
        &[],
        expect![[r#"
        w [32, 16] 2048
        b [16] 64
        v_float16 [16, 20] 640
        v = Cast (v_float16)
        p = MatMul (x, w)
        q = Add (p, b)
        r = Relu (q)
        y = If (c)
        inputs x c, domains [""], IR version Some(8)
        w (2048) remains: it has elements beyond the range of float16"#]],
    );
    let old = net().replace("\"\": 17", "\"\": 12");
    let (_folder, path) = written(&old, &[]);
    let failure = shrink(&path, Width::I8, &sharding(), &mut |_| Err(io::Error::other(""))).unwrap_err();
    expect!["DequantizeLinear with an axis needs opset 13, the model has 12"].assert_eq(&failure.to_string());
}
