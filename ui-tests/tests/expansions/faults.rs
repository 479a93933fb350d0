//! Errors of nodes whose data is invalid.

use std::thread;

use onnx_embed::{
    Array, Device, DynModel, Error, Int, OnnxModel, Tensor, TensorData, Value, Values, onnx_model,
};

use crate::{panic_of, values};

onnx_model! { struct Rows = "../../models/rows.onnx"; }
onnx_model! { struct Speech = "../../models/speech.onnx"; }
onnx_model! { struct AttentionHeads = "../../models/attention_heads.onnx"; }
onnx_model! { struct FlexAttentionHeads = "../../models/flex_attention_heads.onnx"; }
onnx_model! { struct Contradictions = "../../models/contradictions.onnx"; }

fn ids(ids: &[i64]) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::from(ids), &Device::flex())
}

fn rows(model: &Rows, ids: &[i64]) -> Result<Values, Error> {
    model.run(Values::from([("ids", TensorData::from(ids))]))
}

fn message(result: Result<Values, Error>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn an_index_beyond_the_table() {
    let model = Rows::new(&Device::flex());
    let expected = "cannot run `/emb/Gather` (Gather): index 99 is out of bounds for axis 0 of size 50";
    assert_eq!(message(rows(&model, &[3, 99])), expected);
    assert_eq!(panic_of(|| model.forward(ids(&[3, 99]))), expected);
    assert_eq!(
        message(rows(&model, &[-51])),
        "cannot run `/emb/Gather` (Gather): index -51 is out of bounds for axis 0 of size 50"
    );
    // The model can be run again.
    let outputs = rows(&model, &[-50, 49]).unwrap();
    let expected = TensorData::from([[0.0f32, 1.0], [98.0, 99.0]]);
    assert_eq!(outputs["y"].tensor(), Some(&expected));
    assert_eq!(values(model.forward(ids(&[1]))), [2.0, 3.0]);
}

#[test]
fn the_error_says_node_operator_and_reason() {
    match rows(&Rows::new(&Device::flex()), &[50]) {
        Err(Error::Run { node, operator, reason }) => {
            assert_eq!((node, operator), ("/emb/Gather", "Gather"));
            assert_eq!(reason, "index 50 is out of bounds for axis 0 of size 50");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn threads_fail_alone() {
    let model = Rows::new(&Device::flex());
    thread::scope(|scope| {
        let model = &model;
        let threads = [7i64, 77, 8, 88].map(|id| {
            scope.spawn(move || {
                for _ in 0..50 {
                    match (id, rows(model, &[id])) {
                        (..50, Ok(outputs)) => assert_eq!(outputs.len(), 1),
                        (50.., Err(error)) => assert_eq!(
                            error.to_string(),
                            format!(
                                "cannot run `/emb/Gather` (Gather): index {id} is out of bounds for axis 0 \
                                 of size 50"
                            )
                        ),
                        (_, other) => panic!("{other:?}"),
                    }
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

fn speech(length: usize, rate: i64) -> Values {
    Values::from([
        ("audio", TensorData::new(vec![1.0f32; length], [1, length])),
        ("sr", TensorData::new(vec![rate], [0; 0])),
    ])
}

#[test]
fn a_block_too_short_for_the_window_and_a_rate_of_no_branch() {
    let model = Speech::new(&Device::flex());
    let typed = |length, sr| {
        let audio: Tensor<2> = Tensor::ones([1, length], &Device::flex());
        panic_of(|| model.forward(SpeechInput { audio, sr }))
    };
    let expected = "cannot run `/slow/Conv` (Conv): expected a window of at most 3 elements along axis 2 of \
                    the input [1, 1, 3], found 4";
    assert_eq!(message(model.run(speech(3, 8000))), expected);
    assert_eq!(typed(3, 8000), expected);
    let expected = "cannot run `/slow_decoder/If` (If): inputs of these sizes select a branch whose results have \
                    unexpected ranks";
    assert_eq!(message(model.run(speech(8, 11025))), expected);
    assert_eq!(typed(8, 11025), expected);
    let outputs = model.run(speech(8, 16000)).unwrap();
    assert_eq!(outputs["y"].tensor(), Some(&TensorData::from([8.0f32])));
}

/// Returns queries, keys and values with these numbers of heads, 128 by 8 elements each.
fn attended(heads: [usize; 3], of_values: f32) -> [Tensor<4>; 3] {
    let full = |heads, of| Tensor::full([1, heads, 128, 8], of, &Device::flex());
    [full(heads[0], 0.0), full(heads[1], 0.0), full(heads[2], of_values)]
}

#[test]
fn heads_that_do_not_share_keys() {
    let model = AttentionHeads::new(&Device::flex());
    let run = |heads: [usize; 3]| {
        let inputs = attended(heads, 1.0).map(|x| Value::from(x.into_data()));
        let [q, k, v] = inputs;
        model.run(Values::from([("q", q), ("k", k), ("v", v)]))
    };
    let forward = |heads: [usize; 3]| {
        let [q, k, v] = attended(heads, 1.0);
        panic_of(|| model.forward(AttentionHeadsInput { q, k, v }))
    };
    // A call with other values, whose memory the next result may reuse.
    let [q, k, v] = attended([3; 3], 1234.5);
    drop(model.forward(AttentionHeadsInput { q, k, v }));
    let node = "cannot run `/shared/Attention` (Attention): expected axis";
    for (heads, reason) in [
        ([3, 2, 2], "1 of the query [1, 3, 128, 8] to be a multiple of axis 1 of the key [1, 2, 128, 8]"),
        ([2, 3, 3], "1 of the query [1, 2, 128, 8] to be a multiple of axis 1 of the key [1, 3, 128, 8]"),
        ([4, 2, 1], "1 of the value [1, 1, 128, 8] to equal axis 1 of the key [1, 2, 128, 8]"),
    ] {
        let expected = format!("{node} {reason}");
        assert_eq!(message(run(heads)), expected);
        let [q, k, v] = attended(heads, 1.0).map(|x| Value::from(x.into_data()));
        let inputs = Values::from([("q", q), ("k", k), ("v", v)]);
        let model: &dyn DynModel = &model;
        assert_eq!(message(model.run(inputs)), expected);
        assert_eq!(forward(heads), expected);
    }
    let outputs = run([4, 2, 2]).unwrap();
    let ones = TensorData::new(vec![1.0f32; 4 * 128 * 8], [1, 4, 128, 8]);
    assert_eq!(outputs["y"].tensor(), Some(&ones));
}

#[test]
fn heads_of_values_that_are_not_those_of_keys() {
    let model = FlexAttentionHeads::new(&Device::flex());
    let run = |heads: [usize; 3]| {
        let [q, k, v] = attended(heads, 1.0).map(|x| Value::from(x.into_data()));
        model.run(Values::from([("q", q), ("k", k), ("v", v)]))
    };
    // Both numbers of heads divide that of the queries, but keys and values have different numbers.
    assert_eq!(
        message(run([4, 2, 1])),
        "cannot run `/shared/FlexAttention` (ai.onnx.preview.FlexAttention): expected axis 1 of the value [1, 1, 128, 8] to equal \
         axis 1 of the key [1, 2, 128, 8]"
    );
    let outputs = run([4, 2, 2]).unwrap();
    let ones = TensorData::new(vec![1.0f32; 4 * 128 * 8], [1, 4, 128, 8]);
    assert_eq!(outputs["y"].tensor(), Some(&ones));
}

fn contradictions(name: &str, bad: impl Into<Value>) -> Result<Values, Error> {
    let floats = |values: &[f32]| Value::from(TensorData::from(values));
    let ints = |values: &[i64]| Value::from(TensorData::from(values));
    let one = |value: i64| Value::from(TensorData::new(vec![value], [0; 0]));
    let matrix = TensorData::from([[1.0f32, 2.0], [3.0, 4.0]]);
    let mut inputs = Values::from([
        ("p", floats(&[1.0, 2.0, 3.0])),
        ("q", floats(&[1.0, 2.0, 3.0])),
        ("m", Value::from(matrix.clone())),
        ("w", Value::from(matrix)),
        ("thin", Value::from(TensorData::from([[1.0f32, 2.0]]))),
        ("shape", ints(&[1, -1])),
        ("target", ints(&[3])),
        ("filled", ints(&[2])),
        ("step", one(3)),
        ("k", ints(&[2])),
        ("at", one(-1)),
        ("tuples", Value::from(TensorData::from([[0i64], [-1]]))),
        ("places", ints(&[0, -1])),
        ("parts", ints(&[1, 2])),
        ("pads", ints(&[1, 1])),
        ("text", Value::from(Array::vector(["1.5".to_owned()]))),
    ]);
    inputs.insert(name, bad);
    Contradictions::new(&Device::flex()).run(inputs)
}

#[test]
fn data_that_agrees_runs() {
    let outputs = contradictions("q", TensorData::from([5.0f32])).unwrap();
    let sum = TensorData::from([6.0f32, 7.0, 8.0]);
    assert_eq!(outputs["sum"].tensor(), Some(&sum));
    let written = TensorData::from([8.0f32, 2.0, 9.0]);
    assert_eq!(outputs["written"].tensor(), Some(&written));
}

#[test]
fn sizes_that_contradict_each_other() {
    let ints = |values: &[i64]| Value::from(TensorData::from(values));
    let two = || TensorData::from([1.0f32, 2.0]);
    let three = || TensorData::from([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let cases = [
        ("q", two().into(), "sum (Add): shapes [3] and [2] do not broadcast"),
        ("w", three().into(), "product (MatMul): cannot multiply shapes [2, 2] and [3, 2]"),
        ("thin", three().into(), "squeezed (Squeeze): expected axis 0 of shape [3, 2] to have size 1"),
        ("shape", ints(&[3, -1]), "reshaped (Reshape): cannot reshape [2, 2] to [3, 1]"),
        ("target", ints(&[2]), "expanded (Expand): shapes [3] and [2] do not broadcast"),
        ("filled", ints(&[-1]), "filled (ConstantOfShape): expected a non-negative size, found -1"),
        ("k", ints(&[4]), "top (TopK): expected `k` of at most 3, found 4"),
        ("parts", ints(&[1, 1]), "split (Split): expected split sizes with a sum of 3, found [1, 1]"),
    ];
    for (input, bad, expected) in cases {
        check(input, bad, expected);
    }
}

#[test]
fn values_that_are_out_of_range() {
    let ints = |values: &[i64]| Value::from(TensorData::from(values));
    let one = |value: i64| Value::from(TensorData::new(vec![value], [0; 0]));
    let tuples = TensorData::from([[0i64], [3]]);
    let text = Array::vector(["one".to_owned()]);
    let cases = [
        ("step", one(0), "range (Range): expected a nonzero step for a range, found 0"),
        ("at", one(3), "item (SequenceAt): index 3 is out of bounds for size 3"),
        ("tuples", tuples.into(), "picked (GatherND): index 3 is out of bounds for axis 0 of size 3"),
        (
            "places",
            ints(&[0, -4]),
            "written (ScatterElements): index -4 is out of bounds for axis 0 of size 3",
        ),
        ("text", text.into(), "text (Cast): expected a number, found the string `one`"),
    ];
    for (input, bad, expected) in cases {
        check(input, bad, expected);
    }
}

/// Checks a message. `expected` omits the text that all messages share.
fn check(input: &str, bad: Value, expected: &str) {
    let (node, reason) = expected.split_once(": ").unwrap();
    let (name, operator) = node.split_once(" (").unwrap();
    let kind = operator.trim_end_matches(')');
    assert_eq!(
        message(contradictions(input, bad)),
        format!("cannot run `/{name}/{kind}` ({kind}): {reason}")
    );
}
