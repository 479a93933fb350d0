//! Time, memory and panics of one compilation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;

use super::compile;

/// Maximum time to compile a small model, without optimization on a slow machine.
const LONGEST: Duration = Duration::from_secs(5);
/// Maximum memory of the test, for the largest files, their weights and the results.
const MOST_MEMORY: usize = 2 << 30;

/// Compiles a model, and reports panics and exceeded limits.
pub fn complaint(bytes: &[u8]) -> Option<String> {
    let bytes = Bytes::copy_from_slice(bytes);
    let start = busy();
    let panicked = catch_unwind(AssertUnwindSafe(|| compile(bytes))).is_err();
    let took = busy().saturating_sub(start);
    match peak_memory() {
        _ if panicked => Some("panics".to_owned()),
        _ if took > LONGEST => Some(format!("takes {took:?}")),
        Some(peak) if peak > MOST_MEMORY => Some(format!("needs {} MB", peak >> 20)),
        _ => None,
    }
}

/// Returns the processor time of the thread, which does not depend on other load. On other systems than Linux it is not
/// measured.
fn busy() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Compiles a model in ONNX's text syntax within the limits. It may have problems.
#[track_caller]
pub fn check(text: &str) {
    let text = if text.trim_start().starts_with('<') {
        text.to_owned()
    } else {
        format!("<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]> {text}")
    };
    let model = onnx_embed_ir::text::model(&text).unwrap();
    assert_eq!(complaint(&model.encode_to_vec()), None);
}

/// Compiles a graph of each of the nodes, which are written without their outputs.
#[track_caller]
pub fn each(inputs: &str, constants: &str, nodes: &str) {
    for node in nodes.lines().map(str::trim).filter(|node| !node.is_empty()) {
        check(&format!("g ({inputs}) => (float[n] y) <{constants}> {{ y = {node} }}"));
    }
}

/// Returns the peak memory of the process on Linux.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}
