//! A server that keeps models of any type by name.

use std::collections::HashMap;
use std::path::Path;
use std::thread;

use onnx_embed::{Device, DynModel, Error, Values, onnx_model};

onnx_model! { struct Iris = "../../models/iris.onnx"; }
onnx_model! { struct Pair = "../../models/pair.onnx"; }
onnx_model! {
    #[onnx(weights = "file")]
    struct Perceptron = "../../models/perceptron.onnx";
}

type Models = HashMap<String, Box<dyn DynModel>>;

fn model(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name)
}

fn answer(models: &Models, name: &str, inputs: Values) -> Result<Values, Error> {
    models[name].run(inputs)
}

#[test]
fn models_of_two_types_answer_two_threads() {
    let mut models = Models::new();
    models.insert("iris".into(), Box::new(Iris::default()));
    models.insert("pair".into(), Box::new(Pair::new(&Device::flex())));
    for model in models.values() {
        model.warm_up(&[("batch", 2)]).unwrap();
    }
    thread::scope(|scope| {
        let models = &models;
        let iris = scope.spawn(move || {
            let flower = [[5.1f32, 3.5, 1.4, 0.2]];
            let outputs = answer(models, "iris", Values::new().with("features", flower))?;
            outputs["label"].to_vec::<String>()
        });
        let pair = scope.spawn(move || {
            let row = [[1.0f32, 2.0, 3.0]];
            let outputs = answer(models, "pair", Values::new().with("a", row).with("b", row))?;
            outputs["total"].to_vec::<f32>()
        });
        assert_eq!(iris.join().unwrap().unwrap(), ["setosa"]);
        assert_eq!(pair.join().unwrap().unwrap(), [2.0, 4.0, 6.0]);
    });
}

#[test]
fn a_model_says_what_it_is_without_its_type() {
    let model: Box<dyn DynModel> = Box::new(Iris::default());
    assert_eq!(
        model.signature().to_string(),
        "(features: float32[batch, 4]) -> (label: string[batch], probabilities: float32[batch, 3])"
    );
    assert_eq!(model.labels(), ["setosa", "versicolor", "virginica"]);
    assert_eq!(model.metadata().graph, "iris");
    assert!(model.parameters().is_empty());
}

/// No call is ambiguous with both traits in scope.
#[test]
fn a_model_of_known_type_runs_beside_models_of_any() {
    use onnx_embed::OnnxModel;

    let inputs = || Values::new().with("features", [[5.1f32, 3.5, 1.4, 0.2]]);
    let model = Iris::default();
    let typed = model.run(inputs()).unwrap();
    let any: &dyn DynModel = &model;
    assert_eq!(any.run(inputs()).unwrap(), typed);
    any.warm_up(&[]).unwrap();
    model.warm_up(&[]).unwrap();
}

#[test]
fn a_file_is_checked_before_it_is_loaded() {
    use onnx_embed::OnnxModel;

    Perceptron::check_file(model("perceptron.onnx")).unwrap();
    Perceptron::check_file(model("perceptron_other_weights.onnx")).unwrap();
    let refused = |name| Perceptron::check_file(model(name)).unwrap_err().to_string();
    assert_eq!(
        refused("perceptron_other_graph.onnx"),
        Perceptron::from_file(model("perceptron_other_graph.onnx"), &Device::flex()).unwrap_err().to_string()
    );
    assert!(refused("gone.onnx").starts_with("cannot read `"));
}
