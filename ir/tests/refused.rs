//! Checks that contradictory files are rejected.
//!
//! Each case is a kind of mutation that was once accepted.

use expect_test::expect;
use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::{AttributeType, ModelProto, TensorProto, TypeValue};
use onnx_embed_ir::{load_bytes, text};
use prost::Message;

const HEADER: &str = r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 5, "com.microsoft": 1]> g "#;

/// Contradictions and models.
const REFUSED: &[(&str, &str)] = &[
    ("dropin", "(float[2] x) => (float[2] y) { y = Add (x) }"),
    ("dropin", "(float[2] x) => (float[2] y) { y = PRelu (x) }"),
    ("dropin", "(float[2, 2] x) => (float[2, 2] y) { y = MatMul (x) }"),
    ("addin", "(float[2] x) => (float[2] y) { y = Relu (x, x) }"),
    ("addin", r#"(float[2] x) => (float[2] y) { y = Relu (x, "") }"#),
    ("addout", "(float[2] x) => (float[2] y) { y, z = Relu (x) }"),
    ("subswap", "(float[2] x) => (float[2] y) { y = Neg <body = b () => (float[2] z) { z = Abs (x) }> (x) }"),
    ("outs", "(float[2] x) => (float[3] y) { y = Relu (x) }"),
    ("outs", "(float[2] x) => (double[2] y) { y = Relu (x) }"),
    ("rewire", "(float[2] x) => (float[2] y) <float[1, 2] z> { z = Relu (x) y = Neg (z) }"),
    ("rewire", "(float[2] x) => (float[2] y) <int32[2] z> { z = Relu (x) y = Neg (z) }"),
    ("indim", "(float[2] x, float[3] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }"),
    ("indim", "(float[-9223372036854775808] x) => (float[n] y) { y = Relu (x) }"),
    ("optype", "(float[4] x, int64[1] k) => (float[k] y) { y = TopK (x, k) }"),
    ("optype", "(float[4] x, int64[1] a, float[1] s) => (float[n] y) { y = Slice (x, a, a, a, s) }"),
    ("optype", "(float[4] x, float[2] s) => (float[n] y, float[m] z) { y, z = Split (x, s) }"),
    ("optype", "(float[2] x, float[2] s) => (float[2] y) { y = Reshape (x, s) }"),
    ("opset", "(float[2] x, float[1] s) => (float[n] y) { y = Upsample (x, s) }"),
    ("opset", "(float[4] x, int64[2] i, float[2] u) => (float[4] y) { y = Scatter (x, i, u) }"),
    ("opset", "(float[n, 2] x) => (float[n, 1] y) { y = ai.onnx.ml.TreeEnsembleRegressor (x) }"),
    ("opset", "(float[2] x) => (float[2] y) { y = Relu <consumed_inputs = [0]> (x) }"),
    ("attr value", "(float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 1> (x) }"),
];

/// Returns the problems of a model, or `fine`.
fn problems(model: &ModelProto) -> String {
    match load_bytes(model.encode_to_vec().into(), &Options::default()) {
        Ok(_) => "fine".to_owned(),
        Err(problems) => problems.messages().join("; "),
    }
}

#[test]
fn contradictions_are_refused() {
    let mut shown = String::new();
    for (class, model) in REFUSED {
        let model = text::model(&format!("{HEADER}{model}")).unwrap();
        shown.push_str(&format!("{class}: {}\n", problems(&model)));
    }
    expect![[r#"
        dropin: expected 2 inputs, found 1
        dropin: expected 2 inputs, found 1
        dropin: expected 2 inputs, found 1
        addin: expected 1 input, found 2
        addin: expected 1 input, found 2
        addout: expected 1 output, found 2
        subswap: attribute `body` is unknown to this version of the operator
        outs: output `y` is declared as float32[3], but has type float32[2]
        outs: output `y` is declared as float64[2], but has type float32[2]
        rewire: value `z` is declared as float32[1, 2], but has type float32[2]
        rewire: value `z` is declared as int32[2], but has type float32[2]
        indim: initializer `w` is declared as float32[3], but has type float32[2]
        indim: input `x` has negative size -9223372036854775808
        optype: expected 2 outputs, found 1
        optype: `steps` is float32[1], expected int32 or int64
        optype: `split` is float32[2], expected int32 or int64
        optype: `shape` is float32[2], expected int32 or int64
        opset: operator `Upsample` was removed in opset 10, but the model uses opset 21
        opset: operator `Scatter` was removed in opset 11, but the model uses opset 21
        opset: operator `ai.onnx.ml.TreeEnsembleRegressor` was removed in opset 5, but the model uses opset 5
        opset: attribute `consumed_inputs` was removed in version 6 of the operator
        attr value: attribute `alpha` has type int, expected float
    "#]]
    .assert_eq(&shown);
}

/// Changes that the text syntax cannot express.
#[test]
fn damaged_messages_are_refused() {
    let model = |text: &str| text::model(&format!("{HEADER}{text}")).unwrap();
    let leaky = "(float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 0.5> (x) }";
    let add = "(float[2] x) => (float[2] y) <float[1] w = {1}> { y = Add (x, w) }";
    let mut shown = String::new();
    let mut check = |what: &str, mut model: ModelProto, change: &dyn Fn(&mut ModelProto)| {
        change(&mut model);
        shown.push_str(&format!("{what}: {}\n", problems(&model)));
    };
    let attribute = |kind: Option<i32>| {
        move |model: &mut ModelProto| {
            model.graph.as_mut().unwrap().node[0].attribute[0].r#type = kind;
        }
    };
    check("attribute without a type", model(leaky), &attribute(None));
    check("attribute of no type", model(leaky), &attribute(Some(AttributeType::Undefined as i32)));
    check("attribute of another type", model(leaky), &attribute(Some(AttributeType::Int as i32)));
    check("an output more, without a name", model(leaky), &|model| {
        model.graph.as_mut().unwrap().node[0].output.push(String::new());
    });
    let initializer = |change: fn(&mut TensorProto)| {
        move |model: &mut ModelProto| change(&mut model.graph.as_mut().unwrap().initializer[0])
    };
    check(
        "two elements of one, raw",
        model(add),
        &initializer(|tensor| {
            *tensor = TensorProto {
                name: "w".to_owned(),
                data_type: 1,
                dims: vec![1],
                raw_data: Some(vec![0; 8].into()),
                ..TensorProto::default()
            };
        }),
    );
    check(
        "two elements of one",
        model(add),
        &initializer(|tensor| {
            *tensor = TensorProto {
                name: "w".to_owned(),
                data_type: 10,
                dims: vec![1],
                int32_data: vec![vec![1, 2].into()],
                ..TensorProto::default()
            };
        }),
    );
    check("no type", model(add), &initializer(|tensor| tensor.data_type = 0));
    check("a type after the last of an output", model(add), &|model| {
        let output = &mut model.graph.as_mut().unwrap().output[0];
        if let Some(TypeValue::Tensor(tensor)) = output.r#type.as_mut().and_then(|ty| ty.value.as_mut()) {
            tensor.elem_type = 99;
        }
    });
    for (what, number) in [("a type after the last", 99), ("a type before the first", -1)] {
        let change = |model: &mut ModelProto| model.graph.as_mut().unwrap().initializer[0].data_type = number;
        check(what, model(add), &change);
    }
    check("a location after the last", model(add), &initializer(|tensor| tensor.data_location = 7));
    let stored = |data_type, size, raw: &'static [u8]| {
        move |model: &mut ModelProto| {
            let tensor = &mut model.graph.as_mut().unwrap().initializer[0];
            (tensor.data_type, tensor.dims) = (data_type, vec![size]);
            (tensor.float_data, tensor.raw_data) = (Vec::new(), Some(raw.into()));
        }
    };
    check("three of int4 in three bytes", model(add), &stored(22, 3, &[0; 3]));
    check("five of uint2 in one byte", model(add), &stored(25, 5, &[0]));
    check("three of float4e2m1 in one byte", model(add), &stored(23, 3, &[0]));
    check("a string in raw bytes", model(add), &stored(8, 1, b"a"));
    check(
        "elements in two fields",
        model(add),
        &initializer(|tensor| tensor.float_data = vec![vec![0; 4].into()]),
    );
    check(
        "elements in the field of another type",
        model(add),
        &initializer(|tensor| (tensor.raw_data, tensor.int32_data) = (None, vec![vec![1].into()])),
    );
    check("an attribute of a type after the last", model(leaky), &attribute(Some(99)));
    check("an input without a name", model(leaky), &|model| {
        model.graph.as_mut().unwrap().input[0].name.clear();
    });
    check("an output without a name", model(leaky), &|model| {
        model.graph.as_mut().unwrap().output[0].name.clear();
    });
    expect![[r#"
        attribute without a type: attribute `alpha` has no type
        attribute of no type: attribute `alpha` has no type
        attribute of another type: attribute `alpha` has type int, expected float
        an output more, without a name: expected 1 output, found 2
        two elements of one, raw: constant `w` has 8 bytes, expected 4
        two elements of one: constant `w` does not contain the 1 element of its shape
        no type: constant `w` has unknown element type 0
        a type after the last of an output: output `y` is declared as element type 99[2], but has type float32[2]
        a type after the last: constant `w` has unknown element type 99
        a type before the first: constant `w` has unknown element type -1
        a location after the last: constant `w` has the unknown `data_location` 7
        three of int4 in three bytes: constant `w` has 3 bytes, expected 2
        five of uint2 in one byte: constant `w` has 1 byte, expected 2
        three of float4e2m1 in one byte: constant `w` has 1 byte, expected 2
        a string in raw bytes: the number of strings of constant `w` is 0, which does not match shape [1]
        elements in two fields: constant `w` has elements in `raw_data` and in another field
        elements in the field of another type: constant `w` has 0 bytes, expected 4
        an attribute of a type after the last: attribute `alpha` has no valid value of type float
        an input without a name: input 0 of graph `g` has no name; no node produces the input `x`
        an output without a name: output 0 of graph `g` has no name; no node produces the output ``
    "#]]
    .assert_eq(&shown);
}
