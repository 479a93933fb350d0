//! Parses the header of a model, and its functions.

use super::Error;
use super::parser::Parser;
use super::tokens::Token;
use crate::proto::{FunctionProto, ModelProto, OperatorSetIdProto};

impl Parser<'_> {
    /// Parses `<header> graph function*`.
    pub(super) fn model(&mut self) -> Result<ModelProto, Error> {
        let mut model = ModelProto::default();
        if self.accept('<') {
            self.list('>', |parser| parser.model_property(&mut model))?;
        }
        model.graph = Some(self.graph()?);
        while self.peek() != Token::End {
            model.functions.push(self.function()?);
        }
        Ok(model)
    }

    fn model_property(&mut self, model: &mut ModelProto) -> Result<(), Error> {
        let start = self.start();
        let key = self.identifier()?;
        self.expect(':')?;
        match key {
            "ir_version" => model.ir_version = Some(self.integer()?),
            "opset_import" => model.opset_import = self.operator_sets()?,
            "producer_name" => model.producer_name = self.quoted()?,
            "producer_version" => model.producer_version = self.quoted()?,
            "domain" => model.domain = self.quoted()?,
            "model_version" => model.model_version = Some(self.integer()?),
            "doc_string" => model.doc_string = self.quoted()?.into_bytes().into(),
            "metadata_props" => {
                self.expect('[')?;
                model.metadata_props = self.entries(']')?;
            }
            _ => {
                let message = format!(
                    "unknown model property `{key}`, expected `ir_version`, `opset_import`, `producer_name`, \
                     `producer_version`, `domain`, `model_version`, `doc_string` or `metadata_props`"
                );
                return Err(self.error_at(start, message));
            }
        }
        Ok(())
    }

    /// Parses `<header> name <attributes> (inputs) => (outputs) <inner values> { nodes }`.
    fn function(&mut self) -> Result<FunctionProto, Error> {
        let mut function = FunctionProto::default();
        if self.accept('<') {
            self.list('>', |parser| parser.function_property(&mut function))?;
        }
        function.name = self.name()?;
        if self.accept('<') {
            self.list('>', |parser| parser.function_attribute(&mut function))?;
        }
        self.expect('(')?;
        function.input = self.function_values(&mut function)?;
        self.expect_arrow()?;
        self.expect('(')?;
        function.output = self.function_values(&mut function)?;
        if self.accept('<') {
            function.value_info.extend(self.value_infos('>')?);
        }
        function.node = self.nodes()?;
        Ok(function)
    }

    fn function_property(&mut self, function: &mut FunctionProto) -> Result<(), Error> {
        let start = self.start();
        let key = self.identifier()?;
        self.expect(':')?;
        match key {
            "domain" => function.domain = self.quoted()?,
            "overload" => function.overload = self.quoted()?,
            "opset_import" => function.opset_import = self.operator_sets()?,
            "doc_string" => {
                self.quoted()?;
            }
            _ => {
                let message = format!(
                    "unknown function property `{key}`, expected `domain`, `overload`, `opset_import` or `doc_string`"
                );
                return Err(self.error_at(start, message));
            }
        }
        Ok(())
    }

    /// Parses the name of an attribute, or an attribute with a default value.
    fn function_attribute(&mut self, function: &mut FunctionProto) -> Result<(), Error> {
        let name = self.name()?;
        if self.at(':') || self.at('=') {
            function.attribute_proto.push(self.attribute(name)?);
        } else {
            function.attribute.push(name);
        }
        Ok(())
    }

    /// Parses names. Their types, if specified, become inner values of the function.
    fn function_values(&mut self, function: &mut FunctionProto) -> Result<Vec<String>, Error> {
        let values = self.value_infos(')')?;
        let names = values.iter().map(|value| value.name.clone()).collect();
        function.value_info.extend(values.into_iter().filter(|value| value.r#type.is_some()));
        Ok(names)
    }

    fn operator_sets(&mut self) -> Result<Vec<OperatorSetIdProto>, Error> {
        let mut sets = Vec::new();
        self.expect('[')?;
        self.list(']', |parser| {
            let domain = parser.quoted()?;
            parser.expect(':')?;
            sets.push(OperatorSetIdProto { domain, version: Some(parser.integer()?) });
            Ok(())
        })?;
        Ok(sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Parser::new(text).model().unwrap_err().to_string()
    }

    #[test]
    fn the_header_is_read() {
        let text = r#"
            <
              ir_version: 8, opset_import: ["": 18, "ai.onnx.ml" : 3], producer_name: "me",
              producer_version: "1", domain: "d", model_version: 5, doc_string: "says \"hi\"",
              metadata_props: ["author": "A", "k": "v"]
            >
            g () => () {}"#;
        let model = Parser::new(text).model().unwrap();
        assert_eq!(model.ir_version, Some(8));
        let opsets: Vec<_> = model.opset_import.iter().map(|set| (&*set.domain, set.version)).collect();
        assert_eq!(opsets, [("", Some(18)), ("ai.onnx.ml", Some(3))]);
        assert_eq!((&*model.producer_name, &*model.producer_version), ("me", "1"));
        assert_eq!((&*model.domain, model.model_version), ("d", Some(5)));
        assert_eq!(model.metadata_props[1].value, "v");
        assert_eq!(&*model.doc_string, b"says \"hi\"");
    }

    #[test]
    fn functions_follow_the_graph() {
        let text = r#"
            g (float[N] x) => (float[N] y) { y = f.Scale <factor = 2.0> (x) }
            <domain: "f", overload: "o", opset_import: ["": 18]>
            Scale <factor, bias: float = 0.5> (float[N] x) => (y) <float[N] t> {
              c = Constant <value_float: float = @factor> ()
              t = Mul (x, c)
              y = Identity (t)
            }
            <domain: "f"> Other (a) => (b) { b = Neg (a) }"#;
        let functions = Parser::new(text).model().unwrap().functions;
        let names: Vec<_> = functions.iter().map(|function| &*function.name).collect();
        assert_eq!(names, ["Scale", "Other"]);
        let scale = &functions[0];
        assert_eq!((&*scale.domain, &*scale.overload), ("f", "o"));
        assert_eq!(scale.attribute, ["factor"]);
        assert_eq!(scale.attribute_proto[0].f, Some(0.5));
        assert_eq!((&scale.input[..], &scale.output[..]), (&["x".into()][..], &["y".into()][..]));
        let typed: Vec<_> = scale.value_info.iter().map(|value| &*value.name).collect();
        assert_eq!(typed, ["x", "t"]);
        assert_eq!(scale.node[0].attribute[0].ref_attr_name, "factor");
    }

    #[test]
    fn an_unknown_property_is_an_error() {
        let model = error("<ir: 8> g () => () {}");
        assert!(model.starts_with("line 1, column 2: unknown model property `ir`, expected"), "{model}");
        let function = error("g () => () {} <ir_version: 8> f () => () {}");
        let expected = "line 1, column 16: unknown function property `ir_version`, expected";
        assert!(function.starts_with(expected), "{function}");
    }
}
