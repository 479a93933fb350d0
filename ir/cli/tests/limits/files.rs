//! A selection of hostile files.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use onnx_embed_ir::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto,
};
use prost::Message;

use super::growth;

const HEAD: &str = r#"<ir_version: 10, opset_import: ["": 21, "f": 1]>"#;

/// Files that compile to code. The tests in `ui-tests` also compile them with the macro and rustc.
const COMPILED: [&str; 9] = [
    "names_nfc",
    "names_jamo",
    "names_control",
    "name_long",
    "loops_nested",
    "sizes_of_one_name",
    "outputs_of_one_value",
    "branches_in_sequence",
    "metadata_hostile",
];

/// Writes every file into a folder.
pub fn write(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    let save = |name: &str, bytes: Vec<u8>| {
        std::fs::write(folder.join(format!("{name}.onnx")), bytes).unwrap();
    };
    for (name, text) in texts() {
        save(name, model(&text));
    }
    for (name, bytes) in super::said::files() {
        save(name, bytes);
    }
    for (name, bytes) in empty_messages() {
        save(&name, bytes);
    }
    for (name, model) in functions() {
        save(name, model.encode_to_vec());
    }
    for row in growth::ROWS {
        let count = if cfg!(debug_assertions) { 500 } else { 5000 };
        let name = row.name.replace([' ', ','], "_");
        save(&format!("many_{name}"), (row.graph)(count).encode_to_vec());
    }
    save("names_control", named("a\rb", "c\u{202e}d", "e\u{1b}[2J\nf"));
    save("names_nfc", named("\u{fa10}", "\u{585a}", "\u{212b}"));
    save("names_jamo", named("\u{1100}\u{1161}", "\u{ac00}", "e\u{301}"));
    for (name, count) in [("name_long", 300), ("name_longest", 70_000)] {
        let long = "x".repeat(count);
        save(name, named(&long, &format!("{long}2"), &format!("{long}3")));
    }
    save("modules_nested", growth::nested_modules(500_000).encode_to_vec());
    external(folder);
    if std::env::var_os("BLESS").is_some() {
        bless(folder);
    }
}

fn bless(folder: &Path) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui-tests/models/hostile");
    std::fs::create_dir_all(&kept).unwrap();
    for name in COMPILED {
        let name = format!("{name}.onnx");
        std::fs::copy(folder.join(&name), kept.join(&name)).unwrap();
    }
}

fn model(text: &str) -> Vec<u8> {
    let text = format!("{HEAD} {text}");
    onnx_embed_ir::text::model(&text).unwrap().encode_to_vec()
}

/// Returns a model with two inputs and an output of these names.
fn named(first: &str, second: &str, output: &str) -> Vec<u8> {
    let text = format!(
        "{HEAD} g (float[n] first, float[n] second) => (float[n] out) {{ out = Add (first, second) }}"
    );
    let mut model = onnx_embed_ir::text::model(&text).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let name = |name: &mut String| match name.as_str() {
        "first" => *name = first.to_owned(),
        "second" => *name = second.to_owned(),
        "out" => *name = output.to_owned(),
        _ => {}
    };
    let ports = graph.input.iter_mut().chain(&mut graph.output);
    ports.for_each(|port| name(&mut port.name));
    for node in &mut graph.node {
        node.name = format!("node {first}");
        node.input.iter_mut().chain(&mut node.output).for_each(name);
    }
    model.encode_to_vec()
}

fn texts() -> Vec<(&'static str, String)> {
    vec![
        ("loops_nested", nested_loops(12)),
        ("loops_nested_deep", nested_loops(23)),
        ("scans_nested", nested_scans(20)),
        ("loops_shifting", shifting_loops(4, 12)),
        ("strings_repeated", {
            let long = "x".repeat(100_000);
            format!(
                "g () => (string[k] y, string[m] z) <string[1] s = {{\"{long}\"}}, int64[1] n = {{4096}}> {{
                    y = Expand (s, n)
                    z = Tile (s, n)
                }}"
            )
        }),
        ("classes_of_characters", {
            let pattern = format!("(?i){}", r"\\PL".repeat(250));
            format!("g (string[2] x) => (bool[2] y) {{ y = RegexFullMatch <pattern = \"{pattern}\"> (x) }}")
        }),
        ("sizes_of_one_name", {
            let inputs = (0..60).map(|at| format!("float[N] x{at}"));
            let inputs = inputs.collect::<Vec<_>>().join(", ");
            format!("g ({inputs}) => (float[N] y) {{ y = Relu (x0) }}")
        }),
        ("outputs_of_one_value", {
            let outputs = vec!["float[n] y"; 60].join(", ");
            format!("g (float[n] x) => ({outputs}) {{ y = Relu (x) }}")
        }),
        ("branches_in_sequence", {
            let mut text = String::from("g (float[n] t0, bool c) => (float[n] t40) {");
            for at in 0..40 {
                let next = at + 1;
                write!(
                    text,
                    "t{next} = If (c) <
                        then_branch = t () => (float[n] a) {{ a = Neg (t{at}) }},
                        else_branch = e () => (float[n] b) {{ b = Abs (t{at}) }}
                    >"
                )
                .unwrap();
            }
            text + "}"
        }),
        ("functions_doubling", {
            let mut text = String::from("g (float[n] x) => (float[n] y) { y = f.F0 (x) }");
            for level in 0..20 {
                let next = level + 1;
                write!(
                    text,
                    r#"<domain: "f", opset_import: ["": 21, "f": 1]>
                    F{level} (a) => (c) {{ b = f.F{next} (a) c = f.F{next} (b) }}"#
                )
                .unwrap();
            }
            text + r#"<domain: "f", opset_import: ["": 21]> F20 (a) => (b) { b = Neg (a) }"#
        }),
    ]
}

/// Returns nested loops whose state grows.
fn nested_loops(depth: usize) -> String {
    let mut body = String::new();
    for level in 0..depth {
        let inner = match level {
            0 => format!("r{level} = Concat <axis = 0> (s{level}, x)"),
            _ => format!(
                "l{level} = Loop (m, , s{level}) <body = {body}> r{level} = Concat <axis = 0> (l{level}, x)"
            ),
        };
        body = format!(
            "b (int64 i{level}, bool c{level}, float[k] s{level}) => (bool d{level}, float[k] r{level}) {{
                {inner} d{level} = Identity (c{level})
            }}"
        );
    }
    format!("g (float[n] x, int64 m) => (float[k] y) {{ y = Loop (m, , x) <body = {body}> }}")
}

/// Returns nested scans whose state grows.
fn nested_scans(depth: usize) -> String {
    let mut body = String::new();
    for level in 0..depth {
        let inner = match level {
            0 => format!("r{level} = Concat <axis = 0> (s{level}, e{level})"),
            _ => format!(
                "u{level} = Unsqueeze (e{level}, zero)
                l{level} = Scan <num_scan_inputs = 1, body = {body}> (s{level}, u{level})
                r{level} = Concat <axis = 0> (l{level}, e{level})"
            ),
        };
        body = format!("b (float[k] s{level}, float[k] e{level}) => (float[k] r{level}) {{ {inner} }}");
    }
    format!(
        "g (float[n] x, float[t, n] xs) => (float[k] y) <int64[1] zero = {{0}}> {{
            y = Scan <num_scan_inputs = 1, body = {body}> (x, xs)
        }}"
    )
}

/// Returns nested loops whose states shift by one index per iteration.
fn shifting_loops(depth: usize, states: usize) -> String {
    let list = |stem: &str| {
        let names = (0..states).map(|at| format!("{stem}{at}"));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut body = String::new();
    for level in 0..depth {
        let typed = |stem: &str| {
            let names = (0..states).map(|at| format!("float[k] {stem}{at}"));
            names.collect::<Vec<_>>().join(", ")
        };
        let (state, last, out) = (format!("s{level}_"), format!("l{level}_"), format!("o{level}_"));
        let (inner, current) = match level {
            0 => (String::new(), &state),
            _ => (format!("{} = Loop (m, , {}) <body = {body}>", list(&last), list(&state)), &last),
        };
        let mut moves = format!("{out}0 = Concat <axis = 0> ({current}0, x)");
        for at in 1..states {
            write!(moves, " {out}{at} = Identity ({current}{})", at - 1).unwrap();
        }
        body = format!(
            "b (int64 i{level}, bool c{level}, {}) => (bool d{level}, {}) {{
                {inner} {moves} d{level} = Identity (c{level})
            }}",
            typed(&state),
            typed(&out)
        );
    }
    let (start, ends) = (vec!["x"; states].join(", "), list("y"));
    let outputs = (0..states).map(|at| format!("float[k] y{at}"));
    let outputs = outputs.collect::<Vec<_>>().join(", ");
    format!("g (float[n] x, int64 m) => ({outputs}) {{ {ends} = Loop (m, , {start}) <body = {body}> }}")
}

/// Returns files with up to a million empty messages in one field.
fn empty_messages() -> Vec<(String, Vec<u8>)> {
    let field = |tag: u8, body: &[u8]| {
        let mut bytes = vec![tag << 3 | 2];
        prost::encode_length_delimiter(body.len(), &mut bytes).unwrap();
        bytes.extend_from_slice(body);
        bytes
    };
    let head = [0x08, 0x0a, 0x42, 0x02, 0x10, 0x15];
    let graph_fields = [("nodes", 1), ("initializers", 5), ("inputs", 11), ("outputs", 12), ("sparse", 15)];
    let mut files = Vec::new();
    // The first number is refused by itself, the second is not.
    for (count, size) in [(1_000_000, "many"), (150_000, "some")] {
        for (name, tag) in graph_fields {
            let graph = [tag << 3 | 2, 0].repeat(count);
            let file = [&head[..], &field(7, &graph)].concat();
            files.push((format!("empty_{name}_{size}"), file));
        }
        // The decoder skips a group, and so must what counts messages.
        let nodes = [0x0a, 0].repeat(count);
        let file = [&[0x9b, 6, 0x9c, 6][..], &head, &field(7, &nodes)].concat();
        files.push((format!("empty_nodes_after_group_{size}"), file));
        let functions = [0xca, 0x01, 0].repeat(count);
        let file = [&head[..], &functions, &field(7, &[])].concat();
        files.push((format!("empty_functions_{size}"), file));
        let opsets = field(8, &[]).repeat(count);
        let file = [&head[..], &opsets, &field(7, &[])].concat();
        files.push((format!("empty_opsets_{size}"), file));
    }
    files
}

/// Returns models with a function that has much to repeat at each call.
fn functions() -> Vec<(&'static str, ModelProto)> {
    let model = |function: FunctionProto, calls: usize| {
        let text = format!("{HEAD} g (string[n] x) => (string[n] y0) {{ y0 = f.F (x) }}");
        let mut model = onnx_embed_ir::text::model(&text).unwrap();
        let graph = model.graph.get_or_insert_with(GraphProto::default);
        let call = graph.node.first().cloned().unwrap_or_default();
        graph.node.extend((1..calls).map(|at| NodeProto { output: vec![format!("y{at}")], ..call.clone() }));
        model.functions = vec![function];
        model
    };
    let text = format!(
        r#"{HEAD} g (string[n] a) => (string[n] b) {{ b = StringNormalizer <stopwords = ["w"]> (a) }}"#
    );
    let body = onnx_embed_ir::text::model(&text).unwrap().graph.unwrap().node;
    let plain = FunctionProto {
        name: "F".to_owned(),
        domain: "f".to_owned(),
        input: vec!["a".to_owned()],
        output: vec!["b".to_owned()],
        node: body.clone(),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: Some(21) }],
        ..FunctionProto::default()
    };
    let opsets = (0..20_000).map(|at| OperatorSetIdProto { domain: format!("d{at}"), version: Some(1) });
    let mut imports = plain.clone();
    imports.opset_import.extend(opsets);
    let mut inputs = plain.clone();
    inputs.input.extend((0..20_000).map(|at| format!("i{at}")));
    let mut attributes = plain.clone();
    attributes.attribute = (0..20_000).map(|at| format!("k{at}")).collect();
    let words = vec![r#""word""#; 20_000].join(", ");
    let text = format!(
        r#"{HEAD} g (string[n] a) => (string[n] b) {{ b = StringNormalizer <stopwords = [{words}]> (a) }}"#
    );
    let mut lists = plain.clone();
    lists.node = onnx_embed_ir::text::model(&text).unwrap().graph.unwrap().node;
    vec![
        ("function_imports", model(imports, 3000)),
        ("function_inputs", model(inputs, 3000)),
        ("function_attributes", model(attributes, 3000)),
        ("function_lists", model(lists, 2000)),
    ]
}

/// Writes models with external data that is not a regular file of its own.
fn external(folder: &Path) {
    let inside = folder.join("external");
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(folder.join("outside"), [0; 16]).unwrap();
    std::fs::hard_link(folder.join("outside"), inside.join("linked")).unwrap();
    std::fs::create_dir_all(inside.join("folder")).unwrap();
    let pipe = Command::new("mkfifo").arg(inside.join("pipe")).status();
    assert!(pipe.unwrap().success());
    #[cfg(unix)]
    std::os::unix::fs::symlink("../outside", inside.join("symlink")).unwrap();
    for name in ["linked", "folder", "pipe", "symlink", "itself.onnx", "/dev/zero"] {
        let text = format!("{HEAD} g (float[4] x) => (float[4] y) {{ y = Add (x, w) }}");
        let mut model = onnx_embed_ir::text::model(&text).unwrap();
        let graph = model.graph.get_or_insert_with(GraphProto::default);
        graph.initializer.push(TensorProto {
            name: "w".to_owned(),
            data_type: 1,
            dims: vec![4],
            data_location: 1,
            external_data: vec![StringStringEntryProto {
                key: "location".to_owned(),
                value: name.to_owned(),
            }],
            ..TensorProto::default()
        });
        let stem = name.trim_start_matches("/dev/").trim_end_matches(".onnx");
        std::fs::write(inside.join(format!("{stem}.onnx")), model.encode_to_vec()).unwrap();
    }
}
