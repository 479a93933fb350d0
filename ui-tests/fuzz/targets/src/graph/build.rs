//! Models from choices: operators by their declarations, values that exist or not.

use arbitrary::{Result, Unstructured};
use onnx_embed_ir::ops::{Signs, arity};
use onnx_embed_ir::proto::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};

use super::schema::{SCHEMAS, Schema};
use super::tensor;

/// Opsets of models. Half of them have the newest.
const OPSETS: [i64; 10] = [25, 25, 25, 25, 25, 22, 18, 13, 9, 7];
/// Levels of graphs within graphs.
const MOST_LEVELS: usize = 2;
const MOST_NODES: usize = 8;
/// Maximum number of names for an input that takes any number.
const MOST_VARIADIC: usize = 3;

/// A graph while it is built.
pub struct Building<'c, 'b> {
    pub choices: &'c mut Unstructured<'b>,
    opset: i64,
    graph: GraphProto,
    /// Names that a node may read.
    known: Vec<String>,
    level: usize,
    /// Number of names, so that each is new.
    names: usize,
}

/// Builds a model.
pub fn model(choices: &mut Unstructured<'_>) -> Result<ModelProto> {
    let opset = *choices.choose(&OPSETS)?;
    let mut building =
        Building { choices, opset, graph: GraphProto::default(), known: Vec::new(), level: 0, names: 0 };
    building.nodes(MOST_NODES)?;
    building.outputs()?;
    let graph = GraphProto { name: "g".to_owned(), ..building.graph };
    let import =
        |domain: &str, version| OperatorSetIdProto { domain: domain.to_owned(), version: Some(version) };
    Ok(ModelProto {
        ir_version: Some(10),
        opset_import: vec![
            import("", opset),
            import("ai.onnx.ml", 5),
            import("com.microsoft", 1),
            import("ai.onnx.preview.training", 1),
        ],
        graph: Some(graph),
        ..ModelProto::default()
    })
}

impl Building<'_, '_> {
    fn nodes(&mut self, most: usize) -> Result<()> {
        for _ in 0..self.choices.int_in_range(1..=most)? {
            let node = self.node()?;
            let made = node.output.iter().filter(|name| !name.is_empty());
            self.known.extend(made.cloned());
            self.graph.node.push(node);
        }
        Ok(())
    }

    fn node(&mut self) -> Result<NodeProto> {
        let schema = self.schema()?;
        let mut node = NodeProto {
            op_type: schema.name.to_owned(),
            domain: schema.domain.to_owned(),
            ..NodeProto::default()
        };
        for at in 0..self.count(schema.inputs)? {
            let is_absent = !arity::is_required(schema.inputs, at) && self.choices.ratio(1, 4)?;
            let name = if is_absent { String::new() } else { self.operand()? };
            node.input.push(name);
        }
        for _ in 0..self.count(schema.outputs)? {
            let name = self.name();
            node.output.push(name);
        }
        for declared in &schema.attributes {
            let [part, of] = if declared.is_required { [19, 20] } else { [1, 3] };
            if self.choices.ratio(part, of)? {
                let attribute = self.attribute(declared)?;
                node.attribute.push(attribute);
            }
        }
        Ok(node)
    }

    /// Chooses an operator in the version of the opset, or in another one in a few cases.
    fn schema(&mut self) -> Result<&'static Schema> {
        let chosen = self.choices.choose(&SCHEMAS[..])?;
        if self.choices.ratio(1, 50)? {
            return Ok(chosen);
        }
        let versions = SCHEMAS.iter().filter(|schema| {
            let is_same = (schema.domain, schema.name) == (chosen.domain, chosen.name);
            is_same && (schema.version <= self.opset || !schema.domain.is_empty())
        });
        Ok(versions.max_by_key(|schema| schema.version).unwrap_or(chosen))
    }

    /// Chooses the number of names, which agrees with the signs but in a few cases.
    fn count(&mut self, signs: Signs) -> Result<usize> {
        let least = arity::least(signs);
        let most = arity::most(signs).unwrap_or(least + MOST_VARIADIC);
        let slack = usize::from(self.choices.ratio(1, 100)?);
        self.choices.int_in_range(least.saturating_sub(slack)..=most + slack)
    }

    /// Chooses a known value, a new input or a new constant.
    fn operand(&mut self) -> Result<String> {
        let choice = self.choices.int_in_range(0..=9)?;
        if choice < 5 && !self.known.is_empty() {
            return self.choices.choose(&self.known).cloned();
        }
        let name = self.name();
        // Inputs of nested graphs are those that their operator passes.
        if choice < 8 && self.level == 0 {
            let r#type = Some(tensor::input(self.choices)?);
            self.graph.input.push(ValueInfoProto { name: name.clone(), r#type, ..ValueInfoProto::default() });
        } else {
            let constant = TensorProto { name: name.clone(), ..tensor::constant(self.choices)? };
            self.graph.initializer.push(constant);
        }
        self.known.push(name.clone());
        Ok(name)
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// Puts out the results of the last node, and some others.
    fn outputs(&mut self) -> Result<()> {
        let last = self.graph.node.last().map(|node| node.output.clone()).unwrap_or_default();
        let mut names: Vec<String> = last.into_iter().filter(|name| !name.is_empty()).collect();
        for name in &self.known {
            if !names.contains(name) && self.choices.ratio(1, 6)? {
                names.push(name.clone());
            }
        }
        let output = |name| ValueInfoProto { name, ..ValueInfoProto::default() };
        self.graph.output = names.into_iter().map(output).collect();
        Ok(())
    }

    /// Builds a graph that may read the values of this one.
    pub fn nested(&mut self) -> Result<GraphProto> {
        let known = self.known.clone();
        let outer = std::mem::take(&mut self.graph);
        self.level += 1;
        let built = if self.level <= MOST_LEVELS { self.body() } else { Ok(()) };
        self.level -= 1;
        self.known = known;
        let graph = std::mem::replace(&mut self.graph, outer);
        built.map(|()| GraphProto { name: "body".to_owned(), ..graph })
    }

    fn body(&mut self) -> Result<()> {
        for _ in 0..self.choices.int_in_range(0..=3)? {
            let name = self.name();
            let r#type = match self.choices.ratio(1, 2)? {
                true => Some(tensor::input(self.choices)?),
                false => None,
            };
            self.known.push(name.clone());
            self.graph.input.push(ValueInfoProto { name, r#type, ..ValueInfoProto::default() });
        }
        self.nodes(2)?;
        self.outputs()
    }
}
