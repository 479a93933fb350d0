//! Models of expressions.

use std::fmt::Write;

use onnx_embed_ir::text;
use prost::Message;

use super::{Condition, Expression, SIZES};

/// Source of the sizes.
#[derive(Clone, Debug)]
pub enum Form {
    /// A tensor with dynamic axes.
    Sizes,
    /// A tensor of this shape.
    Fixed(Vec<i64>),
    /// A tensor of numbers. Each expression is also the size of another tensor, so that the host computes it.
    Host,
}

/// Returns a model whose outputs are the expressions, in ONNX's text syntax.
pub fn text(expressions: &[Expression], form: &Form) -> String {
    let mut model = Model::default();
    let input = match form {
        Form::Sizes => "float[n, m, k] x".to_owned(),
        Form::Fixed(sizes) => format!("float{sizes:?} x"),
        Form::Host => format!("int64[{SIZES}] sizes"),
    };
    if !matches!(form, Form::Host) {
        model.line("sizes = Shape (x)");
    }
    for axis in 0..SIZES {
        let at = model.number(axis as i64);
        model.line(&format!("size{axis} = Gather <axis = 0> (sizes, {at})"));
    }
    let mut outputs = Vec::new();
    for (at, expression) in expressions.iter().enumerate() {
        let value = model.expression(expression);
        model.line(&format!("y{at} = Identity ({value})"));
        outputs.push(format!("int64[1] y{at}"));
        if matches!(form, Form::Host) {
            let (zero, most) = (model.number(0), model.number(3));
            let low = model.node("Max", "", &[&value, &zero]);
            let size = model.node("Min", "", &[&low, &most]);
            model.line(&format!("z{at} = ConstantOfShape ({size})"));
            outputs.push(format!("float[s{at}] z{at}"));
        }
    }
    let outputs = outputs.join(", ");
    format!("<ir_version: 10, opset_import: [\"\": 21]>\ng ({input}) => ({outputs}) {{\n{}}}", model.lines)
}

/// Encodes the text of a model.
///
/// # Panics
///
/// If the text is invalid.
pub fn encoded(model: &str) -> Vec<u8> {
    let model = text::model(model).unwrap_or_else(|error| panic!("{error}\n{model}"));
    model.encode_to_vec()
}

#[derive(Default)]
struct Model {
    lines: String,
    values: usize,
}

impl Model {
    fn line(&mut self, line: &str) {
        writeln!(self.lines, "    {line}").expect("strings take everything");
    }

    fn node(&mut self, operator: &str, attributes: &str, inputs: &[&str]) -> String {
        let name = format!("v{}", self.values);
        self.values += 1;
        self.line(&format!("{name} = {operator} {attributes} ({})", inputs.join(", ")));
        name
    }

    fn number(&mut self, number: i64) -> String {
        self.node("Constant", &format!("<value_ints = [{number}]>"), &[])
    }

    fn joined(&mut self, some: &[Expression]) -> String {
        let some: Vec<String> = some.iter().map(|part| self.expression(part)).collect();
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        self.node("Concat", "<axis = 0>", &some)
    }

    fn expression(&mut self, expression: &Expression) -> String {
        match expression {
            Expression::Size(axis) => format!("size{axis}"),
            Expression::Number(number) => self.number(*number),
            Expression::Unary(operator, a) => {
                let a = self.expression(a);
                self.node(operator, "", &[&a])
            }
            Expression::Binary(operator, a, b) => {
                let (a, b) = (self.expression(a), self.expression(b));
                self.node(operator, "", &[&a, &b])
            }
            Expression::Remainder(a, b) => {
                let (a, b) = (self.expression(a), self.expression(b));
                self.node("Mod", "<fmod = 1>", &[&a, &b])
            }
            Expression::Where(condition, a, b) => {
                let condition = self.condition(condition);
                let (a, b) = (self.expression(a), self.expression(b));
                self.node("Where", "", &[&condition, &a, &b])
            }
            Expression::Truth(condition) => {
                let condition = self.condition(condition);
                self.node("Cast", "<to = 7>", &[&condition])
            }
            Expression::Narrow(a) => {
                let a = self.expression(a);
                let narrow = self.node("Cast", "<to = 6>", &[&a]);
                self.node("Cast", "<to = 7>", &[&narrow])
            }
            Expression::FloorDivide(a, b) => {
                let (a, b) = (self.expression(a), self.expression(b));
                self.floor_divide(&a, &b)
            }
            Expression::Gather(some, at) => {
                let (some, at) = (self.joined(some), self.number(*at));
                self.node("Gather", "<axis = 0>", &[&some, &at])
            }
            Expression::Reduce(operator, some, [start, end]) => {
                let some = self.joined(some);
                let (start, end) = (self.number(*start), self.number(*end));
                let part = self.node("Slice", "", &[&some, &start, &end]);
                let axis = self.number(0);
                self.node(operator, "<keepdims = 1>", &[&part, &axis])
            }
            Expression::Power(a, exponent) => {
                let (a, exponent) = (self.expression(a), self.number(*exponent));
                self.node("Pow", "", &[&a, &exponent])
            }
        }
    }

    /// Divides and rounds down, with the nodes that PyTorch's exporter writes.
    fn floor_divide(&mut self, a: &str, b: &str) -> String {
        let zero = self.number(0);
        let quotient = self.node("Div", "", &[a, b]);
        let signs = [a, b].map(|operand| self.node("Less", "", &[operand, &zero]));
        let differ = self.node("Xor", "", &[&signs[0], &signs[1]]);
        let product = self.node("Mul", "", &[&quotient, b]);
        let rest = self.node("Sub", "", &[a, &product]);
        let exact = self.node("Equal", "", &[&rest, &zero]);
        let inexact = self.node("Not", "", &[&exact]);
        let lower = self.node("And", "", &[&differ, &inexact]);
        let by = self.node("Cast", "<to = 7>", &[&lower]);
        self.node("Sub", "", &[&quotient, &by])
    }

    fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(operator, a, b) => {
                let (a, b) = (self.expression(a), self.expression(b));
                self.node(operator, "", &[&a, &b])
            }
            Condition::Both(operator, a, b) => {
                let (a, b) = (self.condition(a), self.condition(b));
                self.node(operator, "", &[&a, &b])
            }
            Condition::Not(a) => {
                let a = self.condition(a);
                self.node("Not", "", &[&a])
            }
            Condition::Cast(a) => {
                let a = self.expression(a);
                self.node("Cast", "<to = 9>", &[&a])
            }
        }
    }
}
