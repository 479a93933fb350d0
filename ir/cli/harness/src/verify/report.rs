//! Report of a run: a line per model, and totals.

use std::collections::BTreeMap;

use indicatif::ProgressBar;
use serde_json::{Value as Json, json};

use super::expect::Expectations;
use crate::cost::Cost;
use crate::models::Model;
use crate::style::{self, BAD, DIM, DOUBTFUL, GOOD};

/// Result for a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Unsupported(String),
    Failed(String),
    /// The outputs differ, which is expected for this reason.
    Differs(String),
    Ran(Numbers),
}

impl Verdict {
    /// Returns `true` if the outputs unexpectedly differ from the recorded ones, or the run failed.
    pub fn is_wrong(&self) -> bool {
        match self {
            Verdict::Unsupported(_) | Verdict::Differs(_) => false,
            Verdict::Failed(_) => true,
            Verdict::Ran(numbers) => numbers.problem.is_some(),
        }
    }
}

/// Measurements of a completed run.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Description of the difference from the recorded outputs, if any.
    pub problem: Option<String>,
    pub relative: f64,
    /// Cost of compiling its crate, if recorded.
    pub cost: Option<Cost>,
    /// Duration of the first run, in seconds.
    pub run: f64,
    /// Peak memory in bytes, if known.
    pub peak: Option<u64>,
    /// Number of nodes in the graph after simplification, including nested blocks.
    pub nodes: usize,
    /// Number of kernel launches on a device, in all and of each kernel, and of values that were read back from it.
    pub launches: u64,
    pub kernels: BTreeMap<String, u64>,
    pub reads: u64,
    /// Number of warnings of rustc in the expansion.
    pub warnings: usize,
}

impl Numbers {
    /// Combines two runs of one model: the first problem, and the larger of all other numbers.
    pub fn and(self, other: Self) -> Self {
        Numbers {
            problem: self.problem.or(other.problem),
            relative: self.relative.max(other.relative),
            cost: self.cost,
            run: self.run.max(other.run),
            peak: self.peak.max(other.peak),
            nodes: self.nodes,
            launches: self.launches.max(other.launches),
            kernels: if other.launches > self.launches { other.kernels } else { self.kernels },
            reads: self.reads.max(other.reads),
            warnings: self.warnings,
        }
    }
}

/// Report that prints verdicts as they arrive.
pub struct Report {
    json: bool,
    bar: ProgressBar,
    width: usize,
    total: usize,
    matching: usize,
    unsupported: usize,
    differing: usize,
    rows: Vec<Json>,
    costs: Vec<(String, Cost)>,
    expectations: Expectations,
}

/// Maximum length of a reason in a line, in characters.
const MAX_REASON_LEN: usize = 220;

impl Report {
    pub fn new(models: &[Model], json: bool, bar: &ProgressBar, expectations: Expectations) -> Self {
        let widths = models.iter().map(|model| model.name.chars().count());
        Report {
            json,
            bar: bar.clone(),
            width: widths.max().unwrap_or(0),
            total: models.len(),
            matching: 0,
            unsupported: 0,
            differing: 0,
            rows: Vec::new(),
            costs: Vec::new(),
            expectations,
        }
    }

    pub fn add(&mut self, model: &Model, verdict: Verdict) {
        if let Verdict::Ran(Numbers { cost: Some(cost), .. }) = &verdict {
            self.costs.push((model.name.clone(), *cost));
        }
        let verdict = self.expected(model, verdict);
        match &verdict {
            Verdict::Unsupported(_) => self.unsupported += 1,
            Verdict::Differs(_) => self.differing += 1,
            Verdict::Ran(Numbers { problem: None, .. }) => self.matching += 1,
            _ => {}
        }
        if self.json {
            self.rows.push(describe(model, &verdict));
        } else {
            let line = line(&model.name, self.width, &verdict);
            self.bar.suspend(|| anstream::println!("{line}"));
        }
    }

    /// Returns the verdict, adjusted to the known differences of the model.
    fn expected(&self, model: &Model, verdict: Verdict) -> Verdict {
        let Some(reason) = self.expectations.reason(&model.name) else {
            return verdict;
        };
        match verdict {
            Verdict::Ran(Numbers { problem: Some(_), .. }) => Verdict::Differs(reason.to_owned()),
            Verdict::Ran(_) => Verdict::Failed("matches, but is listed as known to differ".to_owned()),
            other => other,
        }
    }

    /// Reports that the machine lacks the device.
    pub fn skip(&self, device: &str) {
        if self.json {
            println!("{:#}", json!({ "skipped": "no adapter", "device": device }))
        } else {
            anstream::println!("{DOUBTFUL}skipped: no adapter{DOUBTFUL:#} for `{device}` on this machine")
        }
    }

    pub fn finish(&self) {
        let (matching, total) = (self.matching, self.total);
        if self.json {
            let all = json!({ "matching": matching, "total": total, "models": self.rows });
            println!("{all:#}");
            return;
        }
        let failed = total - matching - self.unsupported - self.differing;
        let parts =
            [(self.unsupported, "unsupported"), (self.differing, "known to differ"), (failed, "failed")];
        let parts = parts.iter().filter(|part| part.0 > 0);
        let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
        let rest = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        let costs = self.costs.iter().map(|(name, cost)| (name.as_str(), *cost));
        if let Some(summary) = Cost::summary(costs) {
            anstream::println!("{summary}");
        }
        let verb = if matching == 1 { "matches" } else { "match" };
        anstream::println!("{matching} of {} {verb}{rest}", style::count(total, "model"));
    }

    /// Returns `true` if all models match or, with `at_least`, if that many match and the others are unsupported or
    /// known to differ.
    pub fn holds(&self, at_least: Option<usize>) -> bool {
        match at_least {
            None => self.matching == self.total,
            Some(least) => {
                let accounted = self.matching + self.unsupported + self.differing;
                self.matching >= least && accounted == self.total
            }
        }
    }
}

fn line(name: &str, width: usize, verdict: &Verdict) -> String {
    let failed = |reason: &str| {
        let reason = indented(reason, 13 + width + 2);
        format!("{BAD}FAILED{BAD:#}       {name:<width$}  {reason}")
    };
    let numbers = match verdict {
        Verdict::Unsupported(reason) => {
            let reason = cut(reason);
            return format!("{DOUBTFUL}unsupported{DOUBTFUL:#}  {name:<width$}  {reason}");
        }
        Verdict::Differs(reason) => {
            let reason = cut(reason);
            return format!("{DOUBTFUL}differs{DOUBTFUL:#}      {name:<width$}  {reason}");
        }
        Verdict::Failed(reason) => return failed(reason),
        Verdict::Ran(numbers) => numbers,
    };
    if let Some(problem) = &numbers.problem {
        return failed(problem);
    }
    let rustc = numbers.cost.map(|cost| style::seconds(cost.seconds()));
    let memory = numbers.cost.and_then(|cost| cost.peak).map(style::bytes);
    let (run, peak) = (style::seconds(numbers.run), numbers.peak.map(style::bytes));
    let warnings = match numbers.warnings {
        0 => String::new(),
        count => format!("  {DOUBTFUL}{}{DOUBTFUL:#}", style::count(count, "warning")),
    };
    let launches = match numbers.launches {
        0 => String::new(),
        count => format!(
            "  {} for {}, {}",
            style::count(count as usize, "launch"),
            style::count(numbers.nodes, "node"),
            style::count(numbers.reads as usize, "read")
        ),
    };
    format!(
        "{GOOD}ok{GOOD:#}           {name:<width$}  {:>8.1e}  {DIM}rustc{DIM:#} {:>7} {:>7}  \
         {DIM}run{DIM:#} {run:>8} {:>7}{launches}{warnings}",
        numbers.relative,
        rustc.unwrap_or_default(),
        memory.unwrap_or_default(),
        peak.unwrap_or_default()
    )
}

/// Returns all lines of a reason, aligned below the first one.
fn indented(reason: &str, by: usize) -> String {
    reason.trim_end().replace('\n', &format!("\n{:by$}", ""))
}

/// Returns a reason in one line. Panics of Burn describe the problem below their first line.
fn cut(reason: &str) -> String {
    let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_REASON_LEN) {
        Some((end, _)) => format!("{}..", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn describe(model: &Model, verdict: &Verdict) -> Json {
    let mut row = match verdict {
        Verdict::Unsupported(reason) => json!({ "verdict": "unsupported", "reason": reason }),
        Verdict::Differs(reason) => json!({ "verdict": "differs", "reason": reason }),
        Verdict::Failed(reason) => json!({ "verdict": "failed", "reason": reason }),
        Verdict::Ran(numbers) => json!({
            "verdict": if numbers.problem.is_none() { "ok" } else { "failed" },
            "reason": numbers.problem,
            // JSON has no infinity.
            "relative_error": numbers.relative.is_finite().then_some(numbers.relative),
            "rustc": numbers.cost.map(Cost::to_json),
            "run_seconds": numbers.run,
            "peak_bytes": numbers.peak,
            "nodes": numbers.nodes,
            "launches": numbers.launches,
            "kernels": numbers.kernels,
            "reads": numbers.reads,
            "warnings": numbers.warnings,
        }),
    };
    row["model"] = json!(model.name);
    row["path"] = json!(model.path);
    row
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_reason_of_several_lines_is_shown_whole() {
        let reason =
            "panicked: \n=== Tensor Operation Error ===\n  Operation: 'Reshape'\n  Reason:\n    1. no\n";
        let shown = cut(reason);
        assert_eq!(shown, "panicked: === Tensor Operation Error === Operation: 'Reshape' Reason: 1. no");
    }

    fn numbers() -> Numbers {
        Numbers {
            problem: None,
            relative: 4.3e-7,
            cost: Some(Cost { wall: 9.0, cpu: Some(3.25), peak: Some(410_000_000) }),
            run: 0.0021,
            peak: Some(120_000_000),
            nodes: 60,
            launches: 0,
            kernels: BTreeMap::new(),
            reads: 0,
            warnings: 1,
        }
    }

    fn model() -> Model {
        Model { name: "m".to_owned(), path: "/m.onnx".into(), recordings: Vec::new(), tolerance: 0.0 }
    }

    #[test]
    fn columns_stand_below_each_other() {
        let different = Numbers { problem: Some("output `y` is 1".to_owned()), ..numbers() };
        let verdicts = [
            Verdict::Ran(numbers()),
            Verdict::Ran(Numbers { cost: None, warnings: 0, ..numbers() }),
            Verdict::Ran(Numbers { launches: 54, reads: 1, warnings: 0, ..numbers() }),
            Verdict::Ran(different),
            Verdict::Failed("panicked: left is not right\n  left: 1\n right: 2 (at a.rs:1:2)".to_owned()),
            Verdict::Unsupported("Foo".to_owned()),
        ];
        let lines: Vec<String> = verdicts.iter().map(|it| line("name", 6, it)).collect();
        let text = lines.join("\n");
        expect![[r#"
            ok           name      4.3e-7  rustc  3.25 s  410 MB  run   2.1 ms  120 MB  1 warning
            ok           name      4.3e-7  rustc                  run   2.1 ms  120 MB
            ok           name      4.3e-7  rustc  3.25 s  410 MB  run   2.1 ms  120 MB  54 launches for 60 nodes, 1 read
            FAILED       name    output `y` is 1
            FAILED       name    panicked: left is not right
                                   left: 1
                                  right: 2 (at a.rs:1:2)
            unsupported  name    Foo"#]]
        .assert_eq(&anstream::adapter::strip_str(&text).to_string());
    }

    #[test]
    fn enough_matches_do_only_when_none_fails() {
        let models = [model(), model(), model()];
        let mut report = Report::new(&models, true, &ProgressBar::hidden(), Expectations::default());
        report.add(&models[0], Verdict::Ran(numbers()));
        report.add(&models[1], Verdict::Unsupported(String::new()));
        report.add(&models[2], Verdict::Unsupported(String::new()));
        assert!(report.holds(Some(1)) && !report.holds(Some(2)) && !report.holds(None));
        report.unsupported -= 1;
        report.add(&models[2], Verdict::Failed(String::new()));
        assert!(!report.holds(Some(1)));
    }
}
