//! Differences between two runs of a graph.

use onnx_embed_ir::diagnostics::shown;
use serde_json::{Value as Json, json};

use crate::comparison::compare;
use crate::npz::Expected;
use crate::style::{BAD, DIM, GOOD};
use crate::trace::{Run, TracedValue};

/// Maximum number of values that are listed.
const MAX_LISTED_VALUES: usize = 40;

/// Values that both runs have, in the order of the first run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    pub rows: Vec<Row>,
    /// Index of the first row that differs by more than the tolerance.
    pub first: Option<usize>,
}

/// Difference between the two values of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub step: TracedValue,
    /// Largest difference, relative to the largest element.
    pub relative: f64,
    pub problem: Option<String>,
}

impl Differences {
    pub fn new(run: &Run, other: &Run, tolerance: f64) -> Self {
        let rows = run.steps.iter().filter_map(|step| {
            let (found, expected) = (run.values.get(&step.value)?, other.values.get(&step.value)?);
            let comparison = compare(found, &Expected::Value(expected.clone()), tolerance);
            Some(Row { step: step.clone(), relative: comparison.relative, problem: comparison.problem })
        });
        let rows: Vec<Row> = rows.collect();
        let first = rows.iter().position(|row| row.problem.is_some());
        Differences { rows, first }
    }

    /// Returns the first row that differs by more than the tolerance.
    pub fn first(&self) -> Option<&Row> {
        self.rows.get(self.first?)
    }

    /// Describes the first value that differs, in one line. Returns `None` if no value differs.
    pub fn headline(&self) -> Option<String> {
        let row = self.first()?;
        let TracedValue { value, node, operator } = &row.step;
        let (value, node, operator) = (shown(value), shown(node), shown(operator));
        let problem = row.problem.as_deref().unwrap_or_default();
        Some(format!("`{node}` ({operator}): `{value}` {problem}"))
    }

    /// Returns all rows, and the name of the first value that differs.
    pub fn json(&self) -> Json {
        let row = |row: &Row| {
            let TracedValue { value, node, operator } = &row.step;
            json!({
                "value": value,
                "node": node,
                "operator": operator,
                "relative_error": row.relative,
                "problem": row.problem,
            })
        };
        json!({
            "first": self.first().map(|row| &row.step.value),
            "values": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// Lists the errors along the graph. If there are many values, only those at which the error grows are listed.
    pub fn table(&self) -> String {
        let kept = self.kept();
        let name = |row: &Row| shown(&row.step.value);
        let widths = kept.iter().map(|&at| name(&self.rows[at]).chars().count());
        let width = widths.max().unwrap_or(0);
        let mut text = format!("  {DIM}{:>8}  {:<width$}  operator{DIM:#}\n", "error", "value");
        let mut before = None;
        for &at in &kept {
            let row = &self.rows[at];
            let skipped = at - before.map_or(0, |before: usize| before + 1);
            if skipped > 0 {
                text.push_str(&format!("  {DIM}{:>8}  {skipped} more{DIM:#}\n", ""));
            }
            before = Some(at);
            let style = if row.problem.is_some() { BAD } else { GOOD };
            let mark = if self.first == Some(at) { "  <- first difference" } else { "" };
            text.push_str(&format!(
                "  {style}{:>8.1e}{style:#}  {:<width$}  {}{mark}\n",
                row.relative,
                name(row),
                shown(&row.step.operator),
            ));
        }
        text
    }

    /// Returns the indices of the rows that are listed.
    fn kept(&self) -> Vec<usize> {
        if self.rows.len() <= MAX_LISTED_VALUES {
            return (0..self.rows.len()).collect();
        }
        // Ratio of each error to the largest one before it.
        let mut furthest = 1e-12f64;
        let mut growth: Vec<(f64, usize)> = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            growth.push((row.relative / furthest, at));
            furthest = furthest.max(row.relative);
        }
        growth.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut kept: Vec<usize> = growth.iter().take(MAX_LISTED_VALUES - 2).map(|entry| entry.1).collect();
        kept.extend(self.first);
        kept.extend(self.rows.len().checked_sub(1));
        kept.sort_unstable();
        kept.dedup();
        kept
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use onnx_embed_ir::dtype::DType;

    use super::*;
    use crate::value::{Tensor, Value};

    fn run(values: &[(&str, f32)]) -> Run {
        let steps = values.iter().map(|(name, _)| TracedValue {
            value: (*name).to_owned(),
            node: format!("/{name}/Neg"),
            operator: "Neg".to_owned(),
        });
        let values = values.iter().map(|(name, number)| {
            let tensor = Tensor { dtype: DType::F32, shape: vec![1], bytes: number.to_le_bytes().to_vec() };
            ((*name).to_owned(), Value::Tensor(tensor))
        });
        Run { steps: steps.clone().collect(), values: values.collect(), problem: None }
    }

    #[test]
    fn the_first_value_beyond_the_tolerance_is_named() {
        let ours = run(&[("a", 1.0), ("fused", 9.0), ("b", 2.0001), ("c", 3.5)]);
        let others = run(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        let found = Differences::new(&ours, &others, 1e-3);
        let table = anstream::adapter::strip_str(&found.table()).to_string();
        let text = format!("{}\n{table}", found.headline().unwrap());
        expect![[r#"
            `/c/Neg` (Neg): `c` is 3.500000e0 at [0], expected 3.000000e0; elements beyond the tolerance: 1 of 1
                 error  value  operator
                 0.0e0  a  Neg
                5.0e-5  b  Neg
                1.7e-1  c  Neg  <- first difference
        "#]]
        .assert_eq(&text);
        assert_eq!(Differences::new(&ours, &ours, 1e-3).headline(), None);
        let json = found.json();
        assert_eq!(json["first"], "c");
        assert!(json["values"][2]["problem"].is_string());
        assert_eq!(json["values"][0]["relative_error"], 0.0);
    }

    #[test]
    fn values_of_two_precisions_are_compared_as_numbers() {
        let mut ours = run(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]);
        let mut half = ours.clone();
        let numbers = [("a", half::f16::ONE), ("b", half::f16::from_f32(2.1))];
        for (name, number) in numbers {
            let Some(Value::Tensor(tensor)) = half.values.get_mut(name) else {
                panic!("no tensor");
            };
            (tensor.dtype, tensor.bytes) = (DType::F16, number.to_le_bytes().to_vec());
        }
        assert!(ours.widen_halves(&mut half));
        let found = Differences::new(&ours, &half, 1e-2);
        let headline = found.headline().unwrap();
        assert!(headline.starts_with("`/b/Neg` (Neg): `b` is 2.000000e0"), "{headline}");
        assert!((found.rows[1].relative - 0.1 / 2.1).abs() < 1e-3);
        assert!(!ours.widen_halves(&mut half));
    }

    #[test]
    fn a_long_table_shows_where_the_error_grows() {
        let names: Vec<String> = (0..200).map(|at| format!("v{at}")).collect();
        let ours: Vec<(&str, f32)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        let mut others = ours.clone();
        for (at, other) in others.iter_mut().enumerate() {
            other.1 += if at > 150 { 0.1 } else { 0.0 };
        }
        let found = Differences::new(&run(&ours), &run(&others), 1e-3);
        let kept = found.kept();
        assert!(kept.len() <= MAX_LISTED_VALUES && kept.contains(&151) && kept.contains(&199), "{kept:?}");
    }
}
