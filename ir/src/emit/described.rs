//! Documentation of the generated items.

use proc_macro2::Ident;

use super::item::Item;
use super::signature::Port;
use crate::diagnostics::{plain, shown};
use crate::metadata::Metadata;
use crate::model::Model;
use crate::options::{Options, Weights};
use crate::rust::{Code, code};

/// Maximum number of inputs or outputs in the documentation of a function. More are documented in their struct.
const MAX_LISTED_PORTS: usize = 6;
/// Maximum number of class names.
const CLASSES: usize = 5;
/// Maximum number of characters of the file's own documentation.
const WORDS: usize = 4000;

/// Names and ports that the documentation refers to.
pub struct Described<'a> {
    pub item: &'a Item,
    /// Names of the structs of inputs and outputs.
    pub input: &'a Ident,
    pub output: &'a Ident,
    pub inputs: &'a [Port],
    pub outputs: &'a [Port],
}

impl Described<'_> {
    /// Returns the documentation of the model: its file, inputs, outputs and usage.
    pub fn model(&self, model: &Model, weights: usize, options: &Options) -> Code {
        let mut lines = Vec::new();
        if !self.item.attributes.is_empty() {
            lines.push(String::new());
        }
        let (file, facts) = (shown(&self.item.file), plain(&model.facts.to_string()));
        let facts = facts.replace('\n', " ");
        lines.push(format!("Compiled from `{file}`: {facts}."));
        if !self.inputs.is_empty() || !self.outputs.is_empty() {
            lines.extend(["", "| | name | type |", "| --- | --- | --- |"].map(str::to_owned));
        }
        for (what, ports) in [("input", self.inputs), ("output", self.outputs)] {
            let row = |port: &Port| {
                let (name, ty) = (port.span(), port.spelled());
                format!("| {what} | {} | {} |", cell(&name), cell(&ty))
            };
            lines.extend(ports.iter().map(row));
        }
        let counted = counted(weights, &model.facts.labels);
        if !counted.is_empty() {
            lines.extend(["".to_owned(), counted]);
        }
        lines.extend(["".to_owned(), "```text".to_owned()]);
        lines.extend(self.usage(options));
        lines.push("```".to_owned());
        lines.extend(own(&model.facts.metadata));
        documentation(lines)
    }

    /// Returns the documentation of `forward`: inputs, outputs and panics.
    pub fn forward(&self) -> Code {
        let (inputs, outputs) = (list(self.inputs, self.input), list(self.outputs, self.output));
        let mut lines = vec![match self.inputs {
            [] => format!("Runs the model: {outputs}."),
            _ => format!("Runs the model: {inputs} → {outputs}."),
        }];
        if self.inputs.iter().any(Port::is_converted) {
            lines.extend([
                "".to_owned(),
                "Tensors of other element types are converted; [`OnnxModel::run`] returns an error for them."
                    .to_owned(),
            ]);
        }
        lines.extend(["".to_owned(), "# Panics".to_owned(), "".to_owned()]);
        lines.push(format!(
            "{} [`try_forward`](Self::try_forward) returns an error instead.",
            self.failures()
        ));
        documentation(lines)
    }

    /// Returns a sentence that describes when a run fails.
    pub fn failures(&self) -> String {
        match self.inputs {
            [] => "If a node fails.".to_owned(),
            [only] => match only.sizes() {
                Some(sizes) => {
                    let name = only.span();
                    format!("If {name} does not have {sizes}, or if a node cannot process the data.")
                }
                None => "If a node cannot process the data.".to_owned(),
            },
            _ => "If an input has a wrong shape, or if a node cannot process the data.".to_owned(),
        }
    }

    /// Returns an example with the model's own names.
    fn usage(&self, options: &Options) -> Vec<String> {
        let name = self.item.name.to_string();
        let loaded = match options.weights {
            Weights::Embed => format!("{name}::new(&Device::default())"),
            Weights::File => {
                let file = shown(&self.item.file);
                format!("{name}::from_file({file:?}, &Device::default())?")
            }
        };
        let fields = |ident: &Ident, ports: &[Port]| {
            let names: Vec<String> = ports.iter().map(|port| port.ident.to_string()).collect();
            format!("{ident} {{ {} }}", names.join(", "))
        };
        let input = match self.inputs {
            [] => String::new(),
            [only] => only.ident.to_string(),
            several if several.len() <= MAX_LISTED_PORTS => fields(self.input, several),
            _ => "input".to_owned(),
        };
        let output = match self.outputs {
            [only] => only.ident.to_string(),
            several if (2..=MAX_LISTED_PORTS).contains(&several.len()) => fields(self.output, several),
            _ => "output".to_owned(),
        };
        vec![format!("let model = {loaded};"), format!("let {output} = model.forward({input});")]
    }
}

/// Returns `#[doc = ".."]` for each line.
pub fn documentation(lines: impl IntoIterator<Item = String>) -> Code {
    let line = |line: String| match line.as_str() {
        "" => code!(#[doc = ""]),
        _ => {
            let line = format!(" {line}");
            code!(#[doc = #line])
        }
    };
    lines.into_iter().map(line).collect()
}

/// Returns a name of the file as a code span, on one line.
pub fn span(name: &str) -> String {
    let name = shown(name);
    if name.contains('`') {
        // More backticks than the name has in a row.
        let fence = "`".repeat(longest(&name, '`') + 1);
        format!("{fence} {name} {fence}")
    } else {
        format!("`{name}`")
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Returns the inputs or outputs in words, or a link to their struct.
fn list(ports: &[Port], several: &Ident) -> String {
    if ports.is_empty() || ports.len() > MAX_LISTED_PORTS {
        return format!("[`{several}`]");
    }
    let port = |port: &Port| format!("{}: {}", port.span(), plain(&port.ty.to_string()));
    let ports: Vec<String> = ports.iter().map(port).collect();
    ports.join(", ")
}

/// Returns sentences with the number of elements in the weights, and the classes, if any.
fn counted(weights: usize, labels: &[String]) -> String {
    let mut sentences = Vec::new();
    match weights {
        0 => {}
        1 => sentences.push("Its weight has 1 element.".to_owned()),
        many => sentences.push(format!("Its weights have {} elements.", thousands(many))),
    }
    if !labels.is_empty() {
        let named: Vec<String> = labels.iter().take(CLASSES).map(|label| span(label)).collect();
        let more = if labels.len() > CLASSES { ", .." } else { "" };
        let named = named.join(", ");
        let names = match labels.len() {
            1 => "the name of the class".to_owned(),
            count => format!("the names of {} classes", thousands(count)),
        };
        sentences.push(format!("`LABELS` contains {names}: {named}{more}."));
    }
    sentences.join(" ")
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the file's own documentation in a fence that none of its lines can end, so that rustdoc does not run
/// examples from it.
fn own(metadata: &Metadata) -> Vec<String> {
    let words = metadata.doc.trim();
    if words.is_empty() {
        return Vec::new();
    }
    let mut words = match words.char_indices().nth(WORDS) {
        Some((end, _)) => words.get(..end).unwrap_or_default().to_owned() + "…",
        None => words.to_owned(),
    };
    words = plain(&words.replace("\r\n", "\n"));
    let fence = "`".repeat(longest(&words, '`').max(2) + 1);
    let mut lines = vec![String::new(), "Documentation in the file:".to_owned(), String::new()];
    lines.push(format!("{fence}text"));
    lines.extend(words.lines().map(str::to_owned));
    lines.push(fence);
    lines
}

/// Returns the length of the longest run of a character.
fn longest(text: &str, letter: char) -> usize {
    let runs = text.split(|other| other != letter).map(str::len);
    runs.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_thousands() {
        let numbers = [7, 999, 1000, 25_557_032].map(thousands);
        assert_eq!(numbers, ["7", "999", "1,000", "25,557,032"]);
    }

    #[test]
    fn a_name_stays_one_span_of_code() {
        assert_eq!(span("a/b"), "`a/b`");
        assert_eq!(span("a``b"), "``` a``b ```");
    }

    #[test]
    fn no_line_of_the_file_ends_its_fence() {
        let metadata = Metadata {
            doc: "first\n````\n```rust\npanic!()\n    indented".to_owned(),
            ..Metadata::default()
        };
        let lines = own(&metadata);
        assert_eq!(lines[3], "`````text");
        assert_eq!(lines.last().unwrap(), "`````");
        assert_eq!(lines.len(), 10);
    }
}
