//! Requests to operators whose output sizes depend on data.

use std::env;
use std::process::Command;

use onnx_embed::{Array, Device, OnnxModel, Value, Values, onnx_model, with_memory_limit};

use crate::{floats, ints, message, one, zeros};

onnx_model! { struct Asked = "../../models/asked.onnx"; }

/// Returns valid inputs.
fn fine() -> Values {
    Values::from([
        ("v", floats(&[1.0, 2.0, 3.0, 4.0])),
        ("x", zeros(&[1, 1, 4]).into()),
        ("image", zeros(&[1, 1, 2, 2]).into()),
        ("signal", zeros(&[1, 8, 1]).into()),
        ("theta", zeros(&[1, 2, 3]).into()),
        ("pooled", zeros(&[1, 1, 2]).into()),
        ("places", places(&[0, 2])),
        ("columns", zeros(&[1, 4, 1]).into()),
        ("text", Array::vector(["a".to_owned()]).into()),
        ("square", zeros(&[2, 2]).into()),
        ("column", zeros(&[2, 1]).into()),
        ("row", zeros(&[1, 3]).into()),
        ("picks", ints(&[0, 0])),
        ("class", ints(&[1])),
        ("expanded", ints(&[2, 1, 4])),
        ("reshaped", ints(&[2, -1])),
        ("filled", ints(&[2, 3])),
        ("repeats", ints(&[2, 1, 1])),
        ("pads", ints(&[1, -2])),
        ("reflected", ints(&[1, 1])),
        ("size", ints(&[1, 1, 3, 3])),
        ("scale", floats(&[1.0, 1.0, 2.0, 0.5])),
        ("depth", one(3i64)),
        ("limit", one(5f32)),
        ("step", one(2f32)),
        ("stop", one(4i64)),
        ("drawn", ints(&[2, 2])),
        ("eyes", ints(&[2, 3])),
        ("hann", one(4i64)),
        ("blackman", one(5i64)),
        ("length", one(4i64)),
        ("bands", one(4i64)),
        ("transform", one(16i64)),
        ("grid", ints(&[1, 1, 2, 2])),
        ("unpooled", ints(&[1, 1, 5])),
        ("apart", one(2i64)),
        ("frame", one(4i64)),
        ("cropped", ints(&[1, 3])),
        ("count", one(3i64)),
        ("texts", ints(&[2])),
        ("pixels", ints(&[2, 2])),
    ])
}

fn places(places: &[i64]) -> Value {
    onnx_embed::TensorData::new(places.to_vec(), [1, 1, 2]).into()
}

/// Returns the message of the model with these inputs replaced.
fn answer(bad: Vec<(&str, Value)>) -> String {
    let mut inputs = fine();
    for (name, value) in bad {
        inputs.insert(name, value);
    }
    message(Asked::new(&Device::flex()).run(inputs))
}

/// Checks that the message names the node and contains the reason.
fn check(input: &str, bad: Value, node: (&str, &str), reason: &str) {
    let (name, operator) = node;
    let found = answer(vec![(input, bad)]);
    let begin = format!("cannot run `/{name}/{operator}` ({operator}): ");
    let rest = found.strip_prefix(&begin);
    assert!(rest.is_some_and(|rest| rest.contains(reason)), "{input}: {found}\nexpected {begin}.. {reason}");
}

const LARGE: &str = "the memory limit is";

#[test]
fn sizes_that_fit_are_answered() {
    assert_eq!(answer(Vec::new()), "no error");
}

#[test]
fn requests_of_too_much_memory() {
    let far = 1_000_000_000_000i64;
    let wraps = (1i64 << 62) + 1;
    let most = i64::MAX;
    for shape in [[1_000_000, 1_000_000, 4], [1 << 40, 1, 4], [wraps, 1, 4], [0, 1 << 40, 4]] {
        check("expanded", ints(&shape), ("expand", "Expand"), LARGE);
    }
    for shape in [[1_000_000_000, 1_000_000], [wraps, 4], [0, 1 << 40], [most, most]] {
        check("filled", ints(&shape), ("fill", "ConstantOfShape"), LARGE);
        check("eyes", ints(&shape), ("eyes", "ConstantOfShape"), LARGE);
        check("drawn", ints(&shape), ("drawn", "ConstantOfShape"), LARGE);
    }
    check("reshaped", ints(&[wraps, 4]), ("reshape", "Reshape"), "can be addressed");
    for repeats in [[1_000_000; 3], [wraps, 1, 4], [most, most, 1]] {
        check("repeats", ints(&repeats), ("tile", "Tile"), LARGE);
    }
    for pads in [[far, 0], [most, 0], [most, most]] {
        check("pads", ints(&pads), ("pad", "Pad"), LARGE);
        check("reflected", ints(&pads), ("reflect", "Pad"), LARGE);
    }
    for size in [[1, 1, 1_000_000, 1_000_000], [1, 1, most, 2]] {
        check("size", ints(&size), ("size", "Resize"), LARGE);
    }
    check("scale", floats(&[1.0, 1.0, 1e6, 1e6]), ("scale", "Resize"), LARGE);
    check("scale", floats(&[1.0, 1.0, 1.0, 1e30]), ("scale", "Resize"), LARGE);
    check("depth", one(far), ("hot", "OneHot"), LARGE);
    for limit in [1e12, 1e18, f32::MAX] {
        check("limit", one(limit), ("range", "Range"), LARGE);
    }
    check("step", one(1e-30f32), ("range", "Range"), LARGE);
    check("stop", one(far), ("count", "Range"), LARGE);
    check("stop", one(most), ("count", "Range"), LARGE);
    check("hann", one(far), ("hann", "HannWindow"), LARGE);
    check("blackman", one(far), ("blackman", "BlackmanWindow"), LARGE);
    check("length", one(far), ("dft", "DFT"), LARGE);
    check("bands", one(far), ("mel", "MelWeightMatrix"), LARGE);
    check("transform", one(far), ("mel", "MelWeightMatrix"), LARGE);
    check("grid", ints(&[1, 1, 1_000_000, 1_000_000]), ("grid", "AffineGrid"), LARGE);
    for size in [[1, 1, far], [1_000_000; 3]] {
        check("unpooled", ints(&size), ("unpool", "MaxUnpool"), LARGE);
    }
    check("cropped", ints(&[1_000_000, 1_000_000]), ("crop", "CenterCropPad"), LARGE);
    check("cropped", ints(&[i64::MIN, 1]), ("crop", "CenterCropPad"), "");
    check("texts", ints(&[far]), ("text", "Expand"), LARGE);
    check("pixels", ints(&[1 << 40, 1 << 40]), ("image", "Col2Im"), LARGE);
}

#[test]
fn inputs_that_ask_for_too_much_together() {
    let many = 1 << 18;
    let found = answer(vec![("column", zeros(&[many, 1]).into()), ("row", zeros(&[1, many]).into())]);
    let expected =
        "cannot run `/sum/Add` (Add): shape [262144, 262144] requires 256.0 GiB, the memory limit is ";
    assert!(found.starts_with(expected), "{found}");
    let found = answer(vec![("picks", ints(&vec![0; many])), ("row", zeros(&[1, many]).into())]);
    assert!(found.contains("shape [262144, 262144] requires 256.0 GiB"), "{found}");
}

#[test]
fn loops_that_collect_too_much() {
    with_memory_limit(1 << 20, || {
        for count in [1_000_000_000_000, i64::MAX] {
            check("count", one(count), ("loop", "Loop"), "the memory limit is 1.0 MiB");
        }
    });
}

#[test]
fn sizes_that_onnx_runtime_refuses() {
    check("expanded", ints(&[-1, 1, 1]), ("expand", "Expand"), "expected a non-negative size, found -1");
    check("reshaped", ints(&[-2, 4]), ("reshape", "Reshape"), "expected a non-negative size, found -2");
    check("reshaped", ints(&[-1, -1]), ("reshape", "Reshape"), "expected a non-negative size, found -1");
    check("filled", ints(&[-1, 1]), ("fill", "ConstantOfShape"), "expected a non-negative size, found -1");
    check("repeats", ints(&[1, 1, -1]), ("tile", "Tile"), "expected a non-negative size, found -1");
    for pads in [[i64::MIN, 0], [-5, 0], [-3, -3]] {
        check("pads", ints(&pads), ("pad", "Pad"), "along axis 0 of size 4");
        check("reflected", ints(&pads), ("reflect", "Pad"), "along axis 0 of size 4");
    }
    check("size", ints(&[1, 1, 2, -1]), ("size", "Resize"), "expected a non-negative size, found -1");
    for scale in [-1.0, 0.0, f32::NAN, f32::INFINITY] {
        let reason = format!("expected a positive finite scale, found {scale}");
        check("scale", floats(&[1.0, 1.0, 1.0, scale]), ("scale", "Resize"), &reason);
    }
    check("depth", one(-1i64), ("hot", "OneHot"), "expected a non-negative size, found -1");
    for limit in [f32::NAN, f32::INFINITY] {
        check("limit", one(limit), ("range", "Range"), "expected a finite range");
    }
    check("step", one(f32::NAN), ("range", "Range"), "expected a finite range");
    check("step", one(0f32), ("range", "Range"), "expected a nonzero step");
    check("hann", one(-1i64), ("hann", "HannWindow"), "expected a non-negative size, found -1");
    for length in [-1i64, 0] {
        let reason = format!("expected a positive length, found {length}");
        check("length", one(length), ("dft", "DFT"), &reason);
        check("transform", one(length), ("mel", "MelWeightMatrix"), &reason);
        check("apart", one(length), ("stft", "STFT"), &reason);
        check("frame", one(length), ("stft", "STFT"), &reason);
    }
    check("bands", one(-1i64), ("mel", "MelWeightMatrix"), "expected a non-negative size, found -1");
    check("grid", ints(&[1, 1, 4, -1]), ("grid", "AffineGrid"), "expected a non-negative size, found -1");
    check("unpooled", ints(&[1, 1, -5]), ("unpool", "MaxUnpool"), "expected a non-negative size, found -5");
    check("texts", ints(&[-1]), ("text", "Expand"), "expected a non-negative size, found -1");
    check("pixels", ints(&[-2, 2]), ("image", "Col2Im"), "expected a non-negative size, found -2");
}

/// Runs the requests in a process with 4 GiB of address space, where large allocations fail.
#[cfg(target_os = "linux")]
#[test]
fn a_small_address_space() {
    let program = env::current_exe().unwrap();
    let run = "ulimit -v 4194304 && exec \"$0\" --exact asked::requests_of_too_much_memory \
               asked::inputs_that_ask_for_too_much_together";
    let output = Command::new("sh").arg("-c").arg(run).arg(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("2 passed"), "{output:?}");
}
