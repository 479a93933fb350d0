//! Operators on two or more tensors, which are broadcast.

mod table;

use std::any::Any;
use std::rc::Rc;

use quote::format_ident;

use super::cast::wrapped;
use super::classes;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rust::{Code, code};
use crate::types::{Known, TensorType};
use table::Device::{Kernel, Method, Symbol};
use table::*;

pub const ROWS: &[Row] = &[
    row("Add", &[1, 6, 7, 13, 14], |a| pair(a, &ADD)).elementwise().follows().commutative().arity("rr", "r"),
    row("Sub", &[1, 6, 7, 13, 14], |a| pair(a, &SUB)).elementwise().follows().arity("rr", "r"),
    row("Mul", &[1, 6, 7, 13, 14], |a| pair(a, &MUL)).elementwise().follows().commutative().arity("rr", "r"),
    row("Div", &[1, 6, 7, 13, 14], |a| pair(a, &DIV)).elementwise().follows().arity("rr", "r"),
    row("Mod", &[10, 13, 28], |a| if a.flag("fmod", false)? { pair(a, &FMOD) } else { pair(a, &MODULO) })
        .elementwise()
        .arity("rr", "r"),
    row("Max", &[1, 6, 8, 12, 13], |a| pair(a, &MAX)).elementwise().follows().commutative().arity("+", "r"),
    row("Min", &[1, 6, 8, 12, 13], |a| pair(a, &MIN)).elementwise().follows().commutative().arity("+", "r"),
    row("Sum", &[1, 6, 8, 13], |a| pair(a, &ADD)).elementwise().follows().commutative().arity("+", "r"),
    row("And", &[1, 7], |a| pair(a, &AND)).elementwise().commutative().arity("rr", "r"),
    row("Or", &[1, 7], |a| pair(a, &OR)).elementwise().commutative().arity("rr", "r"),
    row("Xor", &[1, 7], |a| pair(a, &XOR)).elementwise().commutative().arity("rr", "r"),
    row("Equal", &[1, 7, 11, 13, 19], |a| pair(a, &EQUAL)).elementwise().commutative().arity("rr", "r"),
    row("Greater", &[1, 7, 9, 13], |a| pair(a, &GREATER)).elementwise().arity("rr", "r"),
    row("GreaterOrEqual", &[12, 16], |a| pair(a, &GREATER_OR_EQUAL)).elementwise().arity("rr", "r"),
    row("Less", &[1, 7, 9, 13], |a| pair(a, &LESS)).elementwise().arity("rr", "r"),
    row("LessOrEqual", &[12, 16], |a| pair(a, &LESS_OR_EQUAL)).elementwise().arity("rr", "r"),
    row("BitwiseAnd", &[18], |a| pair(a, &BITWISE_AND)).elementwise().commutative().arity("rr", "r"),
    row("BitwiseOr", &[18], |a| pair(a, &BITWISE_OR)).elementwise().commutative().arity("rr", "r"),
    row("BitwiseXor", &[18], |a| pair(a, &BITWISE_XOR)).elementwise().commutative().arity("rr", "r"),
    row("BitShift", &[11, 28], shift).elementwise().arity("rr", "r"),
    row("PRelu", &[1, 6, 7, 9, 16], prelu).elementwise().follows().arity("rr", "r"),
    row("Mean", &[1, 6, 8, 13], mean).elementwise().follows().commutative().arity("+", "r"),
];

/// A binary operator, which is applied to several tensors from left to right.
#[derive(Debug)]
struct Pair {
    table: &'static Binary,
    /// Axis of the first operand to which the first axis of the second is aligned, before version 7.
    axis: Option<i64>,
    /// Whether `axis` applies: the version is below 7, and the operator broadcasts.
    old: bool,
    /// Number by which the result is divided.
    mean: Option<usize>,
}

attributes!(struct Pair { table, axis, old, mean });

fn pair(a: &Attributes<'_>, table: &'static Binary) -> Result<Rc<dyn Operator>, Problem> {
    let old = a.version() < 7 && !matches!(table.device, Kernel(..));
    let mut axis = None;
    if a.version() < 7 {
        a.ignore(&["consumed_inputs", "broadcast"]);
        axis = a.int("axis")?;
    }
    Ok(Rc::new(Pair { table, axis, old, mean: None }))
}

fn shift(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.required("direction", Attributes::string)?;
    pair(a, a.choice("direction", "", &[("LEFT", &SHIFT_LEFT), ("RIGHT", &SHIFT_RIGHT)])?)
}

/// Reads PRelu. Before version 7, there is one slope for each channel.
fn prelu(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 6 {
        a.ignore(&["consumed_inputs"]);
    }
    Ok(Rc::new(Pair {
        table: &PRELU,
        axis: (a.version() < 7).then_some(1),
        old: a.version() < 7,
        mean: None,
    }))
}

fn mean(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    if a.version() < 6 {
        a.ignore(&["consumed_inputs"]);
    }
    Ok(Rc::new(Pair { table: &ADD, axis: None, old: false, mean: Some(a.inputs()) }))
}

/// Returns the operator that folds some of the operands, if the result can be an operand of another fold.
pub fn fold(operator: &dyn Operator) -> Option<Rc<dyn Operator>> {
    let operator: &dyn Any = operator;
    let pair = operator.downcast_ref::<Pair>()?;
    let partial = Pair { table: pair.table, axis: None, old: pair.old, mean: None };
    (pair.axis().is_none() && !pair.table.compares).then(|| Rc::new(partial) as Rc<dyn Operator>)
}

impl Operator for Pair {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let types = (0..cx.inputs()).map(|at| cx.tensor(at));
        let mut types = types.collect::<Result<Vec<TensorType>, Problem>>()?;
        let first = types.first().cloned();
        let Some(first) = first else {
            return Err(Problem::missing("input 0"));
        };
        if self.table.compares && types.len() != 2 {
            let count = types.len();
            return Err(Problem::new(format!("expected 2 inputs, found {count}")));
        }
        for (at, other) in types.iter().enumerate() {
            sizes::same_type((&format!("input {at}"), other), ("input 0", &first))?;
        }
        if !self.table.kinds.contains(&first.dtype.kind()) {
            let (dtype, expected) = (first.dtype, classes(self.table.kinds));
            return Err(Problem::new(format!("the inputs have type {dtype}, expected {expected}")));
        }
        if let (Some(second), Some(trailing)) = (types.get_mut(1), broadcast::trailing(self.axis(), &first)) {
            let missing = trailing.saturating_sub(second.rank());
            second.shape.extend(vec![Dim::from(1); missing]);
        }
        let shapes: Vec<_> = types.iter().map(|tensor| tensor.shape.clone()).collect();
        if let (true, Some(slopes)) = (std::ptr::eq(self.table, &PRELU), types.get(1)) {
            sizes::broadcasts("the slope", slopes, &first.shape)?;
        }
        let shape = broadcast::shape(cx, &shapes)?;
        let dtype = if self.table.compares { DType::Bool } else { first.dtype };
        let known = self.known(cx, &types, &shape);
        cx.output(0, dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let agree = broadcast::check(cx)?;
        if let (true, Some(host)) = (cx.on_host(), self.table.host) {
            let host = format_ident!("{host}");
            let mut result = cx.host(0)?;
            for at in 1..cx.inputs() {
                let other = cx.host(at)?;
                result = match at {
                    1 => code!(host::#host(#result, #other)),
                    _ => code!(host::#host(&#result, #other)),
                };
            }
            return Ok(result);
        }
        let rank = cx.output_tensor(0)?.burn_rank();
        let dtype = cx.tensor_type(0)?.dtype;
        let device = match (dtype.kind(), self.table.integers) {
            (ElementClass::Int, Some(device)) => device,
            _ => self.table.device,
        };
        let leading = self.leading(cx)?;
        let mut result = cx.tensor_of_rank(leading, rank)?;
        for at in (0..cx.inputs()).filter(|at| *at != leading) {
            if let Some(shorter) = self.with_scalar(cx, at, device, &result)? {
                result = shorter;
                continue;
            }
            let other = match at {
                1 => broadcast::second(cx, self.axis(), rank)?,
                _ => cx.tensor_of_rank(at, rank)?,
            };
            // Burn's error about sizes that do not agree contains no shapes.
            let operands = (!agree).then(|| code!(ops::expand::agreed(#result, #other)));
            let (left, other) = match &operands {
                Some(_) => (code!(a), code!(b)),
                None => (result, other),
            };
            result = match device {
                Symbol(symbol) => {
                    let left = code!((#left)).as_left_of(symbol);
                    let (symbol, other) = (Code::sign(symbol), other.as_right_of(symbol));
                    code!(#left #symbol #other)
                }
                Method(name) => {
                    let name = format_ident!("{name}");
                    code!(#left.#name(#other))
                }
                Kernel(family, name) => {
                    let (family, name) = (format_ident!("{family}"), format_ident!("{name}"));
                    code!(ops::#family::#name(#left, #other))
                }
            };
            if let Some(operands) = operands {
                result = code!({ let (a, b) = #operands; #result });
            }
        }
        if let Some(count @ 2..) = self.mean {
            let count = float_literal(count as f64, DType::F32);
            return Ok(code!((#result) / #count));
        }
        Ok(match device {
            Symbol(_) | Kernel(_, "add_int" | "sub_int" | "mul_int" | "shift_left") => wrapped(result, dtype),
            _ => result,
        })
    }

    fn runs_on_host(&self) -> bool {
        self.table.host.is_some() && self.mean.is_none()
    }
}

impl Pair {
    fn axis(&self) -> Option<i64> {
        self.axis.filter(|_| self.old)
    }

    /// Applies the operator to a number instead of a tensor. Burn supports it for the four symbols, and there are kernels for
    /// integers.
    fn with_scalar(
        &self,
        cx: &Emit<'_, '_>,
        at: usize,
        device: Device,
        left: &Code,
    ) -> Result<Option<Code>, Problem> {
        let smaller = cx.tensor_type(at)?.rank() <= cx.output_tensor(0)?.rank();
        let same = at != 1 || cx.tensor_type(0)?.shape == cx.output_tensor(0)?.shape;
        let Some(scalar) = cx.scalar(at).filter(|_| smaller && same) else {
            return Ok(None);
        };
        Ok(match device {
            Symbol(symbol) => {
                let left = code!((#left)).as_left_of(symbol);
                let symbol = Code::sign(symbol);
                Some(code!(#left #symbol #scalar))
            }
            Kernel(family, name @ ("add_int" | "sub_int" | "mul_int")) => {
                let (family, name) = (format_ident!("{family}"), format_ident!("{name}_scalar"));
                Some(code!(ops::#family::#name(#left, #scalar)))
            }
            _ => None,
        })
    }

    /// Returns the index of the first operand. Two operands are swapped if the first is a number and the operator is
    /// commutative.
    fn leading(&self, cx: &Emit<'_, '_>) -> Result<usize, Problem> {
        let change = matches!(self.table.device, Symbol("+" | "*"))
            && cx.inputs() == 2
            && cx.scalar(0).is_some()
            && cx.scalar(1).is_none()
            && cx.tensor_type(1)?.shape == cx.output_tensor(0)?.shape;
        Ok(usize::from(change))
    }

    fn known(&self, cx: &Infer<'_>, types: &[TensorType], shape: &[Dim]) -> Option<Known> {
        if self.mean.is_some() {
            return None;
        }
        let to = broadcast::fixed(shape)?;
        let mut result: Option<Known> = None;
        for (at, ty) in types.iter().enumerate() {
            let known = cx.folded(at)?;
            let from = broadcast::fixed(&ty.shape)?;
            if to.iter().product::<usize>() > broadcast::MAX_KNOWN_ELEMENTS {
                return None;
            }
            let operand = known.pick(&broadcast::positions(&from, &to))?;
            result = Some(match result {
                None => operand,
                Some(left) => self.table.fold(&left, &operand, ty.dtype)?,
            });
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn slopes_do_not_enlarge_the_input() {
        problems(
            &[
                r#"(float[3] x, float[2, 3] s) => (float[2, 3] y) { y = PRelu (x, s) }"#,
                r#"(float[2, 1] x, float[3] s) => (float[2, 3] y) { y = PRelu (x, s) }"#,
                r#"(float[n, 2, 3] x, float[2, 1] s) => (float[n, 2, 3] y) { y = PRelu (x, s) }"#,
            ],
            expect![[r#"
                the slope is float32[2, 3], expected a shape that broadcasts to [3]
                the slope is float32[3], expected a shape that broadcasts to [2, 1]
                fine
            "#]],
        );
    }
}
