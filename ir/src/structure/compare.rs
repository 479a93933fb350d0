//! Attributes, types and constants of corresponding nodes.

use super::assignment::Assignment;
use super::constants::Constants;
use super::correspondence::{BlockPair, NodePair};
use super::difference;
use super::form::form;
use super::side::Side;
use super::sizes::Sizes;
use crate::diff::{self, Difference};
use crate::graph::ValueId;
use crate::print;
use crate::types::Type;

/// Maximum relative difference of factors that files state in single or double precision, or as a product of roots.
const ROUNDING: f64 = 1e-6;

/// Comparison of corresponding nodes in the order of the first graph.
pub(super) struct Comparison<'s, 'g> {
    first: &'s Side<'g>,
    second: &'s Side<'g>,
    sizes: Sizes,
    constants: Constants<'s, 'g>,
}

impl<'s, 'g> Comparison<'s, 'g> {
    pub fn new(first: &'s Side<'g>, second: &'s Side<'g>) -> Self {
        Comparison { first, second, sizes: Sizes::default(), constants: Constants::new(first, second) }
    }

    pub fn finish(self) -> Result<Vec<Assignment<'g>>, Difference> {
        self.constants.finish()
    }

    pub fn block(&mut self, block: &BlockPair<'g>) -> Result<(), Difference> {
        for &(a, b) in &block.inputs {
            self.bind(a, b);
            self.types(a, b)?;
        }
        for node in &block.nodes {
            self.node(node)?;
        }
        for &(a, b) in &block.outputs {
            self.value(a, b, &format!("an output of {}", block.location))?;
            self.types(a, b)?;
        }
        Ok(())
    }

    fn node(&mut self, pair: &NodePair<'g>) -> Result<(), Difference> {
        let (a, b) = (pair.first, pair.second);
        let location = format!("node `{}`", self.first.name(a));
        let outputs = a.outputs.iter().zip(&b.outputs);
        let outputs: Vec<(ValueId, ValueId)> = outputs.filter_map(|(&a, &b)| Some((a?, b?))).collect();
        // Attributes may contain sizes that the results introduce.
        for &(a, b) in &outputs {
            self.bind(a, b);
        }
        let forms = (form(self.first, a), form(self.second, b));
        let (left, right) = (forms.0.attributes, self.sizes.renamed(&forms.1.attributes));
        if left != right {
            let shown = diff::differing(&left, &right);
            let (left, right) = shown.unwrap_or_else(|| (print::attributes(a), print::attributes(b)));
            return Err(difference(&location, &left, &right));
        }
        if let (Some(a), Some(b)) = (forms.0.scale, forms.1.scale)
            && !is_near(a, b)
        {
            return Err(difference(&location, &format!("scale: {a}"), &format!("scale: {b}")));
        }
        forms.0.kept.iter().for_each(|&id| self.constants.keep(id));
        for &(at, left, right) in &pair.inputs {
            if at == 1 && forms.0.is_transposed != forms.1.is_transposed {
                let transposed = (forms.0.is_transposed, forms.1.is_transposed);
                self.constants.transposed((left, right), transposed, &self.sizes, &location)?;
            } else {
                self.value(left, right, &location)?;
            }
        }
        for block in &pair.blocks {
            self.block(block)?;
        }
        outputs.iter().try_for_each(|&(a, b)| self.types(a, b))
    }

    /// Compares values that are used at the same position, if they are constants.
    fn value(&mut self, first: ValueId, second: ValueId, location: &str) -> Result<(), Difference> {
        let (a, b) = (&self.first.values[first].parts, &self.second.values[second].parts);
        if let (Some(a), Some(b)) = (a, b) {
            return a.iter().zip(b).try_for_each(|(&a, &b)| self.value(a, b, location));
        }
        if self.first.is_defined(first) {
            return Ok(());
        }
        self.constants.compare(first, second, &self.sizes, location)
    }

    fn bind(&mut self, first: ValueId, second: ValueId) {
        self.sizes.bind(&self.first.values[first], &self.second.values[second]);
    }

    fn types(&self, first: ValueId, second: ValueId) -> Result<(), Difference> {
        let (a, b) = (&self.first.values[first], &self.second.values[second]);
        if self.sizes.same_types(a.ty.as_ref(), b.ty.as_ref()) {
            return Ok(());
        }
        let text = |ty: &Option<Type>| ty.as_ref().map_or("unknown".to_owned(), Type::to_string);
        Err(difference(&self.first.described(first), &text(&a.ty), &text(&b.ty)))
    }
}

fn is_near(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a - b).abs() <= ROUNDING * a.abs()
}
