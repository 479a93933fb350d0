//! Random integer expressions over the sizes of a tensor.

mod evaluate;
mod model;
pub mod operators;
mod tree;

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

pub use model::{Form, encoded, text};
pub use tree::{Condition, Expression, SIZES};

use crate::random::Random;

/// Default number of expressions.
const EXPRESSIONS: usize = 200;

/// Number of expressions that are outputs of one model.
pub const OUTPUTS: usize = 20;

/// Returns the expressions of the seed `SEED`. `EXPRESSIONS` sets their number.
///
/// # Panics
///
/// If a variable of the environment is not a number.
pub fn all() -> Vec<Expression> {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>());
    let number = |name| number(name).map(|parsed| parsed.expect("it is a number"));
    let seed = number("SEED").unwrap_or(1);
    let count = number("EXPRESSIONS").map_or(EXPRESSIONS, |count| count as usize);
    let grown = (0..).map(|at| {
        let mut random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(at));
        Expression::grow(&mut random, 4)
    });
    // Burn panics if integers overflow in debug builds.
    let fitting = grown.filter(|expression| expression.amount().is_some());
    fitting.take(count).collect()
}

/// Writes `expressions.rs` into `OUT_DIR`: two models for each [`OUTPUTS`] expressions, on sizes and on numbers of
/// the host.
///
/// # Panics
///
/// If a file cannot be written, which stops the build.
pub fn write() {
    for name in ["SEED", "EXPRESSIONS", "CLIPPY_ARGS"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut expressions = all();
    if std::env::var_os("CLIPPY_ARGS").is_some() {
        // Expansions allow every lint, so linting them finds nothing and only takes time.
        expressions.clear();
    }
    let (mut modules, mut cases) = (String::new(), String::new());
    let path = out.join("operators.onnx");
    fs::write(&path, encoded(&operators::text(false))).expect("cargo's folder can be written");
    writeln!(modules, "mod operators {{ onnx_embed::onnx_model!({path:?}); }}").unwrap();
    for (at, some) in expressions.chunks(OUTPUTS).enumerate() {
        for (form, name) in [(Form::Sizes, "sizes"), (Form::Host, "host")] {
            let name = format!("{name}{at:03}");
            let path = out.join(format!("{name}.onnx"));
            fs::write(&path, encoded(&text(some, &form))).expect("cargo's folder can be written");
            writeln!(modules, "mod {name} {{ onnx_embed::onnx_model!({path:?}); }}").unwrap();
        }
        let run = |name: &str| format!("|device, values| {name}{at:03}::Model::new(device).run(values)");
        let (sizes, host) = (run("sizes"), run("host"));
        writeln!(cases, "Case {{ sizes: {sizes}, host: {host} }},").unwrap();
    }
    let code = format!(
        "{HEAD}\n{modules}\n\
        pub const OPERATORS: Run = |device, values| operators::Model::new(device).run(values);\npub const CASES: &[Case] = &[\n{cases}];\n"
    );
    fs::write(out.join("expressions.rs"), code).expect("cargo's folder can be written");
}

const HEAD: &str = "
#[allow(unused_imports)]
use onnx_embed::{Device, Error, OnnxModel, Values};

/// One call of a model.
pub type Run = fn(&Device, Values) -> Result<Values, Error>;

/// Some expressions.
pub struct Case {
    pub sizes: Run,
    pub host: Run,
}
";
