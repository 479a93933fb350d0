//! External data in each place of a model that can have it.

use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::{ModelProto, SparseTensorProto, StringStringEntryProto, TensorProto};
use onnx_embed_ir::text;
use prost::Message;

const HEADER: &str = r#"<ir_version: 10, opset_import: ["": 21, "f": 1]> g "#;

/// A tensor whose values are in a file outside the folder of the model.
fn outside(name: &str, data_type: i32) -> TensorProto {
    let location = StringStringEntryProto { key: "location".to_owned(), value: "../outside.bin".to_owned() };
    TensorProto {
        name: name.to_owned(),
        data_type,
        dims: vec![1],
        external_data: vec![location],
        data_location: 1,
        ..TensorProto::default()
    }
}

/// Returns the error messages of a model whose parent folder contains `outside.bin`.
fn problems(text: &str, change: &dyn Fn(&mut ModelProto)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("model");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(folder.path().join("outside.bin"), [0; 8]).unwrap();
    let mut model = text::model(&format!("{HEADER}{text}")).unwrap();
    change(&mut model);
    let path = inside.join("model.onnx");
    std::fs::write(&path, model.encode_to_vec()).unwrap();
    match onnx_embed_ir::load(&path, &Options::default()) {
        Ok(_) => "fine".to_owned(),
        Err(problems) => problems.messages().join("; "),
    }
}

#[test]
fn no_place_of_a_model_reads_other_folders() {
    const ADD: &str = "(float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add (x, w) }";
    const CONSTANT: &str =
        "(float[1] x) => (float[1] y) { w = Constant <value = float[1] {1}> () y = Add (x, w) }";
    const BRANCH: &str = "(bool c) => (float[1] y) { y = If (c) <
        then_branch = t () => (float[1] p) <float[1] w = {1}> { p = Identity (w) },
        else_branch = e () => (float[1] q) <float[1] v = {1}> { q = Identity (v) }> }";
    const FUNCTION: &str = "(float[1] x) => (float[1] y) { y = f.F (x) }
        <domain: \"f\", opset_import: [\"\": 21]> F (x) => (y) { w = Constant <value = float[1] {1}> () y = Add (x, w) }";
    let sparse = |values: TensorProto, indices: TensorProto| {
        move |model: &mut ModelProto| {
            let graph = model.graph.as_mut().unwrap();
            graph.initializer.clear();
            let (values, indices) = (Some(values.clone()), Some(indices.clone()));
            graph.sparse_initializer.push(SparseTensorProto { values, indices, dims: vec![1] });
        }
    };
    let here = |name: &str, data_type, bytes: &'static [u8]| TensorProto {
        name: name.to_owned(),
        data_type,
        dims: vec![1],
        raw_data: Some(bytes.into()),
        ..TensorProto::default()
    };
    let expected = "external data `../outside.bin` is outside the model's folder";
    let check = |place: &str, text: &str, change: &dyn Fn(&mut ModelProto)| {
        let found = problems(text, change);
        assert!(found.contains(expected), "{place}: {found}");
        assert_eq!(problems(text, &|_| ()), "fine", "{place}");
    };
    check("initializer", ADD, &|model| model.graph.as_mut().unwrap().initializer[0] = outside("w", 1));
    check("attribute", CONSTANT, &|model| {
        let node = &mut model.graph.as_mut().unwrap().node[0];
        node.attribute[0].t = Some(Box::new(outside("", 1)));
    });
    check("branch", BRANCH, &|model| {
        let node = &mut model.graph.as_mut().unwrap().node[0];
        node.attribute[0].g.as_mut().unwrap().initializer[0] = outside("w", 1);
    });
    check("function", FUNCTION, &|model| {
        model.functions[0].node[0].attribute[0].t = Some(Box::new(outside("", 1)));
    });
    check("sparse values", ADD, &sparse(outside("w", 1), here("", 7, &[0; 8])));
    check("sparse indices", ADD, &sparse(here("w", 1, &[0; 4]), outside("", 7)));
}
