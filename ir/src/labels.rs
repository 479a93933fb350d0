//! Names of the classes of a classifier.

mod literal;

use std::collections::BTreeSet;

use crate::proto::{GraphProto, ModelProto, NodeProto};
use literal::Literal;

/// Properties that may contain the names. The first one that does is used.
const KEYS: [&str; 6] = ["names", "labels", "classes", "class_names", "class_labels", "id2label"];
/// Attributes of operators of `ai.onnx.ml` that may contain the names.
const ATTRIBUTES: [&str; 3] = ["classlabels_strings", "classlabels_int64s", "classlabels_ints"];
/// Maximum number of classes.
const MAX_LABELS: usize = 32_768;
/// Maximum number of bytes of all names.
const TEXT: usize = 1 << 20;
/// Maximum length of a property that is read, in bytes.
const MAX_PROPERTY_LEN: usize = 4 << 20;

/// Returns the name of each class by its number, empty if the file has none.
pub fn find(message: &ModelProto) -> Vec<String> {
    let properties = KEYS.iter().filter_map(|key| {
        let mut entries = message.metadata_props.iter();
        let entry = entries.find(|entry| entry.key.eq_ignore_ascii_case(key))?;
        parse(&entry.value)
    });
    let classifier = || message.graph.as_ref().and_then(of_classifier);
    let labels = properties.into_iter().next().or_else(classifier);
    labels.filter(|labels| is_fit(labels)).unwrap_or_default()
}

/// Parses names: a list or dictionary of JSON or Python, or names separated by lines or commas.
fn parse(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if text.len() > MAX_PROPERTY_LEN {
        return None;
    }
    if text.starts_with(['[', '(', '{']) {
        return match literal::parse(text)? {
            Literal::List(items) => Some(items),
            Literal::Map(entries) => numbered(entries),
        };
    }
    let separator = if text.contains('\n') { '\n' } else { ',' };
    let names: Vec<String> = text.split(separator).map(|name| name.trim().to_owned()).collect();
    (names.len() > 1 && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// Orders names by their numbers, which are keys or values. A number without a name has an empty one.
fn numbered(entries: Vec<(String, String)>) -> Option<Vec<String>> {
    let by_key = entries.iter().map(|(key, name)| Some((key.parse().ok()?, name)));
    let by_value = || entries.iter().map(|(name, key)| Some((key.parse().ok()?, name)));
    let numbered: Option<Vec<(usize, &String)>> = by_key.collect();
    let numbered = numbered.or_else(|| by_value().collect())?;
    let last = numbered.iter().map(|(number, _)| *number).max()?;
    if last > 2 * numbered.len() || last >= MAX_LABELS {
        return None;
    }
    let mut names = vec![String::new(); last + 1];
    for (number, name) in numbered {
        if let Some(slot) = names.get_mut(number) {
            slot.clone_from(name);
        }
    }
    Some(names)
}

/// Returns the class names of a classifier whose result is an output, directly or through a few nodes.
fn of_classifier(graph: &GraphProto) -> Option<Vec<String>> {
    let mut wanted: BTreeSet<&str> = graph.output.iter().map(|output| &*output.name).collect();
    let mut nodes = graph.node.iter().rev();
    nodes.find_map(|node| {
        let gives = |name: &String| !name.is_empty() && wanted.contains(name.as_str());
        if !node.output.iter().any(gives) {
            return None;
        }
        let labels = of_node(node);
        if labels.is_none() {
            wanted.extend(node.input.iter().map(String::as_str));
        }
        labels
    })
}

fn of_node(node: &NodeProto) -> Option<Vec<String>> {
    if node.domain != "ai.onnx.ml" {
        return None;
    }
    let attributes = ATTRIBUTES.iter().filter_map(|name| {
        let attribute = node.attribute.iter().find(|attribute| attribute.name == *name)?;
        let strings = attribute.strings().iter();
        let strings = strings.map(|text| String::from_utf8_lossy(text).into_owned());
        let numbers = attribute.ints().iter().map(i64::to_string);
        Some(strings.chain(numbers).take(MAX_LABELS + 1).collect())
    });
    let mut labels = attributes.filter(|labels: &Vec<String>| !labels.is_empty());
    labels.next()
}

fn is_fit(labels: &[String]) -> bool {
    let bytes: usize = labels.iter().map(String::len).sum();
    labels.len() <= MAX_LABELS && bytes <= TEXT
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(header: &str, graph: &str, expected: Expect) {
        let text = format!("<ir_version: 8, opset_import: [\"\": 17, \"ai.onnx.ml\": 3]{header}> {graph}");
        let message = crate::text::model(&text).unwrap();
        expected.assert_eq(&format!("{:?}", find(&message)));
    }

    fn property(key: &str, value: &str, expected: Expect) {
        let header = format!(", metadata_props: [{key:?}: {value:?}]");
        check(&header, "g () => () {}", expected);
    }

    #[test]
    fn names_are_lists_and_dictionaries_of_python_and_json() {
        property("names", "{0: 'person', 1: \"it's\"}", expect![[r#"["person", "it's"]"#]]);
        property("names", r#"["a", "b,c", ]"#, expect![[r#"["a", "b,c"]"#]]);
        property("classes", "('a', 'b')", expect![[r#"["a", "b"]"#]]);
        property("id2label", r#"{"1": "dog", "0": "cat"}"#, expect![[r#"["cat", "dog"]"#]]);
        property("labels", r#"{"cat": 0, "dog": 2}"#, expect![[r#"["cat", "", "dog"]"#]]);
        property("Labels", "[0, 1, 2]", expect![[r#"["0", "1", "2"]"#]]);
    }

    #[test]
    fn names_stand_in_lines_or_between_commas() {
        property("labels", "cat, dog ,bird", expect![[r#"["cat", "dog", "bird"]"#]]);
        let lines = parse("sea, calm\nland\n").unwrap();
        assert_eq!(lines, ["sea, calm", "land"]);
    }

    #[test]
    fn other_texts_are_no_names() {
        property("classes", "80", expect!["[]"]);
        property("names", "{0: ['nested']}", expect!["[]"]);
        property("names", "{7: 'a', 1000000000: 'b'}", expect!["[]"]);
        property("names", "['a'", expect!["[]"]);
        property("names", "[", expect!["[]"]);
        property("author", "a, b", expect!["[]"]);
    }

    #[test]
    fn a_classifier_behind_an_output_has_names() {
        check(
            "",
            r#"g (float[N, 2] x) => (l, p) {
                other, q = ai.onnx.ml.LinearClassifier <classlabels_strings = ["no"], coefficients = [1.0, 1.0]> (x)
                l, s = ai.onnx.ml.LinearClassifier <classlabels_strings = ["a", "b"], coefficients = [1.0, 1.0, 1.0, 1.0]> (x)
                p = Identity (s)
            }"#,
            expect![[r#"["a", "b"]"#]],
        );
        check(
            "",
            r#"g (float[N, 2] x) => (p) {
                l, s = ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [3, 5]> (x)
                p = Softmax (s)
            }"#,
            expect![[r#"["3", "5"]"#]],
        );
    }
}
