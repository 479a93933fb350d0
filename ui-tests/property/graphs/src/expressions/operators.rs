//! Operators on values for which implementations could differ.
//!
//! The compiler, the host and devices each compute them.

use std::fmt::Write;

/// An operator and the names of its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Element type of the result.
    pub dtype: &'static str,
    pub operator: &'static str,
    pub attributes: &'static str,
    pub inputs: &'static [&'static str],
    /// Sizes of the result, if they differ from those of the first input.
    pub sizes: Option<&'static str>,
}

/// Numbers of one type.
#[derive(Clone, Debug)]
pub enum Numbers {
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
}

impl Line {
    const fn of(self, sizes: &'static str) -> Self {
        Line { sizes: Some(sizes), ..self }
    }
}

const fn line(
    dtype: &'static str,
    operator: &'static str,
    attributes: &'static str,
    inputs: &'static [&'static str],
) -> Line {
    Line { dtype, operator, attributes, inputs, sizes: None }
}

/// Operators to compare. Pairs of floats are `a`, `b`; pairs of integers `i`, `j` and `l`, `m`; divisors `d`, `c`;
/// bases `p`; exponents `e`, `q`; terms of sums `s`, `t`. Names in capitals are scalars.
pub const LINES: &[Line] = &[
    line("float", "Add", "", &["a", "b"]),
    line("float", "Sub", "", &["a", "b"]),
    line("float", "Mul", "", &["a", "b"]),
    line("float", "Div", "", &["a", "b"]),
    line("float", "Mod", "<fmod = 1>", &["a", "b"]),
    line("float", "Max", "", &["a", "b"]),
    line("float", "Min", "", &["a", "b"]),
    line("float", "Pow", "", &["a", "b"]),
    line("float", "Pow", "", &["a", "e"]),
    line("bool", "Equal", "", &["a", "b"]),
    line("bool", "Less", "", &["a", "b"]),
    line("bool", "LessOrEqual", "", &["a", "b"]),
    line("bool", "Greater", "", &["a", "b"]),
    line("bool", "GreaterOrEqual", "", &["a", "b"]),
    line("float", "Neg", "", &["a"]),
    line("float", "Abs", "", &["a"]),
    line("float", "Sign", "", &["a"]),
    line("float", "Floor", "", &["a"]),
    line("float", "Ceil", "", &["a"]),
    line("float", "Round", "", &["a"]),
    line("float", "Sqrt", "", &["a"]),
    line("float", "Reciprocal", "", &["a"]),
    line("float", "Relu", "", &["a"]),
    line("bool", "IsNaN", "", &["a"]),
    line("bool", "Cast", "<to = 9>", &["a"]),
    line("uint8", "Cast", "<to = 2>", &["a"]),
    line("int8", "Cast", "<to = 3>", &["a"]),
    line("uint16", "Cast", "<to = 4>", &["a"]),
    line("int16", "Cast", "<to = 5>", &["a"]),
    line("int32", "Cast", "<to = 6>", &["a"]),
    line("int64", "Cast", "<to = 7>", &["a"]),
    line("uint32", "Cast", "<to = 12>", &["a"]),
    line("int32", "Div", "", &["i", "j"]),
    line("int32", "Mod", "", &["i", "j"]),
    line("int32", "Mod", "<fmod = 1>", &["i", "j"]),
    line("int32", "Div", "", &["i", "d"]),
    line("int32", "Mod", "", &["i", "d"]),
    line("int32", "Mod", "<fmod = 1>", &["i", "d"]),
    line("int32", "Max", "", &["i", "j"]),
    line("int32", "Min", "", &["i", "j"]),
    line("int32", "Pow", "", &["p", "m"]),
    line("int32", "Pow", "", &["p", "q"]),
    line("int32", "Sign", "", &["i"]),
    line("uint8", "Cast", "<to = 2>", &["i"]),
    line("int64", "Div", "", &["l", "m"]),
    line("int64", "Mod", "", &["l", "m"]),
    line("int64", "Mod", "<fmod = 1>", &["l", "m"]),
    line("int64", "Div", "", &["l", "c"]),
    line("int64", "Mod", "", &["l", "c"]),
    line("int64", "Mod", "<fmod = 1>", &["l", "c"]),
    line("int64", "Max", "", &["l", "m"]),
    line("int64", "Min", "", &["l", "m"]),
    line("int64", "Sign", "", &["l"]),
    line("int32", "Cast", "<to = 6>", &["l"]),
    line("float", "Cast", "<to = 1>", &["l"]),
    line("bool", "Less", "", &["l", "m"]),
    line("bool", "Equal", "", &["l", "m"]),
    line("float", "Clip", "", &["a", "LEAST", "MOST"]),
    line("float", "Clip", "", &["a", "MOST", "LEAST"]),
    line("float", "Clip", "", &["a", "LEAST"]),
    line("int64", "Clip", "", &["l", "DOWN", "UP"]),
    line("float", "CumSum", "", &["t", "AXIS"]),
    line("float", "CumSum", "<exclusive = 1>", &["t", "AXIS"]),
    line("int64", "CumSum", "", &["s", "AXIS"]),
    line("int64", "CumSum", "<exclusive = 1>", &["s", "AXIS"]),
    line("int64", "CumSum", "<reverse = 1>", &["s", "AXIS"]),
    line("int64", "CumSum", "<exclusive = 1, reverse = 1>", &["s", "AXIS"]),
    line("int64", "Range", "", &["UP", "DOWN", "STEP"]).of("9"),
    line("int64", "Range", "", &["DOWN", "UP", "STEP"]).of("0"),
    line("float", "Range", "", &["LEAST", "MOST", "TENTH"]).of("35"),
    line("int64", "NonZero", "", &["a"]).of("1, 168"),
    line("int64", "NonZero", "", &["i"]).of("1, 72"),
];

const FLOATS: [f32; 14] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.5,
    -2.5,
    0.5,
    300.7,
    -300.7,
    3e9,
    -1e20,
];

/// Returns the inputs by name. Inputs such as `a` and `b` together contain all pairs of the listed numbers.
pub fn inputs() -> Vec<(&'static str, Numbers)> {
    let floats = pairs(&FLOATS);
    let small = pairs(&[i32::MIN, i32::MAX, 0, 1, -1, 2, -2, 7, -7]);
    let large = pairs(&[i64::MIN, i64::MAX, 0, 1, -1, 2, -2, 7, (1 << 33) + 1]);
    // Without 0 and -1 every quotient fits its type.
    let divisors = pairs(&[1, 2, -2, 3, -3, 7, -7, i32::MAX, i32::MIN]);
    let bases = pairs(&[0, 1, -1, 2, -2, 0, 1, -1, 1]);
    let halves = large.1.iter().map(|&m| if m % 2 == 0 { 0.5 } else { (m % 64) as f32 });
    let tiny = floats.1.iter().map(|&b| f64::from(b) * 1e-60);
    let (terms, addends) = pairs(&[0, 1, -1, 300, -7, 1 << 20]);
    let quarters = addends.iter().map(|&addend| addend as f32 / 4.0);
    vec![
        ("t", Numbers::Floats(quarters.collect())),
        ("s", Numbers::Int64(terms)),
        ("AXIS", Numbers::Int64(vec![0])),
        ("UP", Numbers::Int64(vec![6])),
        ("DOWN", Numbers::Int64(vec![-20])),
        ("STEP", Numbers::Int64(vec![-3])),
        ("LEAST", Numbers::Floats(vec![-2.5])),
        ("MOST", Numbers::Floats(vec![1.0])),
        ("TENTH", Numbers::Floats(vec![0.1])),
        ("e", Numbers::Doubles(tiny.collect())),
        ("q", Numbers::Floats(halves.collect())),
        ("a", Numbers::Floats(floats.0)),
        ("b", Numbers::Floats(floats.1)),
        ("i", Numbers::Int32(small.0)),
        ("j", Numbers::Int32(small.1)),
        ("c", Numbers::Int64(divisors.1.iter().map(|&d| d.into()).collect())),
        ("d", Numbers::Int32(divisors.1)),
        ("p", Numbers::Int32(bases.0)),
        ("l", Numbers::Int64(large.0)),
        ("m", Numbers::Int64(large.1)),
    ]
}

/// Returns `true` if an input is a scalar. The names of scalars are in capitals.
pub fn is_scalar(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn pairs<T: Copy>(some: &[T]) -> (Vec<T>, Vec<T>) {
    let all = some.iter().flat_map(|&a| some.iter().map(move |&b| (a, b)));
    all.unzip()
}

/// Returns a model with all operators, on inputs or on constants.
pub fn text(constant: bool) -> String {
    let inputs = inputs();
    let listed = inputs.iter().map(|(name, numbers)| {
        let ty = match is_scalar(name) {
            true => format!("{} {name}", numbers.ty()),
            false => format!("{}[{}] {name}", numbers.ty(), numbers.len()),
        };
        match constant {
            true => format!("{ty} = {{{}}}", numbers.list()),
            false => ty,
        }
    });
    let listed = listed.collect::<Vec<_>>().join(", ");
    let count = |name: &str| {
        let found = inputs.iter().find(|(other, _)| *other == name);
        found.map_or(0, |(_, numbers)| numbers.len())
    };
    let (mut outputs, mut nodes) = (Vec::new(), String::new());
    for (at, line) in LINES.iter().enumerate() {
        let Line { dtype, operator, attributes, inputs, sizes } = line;
        let sizes = sizes.map_or_else(|| count(inputs[0]).to_string(), str::to_owned);
        outputs.push(format!("{dtype}[{sizes}] y{at}"));
        writeln!(nodes, "    y{at} = {operator} {attributes} ({})", inputs.join(", "))
            .expect("strings take everything");
    }
    let outputs = outputs.join(", ");
    let (inputs, constants) = match constant {
        true => (String::new(), format!("<{listed}>")),
        false => (listed, String::new()),
    };
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng ({inputs}) => ({outputs}) {constants} {{\n{nodes}}}"
    )
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Self::Floats(numbers) => numbers.len(),
            Self::Doubles(numbers) => numbers.len(),
            Self::Int32(numbers) => numbers.len(),
            Self::Int64(numbers) => numbers.len(),
        }
    }

    fn ty(&self) -> &'static str {
        match self {
            Self::Floats(_) => "float",
            Self::Doubles(_) => "double",
            Self::Int32(_) => "int32",
            Self::Int64(_) => "int64",
        }
    }

    fn list(&self) -> String {
        let float = |number: f64| format!("{number:e}").to_lowercase();
        let all: Vec<String> = match self {
            Self::Floats(numbers) => numbers.iter().map(|&number| float(number.into())).collect(),
            Self::Doubles(numbers) => numbers.iter().map(|&number| float(number)).collect(),
            Self::Int32(numbers) => numbers.iter().map(i32::to_string).collect(),
            Self::Int64(numbers) => numbers.iter().map(i64::to_string).collect(),
        };
        all.join(", ")
    }
}
