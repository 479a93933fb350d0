//! Results for the changed files of models.

use std::path::Path;

use anyhow::Result;

use super::super::{judge, resolution::resolution};
use super::noise::is_noise;
use super::plan::{Change, STORAGES};
use crate::message::ReloadResult;
use crate::models::Model;
use crate::npz::Recording;
use crate::style::{BAD, DIM, GOOD};
use crate::value::Values;
use crate::wire;

/// Numbers of accepted and refused files, with the problems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    agree: usize,
    /// Number of these files whose outputs equal those of the unchanged file.
    without_effect: usize,
    refused: usize,
    /// Number of files that ONNX Runtime does not run.
    unanswered: usize,
    /// Differences that ONNX Runtime itself shows if weights are rounded differently.
    pub unstable: Vec<String>,
    pub problems: Vec<String>,
}

/// A model with the inputs that it runs on.
#[derive(Clone, Copy)]
pub struct Subject<'m> {
    pub model: &'m Model,
    pub recording: &'m Path,
    /// Returns ONNX Runtime's results for a changed file with other roundings.
    pub nearby: &'m dyn Fn(&Change) -> Result<Vec<Recording>>,
    /// Returns the results for a changed file in double precision.
    pub exact: &'m dyn Fn(&Change) -> Result<Values>,
}

impl Tally {
    /// Returns the tally of a model that could not be tried.
    pub fn failed(problem: String) -> Self {
        Tally { problems: vec![problem], ..Tally::default() }
    }

    /// Counts the result of a program with one of the [`STORAGES`] for a changed file. Its outputs are in `outputs`.
    pub fn judge(
        &mut self,
        change: &Change,
        storage: usize,
        outputs: &Path,
        subject: Subject<'_>,
    ) -> Result<()> {
        let problem = self.problem(change, storage, outputs, subject)?;
        self.problems.extend(problem.map(|text| described(change, storage, &text)));
        Ok(())
    }

    /// Counts a result. Returns the problem with the changed file, if any.
    fn problem(
        &mut self,
        change: &Change,
        storage: usize,
        outputs: &Path,
        subject: Subject<'_>,
    ) -> Result<Option<String>> {
        let Some(Some(is_fixed)) = change.fixed.get(storage).copied() else {
            return Ok(None);
        };
        let Some(Some(result)) = change.results.get(storage) else {
            return Ok(Some("was not tried".to_owned()));
        };
        match (result, is_fixed) {
            (ReloadResult::WeightDiffers(_), true) => {
                self.refused += 1;
                return Ok(None);
            }
            (ReloadResult::Ran | ReloadResult::Died(_), true) => {
                return Ok(Some("was accepted, but the code depends on it".to_owned()));
            }
            _ => {}
        }
        let answer = |name: &str| change.folder.join(name);
        let is_dependence = matches!(result, ReloadResult::WeightDiffers(_));
        if !is_fixed && !is_dependence && !answer("io.npz").is_file() {
            self.unanswered += 1;
            return Ok(None);
        }
        match result {
            ReloadResult::WeightDiffers(reason) | ReloadResult::Refused(reason) => {
                return Ok(Some(format!("was rejected: {reason}")));
            }
            ReloadResult::Died(reason) => {
                return Ok(Some(format!("was accepted, but then failed: {reason}")));
            }
            ReloadResult::Ran => {}
        }
        let found = wire::read(outputs)?;
        let tolerance = subject.model.tolerance.max(resolution(subject.model));
        let answers = [Recording::open(&answer("io.npz"))?, Recording::open(&answer("plain.npz"))?];
        let nearby = || (subject.nearby)(change);
        let exact = || (subject.exact)(change);
        match difference(&found, &answers, tolerance, nearby, exact)? {
            None => {
                self.agree += 1;
                let recorded = Recording::open(subject.recording)?;
                let (_, difference) = judge(&found, &recorded, tolerance);
                self.without_effect += usize::from(difference.is_none());
            }
            Some(Difference::Unstable(text)) => {
                self.unstable.push(described(change, storage, &text));
            }
            Some(Difference::Wrong(text)) => return Ok(Some(text)),
        }
        Ok(None)
    }

    pub fn add(&mut self, other: &Tally) {
        self.agree += other.agree;
        self.without_effect += other.without_effect;
        self.refused += other.refused;
        self.unanswered += other.unanswered;
        self.unstable.extend(other.unstable.iter().cloned());
        self.problems.extend(other.problems.iter().cloned());
    }

    pub fn line(&self) -> String {
        let parts = [
            (self.agree, "agree"),
            (self.refused, "rejected"),
            (self.without_effect, "without effect"),
            (self.unanswered, "not run by ONNX Runtime"),
            (self.unstable.len(), "unstable"),
        ];
        let parts = parts.iter().map(|(count, text)| format!("{count} {text}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        match self.problems.len() {
            0 => format!("{GOOD}ok{GOOD:#} {DIM}{parts}{DIM:#}"),
            wrong => format!("{BAD}{wrong} failed{BAD:#} {DIM}{parts}{DIM:#}"),
        }
    }
}

/// Difference between outputs and those of ONNX Runtime.
#[derive(Debug, PartialEq)]
enum Difference {
    /// About as large as the differences of ONNX Runtime itself, with other roundings or from double precision.
    Unstable(String),
    Wrong(String),
}

/// Compares outputs with the results with and without optimizations. If both differ, also compares them with those for
/// other roundings and with double precision.
fn difference(
    found: &Values,
    [expected, plain]: &[Recording; 2],
    tolerance: f64,
    nearby: impl FnOnce() -> Result<Vec<Recording>>,
    exact: impl FnOnce() -> Result<Values>,
) -> Result<Option<Difference>> {
    let (relative, problem) = judge(found, expected, tolerance);
    let (other, other_problem) = judge(found, plain, tolerance);
    let (Some(problem), Some(_)) = (problem, other_problem) else {
        return Ok(None);
    };
    let text = format!("{problem} (relative error {:.1e})", relative.min(other));
    if is_noise(found, expected, &nearby()?, tolerance) {
        return Ok(Some(Difference::Unstable(text)));
    }
    let recording = Recording { exact: exact()?, ..expected.clone() };
    Ok(Some(match judge(found, &recording, tolerance) {
        (_, None) => Difference::Unstable(text),
        _ => Difference::Wrong(text),
    }))
}

fn described(change: &Change, storage: usize, text: &str) -> String {
    let storage = STORAGES.get(storage).map_or("", |(_, name)| name);
    format!("{storage}: `{}` {text}", change.name)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use anyhow::bail;
    use onnx_embed_ir::dtype::DType;

    use super::*;
    use crate::npz::Expected;
    use crate::value::{Tensor, Value};

    fn judged(is_fixed: bool, result: ReloadResult) -> Tally {
        let model = Model {
            name: "m".to_owned(),
            path: PathBuf::from("no/such.onnx"),
            recordings: Vec::new(),
            tolerance: 0.0,
        };
        let nowhere = Path::new("no/such");
        let subject = Subject {
            model: &model,
            recording: nowhere,
            nearby: &|_| Ok(Vec::new()),
            exact: &|_| Ok(Values::new()),
        };
        let change = Change {
            name: "w".to_owned(),
            folder: PathBuf::from(nowhere),
            fixed: [None, Some(is_fixed)],
            results: [None, Some(result)],
        };
        let mut tally = Tally::default();
        for storage in 0..STORAGES.len() {
            tally.judge(&change, storage, nowhere, subject).unwrap();
        }
        tally
    }

    #[test]
    fn what_the_code_depends_on_is_refused_by_its_name() {
        let named = ReloadResult::WeightDiffers("weight `w` ..".to_owned());
        let tally = judged(true, named.clone());
        assert_eq!((tally.refused, tally.problems.len()), (1, 0));
        let wrong = |is_fixed, result| judged(is_fixed, result).problems;
        assert_eq!(wrong(true, ReloadResult::Ran), ["embed: `w` was accepted, but the code depends on it"]);
        assert_eq!(wrong(false, named).len(), 1);
        assert_eq!(wrong(true, ReloadResult::Refused("`m.onnx` differs".to_owned())).len(), 1);
    }

    #[test]
    fn only_a_difference_is_compared_with_other_roundings() {
        let value = |number: f32| {
            Value::Tensor(Tensor { dtype: DType::F32, shape: vec![1], bytes: number.to_le_bytes().to_vec() })
        };
        let outputs = |number| vec![("y".to_owned(), value(number))];
        let recording = |number| Recording {
            outputs: vec![("y".to_owned(), Expected::Value(value(number)))],
            ..Recording::default()
        };
        let answers = [recording(1.0), recording(1.1)];
        let judged = |found, nearby: &dyn Fn() -> Result<Vec<Recording>>, exact: Values| {
            difference(&outputs(found), &answers, 1e-4, nearby, || Ok(exact)).unwrap()
        };
        let unasked = || bail!("asked");
        assert_eq!(judged(1.0, &unasked, Values::new()), None);
        assert_eq!(judged(1.1, &unasked, Values::new()), None);
        let text = "output `y` is 1.300000e0 at [0], expected 1.000000e0; \
                    elements beyond the tolerance: 1 of 1 (relative error 1.8e-1)";
        let wrong = Some(Difference::Wrong(text.to_owned()));
        let unstable = Some(Difference::Unstable(text.to_owned()));
        let none = || Ok(Vec::new());
        assert_eq!(judged(1.3, &none, Values::new()), wrong);
        assert_eq!(judged(1.3, &none, outputs(1.05)), wrong);
        assert_eq!(judged(1.3, &none, outputs(1.2)), unstable);
        let nearby = || Ok(vec![recording(1.2)]);
        assert_eq!(judged(1.3, &nearby, Values::new()), unstable);
    }

    #[test]
    fn what_onnx_runtime_does_not_run_is_counted() {
        for result in [
            ReloadResult::Died("panicked".to_owned()),
            ReloadResult::Refused("cannot load the model: ..".to_owned()),
        ] {
            let tally = judged(false, result);
            assert_eq!((tally.unanswered, tally.problems.len()), (1, 0));
        }
    }
}
