//! Signatures of the files that the compiler reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onnx_embed_ir::files::signed::Key;
use onnx_embed_ir::options::Options;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/models/signed").join(name)
}

/// Returns the report of the problems of a model, without the folder.
fn report(name: &str, key: &str) -> Option<String> {
    let options = Options { signature: Some(Arc::new(Key::read(&file(key)).unwrap())), ..Options::default() };
    let problems = onnx_embed_ir::load(&file(name), &options).err()?;
    let folder = file("").canonicalize().unwrap();
    Some(problems.report(name).replace(&format!("{}/", folder.display()), ""))
}

#[track_caller]
fn refused(name: &str, expected: &str) {
    let report = report(name, "key.pub").expect("it is refused");
    assert!(report.contains(expected), "{report}");
}

#[test]
fn signed_models_and_their_data_are_read() {
    for name in ["good.onnx", "newer.onnx", "external.onnx"] {
        assert_eq!(report(name, "key.pub"), None, "{name}");
    }
    assert_eq!(report("stranger.onnx", "other.pub"), None);
}

#[test]
fn files_without_a_signature_of_the_key_are_refused() {
    refused("unsigned.onnx", "cannot read the signature `unsigned.onnx.minisig`: No such file");
    refused("forged.onnx", "`forged.onnx.minisig` is not the signature of the bytes of `forged.onnx`");
    refused("stranger.onnx", "`stranger.onnx.minisig` was written with another key than `key.pub`");
    refused("old_form.onnx", "`old_form.onnx.minisig` has the old form of minisign");
    refused("external_unsigned.onnx", "cannot read the signature `unsigned.bin.minisig`: No such file");
}

#[test]
fn keys_are_checked() {
    let problem = |name: &str| Key::read(&file(name)).unwrap_err().to_string();
    assert!(problem("no.pub").starts_with("cannot read the public key"));
    assert!(problem("good.onnx").starts_with("cannot read the public key"));
    assert!(problem("good.onnx.minisig").ends_with("is not a public key of minisign"));
}
