//! Equal layers become the elements of an array.

use expect_test::{Expect, expect};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::Options;
use prost::Message;

/// Parts of lines that are compared.
const WORDS: [&str; 6] = [": [", " in &self", "layer.forward", "self.layer", "self.block", "each("];

/// Compares lines of an expansion about layers, and those with one of the `words`. A value `l3_a` is computed in the
/// module `layer.3`.
#[track_caller]
fn check(text: &str, words: &[&str], expected: Expect) {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {text}");
    let mut model = onnx_embed_ir::text::model(&text).unwrap();
    for node in &mut model.graph.as_mut().unwrap().node {
        let module = node.output[0].strip_prefix('l').and_then(|name| name.split_once('_'));
        let number = module.filter(|(number, _)| number.parse::<usize>().is_ok());
        node.name = match number {
            Some((number, name)) => format!("/encoder/layer.{number}/{name}"),
            None => format!("/{}", node.output[0]),
        };
    }
    let options = Options::default();
    let model = onnx_embed_ir::load_bytes(model.encode_to_vec().into(), &options).unwrap();
    let code = onnx_embed_ir::code(&model, &Item::model("model"), &options);
    let code = code.unwrap_or_else(|problems| panic!("{}", problems.report("model")));
    let code = prettyplease::unparse(&syn::parse2(code).unwrap());
    let lines = code.lines().filter(|line| WORDS.iter().chain(words).any(|word| line.contains(word)));
    let lines: String = lines.map(|line| format!("{}\n", line.trim())).collect();
    expected.assert_eq(&lines);
}

/// Returns the nodes of a layer of seven operators. `x` is what it starts from.
fn layer(at: usize, x: &str) -> String {
    format!(
        "l{at}_a = MatMul ({x}, w{at})
        l{at}_b = Add (l{at}_a, mask)
        l{at}_c = Softmax (l{at}_b)
        l{at}_d = MatMul (l{at}_c, u{at})
        l{at}_e = Sin (l{at}_d)
        l{at}_f = Exp (l{at}_e)
        l{at}_y = Add (l{at}_f, {x})\n"
    )
}

fn weights(count: usize) -> String {
    let pairs = (0..count).map(|at| {
        let elements = |first: usize| format!("{}, {}, {}, {}", first, first + 1, first + 2, first + 3);
        format!(
            "float[2, 2] w{at} = {{{}}}, float[2, 2] u{at} = {{{}}}",
            elements(8 * at),
            elements(8 * at + 4)
        )
    });
    pairs.collect::<Vec<_>>().join(", ")
}

/// Returns a graph of layers, each with the nodes that `layer` returns.
fn graph(count: usize, outputs: &str, layer: impl Fn(usize, &str) -> String) -> String {
    let mut x = "x".to_owned();
    let layers = (0..count).map(|at| {
        let text = layer(at, &x);
        let (_, last) = text.trim_end().rsplit_once('\n').unwrap();
        x = last.trim().split(' ').next().unwrap().to_owned();
        text
    });
    let (layers, weights) = (layers.collect::<String>(), weights(count));
    format!("g (float[n, 2] x, float[n, 2] mask) => ({outputs}) <{weights}> {{ {layers} }}")
}

#[test]
fn a_chain_of_layers_is_a_loop() {
    check(
        &graph(4, "float[n, 2] l3_y", layer),
        &[],
        expect![[r#"
        layers: [Layer; 4],
        for layer in &self.layers {
        x = layer.forward(x, mask.clone());
        layers: weights.each("w0", Layer::load),
        let device = device(&self.layers);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn layers_whose_results_are_outputs_are_called_by_their_indices() {
    check(
        &graph(5, "float[n, 2] l4_y, float[n, 2] l2_y", layer),
        &[],
        expect![[r#"
        layers: [Layer; 5],
        let x = self.layers[0].forward(x, mask.clone());
        let x = self.layers[1].forward(x, mask.clone());
        let l2_y = self.layers[2].forward(x, mask.clone());
        let x = self.layers[3].forward(l2_y.clone(), mask.clone());
        let l4_y = self.layers[4].forward(x, mask);
        layers: weights.each("w0", Layer::load),
        let device = device(&self.layers);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn numbers_of_some_modules_of_a_list_are_in_the_name() {
    let different = |at: usize, x: &str| {
        let layer = layer(at, x);
        if at == 1 { layer.replace("Sin", "Cos") } else { layer }
    };
    check(
        &graph(6, "float[n, 2] l5_y", different),
        &["layer_"],
        expect![[r#"
        layer2_to_5: [Layer; 4],
        let x = self.layer0.forward(x, mask.clone());
        let mut x = self.layer1.forward(x, mask.clone());
        for layer in &self.layer2_to_5 {
        x = layer.forward(x, mask.clone());
        layer2_to_5: weights.each("w2", Layer::load_layer),
        let device = device(&self.layer0);
        fn load_layer(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn a_mask_of_the_first_layer_is_an_argument_of_all() {
    let masked = |at: usize, x: &str| {
        let layer = layer(at, x).replace("mask", "l0_m");
        if at == 0 { format!("l0_n = Neg (mask) l0_m = Cos (l0_n)\n{layer}") } else { layer }
    };
    check(
        &graph(4, "float[n, 2] l3_y", masked),
        &["cos"],
        expect![[r#"
        layers: [Layer; 4],
        let mask = ops::elementary::cos(mask);
        for layer in &self.layers {
        x = layer.forward(x, mask.clone());
        layers: weights.each("w0", Layer::load),
        let device = device(&self.layers);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn nodes_between_those_of_a_layer_precede_it() {
    let between = |at: usize, x: &str| {
        let layer = layer(at, x).replace("mask", "turned");
        if at == 0 { layer.replacen('\n', "\nn = Neg (mask) turned = Cos (n)\n", 1) } else { layer }
    };
    check(
        &graph(4, "float[n, 2] l3_y", between),
        &["cos"],
        expect![[r#"
        let turned = ops::elementary::cos(mask);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
        layers: [Layer; 4],
        for layer in &self.layers {
        x = layer.forward(x, turned.clone());
        layers: weights.each("w0", Layer::load),
    "#]],
    );
}

#[test]
fn layers_without_names_are_found_by_their_operators() {
    let unnamed = |at: usize, x: &str| layer(at, x).replace(&format!("l{at}_"), &format!("k{at}_"));
    check(
        &graph(6, "float[n, 2] k5_y", unnamed),
        &["block.forward"],
        expect![[r#"
        blocks: [Block; 6],
        for block in &self.blocks {
        x = block.forward(x, mask.clone());
        blocks: weights.each("w0", Block::load),
        let device = device(&self.blocks);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn layers_that_read_from_the_device_are_awaited() {
    let reading = |at: usize, x: &str| {
        let read = format!(
            "l{at}_i = NonZero (l{at}_e) l{at}_j = Shape (l{at}_i) l{at}_k = Cast <to = 1> (l{at}_j)
            l{at}_s = ReduceSum <keepdims = 0> (l{at}_k) l{at}_f = Mul (l{at}_e, l{at}_s)"
        );
        layer(at, x).replace(&format!("l{at}_f = Exp (l{at}_e)"), &read)
    };
    check(
        &graph(4, "float[n, 2] l3_y", reading),
        &[],
        expect![[r#"
        layers: [Layer; 4],
        let device = &device(&self.layers);
        for layer in &self.layers {
        x = layer.forward(x, mask.clone(), device);
        let device = &device(&self.layers);
        for layer in &self.layers {
        x = layer.forward_async(x, mask.clone(), device).await;
        layers: weights.each("w0", Layer::load),
        let device = device(&self.layers);
        let device = device(&self.layers);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn an_input_may_have_the_name_of_an_element() {
    let text = graph(4, "float[n, 2] l3_y", layer).replace("mask", "layer");
    check(
        &text,
        &["layer_"],
        expect![[r#"
        layers: [Layer; 4],
        for layer_ in &self.layers {
        x = layer_.forward(x, layer.clone());
        layers: weights.each("w0", Layer::load),
        let device = device(&self.layers);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
    "#]],
    );
}

#[test]
fn weights_that_layers_share_are_loaded_by_name() {
    let shared = |at: usize, x: &str| layer(at, x).replace(&format!("u{at}"), "u0");
    check(
        &graph(4, "float[n, 2] l3_y", shared),
        &["Linear::load"],
        expect![[r#"
        layers: [Layer; 4],
        for layer in &self.layers {
        x = layer.forward(x, mask.clone());
        layers: weights.each("w0", Layer::load),
        let device = device(&self.layers);
        fn load(weights: &Weights<'_>, names: [&'static str; 1]) -> Self {
        a: layers::Linear::load(weights, a_weight, None),
        d: layers::Linear::load(weights, "u0", None),
    "#]],
    );
}

#[test]
fn sizes_that_a_layer_finds_are_known_after_it() {
    // The size of the result of NonZero is first known in the layer, so that the node between stays after it.
    let between = |at: usize, x: &str| {
        let layer = layer(at, x).replace("mask", "turned");
        match at {
            0 => layer.replacen(
                '\n',
                "\nl0_i = NonZero (l0_a) l0_j = Shape (l0_i) n = ConstantOfShape (l0_j)
                m = ReduceSum <keepdims = 0> (n) k = Cast <to = 1> (m) turned = Mul (mask, k)\n",
                1,
            ),
            _ => layer,
        }
    };
    check(
        &graph(4, "float[n, 2] l3_y", between),
        &["layer_"],
        expect![[r#"
        let device = &device(&self.layer0);
        let y = self.layer0.forward(x.clone());
        let device = &device(&self.layer0);
        let y = self.layer0.forward(x.clone());
        let device = device(&self.layer0);
        let device = device(&self.layer0);
        fn load(weights: &Weights<'_>, names: [&'static str; 2]) -> Self {
        layer1_to_3: [Layer2; 3],
        let mut x = self.layer0.forward(x, turned.clone(), x2);
        for layer in &self.layer1_to_3 {
        x = layer.forward(x, turned.clone());
        layer1_to_3: weights.each("w1", Layer2::load),
    "#]],
    );
}
