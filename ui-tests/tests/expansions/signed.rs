//! Models whose files must be signed.

use std::path::{Path, PathBuf};

use onnx_embed::{Device, OnnxModel, Tensor, onnx_model};

use crate::values;

onnx_model! {
    #[onnx(weights = "file", signature = "../../models/signed/key.pub")]
    struct Signed = "../../models/signed/good.onnx";
}

onnx_model! {
    #[onnx(signature = "../../models/signed/key.pub")]
    struct External = "../../models/signed/external.onnx";
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/signed").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(file(name)).unwrap()
}

fn sums(model: &Signed) -> Vec<f32> {
    values(model.forward(Tensor::from_floats([0.0, 0.0], &Device::flex())))
}

/// Returns the error without the folder.
fn refusal(name: &str) -> String {
    let refused = Signed::from_file(file(name), &Device::flex()).err().unwrap().to_string();
    let checked = Signed::check_file(file(name)).unwrap_err().to_string();
    assert_eq!(refused, checked);
    let folder = file("");
    refused.replace(&folder.display().to_string(), "")
}

#[test]
fn signed_files_are_loaded() {
    assert!(Signed::PUBLIC_KEY.is_some_and(|key| key.starts_with("RW")));
    for (name, expected) in [("good.onnx", [1.0, 2.0]), ("newer.onnx", [3.0, 4.0])] {
        let model = Signed::from_file(file(name), &Device::flex()).unwrap();
        assert_eq!(sums(&model), expected);
        let (model, signature) = (bytes(name), bytes(&format!("{name}.minisig")));
        let model = Signed::from_bytes(&[&model, &signature], &Device::flex()).unwrap();
        assert_eq!(sums(&model), expected);
    }
    External::from_file(file("external.onnx"), &Device::flex()).unwrap();
}

#[test]
fn files_without_a_signature_of_the_key_are_refused() {
    assert_eq!(
        refusal("unsigned.onnx"),
        "cannot read `unsigned.onnx.minisig`: No such file or directory (os error 2)"
    );
    assert_eq!(
        refusal("forged.onnx"),
        "cannot load `forged.onnx`: the signature of `good.onnx` is not that of the bytes of the file"
    );
    assert_eq!(
        refusal("stranger.onnx"),
        "cannot load `stranger.onnx`: the signature of `good.onnx` was written with another key than that of the model"
    );
    assert_eq!(
        refusal("old_form.onnx"),
        "cannot load `old_form.onnx`: the signature of `good.onnx` has the old form of minisign, which signs the bytes \
         instead of their hash"
    );
    let refused = External::from_file(file("external_unsigned.onnx"), &Device::flex()).err().unwrap();
    assert!(refused.to_string().contains("external_unsigned.onnx"), "{refused}");
}

#[test]
fn bytes_without_a_signature_of_the_key_are_refused() {
    let refused = |files: &[&[u8]]| {
        let refused = <Signed as OnnxModel>::from_bytes(files, &Device::flex());
        refused.err().unwrap().to_string()
    };
    let (good, newer) = (bytes("good.onnx"), bytes("newer.onnx"));
    let [of_good, of_newer] = ["good", "newer"].map(|name| bytes(&format!("{name}.onnx.minisig")));
    assert_eq!(refused(&[&good]), "the number of files is 1, expected 2");
    let expected = "the signature of `good.onnx` is not that of the bytes of the file";
    assert_eq!(refused(&[&good, &of_newer]), expected);
    assert_eq!(refused(&[&newer, &of_good]), expected);
    assert_eq!(refused(&[&good, b"\xff"]), "the signature of `good.onnx` is not a signature of minisign");
}
