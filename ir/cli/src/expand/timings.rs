//! The time of each step of the macro.

use std::fmt;
use std::time::{Duration, Instant};

use onnx_embed_harness::style::{DIM, HEADING};
use serde_json::{Value as Json, json};

/// Times of steps that follow each other.
#[derive(Debug)]
pub struct Timings {
    /// End of the last step.
    last: Instant,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    time: Duration,
    /// Number of nodes of the main graph after the step.
    nodes: Option<usize>,
}

impl Timings {
    /// The first step begins.
    pub fn new() -> Self {
        Timings { last: Instant::now(), steps: Vec::new() }
    }

    /// A step ends, and the next one begins.
    pub fn end(&mut self, name: &'static str, nodes: Option<usize>) {
        let now = Instant::now();
        self.steps.push(Step { name, time: now.duration_since(self.last), nodes });
        self.last = now;
    }

    pub fn json(&self) -> Json {
        let steps = self.steps.iter();
        steps
            .map(|Step { name, time, nodes }| json!({ "step": name, "seconds": time.as_secs_f64(), "nodes": nodes }))
            .collect()
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        let line = |name: &str, time: Duration| format!("{name:width$}  {:9.3} ms", time.as_secs_f64() * 1e3);
        for Step { name, time, nodes } in &self.steps {
            let nodes = nodes.map(|nodes| format!("  {DIM}{nodes} nodes{DIM:#}")).unwrap_or_default();
            writeln!(f, "{}{nodes}", line(name, *time))?;
        }
        let all = self.steps.iter().map(|step| step.time).sum();
        writeln!(f, "{HEADING}{}{HEADING:#}", line("all", all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_listed_with_their_sum() {
        let mut timings = Timings::new();
        timings.end("read", Some(3));
        timings.end("emit", None);
        let text = timings.to_string();
        let names: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names.len(), 3);
        assert!(text.contains("3 nodes"), "{text}");
        let json = timings.json();
        assert_eq!(
            (&json[0]["step"], &json[0]["nodes"], &json[1]["nodes"]),
            (&json!("read"), &json!(3), &Json::Null)
        );
        let sum: Duration = timings.steps.iter().map(|step| step.time).sum();
        assert!(text.contains(&format!("{:.3} ms", sum.as_secs_f64() * 1e3)), "{text}");
    }
}
