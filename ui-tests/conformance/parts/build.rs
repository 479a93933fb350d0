//! Writes the cases of the part that this package contains.

fn main() {
    let package = env!("CARGO_PKG_NAME");
    let number = package.rsplit_once("part").map(|(_, number)| number.parse());
    let Some(Ok(number)) = number else {
        panic!("`{package}` does not end in the number of a part");
    };
    onnx_embed_conformance_archive::write_part(number);
}
