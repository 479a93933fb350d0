//! Tests of function calls, and of messages about missing functions.

use expect_test::{Expect, expect};
use prost::Message;

use crate::emit::Item;
use crate::options::{Binding, Declared, DeclaredShape, Options, Size};
use crate::testing;

/// Prints the function calls in the code of a model, and the constants that contain the functions.
fn check(text: &str, functions: &[(&str, &[Declared])], expected: Expect) {
    let opsets = "<ir_version: 10, opset_import: [\"\": 21, \"my\": 1]>";
    let model = crate::text::model(&format!("{opsets} g {text}")).unwrap();
    let binding = |(name, results): &(&str, &[Declared])| {
        let function = format!("crate::{}", name.to_lowercase());
        let results = results.to_vec();
        (format!("my.{name}"), Binding { function, results })
    };
    let options = Options { operators: functions.iter().map(binding).collect(), ..Options::default() };
    let item = Item { visibility: Default::default(), ..Item::model("model") };
    let model = crate::load_bytes(model.encode_to_vec().into(), &options);
    let code = model.and_then(|model| crate::code(&model, &item, &options));
    let code = code.map_or_else(|problems| problems.report("model"), |code| code.to_string());
    let shown = if code.starts_with("cannot") {
        code
    } else {
        let calls = code.split("custom :: checked ").skip(1);
        let calls = calls.map(|call| call.split([';', '}']).next().unwrap_or_default().trim());
        let constants = code.split(" const ").filter(|text| text.contains(": fn "));
        let constants = constants.map(|text| text.split(" ;").next().unwrap_or_default());
        let lines: Vec<&str> = constants.chain(calls).collect();
        lines.join("\n")
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_function_is_a_constant_of_the_type_that_its_node_needs() {
    check(
        "(float[n, 3] x, float[3] b) => (float[n, 3] y) { y = my.F <beta = 1.5, alpha = [1, 2]> (x, b) }",
        &[("F", &[])],
        expect![[r#"
            F : fn (Tensor < 2 > , Tensor < 1 > , & 'static [i64] , f32) -> Tensor < 2 > = crate :: f
            (F (x , b , & [1 , 2] , 1.5) , (DType :: F32 , [n , 3])))"#]],
    );
}

#[test]
fn nodes_of_other_ranks_have_a_constant_of_their_own() {
    check(
        "(float[n] x, float[n, 2] y) => (p, q, r) { p = my.F (x) q = my.F (y) z = Neg (x) r = my.F (z) }",
        &[("F", &[])],
        expect![[r#"
            F : fn (Tensor < 1 >) -> Tensor < 1 > = crate :: f
            F2 : fn (Tensor < 2 >) -> Tensor < 2 > = crate :: f
            (F (x . clone ()) , (DType :: F32 , [n])))
            (F2 (y) , (DType :: F32 , [n_2 , 2])))
            (F (x) , (DType :: F32 , [n])))"#]],
    );
}

#[test]
fn a_declared_size_is_that_of_an_input_with_its_name() {
    let sizes = ["n", "rest"].map(|name| Some(Size::Named(name.into())));
    let declared = Declared { element: None, shape: DeclaredShape::Sizes(sizes.to_vec()) };
    check(
        "(float[n, 3] x) => (y, z) { y = my.F (x) z = MatMul (y, x) }",
        &[("F", &[declared])],
        expect![[r#"
            F : fn (Tensor < 2 >) -> Tensor < 2 > = crate :: f
            (F (x . clone ()) , (DType :: F32 , [n , custom :: ANY])))"#]],
    );
}

#[test]
fn an_operator_without_a_function_says_what_function_it_needs() {
    testing::check(
        r#"<ir_version: 10, opset_import: ["": 21, "my": 1]>
        g (float[n, 2] x, bool[n] m) => (y, z) <float[2] "a.bias" = {1, 2}> {
            r = Relux (x)
            y = my.Mix <mode = "sum"> (r, m, "a.bias")
            z = Add (y, m)
        }"#,
        expect![[r#"
            cannot compile `model`: 2 problems

              operator `Relux` is not supported
                at node `r` (Relux opset 21)
                help: did you mean `Relu`?
                      or bind it to a function: #[onnx(ops("Relux" = crate::relux))], fn relux(x: Tensor<2>) -> Tensor<2>

              operator `my.Mix` is not supported
                at node `y` (my.Mix opset 1)
                help: rewrite the node with standard operators, or define the operator in the model, as a function of the domain `my`
                      or bind it to a function: #[onnx(ops("my.Mix" = crate::mix))], fn mix(x: Tensor<2>, x2: Tensor<1, Bool>, bias: Tensor<1>, mode: &str) -> Tensor<2>

              model: IR version 10, ai.onnx 21, my 1"#]],
    );
}

#[test]
fn an_operator_may_be_of_another_domain() {
    testing::check(
        r#"<ir_version: 10, opset_import: ["": 21, "com.microsft": 1]>
        g (float[n] x) => (y, z) { y = FusedConv (x) z = com.microsft.Gelu (x) }"#,
        expect![[r#"
            cannot compile `model`: 2 problems

              operator `FusedConv` is not supported
                at node `y` (FusedConv opset 21)
                help: did you mean `FusedConv` of the domain `com.microsoft`?
                      or bind it to a function: #[onnx(ops("FusedConv" = crate::fused_conv))], fn fused_conv(x: Tensor<1>) -> Tensor<1>

              operator `com.microsft.Gelu` is not supported
                at node `z` (com.microsft.Gelu opset 1)
                help: did you mean `Gelu` of the domain `com.microsoft`?
                      or bind it to a function: #[onnx(ops("com.microsft.Gelu" = crate::gelu))], fn gelu(x: Tensor<1>) -> Tensor<1>

              model: IR version 10, ai.onnx 21, com.microsft 1"#]],
    );
}
