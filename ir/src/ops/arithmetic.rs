//! Operators on two tensors, or more, broadcast together.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::elementwise::rounded;
use super::{Operator, Row, broadcast, row};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, Kind};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::types::{Known, TensorType};

pub const ROWS: &[Row] = &[
    row("Add", &[1, 6, 7, 13, 14], |a| pair(a, &ADD)),
    row("Sub", &[1, 6, 7, 13, 14], |a| pair(a, &SUB)),
    row("Mul", &[1, 6, 7, 13, 14], |a| pair(a, &MUL)),
    row("Div", &[1, 6, 7, 13, 14], |a| pair(a, &DIV)),
    row("Mod", &[10, 13], |a| match a.flag("fmod", false)? {
        true => pair(a, &FMOD),
        false => pair(a, &MODULO),
    }),
    row("Max", &[1, 6, 8, 12, 13], |a| pair(a, &MAX)),
    row("Min", &[1, 6, 8, 12, 13], |a| pair(a, &MIN)),
    row("Sum", &[1, 6, 8, 13], |a| pair(a, &ADD)),
    row("And", &[1, 7], |a| pair(a, &AND)),
    row("Or", &[1, 7], |a| pair(a, &OR)),
    row("Xor", &[1, 7], |a| pair(a, &XOR)),
    row("Equal", &[1, 7, 11, 13, 19], |a| pair(a, &EQUAL)),
    row("Greater", &[1, 7, 9, 13], |a| pair(a, &GREATER)),
    row("GreaterOrEqual", &[12, 16], |a| pair(a, &GREATER_OR_EQUAL)),
    row("Less", &[1, 7, 9, 13], |a| pair(a, &LESS)),
    row("LessOrEqual", &[12, 16], |a| pair(a, &LESS_OR_EQUAL)),
    row("BitwiseAnd", &[18], |a| pair(a, &BITWISE_AND)),
    row("BitwiseOr", &[18], |a| pair(a, &BITWISE_OR)),
    row("BitwiseXor", &[18], |a| pair(a, &BITWISE_XOR)),
];

/// What an operator does to a pair of elements.
#[derive(Debug)]
struct Binary {
    /// Between floats or booleans on the device.
    device: Device,
    /// Between integers, where it differs.
    integers: Option<Device>,
    /// The function of the run-time crate's `host`.
    host: Option<&'static str>,
    known: Fold,
    /// Whether the result is of type bool whatever the operands are.
    compares: bool,
}

#[derive(Clone, Copy, Debug)]
enum Device {
    /// A Rust operator.
    Symbol(&'static str),
    /// A method of the tensor.
    Method(&'static str),
    /// A function of the kernels.
    Kernel(&'static str, &'static str),
}

/// What the compiler can compute.
#[derive(Clone, Copy, Debug)]
enum Fold {
    Number(fn(&Dim, &Dim) -> Option<Dim>, fn(f64, f64) -> f64),
    Compare(fn(Option<std::cmp::Ordering>) -> bool),
    Bool(fn(bool, bool) -> bool),
    Nothing,
}

use Device::{Kernel, Method, Symbol};
use std::cmp::Ordering;

const fn number(
    device: Device,
    integers: Option<Device>,
    host: &'static str,
    known: Fold,
) -> Binary {
    Binary {
        device,
        integers,
        host: Some(host),
        known,
        compares: false,
    }
}

const fn compare(method: &'static str, host: &'static str, known: fn(Option<Ordering>) -> bool) -> Binary {
    Binary {
        device: Method(method),
        integers: None,
        host: Some(host),
        known: Fold::Compare(known),
        compares: true,
    }
}

const fn logic(method: &'static str, host: &'static str, known: fn(bool, bool) -> bool) -> Binary {
    number(Method(method), None, host, Fold::Bool(known))
}

const fn bits(method: &'static str) -> Binary {
    Binary {
        device: Method(method),
        integers: None,
        host: None,
        known: Fold::Nothing,
        compares: false,
    }
}

const ADD: Binary = number(Symbol("+"), None, "add", Fold::Number(Dim::add, |a, b| a + b));
const SUB: Binary = number(Symbol("-"), None, "sub", Fold::Number(Dim::sub, |a, b| a - b));
const MUL: Binary = number(Symbol("*"), None, "mul", Fold::Number(Dim::mul, |a, b| a * b));
const DIV: Binary = number(
    Symbol("/"),
    Some(Kernel("arith", "div_int")),
    "div",
    Fold::Number(quotient, |a, b| a / b),
);
const MODULO: Binary = number(
    Method("remainder"),
    Some(Kernel("arith", "modulo")),
    "modulo",
    Fold::Number(remainder, |_, _| f64::NAN),
);
const FMOD: Binary = number(
    Kernel("arith", "fmod"),
    Some(Kernel("arith", "fmod_int")),
    "remainder",
    Fold::Nothing,
);
const MAX: Binary = number(
    Kernel("arith", "max"),
    None,
    "max",
    Fold::Number(|a, b| Some(a.larger(b)), |a, b| if a.is_nan() { a } else { a.max(b) }),
);
const MIN: Binary = number(
    Kernel("arith", "min"),
    None,
    "min",
    Fold::Number(|a, b| Some(a.smaller(b)), |a, b| if a.is_nan() { a } else { a.min(b) }),
);
const AND: Binary = logic("bool_and", "and", |a, b| a && b);
const OR: Binary = logic("bool_or", "or", |a, b| a || b);
const XOR: Binary = logic("bool_xor", "xor", |a, b| a != b);
const EQUAL: Binary = compare("equal", "equal", |order| order == Some(Ordering::Equal));
const GREATER: Binary = compare("greater", "greater", |order| order == Some(Ordering::Greater));
const LESS: Binary = compare("lower", "less", |order| order == Some(Ordering::Less));
const GREATER_OR_EQUAL: Binary = compare("greater_equal", "greater_or_equal", |order| {
    matches!(order, Some(Ordering::Greater | Ordering::Equal))
});
const LESS_OR_EQUAL: Binary = compare("lower_equal", "less_or_equal", |order| {
    matches!(order, Some(Ordering::Less | Ordering::Equal))
});
const BITWISE_AND: Binary = bits("bitwise_and");
const BITWISE_OR: Binary = bits("bitwise_or");
const BITWISE_XOR: Binary = bits("bitwise_xor");

/// The operator between two tensors, or from left to right between several.
#[derive(Debug)]
struct Pair {
    table: &'static Binary,
    /// Before version 7 the second operand's axes began at this one of the first.
    axis: Option<i64>,
    /// Before version 7 the second operand was stretched only when asked for.
    old: bool,
}

fn pair(a: &Attributes<'_>, table: &'static Binary) -> Result<Rc<dyn Operator>, Problem> {
    let old = a.version() < 7 && !matches!(table.device, Kernel(..));
    let mut axis = None;
    if a.version() < 7 {
        a.ignore(&["consumed_inputs", "broadcast"]);
        axis = a.int("axis")?;
    }
    Ok(Rc::new(Pair { table, axis, old }))
}

impl Operator for Pair {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let types = (0..cx.inputs()).map(|at| cx.tensor(at));
        let mut types = types.collect::<Result<Vec<TensorType>, Problem>>()?;
        let first = types.first().cloned();
        let Some(first) = first else {
            return Err(Problem::new("input 0 is missing"));
        };
        if let Some(other) = types.iter().find(|other| other.dtype != first.dtype) {
            return Err(Problem::new(format!(
                "the inputs are of types {} and {}, which must be equal",
                first.dtype, other.dtype
            )));
        }
        if let (Some(second), Some(trailing)) = (types.get_mut(1), self.trailing(&first)) {
            let missing = trailing.saturating_sub(second.rank());
            second.shape.extend(vec![Dim::from(1); missing]);
        }
        let shapes: Vec<_> = types.iter().map(|held| held.shape.clone()).collect();
        let shape = broadcast::shape(cx, &shapes)?;
        let dtype = if self.table.compares { DType::Bool } else { first.dtype };
        let known = self.known(cx, &types, &shape);
        cx.output(0, dtype, shape);
        if let Some(known) = known {
            cx.output_known(0, known);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        if let (true, Some(host)) = (cx.on_host(), self.table.host) {
            let host = format_ident!("{host}");
            let mut result = cx.host(0)?;
            for at in 1..cx.inputs() {
                let other = cx.host(at)?;
                result = match at {
                    1 => quote!(host::#host(#result, #other)),
                    _ => quote!(host::#host(&#result, #other)),
                };
            }
            return Ok(result);
        }
        let rank = cx.output_tensor(0)?.burn_rank();
        let kind = cx.tensor_type(0)?.dtype.kind();
        let device = match (kind, self.table.integers) {
            (Kind::Int, Some(device)) => device,
            _ => self.table.device,
        };
        let mut result = self.operand(cx, 0, rank)?;
        for at in 1..cx.inputs() {
            if let Some(shorter) = self.with_scalar(cx, at, device, &result)? {
                result = shorter;
                continue;
            }
            let other = self.operand(cx, at, rank)?;
            result = match device {
                Symbol(symbol) => {
                    let symbol: TokenStream = symbol.parse().unwrap_or_default();
                    match at {
                        1 => quote!(#result #symbol #other),
                        _ => quote!((#result) #symbol #other),
                    }
                }
                Method(name) => {
                    let name = format_ident!("{name}");
                    quote!(#result.#name(#other))
                }
                Kernel(family, name) => {
                    let (family, name) = (format_ident!("{family}"), format_ident!("{name}"));
                    quote!(ops::#family::#name(#result, #other))
                }
            };
        }
        Ok(result)
    }

    fn runs_on_host(&self) -> bool {
        self.table.host.is_some()
    }
}

impl Pair {
    /// The rank that the second operand has with trailing axes of size 1, by the rule of old versions.
    fn trailing(&self, first: &TensorType) -> Option<usize> {
        let axis = self.axis.filter(|_| self.old)?;
        let rank = i64::try_from(first.rank()).ok()?;
        let axis = if axis < 0 { axis + rank } else { axis };
        usize::try_from(rank - axis).ok()
    }

    fn operand(&self, cx: &mut Emit<'_, '_>, at: usize, rank: usize) -> Result<TokenStream, Problem> {
        let held = cx.tensor_type(at)?.clone();
        let trailing = match at {
            1 => self.trailing(cx.tensor_type(0)?),
            _ => None,
        };
        match trailing.filter(|&trailing| trailing > held.rank()) {
            Some(trailing) => {
                let tensor = cx.tensor(at)?;
                let mut shape = vec![Dim::from(1); rank.saturating_sub(trailing)];
                shape.extend(held.shape.clone());
                shape.resize(rank, Dim::from(1));
                let shape = cx.shape(&shape);
                Ok(quote!(#tensor.reshape(#shape)))
            }
            None => cx.tensor_of_rank(at, rank),
        }
    }

    /// The operator with a number instead of a tensor, which Burn has for the four symbols.
    fn with_scalar(
        &self,
        cx: &Emit<'_, '_>,
        at: usize,
        device: Device,
        left: &TokenStream,
    ) -> Result<Option<TokenStream>, Problem> {
        let smaller = cx.tensor_type(at)?.rank() <= cx.output_tensor(0)?.rank();
        let same = cx.tensor_type(0)?.shape == cx.output_tensor(0)?.shape || at > 1;
        let Some(scalar) = cx.scalar(at).filter(|_| smaller && same) else {
            return Ok(None);
        };
        Ok(match device {
            Symbol(symbol) => {
                let symbol: TokenStream = symbol.parse().unwrap_or_default();
                Some(match at {
                    1 => quote!(#left #symbol #scalar),
                    _ => quote!((#left) #symbol #scalar),
                })
            }
            _ => None,
        })
    }

    fn known(&self, cx: &Infer<'_>, types: &[TensorType], shape: &[Dim]) -> Option<Known> {
        let to = broadcast::fixed(shape)?;
        let mut result: Option<Known> = None;
        for (at, held) in types.iter().enumerate() {
            let known = cx.known(at)?;
            let from = broadcast::fixed(&held.shape)?;
            if to.iter().product::<usize>() > broadcast::LARGEST {
                return None;
            }
            let operand = known.pick(&broadcast::positions(&from, &to))?;
            result = Some(match result {
                None => operand,
                Some(left) => self.fold(&left, &operand, held.dtype)?,
            });
        }
        result
    }

    fn fold(&self, left: &Known, right: &Known, dtype: DType) -> Option<Known> {
        match (self.table.known, left, right) {
            (Fold::Number(int, _), Known::Ints(a), Known::Ints(b)) => {
                let pairs = a.iter().zip(b).map(|(a, b)| wrapped(int(a, b)?, dtype));
                Some(Known::Ints(pairs.collect::<Option<_>>()?))
            }
            (Fold::Number(_, float), Known::Floats(a), Known::Floats(b)) => {
                let pairs = a.iter().zip(b).map(|(&a, &b)| rounded(float(a, b), dtype));
                Some(Known::Floats(pairs.collect()))
            }
            (Fold::Compare(test), Known::Ints(a), Known::Ints(b)) => {
                let pairs = a.iter().zip(b).map(|(a, b)| a.compare(b).map(|order| test(Some(order))));
                Some(Known::Bools(pairs.collect::<Option<_>>()?))
            }
            (Fold::Compare(test), Known::Floats(a), Known::Floats(b)) => {
                let pairs = a.iter().zip(b).map(|(a, b)| test(a.partial_cmp(b)));
                Some(Known::Bools(pairs.collect()))
            }
            (Fold::Compare(test), Known::Bools(a), Known::Bools(b)) => {
                let pairs = a.iter().zip(b).map(|(a, b)| test(Some(a.cmp(b))));
                Some(Known::Bools(pairs.collect()))
            }
            (Fold::Bool(fold), Known::Bools(a), Known::Bools(b)) => {
                Some(Known::Bools(a.iter().zip(b).map(|(&a, &b)| fold(a, b)).collect()))
            }
            _ => None,
        }
    }
}

/// The number, when its type holds it: the run would wrap around.
fn wrapped(dim: Dim, dtype: DType) -> Option<Dim> {
    let fits = |number: i64| {
        let bits = dtype.bits();
        match (bits, dtype.is_signed()) {
            (64, true) => true,
            (64, false) => number >= 0,
            (_, true) => number >> (bits - 1) == 0 || number >> (bits - 1) == -1,
            (_, false) => number >= 0 && number >> bits == 0,
        }
    };
    match dim.number() {
        Some(number) => fits(number).then_some(dim),
        None => Some(dim),
    }
}

/// ONNX divides integers toward zero, which for sizes is the same as rounding down.
fn quotient(a: &Dim, b: &Dim) -> Option<Dim> {
    match (a.number(), b.number()) {
        (Some(a), Some(b)) => a.checked_div(b).map(Dim::from),
        (None, Some(b)) if b <= 0 => None,
        _ => a.div(b),
    }
}

/// The remainder has the divisor's sign.
fn remainder(a: &Dim, b: &Dim) -> Option<Dim> {
    match (a.number(), b.number()) {
        (Some(a), Some(b)) => {
            let rest = a.checked_rem(b)?;
            let adjust = if rest != 0 && (rest < 0) != (b < 0) { b } else { 0 };
            Some(Dim::from(rest.checked_add(adjust)?))
        }
        (None, Some(b)) if b <= 0 => None,
        _ => a.sub(&a.div(b)?.mul(b)?),
    }
}
