#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onnx_embed_fuzz_targets::external::run(bytes));
