//! Metadata of the files, in the program.

use onnx_embed::{Metadata, OnnxModel, onnx_model};

onnx_model! {
    #[onnx(licenses("CC0"))]
    struct Iris = "../../models/iris.onnx";
}
onnx_model! { struct Pair = "../../models/pair.onnx"; }

#[test]
fn metadata_are_those_of_the_file() {
    let expected = Metadata {
        producer: "make.py",
        producer_version: "1.2",
        domain: "org.example",
        version: 7,
        doc: "Flowers by their leaves, in cm.\n```\nassert!(false);\n```\n",
        graph: "iris",
        opset: 21,
        entries: &[("author", "R. A. Fisher"), ("license", "CC0")],
    };
    assert_eq!(Iris::METADATA, expected);
    assert_eq!(Iris::METADATA.get("license"), Some("CC0"));
    assert_eq!(Iris::METADATA.get("licence"), None);
}

#[test]
fn labels_are_those_of_the_classifier() {
    assert_eq!(Iris::LABELS, ["setosa", "versicolor", "virginica"]);
    assert!(Pair::LABELS.is_empty());
}

#[test]
fn a_program_names_the_most_probable_class() {
    let flower = onnx_embed::Tensor::from_data([[6.0f32, 2.2, 4.0, 1.0]], &Default::default());
    let output = Iris::default().forward(flower);
    let class = output.probabilities.argmax(1).into_scalar::<i64>();
    assert_eq!(Iris::LABELS[class as usize], "versicolor");
}
