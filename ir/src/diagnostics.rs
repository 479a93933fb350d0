//! Problems of a model, collected and merged.

mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

pub use text::{counted, plain, shortened, shown};

/// A problem that prevents a model from being compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    message: String,
    help: Option<Box<str>>,
    site: Option<Site>,
    cure: Option<Cure>,
    /// In a box, as errors should be small.
    topic: Box<Topic>,
}

/// Subject of a problem, for programs that explain it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Topic {
    /// A node, or the options.
    #[default]
    Node,
    /// The file is not an ONNX model, or not a whole one.
    Format(Format),
    /// The file needs a newer version of this compiler.
    Version,
    /// Weights in other files.
    ExternalData,
    /// An operator that is neither built in nor bound to a function, as in `com.acme.Foo`.
    Operator(String),
    /// The file contradicts itself, or is damaged.
    Inconsistency,
    /// A rank or a size is unknown at compile time.
    Shape,
    /// A defect of this compiler.
    Defect,
}

/// Format of a file that is not an ONNX model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    GitLfsPointer,
    Archive,
    Pickle,
    Keras,
    Gguf,
    TensorFlowLite,
    OnnxRuntime,
    Safetensors,
    Compressed,
    WebPage,
    Empty,
    /// Another format, or the beginning of a model.
    Unknown,
}

/// A change of the options that may solve a problem.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Cure {
    /// The name in the options that is wrong.
    Choice(String),
    /// The named sizes that would have to be 1.
    Ones(Box<[String]>),
    /// A function that computes the operator of the node.
    Function,
}

/// The node that has a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// `Conv` version 11, or `com.acme.Foo` version 1.
    pub operator: String,
    /// Name of the node, or of its first output.
    pub node: String,
}

/// All problems of a model, in the order in which they are found.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// Problems, each with the number of others that differ only in their node.
    problems: Vec<(Problem, usize)>,
    /// Indices of problems, by a hash of all their fields except the node.
    indices: BTreeMap<u64, usize>,
    /// Number of problems that were not kept.
    dropped: usize,
    /// IR version, opsets and producer of the file.
    facts: Option<String>,
}

/// Maximum number of problems that are listed. Further ones are counted.
const MAX_LISTED_PROBLEMS: usize = 20;
/// Maximum number of problems that are kept. Problems that differ only in their node count as one.
const MAX_KEPT_PROBLEMS: usize = 1000;

impl Problem {
    /// Creates a problem. The message begins in lower case, without a final period, with names in backticks.
    pub fn new(message: impl Into<String>) -> Self {
        Problem {
            message: text::message(message.into()),
            help: None,
            site: None,
            cure: None,
            topic: Box::default(),
        }
    }

    /// Creates the problem of a value that differs from what the operator or the compiler expects.
    pub fn expected(what: impl fmt::Display, found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Problem::new(format!("{what} is {found}, expected {expected}"))
    }

    /// Creates the problem of a part of the file that must exist.
    pub fn missing(what: impl fmt::Display) -> Self {
        Problem::new(format!("{what} is missing"))
    }

    /// Creates the problem of a defect of this compiler.
    pub fn defect(message: impl Into<String>) -> Self {
        Problem::new(message).help("report this bug in onnx-embed, with the model").about(Topic::Defect)
    }

    /// Adds an instruction that solves the problem.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(text::message(help.into()).into());
        self
    }

    /// Marks the problem of a file that contradicts itself, which only its exporter can solve.
    #[must_use]
    pub fn inconsistent(self) -> Self {
        self.help("the file is inconsistent; export the model again").about(Topic::Inconsistency)
    }

    /// Marks the problem of a file whose bytes were changed or cut.
    #[must_use]
    pub fn damaged(self) -> Self {
        self.help("the file is damaged; export or download it again").about(Topic::Inconsistency)
    }

    /// Sets the subject of the problem.
    #[must_use]
    pub fn about(self, topic: Topic) -> Self {
        Problem { topic: Box::new(topic), ..self }
    }

    /// Records the name in the caller's options that is wrong.
    #[must_use]
    pub fn choice(mut self, name: &str) -> Self {
        self.cure = Some(Cure::Choice(name.to_owned()));
        self
    }

    /// Records the named sizes that would have to be 1 to avoid the problem.
    #[must_use]
    pub fn unless_ones(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.cure = Some(Cure::Ones(names.into_iter().collect()));
        self
    }

    /// Records that the caller may bind a function to the operator.
    #[must_use]
    pub fn unless_bound(mut self) -> Self {
        self.cure = Some(Cure::Function);
        self
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the help.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub fn topic(&self) -> &Topic {
        &self.topic
    }

    pub fn site(&self) -> Option<&Site> {
        self.site.as_ref()
    }

    /// Returns a hash of all fields except the node.
    fn key(&self) -> u64 {
        let operator = self.site.as_ref().map(|site| &site.operator);
        let mut hash = DefaultHasher::new();
        (&self.message, &self.help, operator, &self.cure).hash(&mut hash);
        hash.finish()
    }

    /// Sets the node that has the problem, unless it is set already.
    #[must_use]
    pub fn at(mut self, site: Site) -> Self {
        self.site.get_or_insert(Site { operator: shown(&site.operator), node: shown(&site.node) });
        self
    }
}

impl Diagnostics {
    pub fn push(&mut self, problem: Problem) {
        self.add(problem, 0);
    }

    fn add(&mut self, problem: Problem, others: usize) {
        let next = self.problems.len();
        let index = *self.indices.entry(problem.key()).or_insert(next);
        match self.problems.get_mut(index) {
            Some(counted) => counted.1 += 1 + others,
            None if next < MAX_KEPT_PROBLEMS => self.problems.push((problem, others)),
            None => {
                self.indices.remove(&problem.key());
                self.dropped += 1 + others;
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the number of problems, including equal ones at other nodes.
    pub fn count(&self) -> usize {
        let kept = self.problems.iter().map(|(_, others)| 1 + others);
        kept.sum::<usize>() + self.dropped
    }

    /// Returns the first problem, if any.
    pub fn into_first(self) -> Option<Problem> {
        self.problems.into_iter().next().map(|(problem, _)| problem)
    }

    /// Returns the name in the caller's options that is the only problem.
    pub fn choice(&self) -> Option<&str> {
        match self.problems.as_slice() {
            [(only, 0)] => match only.cure.as_ref()? {
                Cure::Choice(name) => Some(name),
                Cure::Ones(_) | Cure::Function => None,
            },
            _ => None,
        }
    }

    /// Returns the named sizes that would have to be 1 to avoid every problem.
    pub fn ones(&self) -> Vec<String> {
        if self.dropped > 0 {
            return Vec::new();
        }
        let problems = self.problems.iter();
        let names = problems.map(|(problem, _)| match &problem.cure {
            Some(Cure::Ones(names)) => Some(names.iter().cloned()),
            _ => None,
        });
        let names: Option<Vec<_>> = names.collect();
        names.into_iter().flatten().flatten().collect()
    }

    pub fn extend(&mut self, others: Diagnostics) {
        self.dropped += others.dropped;
        for (problem, more) in others.problems {
            self.add(problem, more);
        }
    }

    /// Keeps only the problems of operators to which the caller may bind functions.
    pub fn retain_unbound(mut self) -> Self {
        self.problems.retain(|(problem, _)| problem.cure == Some(Cure::Function));
        self.indices = (0usize..).zip(&self.problems).map(|(at, (problem, _))| (problem.key(), at)).collect();
        self
    }

    pub fn set_facts(&mut self, facts: String) {
        self.facts = Some(text::message(facts));
    }

    /// Returns the problems, with those that differ only in their node merged and the number of further nodes.
    pub fn listed(&self) -> impl Iterator<Item = (&Problem, usize)> {
        self.merged().into_iter()
    }

    /// Returns the messages of the problems without nodes and help, equal ones once.
    pub fn messages(&self) -> Vec<&str> {
        let merged = self.merged().into_iter();
        merged.map(|(problem, _)| problem.message.as_str()).collect()
    }

    /// Returns the whole text, beginning with the model's name.
    pub fn report(&self, model: &str) -> String {
        let merged = self.merged();
        let model = shown(model);
        let mut text = match merged.len() + self.dropped {
            1 => format!("cannot compile `{model}`"),
            count => format!("cannot compile `{model}`: {count} problems"),
        };
        for (problem, others) in merged.iter().take(MAX_LISTED_PROBLEMS) {
            text.push_str("\n\n  ");
            text.push_str(&problem.message.replace('\n', "\n  "));
            if let Some(site) = &problem.site {
                text.push_str(&format!("\n    at node `{}`", site.node));
                if *others > 0 {
                    text.push_str(&format!(" and {others} more"));
                }
                text.push_str(&format!(" ({})", site.operator));
            }
            if let Some(help) = &problem.help {
                text.push_str(&format!("\n    help: {}", help.replace('\n', "\n          ")));
            }
        }
        let further = merged.len().saturating_sub(MAX_LISTED_PROBLEMS) + self.dropped;
        if further > 0 {
            text.push_str(&format!("\n\n  and {}", counted(further, "more problems")));
        }
        if let Some(facts) = &self.facts {
            text.push_str(&format!("\n\n  model: {facts}"));
        }
        text
    }

    /// Merges problems that differ only in their node, with the number of further nodes.
    fn merged(&self) -> Vec<(&Problem, usize)> {
        let mut merged: Vec<(&Problem, usize)> = Vec::new();
        let mut indices = BTreeMap::new();
        for (problem, others) in &self.problems {
            let operator = problem.site.as_ref().map(|site| &site.operator);
            let index = *indices.entry((&problem.message, &problem.help, operator)).or_insert(merged.len());
            match merged.get_mut(index) {
                Some(counted) => counted.1 += 1 + others,
                None => merged.push((problem, *others)),
            }
        }
        merged
    }
}

impl From<Problem> for Diagnostics {
    fn from(problem: Problem) -> Self {
        let mut all = Diagnostics::default();
        all.push(problem);
        all
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn of_very_many_problems_the_first_are_kept() {
        let mut all = Diagnostics::default();
        for number in 0..2 * MAX_KEPT_PROBLEMS {
            all.push(Problem::new(format!("problem {number}")));
        }
        assert_eq!((all.count(), all.messages().len()), (2 * MAX_KEPT_PROBLEMS, MAX_KEPT_PROBLEMS));
        assert!(all.report("m").ends_with("and 1980 more problems"));
    }

    #[test]
    fn equal_problems_are_merged() {
        let mut all = Diagnostics::default();
        for node in ["a", "b", "c"] {
            let site = Site { operator: "Foo version 1".into(), node: node.into() };
            all.push(Problem::new("operator `Foo` is not supported").help("say so").at(site));
        }
        all.push(Problem::new("no graph"));
        all.set_facts("IR 8, opset ai.onnx 17".into());
        expect![[r#"
            cannot compile `m.onnx`: 2 problems

              operator `Foo` is not supported
                at node `a` and 2 more (Foo version 1)
                help: say so

              no graph

              model: IR 8, opset ai.onnx 17"#]]
        .assert_eq(&all.report("m.onnx"));
    }
}
