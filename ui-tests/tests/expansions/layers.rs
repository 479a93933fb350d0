//! Equal layers, which are the elements of an array.

use std::collections::{BTreeMap, BTreeSet};

use onnx_embed::burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use onnx_embed::burn::store::ModuleRecord;
use onnx_embed::{Device, OnnxModel, Tensor, TensorData, TracedModel, Values, onnx_model};

onnx_model! { struct Four = "../../models/layers/four_layers/four_layers.onnx"; }
onnx_model! { struct Many = "../../models/layers/many_layers/many_layers.onnx"; }
onnx_model! { struct Unscoped = "../../models/layers/unscoped_layers/unscoped_layers.onnx"; }
onnx_model! { struct Shared = "../../models/layers/shared_biases/shared_biases.onnx"; }
onnx_model! {
    #[onnx(train = true)]
    struct Trained = "../../models/layers/many_layers/many_layers.onnx";
}
onnx_model! {
    #[onnx(trace)]
    struct Observed = "../../models/layers/many_layers/many_layers.onnx";
}

/// First row of each batch, by ONNX Runtime.
const FOUR: [f32; 8] =
    [-0.7746544, 0.936609, -0.14136839, -0.2766701, -0.7778524, 0.9365238, -0.07515332, -0.359788];
const MANY: [f32; 8] =
    [-0.22083369, 0.61357903, 0.7578591, -0.93407524, -0.22077653, 0.6135136, 0.7578993, -0.9340776];
const SHARED: [f32; 8] =
    [0.012535003, -0.24198003, -0.69452584, 0.9377827, 0.8386821, 0.7853287, -0.56344646, -0.8467294];

fn inputs() -> Values {
    let hidden = (0..24).map(|at| ((at * 37 % 23) as f32 - 11.0) / 7.0);
    let hidden = TensorData::new(hidden.collect(), [2, 3, 4]);
    let mask = TensorData::new(vec![0f32, 0.0, 0.0, 0.0, 0.0, -1e4], [2, 1, 1, 3]);
    Values::from([("hidden", hidden), ("mask", mask)])
}

fn first_rows(outputs: &Values) -> Vec<f32> {
    let y: Vec<f32> = outputs["y"].tensor().unwrap().iter::<f32>().collect();
    [&y[..4], &y[12..16]].concat()
}

#[track_caller]
fn check(model: &impl OnnxModel, expected: [f32; 8]) {
    let found = first_rows(&model.run(inputs()).unwrap());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-5, "{found} is not {expected}");
    }
}

#[test]
fn every_layer_has_its_own_weights() {
    let device = Device::flex();
    check(&Four::new(&device), FOUR);
    check(&Many::new(&device), MANY);
    check(&Unscoped::new(&device), FOUR);
    check(&Shared::new(&device), SHARED);
    check(&Trained::new(&device), MANY);
    check(&Observed::new(&device), MANY);
}

#[test]
fn weights_of_other_files_are_found_by_their_places() {
    let device = Device::flex();
    let bytes = include_bytes!("../../models/layers/many_layers/many_layers.onnx");
    check(&Many::from_bytes(bytes, &device).unwrap(), MANY);
}

/// Numbers of elements of parameters by path.
#[derive(Default)]
struct Found {
    at: Vec<String>,
    counts: BTreeMap<String, usize>,
}

impl ModuleVisitor for Found {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.at.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.at.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.counts.insert(self.at.join("."), param.val().shape().num_elements());
    }
}

#[test]
fn parameters_have_the_indices_of_their_layers() {
    let mut found = Found::default();
    Trained::new(&Device::flex()).visit(&mut found);
    let listed = Trained::PARAMETERS.iter();
    let listed = listed.map(|parameter| (parameter.path.to_owned(), parameter.shape.iter().product()));
    assert_eq!(found.counts, listed.collect());
    assert_eq!(found.counts.len(), 34 * 16 + 2);
    let mut layers = BTreeSet::new();
    for parameter in Trained::PARAMETERS {
        // Products have names without the layer.
        if let Some((layer, _)) =
            parameter.name.strip_prefix("encoder.layer.").and_then(|name| name.split_once('.'))
        {
            let path = parameter.path.strip_prefix("encoder.layers.").unwrap();
            assert_eq!(path.split_once('.').unwrap().0, layer);
            layers.insert(layer);
        }
    }
    assert_eq!(layers.len(), 34);
}

#[test]
fn records_and_copies_keep_every_layer() {
    let device = Device::flex();
    let model = Many::new(&device);
    let record = model.clone().into_record().into_bytes().unwrap();
    let zeros = Many::new(&device).map(&mut Zeros);
    assert_ne!(first_rows(&zeros.run(inputs()).unwrap()), first_rows(&model.run(inputs()).unwrap()));
    let loaded = zeros.load_record(ModuleRecord::from_bytes(record).unwrap());
    check(&loaded, MANY);
    check(&model.clone().to_device(&device), MANY);
    let text = format!("{model}");
    assert!(text.contains("33"), "{text}");
}

struct Zeros;

impl ModuleMapper for Zeros {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|tensor| tensor.zeros_like())
    }
}

#[test]
fn traces_name_the_nodes_of_each_layer() {
    let mut nodes = Vec::new();
    let run = Observed::new(&Device::flex()).trace(inputs(), |value| nodes.push(value.node().to_owned()));
    assert_eq!(first_rows(&run.unwrap()).len(), 8);
    let of = |layer: usize| {
        let scope = format!("/encoder/layer.{layer}/");
        nodes.iter().filter(|node| node.starts_with(&scope)).count()
    };
    let counts: BTreeSet<usize> = (0..34).map(of).collect();
    assert!(counts.len() == 1 && !counts.contains(&0), "{counts:?}");
}
