//! All rewrite rules, one family per file.

mod activation;
mod attention;
mod bounds;
mod broadcast;
mod channel_scale;
mod concat_elementwise;
mod distances;
mod group_normalization;
mod identity;
mod movement;
mod normalization;
mod product_elements;
mod product_epilogue;
mod product_operands;
mod product_prologue;
mod product_weights;
mod quantized_bias;
mod quantized_product;
mod quantized_steps;
mod reduction;
mod rotary;
mod selected_rows;
mod slices;
mod sum;
mod transpose_sink;

use super::rewrite::Rule;

/// The families in the order in which their rules are tried at a node.
pub const FAMILIES: &[&[Rule]] = &[
    identity::RULES,
    sum::RULES,
    movement::RULES,
    slices::RULES,
    concat_elementwise::RULES,
    broadcast::RULES,
    transpose_sink::RULES,
    reduction::RULES,
    bounds::RULES,
    distances::RULES,
    selected_rows::RULES,
    normalization::RULES,
    group_normalization::RULES,
    rotary::RULES,
    attention::RULES,
    attention::heads::RULES,
    attention::batches::RULES,
    activation::RULES,
    product_elements::RULES,
    product_weights::RULES,
    product_prologue::RULES,
    quantized_steps::RULES,
    quantized_bias::RULES,
    quantized_product::RULES,
    product_epilogue::RULES,
    channel_scale::RULES,
    product_operands::RULES,
];

/// Returns all rules.
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
            assert!(!rule.law.is_empty() && !rule.example.is_empty(), "`{}`", rule.name);
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

    #[test]
    fn right_sides_are_texts_or_functions() {
        let replacement = |name| all().find(|rule| rule.name == name).and_then(Rule::replacement);
        assert_eq!(replacement("silu"), Some("Swish(x)"));
        assert_eq!(replacement("nested bounds"), None);
    }
}
