//! The ONNX node test cases, and our own, through the real macro.
