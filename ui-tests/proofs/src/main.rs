//! Prints all rules as data for `prove.py`, a line of JSON for each.

fn main() {
    for record in onnx_embed_proofs::records() {
        println!("{{\"hash\": \"{}\", {}}}", record.hash(), record.fields);
    }
}
