//! Parses the attributes of nodes and functions.

use super::Error;
use super::parser::Parser;
use super::tokens::Token;
use crate::proto::{AttributeProto, AttributeType, Elements, GraphProto, List, TensorProto, TypeProto};

/// Types of single values and of lists, whose names have an `s` appended.
const KINDS: [(&str, AttributeType, AttributeType); 7] = [
    ("int", AttributeType::Int, AttributeType::Ints),
    ("float", AttributeType::Float, AttributeType::Floats),
    ("string", AttributeType::String, AttributeType::Strings),
    ("tensor", AttributeType::Tensor, AttributeType::Tensors),
    ("graph", AttributeType::Graph, AttributeType::Graphs),
    ("type_proto", AttributeType::TypeProto, AttributeType::TypeProtos),
    ("sparse_tensor", AttributeType::SparseTensor, AttributeType::SparseTensors),
];

enum Value {
    Int(i64),
    Float(f32),
    String(String),
    Tensor(TensorProto),
    Graph(GraphProto),
    Type(TypeProto),
}

impl Parser<'_> {
    /// Parses `<name = value, ..>`, if present.
    pub(super) fn attributes(&mut self) -> Result<Vec<AttributeProto>, Error> {
        let mut attributes = Vec::new();
        if self.accept('<') {
            self.list('>', |parser| {
                let name = parser.identifier()?.to_owned();
                attributes.push(parser.attribute(name)?);
                Ok(())
            })?;
        }
        Ok(attributes)
    }

    /// Parses `: type = value` after a name. The type is required only before an empty list.
    pub(super) fn attribute(&mut self, name: String) -> Result<AttributeProto, Error> {
        let declared = if self.accept(':') { Some(self.attribute_type()?) } else { None };
        self.expect('=')?;
        let mut attribute = AttributeProto { name, ..Default::default() };
        if self.accept('@') {
            attribute.ref_attr_name = self.name()?;
            attribute.r#type = declared.map(i32::from);
        } else if self.at('[') {
            let many = self.attribute_list(&mut attribute, declared)?;
            attribute.r#type = Some(many.into());
        } else {
            let (one, value) = self.value(declared)?;
            attribute.r#type = Some(one.into());
            store(&mut attribute, value);
        }
        Ok(attribute)
    }

    fn attribute_type(&mut self) -> Result<AttributeType, Error> {
        let Token::Identifier(word) = self.peek() else {
            return Err(self.expected("an attribute type"));
        };
        let found = KINDS.iter().find_map(|&(name, one, many)| match word.strip_prefix(name) {
            Some("") => Some(one),
            Some("s") => Some(many),
            _ => None,
        });
        let found = found.ok_or_else(|| self.expected("an attribute type"))?;
        self.take();
        Ok(found)
    }

    /// Fills the list and returns its type.
    fn attribute_list(
        &mut self,
        attribute: &mut AttributeProto,
        declared: Option<AttributeType>,
    ) -> Result<AttributeType, Error> {
        let start = self.start();
        let kind = |list| KINDS.iter().find(|(_, _, many)| *many == list);
        let mut element = match declared {
            None => None,
            Some(declared) => match kind(declared) {
                Some((_, one, _)) => Some(*one),
                None => {
                    let message = format!("expected a value of type `{}`, found a list", name(declared));
                    return Err(self.error_at(start, message));
                }
            },
        };
        self.expect('[')?;
        self.list(']', |parser| {
            let (one, value) = parser.value(element)?;
            element = Some(one);
            push(attribute, value);
            Ok(())
        })?;
        let kind = KINDS.iter().find(|(_, one, _)| Some(*one) == element);
        kind.map(|(_, _, many)| *many)
            .ok_or_else(|| self.error_at(start, "an empty list requires a type, such as `: ints`"))
    }

    /// Parses a value of the expected type. An integer may replace a float.
    fn value(&mut self, expected: Option<AttributeType>) -> Result<(AttributeType, Value), Error> {
        let start = self.start();
        let (found, value) = match self.peek() {
            Token::Integer(_) if expected != Some(AttributeType::Float) => {
                (AttributeType::Int, Value::Int(self.integer()?))
            }
            Token::Integer(_) | Token::Float(_) => (AttributeType::Float, Value::Float(self.float()?)),
            Token::Identifier(word) if word.parse::<f32>().is_ok() => {
                (AttributeType::Float, Value::Float(self.float()?))
            }
            Token::Quoted(_) => self.string_or_graph()?,
            _ if self.at_type() => self.type_or_tensor()?,
            Token::Identifier(_) => (AttributeType::Graph, Value::Graph(self.nested(Parser::graph)?)),
            _ => return Err(self.expected("an attribute value")),
        };
        match expected {
            Some(expected) if expected != found => {
                let (expected, found) = (name(expected), name(found));
                let message = format!("expected a value of type `{expected}`, found `{found}`");
                Err(self.error_at(start, message))
            }
            _ => Ok((found, value)),
        }
    }

    /// Parses text or a graph, whose name may be in quotes, too.
    fn string_or_graph(&mut self) -> Result<(AttributeType, Value), Error> {
        let text = self.quoted()?;
        if !self.at('(') && self.peek() != Token::Arrow {
            return Ok((AttributeType::String, Value::String(text)));
        }
        let graph = self.nested(|parser| parser.graph_named(text))?;
        Ok((AttributeType::Graph, Value::Graph(graph)))
    }

    fn type_or_tensor(&mut self) -> Result<(AttributeType, Value), Error> {
        let value_type = self.value_type()?;
        let name = match self.peek() {
            Token::Identifier(_) | Token::Quoted(_) => self.name()?,
            Token::Mark('{' | '=' | '[') => String::new(),
            _ => return Ok((AttributeType::TypeProto, Value::Type(value_type))),
        };
        self.accept('=');
        Ok((AttributeType::Tensor, Value::Tensor(self.tensor(name, &value_type)?)))
    }
}

fn store(attribute: &mut AttributeProto, value: Value) {
    match value {
        Value::Int(value) => attribute.i = Some(value),
        Value::Float(value) => attribute.f = Some(value),
        Value::String(value) => attribute.s = Some(value.into()),
        Value::Tensor(value) => attribute.t = Some(Box::new(value)),
        Value::Graph(value) => attribute.g = Some(Box::new(value)),
        Value::Type(value) => attribute.tp = Some(Box::new(value)),
    }
}

fn push(attribute: &mut AttributeProto, value: Value) {
    match value {
        Value::Int(value) => list(attribute, Elements::Ints(vec![value])),
        Value::Float(value) => list(attribute, Elements::Floats(vec![value])),
        Value::String(value) => list(attribute, Elements::Strings(vec![value.into()])),
        Value::Tensor(value) => attribute.tensors.push(value),
        Value::Graph(value) => attribute.graphs.push(value),
        Value::Type(value) => attribute.type_protos.push(value),
    }
}

/// Appends to the list, whose elements all have one type.
fn list(attribute: &mut AttributeProto, more: Elements) {
    let list = attribute.list.as_mut().map(|list| &mut list.elements);
    match (list, more) {
        (Some(Elements::Ints(ints)), Elements::Ints(more)) => ints.extend(more),
        (Some(Elements::Floats(floats)), Elements::Floats(more)) => floats.extend(more),
        (Some(Elements::Strings(strings)), Elements::Strings(more)) => strings.extend(more),
        (_, first) => attribute.list = Some(List::new(first)),
    }
}

fn name(attribute_type: AttributeType) -> String {
    let named = KINDS.iter().find_map(|&(name, one, many)| match attribute_type {
        _ if attribute_type == one => Some(name.to_owned()),
        _ if attribute_type == many => Some(format!("{name}s")),
        _ => None,
    });
    named.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> AttributeProto {
        Parser::new(text).attribute(String::new()).unwrap()
    }

    fn kind(attribute: &AttributeProto) -> AttributeType {
        attribute.r#type.unwrap().try_into().unwrap()
    }

    fn error(text: &str) -> String {
        Parser::new(text).attribute(String::new()).unwrap_err().to_string()
    }

    #[test]
    fn the_type_of_a_scalar_follows_from_its_form() {
        assert_eq!((kind(&parse("= 2")), parse("= 2").i), (AttributeType::Int, Some(2)));
        assert_eq!((kind(&parse("= 2.")), parse("= 2.").f), (AttributeType::Float, Some(2.0)));
        assert_eq!(parse("= -inf").f, Some(f32::NEG_INFINITY));
        assert_eq!(parse("= Infinity").f, Some(f32::INFINITY));
        assert_eq!(parse(r#"= "x""#).s.unwrap(), "x");
    }

    #[test]
    fn an_integer_is_a_float_where_a_float_is_declared() {
        assert_eq!(parse(": float = 2").f, Some(2.0));
        assert!(parse(": float = -0").f.unwrap().is_sign_negative());
        assert_eq!(parse(": floats = [1, 2.5]").floats(), [1.0, 2.5]);
    }

    #[test]
    fn lists_have_one_type() {
        assert_eq!(parse("= [1, -2]").ints(), [1, -2]);
        assert_eq!(parse(r#"= ["a", "b"]"#).strings(), ["a", "b"]);
        assert_eq!(parse("= [float[2] {1, 2}, int64 {3}]").tensors.len(), 2);
        assert_eq!(parse("= [seq(float), int64[]]").type_protos.len(), 2);
        assert_eq!(error("= [1, 2.5]"), "line 1, column 7: expected a value of type `int`, found `float`");
    }

    #[test]
    fn an_empty_list_has_a_declared_type() {
        assert_eq!(kind(&parse(": strings = []")), AttributeType::Strings);
        assert_eq!(error("= []"), "line 1, column 3: an empty list requires a type, such as `: ints`");
    }

    #[test]
    fn one_value_and_a_list_differ() {
        assert_eq!(error(": int = [1]"), "line 1, column 9: expected a value of type `int`, found a list");
        assert_eq!(error(": ints = 1"), "line 1, column 10: expected a value of type `ints`, found `int`");
    }

    #[test]
    fn tensors_may_have_a_name() {
        assert_eq!(parse("= float[1] {1}").t.unwrap().name, "");
        assert_eq!(parse("= float[1] w = {1}").t.unwrap().name, "w");
        assert_eq!(parse(r#"= float[1] "a/b" {1}"#).t.unwrap().name, "a/b");
    }

    #[test]
    fn a_type_without_values_is_a_type() {
        assert_eq!(kind(&parse("= optional(float[2])")), AttributeType::TypeProto);
    }

    #[test]
    fn references_name_an_attribute_of_the_function() {
        let attribute = parse(": float = @alpha");
        assert_eq!((kind(&attribute), &*attribute.ref_attr_name), (AttributeType::Float, "alpha"));
        assert_eq!(parse("= @alpha").r#type, None);
    }

    #[test]
    fn graphs_are_values() {
        let graph = parse("= body (float x) => (float y) { y = Neg (x) }").g.unwrap();
        assert_eq!((&*graph.name, graph.node.len()), ("body", 1));
    }

    #[test]
    fn graphs_may_have_their_name_in_quotes() {
        assert_eq!(parse(r#"= "a/b" () => () {}"#).g.unwrap().name, "a/b");
        assert_eq!(parse(r#"= "a/b" => () {}"#).g.unwrap().name, "a/b");
    }
}
