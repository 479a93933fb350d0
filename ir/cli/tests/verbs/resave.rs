//! `externalize` and `shrink`: are copies complete, and originals safe?

use std::fs;
use std::path::Path;

use expect_test::expect;
use serde_json::Value as Json;

use super::{Answer, folder, model, run_in};

/// A net with a weight of 2 kB and one of 1 kB.
fn net() -> String {
    let numbers = |count: usize| {
        let all: Vec<String> =
            (0..count).map(|at| format!("{}", (at * 37 % 101) as f32 / 50.0 - 1.0)).collect();
        all.join(", ")
    };
    format!(
        r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[n, 32] x) => (float[n, 16] y)
        <float[32, 16] w = {{{}}}, float[16, 16] v = {{{}}}> {{
            p = MatMul (x, w)
            q = Relu (p)
            y = MatMul (q, v)
        }}"#,
        numbers(32 * 16),
        numbers(16 * 16)
    )
}

fn all(answer: &Answer) -> String {
    format!("{}{}exit code {}", answer.out, answer.err, answer.code)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn weights_move_to_files_and_nothing_is_replaced_unasked() {
    let folder = folder("externalize");
    model(&folder, "m.onnx", &net());
    let run = |arguments: &[&str]| run_in(&folder, &[&["externalize", "m.onnx"], arguments].concat());
    expect![[r#"
        wrote c.onnx, 1.2 kB, with 1 weight in 1 file
          c.onnx.data: 2.0 kB, 1 weight
        exit code 0"#]]
    .assert_eq(&all(&run(&["-o", "c.onnx"])));
    assert_eq!(names(&folder), ["c.onnx", "c.onnx.data", "m.onnx"]);
    let before = fs::read(folder.join("c.onnx")).unwrap();
    expect![[r#"
        error: `c.onnx` exists; choose another name, or replace it with `--force`
        exit code 2"#]]
    .assert_eq(&all(&run(&["-o", "c.onnx"])));
    assert_eq!(run(&["-o", "c.onnx", "--force"]).code, 0);
    assert_eq!(fs::read(folder.join("c.onnx")).unwrap(), before);
    let json = run(&["-o", "d.onnx", "--shard-size", "1MiB", "--json"]);
    let json: Json = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["external_data"][0]["name"], "d.onnx.data");
    assert_eq!(json["external_data"][0]["bytes"], 2048);
    assert_eq!(run_in(&folder, &["inspect", "d.onnx"]).code, 0);
}

#[test]
fn files_of_the_original_are_never_replaced() {
    let folder = folder("externalize_original");
    model(&folder, "m.onnx", &net());
    assert_eq!(run_in(&folder, &["externalize", "m.onnx", "-o", "c.onnx"]).code, 0);
    for (original, copy) in [("m.onnx", "m.onnx"), ("c.onnx", "c.onnx"), ("m.onnx", "./m.onnx")] {
        let answer = run_in(&folder, &["externalize", original, "-o", copy, "--force"]);
        assert_eq!(answer.code, 2);
        assert!(answer.err.contains("is a file of the original; write the copy"), "{}", answer.err);
    }
    // External data of the original have the name that those of the copy would have.
    fs::rename(folder.join("c.onnx"), folder.join("other.onnx")).unwrap();
    let answer = run_in(&folder, &["externalize", "other.onnx", "-o", "c.onnx", "--force"]);
    expect![[r#"
        error: `c.onnx.data` is a file of the original; write the copy to another folder or under another name
        exit code 2"#]]
    .assert_eq(&all(&answer));
    assert_eq!(names(&folder), ["c.onnx.data", "m.onnx", "other.onnx"]);
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let folder = folder("externalize_fails");
    model(&folder, "m.onnx", &net());
    fs::create_dir(folder.join("c.onnx.data")).unwrap();
    let run = |copy: &str| all(&run_in(&folder, &["externalize", "m.onnx", "-o", copy, "--force"]));
    expect![[r#"
        error: `c.onnx.data` is a folder
        exit code 2"#]]
    .assert_eq(&run("c.onnx"));
    expect![[r#"
        error: cannot create `no/c.onnx.data.part`: No such file or directory (os error 2)
        exit code 2"#]]
    .assert_eq(&run("no/c.onnx"));
    fs::write(folder.join("d.onnx.data.part"), "").unwrap();
    let left = all(&run_in(&folder, &["externalize", "m.onnx", "-o", "d.onnx"]));
    expect![[r#"
        error: `d.onnx.data.part` exists, perhaps of a copy that was interrupted; remove it, or replace it with `--force`
        exit code 2"#]]
    .assert_eq(&left);
    assert_eq!(names(&folder), ["c.onnx.data", "d.onnx.data.part", "m.onnx"]);
    fs::write(folder.join("bad.onnx"), "no model").unwrap();
    assert_eq!(run_in(&folder, &["externalize", "bad.onnx", "-o", "e.onnx"]).code, 2);
    assert_eq!(run_in(&folder, &["externalize", "m.onnx", "-o", "e.onnx", "--shard-size", "2XB"]).code, 2);
}

#[test]
fn weights_shrink_with_their_errors() {
    let folder = folder("shrink");
    model(&folder, "m.onnx", &net());
    let run =
        |to: &str| all(&run_in(&folder, &["shrink", "m.onnx", "--to", to, "-o", &format!("{to}.onnx")]));
    expect![[r#"
        wrote f16.onnx, 2.2 kB instead of 3.2 kB, with 1 weight in float16
          relative errors of weights, root mean square and largest:
          w: 0.018%, 0.023%; 1.0 kB instead of 2.0 kB
        `cargo onnx-embed compare` shows how much the outputs differ
        exit code 0"#]]
    .assert_eq(&run("f16"));
    expect![[r#"
        wrote int8.onnx, 1.8 kB instead of 3.2 kB, with 1 weight in int8
          relative errors of weights, root mean square and largest:
          w: 0.38%, 0.39%; 576 B instead of 2.0 kB
        `cargo onnx-embed compare` shows how much the outputs differ
        exit code 0"#]]
    .assert_eq(&run("int8"));
    expect![[r#"
        wrote int4.onnx, 1.6 kB instead of 3.2 kB, with 1 weight in int4
          relative errors of weights, root mean square and largest:
          w: 6.68%, 12%; 320 B instead of 2.0 kB
        `cargo onnx-embed compare` shows how much the outputs differ
        exit code 0"#]]
    .assert_eq(&run("int4"));
    for copy in ["f16.onnx", "int8.onnx", "int4.onnx"] {
        let inspected = run_in(&folder, &["inspect", copy]);
        assert_eq!(inspected.code, 0, "{}", inspected.err);
    }
    let json = run_in(&folder, &["shrink", "m.onnx", "--to", "int8", "-o", "j.onnx", "--json"]);
    let json: Json = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["shrunk"][0]["name"], "w");
    assert!(json["shrunk"][0]["error"]["largest"].as_f64().unwrap() < 0.004);
    // Nothing is left to shrink.
    let again = run_in(&folder, &["shrink", "int4.onnx", "--to", "int4", "-o", "k.onnx"]);
    expect![[r#"
        no weight of int4.onnx shrinks, nothing is written
        exit code 1"#]]
    .assert_eq(&all(&again));
    assert!(!folder.join("k.onnx").exists());
}
