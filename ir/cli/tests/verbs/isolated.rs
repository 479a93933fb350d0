//! Untrusted folders: no file in them is run.

use std::process::Command;

use super::{RELU, folder, model, run_in};

/// Returns the absolute path of the Python that has ONNX Runtime, if any.
fn python() -> Option<String> {
    let program = std::env::var("PYTHON").unwrap_or("python3".to_owned());
    let script = "import sys, numpy, onnx, onnxruntime; print(sys.executable)";
    let output = Command::new(&program).args(["-I", "-c", script]).output().ok()?;
    let found = output.status.success();
    if !found {
        eprintln!("skipped: {program} has no ONNX Runtime");
    }
    found.then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn python_imports_nothing_of_the_current_folder() {
    let folder = folder("isolated");
    model(&folder, "m.onnx", RELU);
    let planted = ["numpy", "json", "onnxruntime", "onnx", "tempfile"];
    for name in planted {
        let script = format!("open('PWNED_{name}', 'w').close()\nraise SystemExit('planted')\n");
        std::fs::write(folder.join(format!("{name}.py")), script).unwrap();
    }
    // Without ONNX Runtime the call fails, and planted files are not run either.
    let python = python();
    let program = python.as_deref().unwrap_or("python3");
    let answer = run_in(&folder, &["record", "m.onnx", "--python", program]);
    assert!(python.is_none() || answer.code == 0, "{}", answer.err);
    for name in planted {
        assert!(!folder.join(format!("PWNED_{name}")).exists(), "{name}: {}", answer.err);
    }
}

#[test]
fn both_sides_of_a_message_have_the_same_types() {
    let (ours, theirs) =
        (include_str!("../../harness/src/message.rs"), include_str!("../../runner/src/message.rs"));
    assert_eq!(ours, theirs);
}
