//! Options that declare the state of a model.

use std::fs;
use std::path::Path;

use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::{Kept, Options, Step};
use prost::Message;

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 21]>
streaming (float[batch, n, 4] x, float[batch, past, 4] a_cache, float[batch, more, 4] b_cache, float[batch, 4] h)
    => (float[batch, total, 4] new_a, float[batch, m, 4] new_b, float[batch, 4] hn, int64[batch, 4] counts, float[k] list)
{
    new_a = Concat <axis = 1> (a_cache, x)
    new_b = Concat <axis = 1> (b_cache, x)
    one = Constant <value_ints = [1]> ()
    flat = ReduceMean <keepdims = 0> (x, one)
    hn = Add (flat, h)
    counts = Cast <to = 7> (hn)
    shape = Constant <value_ints = [-1]> ()
    list = Reshape (hn, shape)
}"#;

/// Returns the code, or the first line of the report.
fn compiled(name: &str, states: &[(&str, &str)]) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("states");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.onnx"));
    let model = onnx_embed_ir::text::model(MODEL).unwrap();
    fs::write(&path, model.encode_to_vec()).unwrap();
    let kept = |(input, output): &(&str, &str)| {
        let first = output.strip_prefix("first ");
        let step = if first.is_some() { Step::First } else { Step::Last };
        Kept { input: (*input).into(), output: first.unwrap_or(output).into(), step }
    };
    let options = Options { states: states.iter().map(kept).collect(), ..Options::default() };
    let tokens = onnx_embed_ir::compile(&path, &Item::model("model.onnx"), &options);
    tokens.map(|tokens| tokens.to_string()).map_err(|problems| {
        let report = problems.report("model");
        report.lines().nth(2).unwrap_or_default().trim().to_owned()
    })
}

#[test]
fn a_state_has_fields_for_its_inputs() {
    let code = compiled("fields", &[("*_cache", "new_*"), ("h", "hn")]).unwrap().replace(' ', "");
    assert!(code.contains("pubstructModelState"));
    assert!(code.contains("a_cache:Kept::new(&Self::SIGNATURE.inputs[1],[batch,0,4],Some(1),&device)"));
    assert!(code.contains("h:Kept::new(&Self::SIGNATURE.inputs[3],[batch,4],None,&device)"));
    assert!(code.contains("pubfnstep(&self,state:&mutModelState,x:Tensor<3>)->ModelStepOutput"));
}

#[test]
fn outputs_of_the_first_step_stay() {
    let states = [("a_cache", "new_a"), ("b_cache", "first new_b"), ("h", "first hn")];
    let code = compiled("first", &states).unwrap().replace(' ', "");
    // No other tensor has its length.
    assert!(code.contains("pubfnstate(&self,batch:usize)->ModelState"));
    assert!(code.contains("b_cache:Kept::new(&Self::SIGNATURE.inputs[2],[batch,0,4],None,&device)"));
    assert!(
        code.contains(
            "a_cache:state.a_cache.take(),b_cache:state.b_cache.take_first(),h:state.h.take_first()"
        )
    );
    assert!(code.contains("state.a_cache.set(new_a);state.b_cache.set_first(new_b);state.h.set_first(hn);"));
}

#[test]
fn what_is_no_state_is_refused() {
    let reason = |states: &[(&str, &str)]| compiled("refused", states).unwrap_err();
    assert_eq!(reason(&[("g", "hn")]), "the model has no input `g` for the state");
    assert_eq!(reason(&[("h", "gn")]), "the model has no output `gn` for the state");
    assert_eq!(reason(&[("*_cache", "next_*")]), "the model has no output `next_a` for the state");
    assert_eq!(reason(&[("*", "new")]), "the state `*` = `new` has more `*` in one name than in the other");
    assert_eq!(reason(&[("h", "hn"), ("h", "hn")]), "`h` is part of the state twice");
    assert_eq!(reason(&[("a_cache", "new_a"), ("b_cache", "new_a")]), "`new_a` is part of the state twice");
    assert_eq!(
        reason(&[("h", "counts")]),
        "`h`: float32[batch, 4] and `counts`: int64[batch, 4] cannot be a state: expected the same element type \
         and rank"
    );
    assert_eq!(
        reason(&[("h", "first new_a")]),
        "`h`: float32[batch, 4] and `new_a`: float32[batch, past + n, 4] cannot be a state: expected the same element \
         type and rank"
    );
    assert_eq!(
        reason(&[("h", "list")]),
        "`h`: float32[batch, 4] and `list`: float32[4*batch] cannot be a state: expected the same element type \
         and rank"
    );
}
