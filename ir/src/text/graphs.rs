//! Parses graphs and their nodes.

use super::Error;
use super::parser::Parser;
use super::tokens::Token;
use crate::proto::{GraphProto, NodeProto, TensorProto, ValueInfoProto};

impl Parser<'_> {
    /// Parses `name (inputs) => (outputs) <constants and inner values> { nodes }`.
    pub(super) fn graph(&mut self) -> Result<GraphProto, Error> {
        let name = self.name()?;
        self.graph_named(name)
    }

    /// Parses a graph after its name.
    pub(super) fn graph_named(&mut self, name: String) -> Result<GraphProto, Error> {
        let mut graph = GraphProto { name, ..Default::default() };
        if self.accept('(') {
            self.list(')', |parser| {
                let value = parser.value_info()?;
                if parser.accept('=') {
                    graph.initializer.push(parser.initializer(&value)?);
                }
                graph.input.push(value);
                Ok(())
            })?;
        }
        self.expect_arrow()?;
        self.expect('(')?;
        graph.output = self.value_infos(')')?;
        if self.accept('<') {
            self.list('>', |parser| {
                let value = parser.value_info()?;
                if parser.accept('=') {
                    graph.initializer.push(parser.initializer(&value)?);
                } else {
                    graph.value_info.push(value);
                }
                Ok(())
            })?;
        }
        graph.node = self.nodes()?;
        Ok(graph)
    }

    pub(super) fn nodes(&mut self) -> Result<Vec<NodeProto>, Error> {
        self.expect('{')?;
        let mut nodes = Vec::new();
        while !self.accept('}') {
            nodes.push(self.node()?);
        }
        Ok(nodes)
    }

    fn initializer(&mut self, value: &ValueInfoProto) -> Result<TensorProto, Error> {
        let Some(value_type) = &value.r#type else {
            return Err(self.error(format!("constant `{}` requires a type", value.name)));
        };
        self.tensor(value.name.clone(), value_type)
    }

    /// Parses `[label] outputs = domain.Operator:overload <attributes> (inputs)`. The attributes may also be last.
    fn node(&mut self) -> Result<NodeProto, Error> {
        let mut node = NodeProto::default();
        if self.accept('[') {
            if !self.at(']') {
                node.name = self.name()?;
            }
            self.expect(']')?;
        }
        node.output = self.value_names()?;
        self.expect('=')?;
        let mut path = vec![self.identifier()?];
        while self.accept('.') {
            path.push(self.identifier()?);
        }
        node.op_type = path.pop().unwrap_or_default().to_owned();
        node.domain = path.join(".");
        if self.accept(':') {
            node.overload = self.identifier()?.to_owned();
        }
        node.attribute = self.attributes()?;
        self.expect('(')?;
        node.input = self.value_names()?;
        self.expect(')')?;
        if node.attribute.is_empty() {
            node.attribute = self.attributes()?;
        }
        Ok(node)
    }

    /// Parses names that are separated by commas. An omitted name before a comma is empty; a comma may follow the last
    /// name.
    fn value_names(&mut self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        loop {
            match self.peek() {
                Token::Identifier(_) | Token::Quoted(_) => names.push(self.name()?),
                Token::Mark(',') => names.push(String::new()),
                _ => return Ok(names),
            }
            if !self.accept(',') {
                return Ok(names);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Prints the parts of each node.
    fn check(text: &str, expected: Expect) {
        let show = |node: &NodeProto| {
            let attributes: Vec<_> = node.attribute.iter().map(|a| &*a.name).collect();
            let NodeProto { name, output, domain, op_type, overload, input, .. } = node;
            format!("{name:?} {output:?} {domain:?} {op_type}:{overload} {attributes:?} {input:?}")
        };
        expected.assert_eq(&match Parser::new(text).nodes() {
            Ok(nodes) => nodes.iter().map(show).collect::<Vec<_>>().join("\n"),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn a_node_has_a_label_outputs_a_domain_and_inputs() {
        check(
            r#"{ [n] y, "a/b" = com.acme.Op:v2 <k = 1> (x, "c d") }"#,
            expect![[r#""n" ["y", "a/b"] "com.acme" Op:v2 ["k"] ["x", "c d"]"#]],
        );
    }

    #[test]
    fn attributes_may_come_last() {
        check(
            "{ y = Op (x) <k = 1> z = Op () }",
            expect![[r#"
            "" ["y"] "" Op: ["k"] ["x"]
            "" ["z"] "" Op: [] []"#]],
        );
    }

    #[test]
    fn empty_names_stand_for_absent_values() {
        check(r#"{ y = Op (,x) }"#, expect![[r#""" ["y"] "" Op: [] ["", "x"]"#]]);
        check(r#"{ y = Op ("", x) }"#, expect![[r#""" ["y"] "" Op: [] ["", "x"]"#]]);
        check(r#"{ y,,z = Op (x,) }"#, expect![[r#""" ["y", "", "z"] "" Op: [] ["x"]"#]]);
    }

    #[test]
    fn errors_name_what_was_found() {
        check("{ y = Op x }", expect!["line 1, column 10: expected `(`, found `x`"]);
        check("{ y = Op (x)", expect!["line 1, column 13: expected `=`, found the end of the text"]);
        check("{ y = (x) }", expect!["line 1, column 7: expected an identifier, found `(`"]);
    }

    #[test]
    fn constants_stand_among_inputs_or_inner_values() {
        let text = "g (float[1] x = {1}, float y) => (float z) <float[1] w = {2}, int64[N] v> {}";
        let graph = Parser::new(text).graph().unwrap();
        let constants: Vec<_> = graph.initializer.iter().map(|tensor| &*tensor.name).collect();
        assert_eq!(constants, ["x", "w"]);
        assert_eq!((graph.input.len(), graph.value_info.len()), (2, 1));
        assert_eq!(graph.value_info[0].name, "v");
    }

    #[test]
    fn a_constant_needs_a_type() {
        let error = Parser::new("g (x = {1}) => () {}").graph().unwrap_err();
        assert_eq!(error.to_string(), "line 1, column 8: constant `x` requires a type");
    }
}
