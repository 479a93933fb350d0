//! Random graphs that exercise the rules of simplification.

mod elements;
pub mod expressions;
mod fragment;
mod grow;
mod load;
mod mutate;
mod piece;
mod random;
mod show;
mod shrink;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use onnx_embed_ir::options::Options;
use onnx_embed_ir::proto::{GraphProto, ModelProto};
use onnx_embed_ir::types::Placement;
use prost::Message;

pub use random::Random;

/// Default number of graphs.
const GRAPHS: usize = 200;

/// Writes `graphs.rs` into `OUT_DIR`, with two modules for each graph: with and without simplification. There are
/// `GRAPHS` graphs of the seed `SEED`, or a graph for each file of the folder `GRAPHS_FROM`.
///
/// # Panics
///
/// If a folder cannot be read or written, which stops the build.
pub fn write() {
    for name in ["SEED", "GRAPHS", "GRAPHS_FROM", "CLIPPY_ARGS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>());
    let number = |name| number(name).map(|parsed| parsed.expect("it is a number"));
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let folder = out.join("graphs");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cargo's folder can be written");
    let graphs = match std::env::var_os("GRAPHS_FROM") {
        // Expansions allow every lint, so linting them finds nothing and only takes time.
        _ if std::env::var_os("CLIPPY_ARGS").is_some() => Vec::new(),
        Some(folder) => read_all(Path::new(&folder)),
        None => {
            let count = number("GRAPHS").map_or(GRAPHS, |count| count as usize);
            grown(number("SEED").unwrap_or(1), count)
        }
    };
    let code = code(&folder, &graphs);
    fs::write(out.join("graphs.rs"), code).expect("cargo's folder can be written");
}

/// Returns a model in ONNX's text syntax, without the header.
///
/// # Panics
///
/// If the file is not a model.
pub fn text(path: &Path) -> String {
    show::show(&read(path).0)
}

/// Writes smaller versions of a graph into a folder, and returns their paths.
///
/// # Panics
///
/// If the file is not a model, or the folder cannot be written.
pub fn write_smaller(path: &Path, folder: &Path) -> Vec<PathBuf> {
    let (graph, opset) = read(path);
    let smaller = shrink::shrink(&graph, opset);
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("the folder can be written");
    let file = |(at, graph): (usize, &GraphProto)| {
        let path = folder.join(format!("g{at:04}.onnx"));
        fs::write(&path, fragment::model(graph, opset).encode_to_vec()).expect("the folder can be written");
        path
    };
    smaller.iter().enumerate().map(file).collect()
}

/// Writes graphs whose code changes with simplification into a folder, each in a folder of its own.
///
/// # Panics
///
/// If the folder cannot be written.
pub fn write_grown(seed: u64, count: usize, folder: &Path) {
    for (at, (graph, opset)) in grown(seed, count).iter().enumerate() {
        let name = format!("g{at:04}");
        fs::create_dir_all(folder.join(&name)).expect("the folder can be written");
        let bytes = fragment::model(graph, *opset).encode_to_vec();
        fs::write(folder.join(&name).join(format!("{name}.onnx")), bytes).expect("the folder can be written");
    }
}

/// Returns graphs whose code changes with simplification.
fn grown(seed: u64, count: usize) -> Vec<(GraphProto, i64)> {
    let pieces = piece::Pieces::all();
    let mut graphs = Vec::new();
    let mut tries = 0;
    while graphs.len() < count {
        let mut random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(tries));
        let grown = grow::grow(&pieces, graphs.len(), &mut random);
        tries += 1;
        assert!(tries < 1000 + 20 * count as u64, "graphs do not grow");
        let codes = [false, true].map(|simplify| load::code(&grown.graph, grown.opset, simplify));
        match codes {
            [Ok(plain), Ok(simplified)] if plain == simplified => {}
            [Err(_), _] => {}
            _ => graphs.push((grown.graph, grown.opset)),
        }
    }
    graphs
}

fn read_all(folder: &Path) -> Vec<(GraphProto, i64)> {
    let entries = fs::read_dir(folder).expect("GRAPHS_FROM is a folder");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> (GraphProto, i64) {
    let bytes = fs::read(path).expect("the file is there");
    let model = ModelProto::decode(bytes.as_slice()).expect("the file is a model");
    let opset = model.opset_import.iter().find(|import| import.domain.is_empty());
    let opset = opset.and_then(|import| import.version).expect("it has an opset");
    (model.graph.expect("it has a graph"), opset)
}

/// Returns the code of tables: the graphs, the graphs that do not compile with simplification, and the number of
/// applications of each rule.
fn code(folder: &Path, graphs: &[(GraphProto, i64)]) -> String {
    let (mut modules, mut cases, mut refused) = (String::new(), String::new(), String::new());
    let mut applied: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in onnx_embed_ir::passes::rules::all() {
        applied.insert(rule.name, 0);
    }
    for (at, (graph, opset)) in graphs.iter().enumerate() {
        let name = format!("g{at:04}");
        let path = folder.join(format!("{name}.onnx"));
        let bytes = fragment::model(graph, *opset).encode_to_vec();
        fs::write(&path, bytes).expect("cargo's folder can be written");
        if let Err(problem) = load::code(graph, *opset, true) {
            writeln!(refused, "({path:?}, {problem:?}),").unwrap();
            continue;
        }
        let rules = rules(&path);
        for rule in &rules {
            *applied.entry(rule).or_default() += 1;
        }
        writeln!(
            modules,
            "mod {name} {{ onnx_embed::onnx_model!({path:?}); }}\n\
             mod {name}_plain {{ onnx_embed::onnx_model! {{ \
             #[onnx(simplify = false)] pub struct Model = {path:?}; }} }}"
        )
        .unwrap();
        let steering = steering(graph, *opset);
        writeln!(
            cases,
            "Case {{ path: {path:?}, rules: &{rules:?}, steering: &{steering:?}, \
             signature: {name}::Model::SIGNATURE, \
             plain: |device, values| {name}_plain::Model::new(device).run(values), \
             simplified: |device, values| {name}::Model::new(device).run(values) }},"
        )
        .unwrap();
    }
    let applied: Vec<(&str, usize)> = applied.into_iter().collect();
    format!(
        "{HEAD}\n{modules}\n\
         pub const CASES: &[Case] = &[\n{cases}];\n\
         pub const REFUSED: &[(&str, &str)] = &[\n{refused}];\n\
         pub const APPLIED: &[(&str, usize)] = &{applied:?};\n"
    )
}

const HEAD: &str = "
#[allow(unused_imports)]
use onnx_embed::{Device, Error, OnnxModel, Signature, Values};

/// One call of a model.
pub type Run = fn(&Device, Values) -> Result<Values, Error>;

/// A graph.
pub struct Case {
    pub path: &'static str,
    /// Rules that apply.
    pub rules: &'static [&'static str],
    /// Inputs that steer shapes.
    pub steering: &'static [&'static str],
    pub signature: Signature,
    pub plain: Run,
    pub simplified: Run,
}
";

/// Returns the rules that apply, one entry for each application.
fn rules(path: &Path) -> Vec<&'static str> {
    let mut names = Vec::new();
    let observe = &mut |step: onnx_embed_ir::passes::CompletedPass<'_>| {
        let applied = step.rules.iter().flat_map(|report| &report.applied);
        names.extend(applied.map(|event| event.rule));
    };
    let _ = onnx_embed_ir::load_observed(path, &Options::default(), observe);
    names
}

/// Returns the names of the inputs that are on the host.
fn steering(graph: &GraphProto, opset: i64) -> Vec<String> {
    let bytes = fragment::model(graph, opset).encode_to_vec();
    let options = Options { simplify: false, ..Options::default() };
    let Ok(model) = onnx_embed_ir::load_bytes(bytes.into(), &options) else {
        return Vec::new();
    };
    let inputs = model.graph.body.inputs.iter();
    let inputs = inputs.map(|&id| &model.graph.values[id]);
    inputs.filter(|value| value.placement == Placement::Host).map(|value| value.name.clone()).collect()
}
