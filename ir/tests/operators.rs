//! Checks the list of operators.

use std::collections::BTreeSet;

use bytes::Bytes;
use expect_test::expect;
use onnx_embed_ir::attributes::Attributes;
use onnx_embed_ir::diagnostics::Problem;
use onnx_embed_ir::files::Files;
use onnx_embed_ir::ops::{self, Row, Width};
use onnx_embed_ir::proto::{AttributeProto, Setting};

#[test]
fn versions_rise_and_names_are_unique() {
    let mut seen = BTreeSet::new();
    for row in ops::all() {
        assert!(row.since.is_sorted_by(|a, b| a < b), "{}", row.name);
        let fresh = seen.insert((row.domain, row.name));
        assert!(fresh, "{} stands twice", row.name);
    }
}

/// All versions of all operators of the standard, written by `schemas.py`.
const STANDARD: &str = include_str!("../../ui-tests/conformance/schemas.txt");
/// All versions of ONNX Runtime's operators in `com.microsoft`.
const MICROSOFT: &str = include_str!("../../ui-tests/conformance/schemas_microsoft.txt");

/// A version of an operator with its schema, and our row of the operator.
struct Schema {
    row: &'static Row,
    version: i64,
    words: Vec<&'static str>,
}

fn schemas() -> Vec<Schema> {
    let schema = |line: &'static str| {
        let mut words = line.split(' ');
        let domain = words.next()?;
        let (domain, name) = (if domain == "ai.onnx" { "" } else { domain }, words.next()?);
        let row = ops::all().find(|row| row.domain == domain && row.name == name)?;
        Some(Schema { row, version: words.next()?.parse().unwrap(), words: words.collect() })
    };
    STANDARD.lines().chain(MICROSOFT.lines()).filter_map(schema).collect()
}

/// Operators whose last input we do not support: the lengths of queries of GroupQueryAttention.
const FEWER: [&str; 1] = ["GroupQueryAttention"];

#[test]
fn inputs_and_outputs_are_those_of_the_standard() {
    let mut compared = 0;
    for Schema { row, version, words } in schemas() {
        let name = format!("{} version {version}", row.kind());
        let signs = |signs: &'static str| if signs == "-" { "" } else { signs };
        match words[..] {
            ["deprecated"] => assert_eq!(row.removed.map(|(version, _)| version), Some(version), "{name}"),
            [inputs, outputs, ..] => {
                let arity = row.arity_at(version);
                let inputs = signs(inputs);
                let inputs = match FEWER.contains(&row.name) {
                    true => inputs.get(..arity.inputs.len()).unwrap_or(inputs),
                    false => inputs,
                };
                assert_eq!((arity.inputs, arity.outputs), (inputs, signs(outputs)), "{name}");
                assert!(row.since.contains(&version), "{name}");
                compared += 1;
            }
            _ => panic!("{name}"),
        }
    }
    assert!(compared > 690, "{compared}");
}

/// Types of operands of all versions of our operators, written by `operand_types.py`.
const TYPES: &str = include_str!("../src/operands/types.txt");

/// A version has the line of the last version that changed the types.
#[test]
fn the_types_of_operands_are_listed() {
    let lines = TYPES.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (kind, version) = (words.next()?, words.next()?.parse::<i64>().ok()?);
        let words: Vec<&str> = words.take_while(|word| *word != "|").collect();
        let (inputs, outputs) = words.split_at(words.iter().position(|word| *word == ">")?);
        Some((kind, version, (inputs.len(), outputs.len() - 1)))
    });
    let lines: Vec<_> = lines.collect();
    let mut absent = Vec::new();
    for Schema { row, version, words } in
        schemas().into_iter().filter(|schema| schema.words != ["deprecated"])
    {
        let kind = row.kind();
        let line = lines.iter().rfind(|(other, since, _)| *other == kind && *since <= version);
        let count = |at: usize| words[at].trim_matches('-').len();
        if line.is_none_or(|(.., counts)| *counts != (count(0), count(1))) {
            absent.push(format!("{kind} version {version}"));
        }
    }
    assert_eq!(absent, [""; 0], "run `python ui-tests/conformance/operand_types.py`");
}

#[test]
fn attributes_are_those_of_the_version() {
    let all = schemas();
    let attributes = |schema: &Schema| -> BTreeSet<(&'static str, &'static str)> {
        let words = schema.words.iter().skip(2);
        words.filter_map(|word| word.trim_end_matches('!').split_once(':')).collect()
    };
    let files = Files::memory(Bytes::new());
    let (mut accepted, mut tried) = (Vec::new(), 0);
    for schema in all.iter().filter(|schema| schema.words != ["deprecated"]) {
        let own = attributes(schema);
        let others = all.iter().filter(|other| other.row.kind() == schema.row.kind());
        let others: BTreeSet<_> = others.flat_map(attributes).collect();
        for (name, kind) in others.iter().filter(|(name, _)| !own.iter().any(|(own, _)| own == name)) {
            let Some(attribute) = attribute(name, kind) else {
                continue;
            };
            tried += 1;
            let list = vec![(*name, &attribute)];
            let attributes = Attributes::new(list, &files, schema.version).with_arity(1, 1);
            let has = schema.row.has_attribute(name, schema.version);
            let read = (schema.row.read)(&attributes);
            let about = |problem: Problem| problem.message().contains(&format!("`{name}`"));
            let refused = match attributes.finish() {
                Ok(()) => false,
                // A missing attribute may end reading before this one.
                Err(_) => read.is_ok() || !read.is_err_and(about),
            };
            if has.is_ok() && !refused {
                accepted.push(format!("{} version {}: {name}", schema.row.kind(), schema.version));
            }
        }
    }
    assert!(tried > 300, "{tried}");
    assert_eq!(accepted, [""; 0]);
}

/// Returns an attribute with a type of `schemas.txt`.
fn attribute(name: &str, kind: &str) -> Option<AttributeProto> {
    let setting = match kind {
        "int" => Setting::Int(1),
        "float" => Setting::Float(1.0),
        "string" => Setting::Text("x".to_owned()),
        "ints" => Setting::Ints(vec![1]),
        _ => return None,
    };
    Some(setting.named(name))
}

/// The table shows the facts of each elementwise operator: review them when a row is added.
#[test]
fn elementwise_operators_have_decided_their_facts() {
    let mut table = String::new();
    for row in ops::elementwise::FAMILIES.iter().copied().flatten() {
        let facts = row.facts;
        let all = [
            (facts.elementwise, "elementwise"),
            (facts.commutative, "commutative"),
            (facts.nonnegative, "nonnegative"),
            (facts.hoisted, "hoisted"),
            (facts.width == Width::Operands, "follows"),
            (facts.width == Width::Exact, "exact"),
            (facts.activation, "activation"),
        ];
        let names: Vec<&str> = all.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        table.push_str(&format!("{}: {}\n", row.kind(), names.join(", ")));
    }
    expect![[r#"
        Add: elementwise, commutative, hoisted, follows
        Sub: elementwise, hoisted, follows
        Mul: elementwise, commutative, hoisted, follows
        Div: elementwise, hoisted, follows
        Mod: elementwise, hoisted
        Max: elementwise, commutative, hoisted, follows
        Min: elementwise, commutative, hoisted, follows
        Sum: elementwise, commutative, hoisted, follows
        And: elementwise, commutative, hoisted
        Or: elementwise, commutative, hoisted
        Xor: elementwise, commutative, hoisted
        Equal: elementwise, commutative, hoisted
        Greater: elementwise, hoisted
        GreaterOrEqual: elementwise, hoisted
        Less: elementwise, hoisted
        LessOrEqual: elementwise, hoisted
        BitwiseAnd: elementwise, commutative, hoisted
        BitwiseOr: elementwise, commutative, hoisted
        BitwiseXor: elementwise, commutative, hoisted
        BitShift: elementwise, hoisted
        PRelu: elementwise, hoisted, follows
        Mean: elementwise, commutative, hoisted, follows
        com.microsoft.BiasGelu: follows
        com.microsoft.FastGelu: follows
        com.microsoft.BiasAdd: follows
        com.microsoft.BiasSplitGelu: follows
        BitCast: 
        Cast: elementwise, hoisted
        CastLike: 
        Clip: elementwise, hoisted, follows
        Pow: elementwise, hoisted
        SwiGLU: follows
        Relu: elementwise, hoisted, follows, activation
        Sigmoid: elementwise, nonnegative, hoisted, follows, activation
        Tanh: elementwise, hoisted, follows, activation
        Exp: elementwise, nonnegative, hoisted
        Log: elementwise, hoisted, exact
        Sqrt: elementwise, hoisted, exact
        Reciprocal: elementwise, hoisted
        Neg: elementwise, hoisted, follows
        Abs: elementwise, nonnegative, hoisted, follows
        Sign: elementwise, hoisted, follows
        Floor: elementwise, hoisted
        Ceil: elementwise, hoisted
        Round: elementwise, hoisted
        Erf: elementwise, hoisted, follows
        Sin: elementwise, hoisted, exact
        Cos: elementwise, hoisted, exact
        Tan: elementwise, hoisted, exact
        Asin: elementwise, hoisted
        Acos: elementwise, hoisted
        Atan: elementwise, hoisted
        Sinh: elementwise, hoisted
        Cosh: elementwise, hoisted
        Asinh: elementwise, hoisted
        Acosh: elementwise, hoisted
        Atanh: elementwise, hoisted
        Softplus: elementwise, nonnegative, hoisted, follows, activation
        Softsign: elementwise, hoisted, follows, activation
        HardSwish: elementwise, hoisted, follows, activation
        Mish: elementwise, hoisted, follows, activation
        Not: elementwise, hoisted
        BitwiseNot: elementwise, hoisted
        IsNaN: elementwise, hoisted
        Elu: elementwise, hoisted, follows, activation
        Selu: elementwise, hoisted, follows, activation
        Celu: elementwise, hoisted, follows, activation
        LeakyRelu: elementwise, hoisted, follows, activation
        HardSigmoid: elementwise, hoisted, follows, activation
        ThresholdedRelu: elementwise, hoisted, follows, activation
        Swish: elementwise, hoisted, follows, activation
        Shrink: elementwise, hoisted, follows
        Gelu: elementwise, hoisted, follows, activation
        com.microsoft.Gelu: elementwise, hoisted, follows, activation
        com.microsoft.QuickGelu: elementwise, hoisted, follows, activation
        IsInf: elementwise, hoisted
    "#]]
    .assert_eq(&table);
}
