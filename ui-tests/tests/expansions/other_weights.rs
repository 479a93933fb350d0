//! Files with other weights than the compiled file.

use onnx_embed::{Device, Tensor, onnx_model};

use crate::{rows, values};

onnx_model! {
    #[onnx(weights = "file")]
    struct InFile = "../../models/other_weights.onnx";
}

onnx_model! {
    #[onnx(train = false)]
    struct Embedded = "../../models/other_weights.onnx";
}

onnx_model! {
    #[onnx(weights = "file")]
    struct External = "../../models/other_weights_external.onnx";
}

onnx_model! {
    #[onnx(train = false)]
    struct ExternalEmbedded = "../../models/other_weights_external.onnx";
}

const EXTERNAL: [&[u8]; 2] = [
    include_bytes!("../../models/other_weights_external.onnx"),
    include_bytes!("../../models/weights/other_weights.bin"),
];

const COMPILED: &[u8] = include_bytes!("../../models/other_weights.onnx");

/// Returns the compiled file with other raw data for one initializer.
fn changed(name: &str, data: &[u8]) -> Vec<u8> {
    let length = |text: &[u8]| u8::try_from(text.len()).unwrap();
    let key = [&[0x42, length(name.as_bytes())], name.as_bytes(), &[0x4a, length(data)]].concat();
    let found = COMPILED.windows(key.len()).position(|window| window == key);
    let start = found.unwrap() + key.len();
    let mut bytes = COMPILED.to_vec();
    bytes[start..start + data.len()].copy_from_slice(data);
    assert_ne!(bytes, COMPILED);
    bytes
}

fn floats(all: &[f32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn x() -> Tensor<2> {
    rows([[1.0, -2.0, 3.0, 4.0], [-1.0, 0.0, 0.5, 2.0]])
}

fn refusal<T>(made: Result<T, onnx_embed::Error>) -> Option<String> {
    made.err().map(|error| error.to_string())
}

fn depends(name: &str) -> Option<String> {
    Some(format!(
        "weight `{name}` differs from the compiled model, whose code depends on its value; \
         compile the model again from this file"
    ))
}

/// Returns the values on which the code always depends.
fn steering() -> [(&'static str, Vec<u8>); 4] {
    [
        ("low", floats(&[-0.5])),
        ("target", [2i64, 4].map(i64::to_le_bytes).concat()),
        ("scale", floats(&[0.25])),
        ("zero", vec![5]),
    ]
}

#[test]
fn the_compiled_values_are_taken() {
    let device = Device::flex();
    let (file, embedded) = (InFile::from_bytes(COMPILED, &device), Embedded::new(&device));
    let expected = [1.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.5, 2.0];
    assert_eq!(values(file.unwrap().forward(x()).scaled), expected);
    assert_eq!(values(embedded.forward(x()).scaled), expected);
}

#[test]
fn parameters_may_differ_where_weights_stay_in_the_file() {
    let taken = |name: &str, data: &[f32]| {
        let bytes = changed(name, &floats(data));
        InFile::from_bytes(&bytes, &Device::flex()).unwrap().forward(x())
    };
    let other = [0.5, 2.0, 1.0, -1.0];
    assert_eq!(values(taken("alpha", &other).scaled), [0.5, 0.0, 3.0, 0.0, 0.0, 0.0, 0.5, 0.0]);
    let usual = values(taken("alpha", &other).normal);
    let scaled: Vec<f32> = usual.iter().zip(other.iter().cycle()).map(|(a, b)| a * b).collect();
    assert_eq!(values(taken("gamma", &other).normal), scaled);
    let moved: Vec<f32> = usual.iter().zip(other.iter().cycle()).map(|(a, b)| a + b).collect();
    assert_eq!(values(taken("beta", &other).normal), moved);
}

#[test]
fn what_the_code_depends_on_may_not_differ() {
    for (name, data) in steering() {
        let bytes = changed(name, &data);
        let device = Device::flex();
        assert_eq!(refusal(InFile::from_bytes(&bytes, &device)), depends(name));
        assert_eq!(refusal(Embedded::from_bytes(&bytes, &device)), depends(name));
        let path = std::env::temp_dir().join(format!("onnx-embed-{name}-{}", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let refused = refusal(InFile::from_file(&path, &device));
        std::fs::remove_file(&path).unwrap();
        let depends = depends(name).map(|text| format!("cannot load `{}`: {text}", path.display()));
        assert_eq!(refused, depends);
    }
}

/// A factor of 1 is removed. Of two equal parameters, neither replaces the other.
#[test]
fn embedded_values_by_which_the_code_is_simplified_may_not_differ() {
    let taken = |name: &str| {
        let bytes = changed(name, &floats(&[0.5, 2.0, 1.0, -1.0]));
        refusal(Embedded::from_bytes(&bytes, &Device::flex()))
    };
    assert_eq!(taken("alpha"), depends("alpha"));
    assert_eq!(taken("gamma"), None);
    assert_eq!(taken("beta"), None);
}

/// The second file contains the values of `alpha`, `gamma`, `beta` and `low`, in this order.
#[test]
fn values_in_a_file_beside_the_model_are_checked_alike() {
    let device = Device::flex();
    let changed = |start: usize, data: &[f32]| {
        let mut values = EXTERNAL[1].to_vec();
        values[start..start + data.len() * 4].copy_from_slice(&floats(data));
        assert_ne!(values, EXTERNAL[1]);
        values
    };
    let other = [0.5, 2.0, 1.0, -1.0];
    let (alpha, gamma, low) = (changed(0, &other), changed(16, &other), changed(48, &[-0.5]));
    let taken = External::from_bytes(&[EXTERNAL[0], &alpha], &device).unwrap();
    assert_eq!(values(taken.forward(x()).scaled), [0.5, 0.0, 3.0, 0.0, 0.0, 0.0, 0.5, 0.0]);
    let embedded = |values: &[u8]| ExternalEmbedded::from_bytes(&[EXTERNAL[0], values], &device);
    assert_eq!(refusal(embedded(&alpha)), depends("alpha"));
    let scaled: Vec<f32> = values(ExternalEmbedded::new(&device).forward(x()).normal)
        .iter()
        .zip(other.iter().cycle())
        .map(|(a, b)| a * b)
        .collect();
    assert_eq!(values(embedded(&gamma).unwrap().forward(x()).normal), scaled);
    assert_eq!(refusal(embedded(&low)), depends("low"));
    let refused = External::from_bytes(&[EXTERNAL[0], &low], &device);
    assert_eq!(refusal(refused), depends("low"));
}
