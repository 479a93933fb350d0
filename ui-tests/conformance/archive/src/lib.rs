//! Conformance cases as Rust modules, for build scripts.

pub mod sizes;
mod unpack;

use std::fmt::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::Options;

pub use unpack::unpack;

/// Number of crates that share the cases. rustc takes less than 2 GB for each, and works on several at a time.
const PARTS: usize = 16;

/// Archives of cases of the `onnx` package.
const ARCHIVES: [&str; 2] = ["upstream.tar.xz", "package.tar.xz"];

/// Folder with an archive for each room of our own cases.
const OWN: &str = "own";

/// Writes `cases.rs` of one part into `OUT_DIR`: a module for each case that compiles, and the compiler's errors for
/// the others. `CASES=name|name` selects the cases whose names contain one of these, and `EVERY=25` about one of 25,
/// independent of the other cases.
///
/// # Panics
///
/// If an archive cannot be read, which stops the build.
pub fn write_part(part: usize) {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let manifest = variable("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let out = variable("OUT_DIR").expect("cargo sets it");
    let home = manifest.ancestors().nth(2);
    let home = home.expect("a part is in the folder `parts`");
    println!("cargo::rerun-if-env-changed=CASES");
    println!("cargo::rerun-if-env-changed=EVERY");
    println!("cargo::rerun-if-env-changed=CLIPPY_ARGS");
    let wanted = std::env::var("CASES").unwrap_or_default().to_lowercase();
    let wanted: Vec<&str> = wanted.split('|').collect();
    let every = std::env::var("EVERY").unwrap_or("1".to_owned());
    let every: NonZero<usize> = every.parse().expect("`EVERY` is a number");
    let folder = out.join("cases");
    let _ = std::fs::remove_dir_all(&folder);
    let images = std::env::var_os("CARGO_FEATURE_IMAGE").is_some();
    let mut cases = Vec::new();
    // Expansions allow every lint, so linting them finds nothing and only takes time.
    let linting = std::env::var_os("CLIPPY_ARGS").is_some();
    println!("cargo::rerun-if-changed={}", home.join(OWN).display());
    for path in archives(home) {
        println!("cargo::rerun-if-changed={}", path.display());
        if linting {
            continue;
        }
        cases.extend(unpack(&path, &folder, &|name| {
            turn(name) == part - 1
                && (images || !is_of_image_decoder(name))
                && (hash(name) >> 6).is_multiple_of(every.get())
                && wanted.iter().any(|part| name.to_lowercase().contains(part))
        }));
    }
    let mut code = code(&folder, &cases);
    if part > 1 {
        code.push_str("\nextern crate onnx_embed_conformance_part1 as _;\n");
    }
    std::fs::write(out.join("cases.rs"), code).expect("cargo's folder can be written");
}

fn archives(home: &Path) -> Vec<PathBuf> {
    let own = std::fs::read_dir(home.join(OWN)).expect("the checkout has cases of our own");
    let mut own: Vec<PathBuf> = own.map(|entry| entry.expect("the folder can be read").path()).collect();
    own.sort();
    ARCHIVES.map(|name| home.join(name)).into_iter().chain(own).collect()
}

/// Returns `true` if a case requires the feature `image`.
fn is_of_image_decoder(name: &str) -> bool {
    ["test_image_decoder", "own_ImageDecoder"].iter().any(|start| name.starts_with(start))
}

/// Returns the part of a case. It does not depend on the other cases.
///
/// The first part is small. The others depend on it, so that rustc reuses the generic functions that it compiled
/// there, and compiles each only once.
fn turn(name: &str) -> usize {
    /// Number of cases in each other part for each case in the first.
    const RATIO: usize = 4;
    let place = (hash(name) >> 4) % (1 + RATIO * (PARTS - 1));
    place.div_ceil(RATIO)
}

fn hash(name: &str) -> usize {
    name.bytes().fold(5381usize, |sum, byte| sum.wrapping_mul(33).wrapping_add(byte.into()))
}

/// Returns the code of two tables, `CASES` and `REFUSED`, and of the modules of the first: one for each case, and
/// another without simplification if its code differs.
fn code(folder: &Path, cases: &[String]) -> String {
    let (mut modules, mut compiled, mut refused) = (String::new(), String::new(), String::new());
    for name in cases {
        let folder = folder.join(name);
        let path = folder.join("model.onnx");
        match both_codes(&path) {
            Ok([simplified, plain]) => {
                let mut unsimplified = "None".to_owned();
                writeln!(modules, "mod {name} {{ onnx_embed::onnx_model!({path:?}); }}").unwrap();
                if plain != simplified {
                    unsimplified = format!("Some(run!({name}_unsimplified))");
                    writeln!(
                        modules,
                        "mod {name}_unsimplified {{ onnx_embed::onnx_model! {{ \
                         #[onnx(simplify = false)] pub struct Model = {path:?}; }} }}"
                    )
                    .unwrap();
                }
                let waiting =
                    if waits(&simplified) { format!("Some(waiting!({name}))") } else { "None".to_owned() };
                writeln!(
                    compiled,
                    "({name:?}, {folder:?}, <{name}::Model as OnnxModel>::SIGNATURE, \
                     run!({name}), {unsimplified}, {waiting}),"
                )
                .unwrap();
            }
            Err(problem) => writeln!(refused, "({name:?}, {problem:?}),").unwrap(),
        }
    }
    format!(
        "{HEAD}\n{modules}\npub static CASES: &[Case] = &[\n{compiled}];\n\npub static REFUSED: &[(&str, &str)] = &[\n{refused}];\n"
    )
}

const HEAD: &str = "
#[allow(unused_imports)]
use onnx_embed::{Device, Error, OnnxModel, Signature, Values};

/// One call of a model.
pub type Run = fn(&Device, Values) -> Result<Values, Error>;

/// Name, folder, signature, one call of the model, one without simplification where the code
/// is not the same, and one that waits where the code reads values on its way.
pub type Case = (&'static str, &'static str, Signature, Run, Option<Run>, Option<Run>);

#[allow(unused_macros)]
macro_rules! run {
    ($name:ident) => {
        |device, values| $name::Model::new(device).run(values)
    };
}

#[allow(unused_macros)]
macro_rules! waiting {
    ($name:ident) => {
        |device, values| {
            onnx_embed::burn::tensor::read_sync($name::Model::new(device).run_async(values))
        }
    };
}
";

/// Returns `true` if the model's code has more async functions than every model has.
fn waits(code: &str) -> bool {
    const EVERY: [&str; 4] = ["attempt_async", "forward_async", "put_async", "run_async"];
    let mut words = code.split_whitespace().filter(|word| word.ends_with("_async"));
    let forwards = code.matches("forward_async").count();
    // `forward_async` occurs in its definition and in the call by `run_async`.
    forwards > 2 || words.any(|word| !EVERY.contains(&word))
}

/// Returns the code that the macro would generate for the model, with and without simplification, or the errors that
/// it would report.
fn both_codes(path: &Path) -> Result<[String; 2], String> {
    let unsimplified = Options { simplify: false, ..Options::default() };
    let other = compile(path, &unsimplified);
    let other = other.map_err(|problem| format!("without simplification: {problem}"));
    Ok([compile(path, &Options::default())?, other?])
}

fn compile(path: &Path, options: &Options) -> Result<String, String> {
    let item = Item::model("model.onnx");
    match onnx_embed_ir::compile(path, &item, options) {
        Ok(tokens) => Ok(tokens.to_string()),
        Err(diagnostics) => Err(diagnostics.report("model.onnx")),
    }
}
