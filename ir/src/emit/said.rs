//! Metadata of the file as constants of the model.

use proc_macro2::Literal;

use crate::model::Facts;
use crate::rust::{Code, code};

/// Returns `METADATA`, and `LABELS` if there are any.
pub fn constants(facts: &Facts) -> Code {
    let said = &facts.metadata;
    let text = |text: &str, field: fn(&str) -> Code| (!text.is_empty()).then(|| field(text));
    let number = |number: i64, field: fn(Literal) -> Code| {
        (number != 0).then(|| field(Literal::i64_unsuffixed(number)))
    };
    let entries = said.entries.iter().map(|(key, value)| code!((#key, #value)));
    let entries: Vec<Code> = entries.collect();
    let fields = [
        text(&said.producer, |text| code!(producer: #text,)),
        text(&said.producer_version, |text| code!(producer_version: #text,)),
        text(&said.domain, |text| code!(domain: #text,)),
        number(said.version, |number| code!(version: #number,)),
        text(&said.doc, |text| code!(doc: #text,)),
        text(&said.graph, |text| code!(graph: #text,)),
        number(facts.opsets.get("").copied().unwrap_or(0), |number| code!(opset: #number,)),
        (!entries.is_empty()).then(|| code!(entries: &[#(#entries),*],)),
    ];
    let fields = fields.into_iter().flatten();
    let labels = &facts.labels;
    let labels =
        (!labels.is_empty()).then(|| code!(const LABELS: &'static [&'static str] = &[#(#labels),*];));
    code! {
        const METADATA: Metadata = Metadata { #(#fields)* ..Metadata::EMPTY };

        #labels
    }
}
