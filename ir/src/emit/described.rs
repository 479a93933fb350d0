//! What the documentation of the generated items says.

use proc_macro2::Ident;

use super::item::Item;
use super::signature::Port;
use crate::diagnostics::{plain, shown};
use crate::metadata::Metadata;
use crate::model::Model;
use crate::options::{Options, Weights};
use crate::rust::{Code, code};

/// A function lists no more inputs or outputs than this; others stand at their struct.
const LISTED: usize = 6;
/// Classes that are named.
const CLASSES: usize = 5;
/// Letters of the file's own documentation that are shown.
const WORDS: usize = 4000;

/// The items that documentation names.
pub struct Described<'a> {
    pub item: &'a Item,
    /// The structs of inputs and outputs.
    pub input: &'a Ident,
    pub output: &'a Ident,
    pub inputs: &'a [Port],
    pub outputs: &'a [Port],
}

impl Described<'_> {
    /// Of the model: where it comes from, its inputs and outputs, and how it is used.
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

    /// Of `forward`: what it takes and gives, and when it panics.
    pub fn forward(&self) -> Code {
        let (inputs, outputs) = (list(self.inputs, self.input), list(self.outputs, self.output));
        let mut lines = vec![match self.inputs {
            [] => format!("Runs the model: {outputs}."),
            _ => format!("Runs the model: {inputs} → {outputs}."),
        }];
        if self.inputs.iter().any(Port::is_converted) {
            lines.extend([
                "".to_owned(),
                "Tensors of other element types are converted to these; [`OnnxModel::run`] refuses them."
                    .to_owned(),
            ]);
        }
        lines.extend(["".to_owned(), "# Panics".to_owned(), "".to_owned()]);
        lines.push(format!("{} [`try_forward`](Self::try_forward) gives an error instead.", self.failures()));
        documentation(lines)
    }

    /// When a run fails.
    pub fn failures(&self) -> String {
        match self.inputs {
            [] => "If a node cannot be run.".to_owned(),
            [only] => match only.sizes() {
                Some(sizes) => {
                    let name = only.span();
                    format!("If {name} is not {sizes}, or a node cannot be run on the data.")
                }
                None => "If a node cannot be run on the data.".to_owned(),
            },
            _ => "If inputs have other sizes, or a node cannot be run on the data.".to_owned(),
        }
    }

    /// A use of the model with its own names.
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
            several if several.len() <= LISTED => fields(self.input, several),
            _ => "input".to_owned(),
        };
        let output = match self.outputs {
            [only] => only.ident.to_string(),
            several if (2..=LISTED).contains(&several.len()) => fields(self.output, several),
            _ => "output".to_owned(),
        };
        vec![format!("let model = {loaded};"), format!("let {output} = model.forward({input});")]
    }
}

/// `#[doc = ".."]` for each line.
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

/// A name of the file as code, in one line.
pub fn span(name: &str) -> String {
    let name = shown(name);
    if name.contains('`') {
        // As many as no name has in a row.
        let fence = "`".repeat(longest(&name, '`') + 1);
        format!("{fence} {name} {fence}")
    } else {
        format!("`{name}`")
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The inputs or outputs in words, or where they are listed.
fn list(ports: &[Port], several: &Ident) -> String {
    if ports.is_empty() || ports.len() > LISTED {
        return format!("[`{several}`]");
    }
    let port = |port: &Port| format!("{}: {}", port.span(), plain(&port.ty.to_string()));
    let ports: Vec<String> = ports.iter().map(port).collect();
    ports.join(", ")
}

/// How many numbers the weights are, and the classes, where there are any.
fn counted(weights: usize, labels: &[String]) -> String {
    let mut sentences = Vec::new();
    match weights {
        0 => {}
        1 => sentences.push("Its weight is 1 number.".to_owned()),
        many => sentences.push(format!("Its weights are {} numbers.", thousands(many))),
    }
    if !labels.is_empty() {
        let named: Vec<String> = labels.iter().take(CLASSES).map(|label| span(label)).collect();
        let more = if labels.len() > CLASSES { ", .." } else { "" };
        let (count, named) = (thousands(labels.len()), named.join(", "));
        sentences.push(format!("`LABELS` has the names of {count} classes: {named}{more}."));
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

/// What the file says in its own words: text in a fence that none of its lines ends, so that nothing of it is
/// an example that rustdoc runs.
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
    let mut lines = vec![String::new(), "The file says:".to_owned(), String::new()];
    lines.push(format!("{fence}text"));
    lines.extend(words.lines().map(str::to_owned));
    lines.push(fence);
    lines
}

/// The most of a letter in a row.
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
