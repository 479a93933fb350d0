//! What became of the changed files of models.

use std::path::Path;

use anyhow::Result;

use super::super::{judge, resolution::resolution};
use super::plan::{Change, STORAGES, is_dependence};
use crate::models::Model;
use crate::npz::Recording;
use crate::style::{BAD, DIM, GOOD};
use crate::wire;

/// How many files were taken and refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    agree: usize,
    /// Of these, files for which ONNX Runtime answers as for the unchanged one.
    without_effect: usize,
    refused: usize,
    /// Files that ONNX Runtime does not run.
    unanswered: usize,
    pub problems: Vec<String>,
}

/// A model and the inputs that it is run with.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'m> {
    pub model: &'m Model,
    pub recording: &'m Path,
}

impl Tally {
    /// Of a model that could not be tried.
    pub fn failed(problem: String) -> Self {
        Tally {
            problems: vec![problem],
            ..Tally::default()
        }
    }

    /// Counts what a program with one of the [`STORAGES`] did with a changed file and wrote to `outputs`.
    pub fn judge(
        &mut self,
        change: &Change,
        storage: usize,
        outputs: &Path,
        subject: Subject<'_>,
    ) -> Result<()> {
        let problem = self.problem(change, storage, outputs, subject)?;
        let storage = STORAGES.get(storage).map_or("", |(_, name)| name);
        let told = |text| format!("{storage}: `{}` {text}", change.name);
        self.problems.extend(problem.map(told));
        Ok(())
    }

    /// What is wrong with a changed file.
    fn problem(
        &mut self,
        change: &Change,
        storage: usize,
        outputs: &Path,
        subject: Subject<'_>,
    ) -> Result<Option<String>> {
        let (Some(Some(is_fixed)), Some(result)) = (
            change.fixed.get(storage).copied(),
            change.results.get(storage),
        ) else {
            return Ok(None);
        };
        match (result["refused"].as_str(), is_fixed) {
            (Some(_), true) if is_dependence(result) => {
                self.refused += 1;
                return Ok(None);
            }
            (None, true) => return Ok(Some("is taken, though the code depends on it".to_owned())),
            _ => {}
        }
        let answer = |name: &str| change.folder.join(name);
        if !is_fixed && !is_dependence(result) && !answer("io.npz").is_file() {
            self.unanswered += 1;
            return Ok(None);
        }
        if let Some(refusal) = result["refused"].as_str() {
            return Ok(Some(format!("is refused: {refusal}")));
        }
        if let Some(text) = result["died"].as_str() {
            return Ok(Some(format!("is taken, and then: {text}")));
        }
        let found = wire::read(outputs)?;
        let tolerance = subject.model.tolerance.max(resolution(subject.model));
        let expected = Recording::open(&answer("io.npz"))?;
        let plain = Recording::open(&answer("plain.npz"))?;
        let (relative, problem) = judge(&found, &expected, tolerance);
        let (other, other_problem) = judge(&found, &plain, tolerance);
        let (Some(problem), Some(_)) = (problem, other_problem) else {
            self.agree += 1;
            let (_, difference) = judge(&found, &Recording::open(subject.recording)?, tolerance);
            self.without_effect += usize::from(difference.is_none());
            return Ok(None);
        };
        Ok(Some(format!("{problem} ({:.1e} off)", relative.min(other))))
    }

    pub fn add(&mut self, other: &Tally) {
        self.agree += other.agree;
        self.without_effect += other.without_effect;
        self.refused += other.refused;
        self.unanswered += other.unanswered;
        self.problems.extend(other.problems.iter().cloned());
    }

    pub fn line(&self) -> String {
        let parts = [
            (self.agree, "agree"),
            (self.refused, "refused"),
            (self.without_effect, "of no effect"),
            (self.unanswered, "not run by ONNX Runtime"),
        ];
        let parts = parts.iter().map(|(count, text)| format!("{count} {text}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        match self.problems.len() {
            0 => format!("{GOOD}right{GOOD:#} {DIM}{parts}{DIM:#}"),
            wrong => format!("{BAD}{wrong} wrong{BAD:#} {DIM}{parts}{DIM:#}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value as Json, json};

    use super::*;

    fn judged(is_fixed: bool, result: Json) -> Tally {
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
        };
        let change = Change {
            name: "w".to_owned(),
            folder: PathBuf::from(nowhere),
            fixed: [None, Some(is_fixed)],
            results: [Json::Null, result],
        };
        let mut tally = Tally::default();
        for storage in 0..STORAGES.len() {
            tally.judge(&change, storage, nowhere, subject).unwrap();
        }
        tally
    }

    #[test]
    fn what_the_code_depends_on_is_refused_by_its_name() {
        let named = json!({ "refused": "weight `w` .. whose code depends on its value: .." });
        let tally = judged(true, named.clone());
        assert_eq!((tally.refused, tally.problems.len()), (1, 0));
        let wrong = |is_fixed, result| judged(is_fixed, result).problems;
        assert_eq!(
            wrong(true, json!({})),
            ["embed: `w` is taken, though the code depends on it"]
        );
        assert_eq!(wrong(false, named).len(), 1);
        assert_eq!(
            wrong(true, json!({ "refused": "`m.onnx` differs" })).len(),
            1
        );
    }

    #[test]
    fn what_onnx_runtime_does_not_run_is_counted() {
        for result in [
            json!({ "died": "panics" }),
            json!({ "refused": "cannot load the model: .." }),
        ] {
            let tally = judged(false, result);
            assert_eq!((tally.unanswered, tally.problems.len()), (1, 0));
        }
    }
}
