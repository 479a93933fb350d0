//! The list of operators is in order.

use std::collections::BTreeSet;

use expect_test::expect;
use onnx_embed_ir::ops::{self, Width};

#[test]
fn versions_rise_and_names_are_unique() {
    let mut seen = BTreeSet::new();
    for row in ops::all() {
        assert!(row.since.is_sorted_by(|a, b| a < b), "{}", row.name);
        let fresh = seen.insert((row.domain, row.name));
        assert!(fresh, "{} stands twice", row.name);
    }
}

/// Every operator of the standard, with its versions and the most inputs and outputs of each, written by
/// `schemas.py`.
const STANDARD: &str = include_str!("../../ui-tests/conformance/schemas.txt");

#[test]
fn nodes_have_no_more_than_the_standard_says() {
    let most = |text: &str| match text {
        "*" => usize::MAX,
        number => number.parse().unwrap(),
    };
    let mut compared = 0;
    for line in STANDARD.lines() {
        let mut words = line.split(' ');
        let (domain, name) = (words.next().unwrap(), words.next().unwrap());
        let row_domain = if domain == "ai.onnx" { "" } else { domain };
        let row = ops::all().find(|row| row.domain == row_domain && row.name == name);
        let Some(row) = row else { continue };
        for word in words {
            let mut numbers = word.split(':');
            let version: i64 = numbers.next().unwrap().parse().unwrap();
            let expected = (most(numbers.next().unwrap()), most(numbers.next().unwrap()));
            assert_eq!(
                row.most(version),
                expected,
                "{domain}.{name} version {version}"
            );
            compared += 1;
        }
    }
    assert!(compared > 600, "{compared}");
}

/// A row of the room of elementwise operators decides each fact: whoever adds one reads this table.
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
        ];
        let names: Vec<&str> = all
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, name)| *name)
            .collect();
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
        BitCast: 
        Cast: elementwise, hoisted
        CastLike: 
        Clip: elementwise, hoisted, follows
        Pow: elementwise, hoisted
        SwiGLU: follows
        Relu: elementwise, hoisted, follows
        Sigmoid: elementwise, nonnegative, hoisted, follows
        Tanh: elementwise, hoisted, follows
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
        Softplus: elementwise, nonnegative, hoisted, follows
        Softsign: elementwise, hoisted, follows
        HardSwish: elementwise, hoisted, follows
        Mish: elementwise, hoisted, follows
        Not: elementwise, hoisted
        BitwiseNot: elementwise, hoisted
        IsNaN: elementwise, hoisted
        Elu: elementwise, hoisted, follows
        Selu: elementwise, hoisted, follows
        Celu: elementwise, hoisted, follows
        LeakyRelu: elementwise, hoisted, follows
        HardSigmoid: elementwise, hoisted, follows
        ThresholdedRelu: elementwise, hoisted, follows
        Swish: elementwise, hoisted, follows
        Shrink: elementwise, hoisted, follows
        Gelu: elementwise, hoisted, follows
        com.microsoft.Gelu: elementwise, hoisted, follows
        com.microsoft.QuickGelu: elementwise, hoisted, follows
        IsInf: elementwise, hoisted
    "#]]
    .assert_eq(&table);
}
