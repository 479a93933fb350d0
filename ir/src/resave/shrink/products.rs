//! Products in the form of MatMulNBits.

use std::collections::BTreeMap;

use super::names::Names;
use super::numbers::{BLOCK, Unfit};
use super::uses::{Use, int};
use crate::ops::MICROSOFT;
use crate::proto::{GraphProto, NodeProto, Setting};

/// A product whose weight can be packed.
#[derive(Debug)]
pub(super) struct Product<'g> {
    node: &'g NodeProto,
    /// Whether the weight has the outputs as its first axis.
    pub is_transposed: bool,
}

impl<'g> Product<'g> {
    /// Returns all nodes that use a weight, with their indices, if they are products that can be replaced.
    pub fn all(
        graph: &'g GraphProto,
        uses: &[Use],
        ranks: &BTreeMap<String, usize>,
    ) -> Result<Vec<(usize, Self)>, Unfit> {
        let mut products: Vec<(usize, Self)> = Vec::new();
        for used in uses {
            let at = used.node.filter(|_| used.is_product);
            let found = at.and_then(|at| Some((at, graph.node.get(at)?)));
            let Some((at, node)) = found else {
                return Err(Unfit("a node uses it that is not MatMul or Gemm"));
            };
            let product = Self::of(node, ranks)?;
            if products.iter().any(|(_, other)| other.is_transposed != product.is_transposed) {
                return Err(Unfit("its products transpose it differently"));
            }
            products.push((at, product));
        }
        Ok(products)
    }

    fn of(node: &'g NodeProto, ranks: &BTreeMap<String, usize>) -> Result<Self, Unfit> {
        if node.op_type == "Gemm" {
            let factor = |name: &str| {
                let attribute = node.attribute.iter().find(|attribute| attribute.name == name);
                attribute.map_or(1.0, |attribute| attribute.f.unwrap_or_default())
            };
            let is_plain = int(node, "transA") == 0 && factor("alpha") == 1.0 && factor("beta") == 1.0;
            let product = Product { node, is_transposed: int(node, "transB") != 0 };
            return if is_plain {
                Ok(product)
            } else {
                Err(Unfit("its Gemm has factors or transposes the operand"))
            };
        }
        match node.input.first().and_then(|name| ranks.get(name)) {
            Some(2..) => Ok(Product { node, is_transposed: false }),
            Some(_) => Err(Unfit("the operand of its MatMul is a vector")),
            None => Err(Unfit("the rank of the operand of its MatMul is unknown")),
        }
    }

    /// Returns the nodes that compute the product with packed operands. `size` is that of the inputs and of the outputs.
    pub fn replaced(&self, operands: &[String; 2], size: [usize; 2], names: &mut Names) -> Vec<NodeProto> {
        let input = |at: usize| self.node.input.get(at).filter(|name| !name.is_empty()).cloned();
        let addend = if self.node.op_type == "Gemm" { input(2) } else { None };
        let result = self.node.output.first().cloned().unwrap_or_default();
        let product = match &addend {
            Some(_) => names.fresh(&result, "product"),
            None => result.clone(),
        };
        let number = |size: usize| Setting::Int(i64::try_from(size).unwrap_or(i64::MAX));
        let [inputs, outputs] = size.map(number);
        let [codes, scales] = operands.clone();
        let mut nodes = vec![NodeProto {
            name: self.node.name.clone(),
            op_type: "MatMulNBits".to_owned(),
            domain: MICROSOFT.to_owned(),
            input: vec![input(0).unwrap_or_default(), codes, scales],
            output: vec![product.clone()],
            attribute: vec![
                inputs.named("K"),
                outputs.named("N"),
                Setting::Int(4).named("bits"),
                number(BLOCK).named("block_size"),
            ],
            metadata_props: self.node.metadata_props.clone(),
            ..NodeProto::default()
        }];
        nodes.extend(addend.map(|addend| NodeProto {
            name: names.fresh(&self.node.name, "Add"),
            op_type: "Add".to_owned(),
            input: vec![product, addend],
            output: vec![result],
            ..NodeProto::default()
        }));
        nodes
    }
}
