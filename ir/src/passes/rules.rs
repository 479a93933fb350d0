//! Every rewrite rule, one family a file.

mod activation;
mod around;
mod attention;
mod before;
mod bounds;
mod fold_weights;
mod fused;
mod groups;
mod identity;
mod movement;
mod normalization;
mod parts;
mod pieces;
mod quantized;
mod reduced;
mod rotary;
mod scales;
mod stretched;
mod taken;
mod turned;

use super::rewrite::Rule;

/// The families in the order in which their rules are tried at a node.
pub const FAMILIES: &[&[Rule]] = &[
    identity::RULES,
    movement::RULES,
    pieces::RULES,
    parts::RULES,
    stretched::RULES,
    around::RULES,
    reduced::RULES,
    bounds::RULES,
    normalization::RULES,
    groups::RULES,
    rotary::RULES,
    attention::RULES,
    attention::heads::RULES,
    attention::batches::RULES,
    activation::RULES,
    fold_weights::RULES,
    before::RULES,
    scales::RULES,
    quantized::RULES,
    fused::RULES,
    turned::RULES,
];

/// Every rule.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().copied().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::passes::rewrite::testing::example;

    #[test]
    fn rules_have_names_laws_and_examples() {
        let mut names = BTreeSet::new();
        for rule in all() {
            assert!(names.insert(rule.name), "`{}` is a name twice", rule.name);
            assert_eq!(rule.check(), Ok(()), "`{}`", rule.name);
            assert!(
                !rule.law.is_empty() && !rule.example.is_empty(),
                "`{}`",
                rule.name
            );
        }
    }

    #[test]
    fn no_rule_can_be_left_out() {
        for rule in all() {
            let (with, _) = example(rule, all());
            let (without, _) = example(rule, all().filter(|other| other.name != rule.name));
            assert_ne!(with, without, "nothing changes without `{}`", rule.name);
        }
    }
}
