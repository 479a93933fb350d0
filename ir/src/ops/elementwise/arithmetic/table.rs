//! Implementations of the binary operators.

use std::cmp::Ordering;

use Device::{Kernel, Method, Symbol};

use crate::attributes::attributes;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::ops::elementwise::cast::stays;
use crate::ops::elementwise::unary::rounded;
use crate::types::Known;

/// Implementation of an operator on two elements.
#[derive(Debug)]
pub struct Binary {
    /// Classes of elements that the operator accepts.
    pub kinds: &'static [ElementClass],
    /// Code for floats or booleans on the device.
    pub device: Device,
    /// Code for integers, if it differs.
    pub integers: Option<Device>,
    /// Name of the function in the run-time crate's `host`.
    pub host: Option<&'static str>,
    known: Fold,
    /// Whether the result is of type bool for all types of operands.
    pub compares: bool,
}

attributes!(struct Binary { kinds, device, integers, host, compares; known });

#[derive(Clone, Copy, Debug)]
pub enum Device {
    /// A Rust operator.
    Symbol(&'static str),
    /// A method of the tensor.
    Method(&'static str),
    /// A function of the kernels.
    Kernel(&'static str, &'static str),
}

attributes!(
    enum Device {
        Symbol(inner),
        Method(inner),
        Kernel(first, second),
    }
);

/// Computation in the compiler.
#[derive(Clone, Copy, Debug)]
enum Fold {
    Number(fn(&Dim, &Dim) -> Option<Dim>, fn(f64, f64) -> f64),
    Compare(fn(Option<Ordering>) -> bool),
    Bool(fn(bool, bool) -> bool),
    Nothing,
}

const NUMBER: &[ElementClass] = &[ElementClass::Float, ElementClass::Int];
const ANY: &[ElementClass] =
    &[ElementClass::Float, ElementClass::Int, ElementClass::Bool, ElementClass::String];

const fn number(device: Device, integers: Option<Device>, host: &'static str, known: Fold) -> Binary {
    Binary { kinds: NUMBER, device, integers, host: Some(host), known, compares: false }
}

const fn compare(
    kinds: &'static [ElementClass],
    method: &'static str,
    host: &'static str,
    known: fn(Option<Ordering>) -> bool,
) -> Binary {
    Binary {
        kinds,
        device: Method(method),
        integers: None,
        host: Some(host),
        known: Fold::Compare(known),
        compares: true,
    }
}

const fn logic(method: &'static str, host: &'static str, known: fn(bool, bool) -> bool) -> Binary {
    Binary { kinds: &[ElementClass::Bool], ..number(Method(method), None, host, Fold::Bool(known)) }
}

const fn bits(device: Device) -> Binary {
    Binary {
        kinds: &[ElementClass::Int],
        device,
        integers: None,
        host: None,
        known: Fold::Nothing,
        compares: false,
    }
}

pub const ADD: Binary =
    number(Symbol("+"), Some(Kernel("arithmetic", "add_int")), "add", Fold::Number(Dim::add, |a, b| a + b));
pub const SUB: Binary =
    number(Symbol("-"), Some(Kernel("arithmetic", "sub_int")), "sub", Fold::Number(Dim::sub, |a, b| a - b));
pub const MUL: Binary =
    number(Symbol("*"), Some(Kernel("arithmetic", "mul_int")), "mul", Fold::Number(Dim::mul, |a, b| a * b));
pub const DIV: Binary = number(
    Symbol("/"),
    Some(Kernel("arithmetic", "div_int")),
    "div",
    Fold::Number(Dim::div_truncated, |a, b| a / b),
);
pub const MODULO: Binary = number(
    Kernel("arithmetic", "modulo_float"),
    Some(Kernel("arithmetic", "modulo")),
    "modulo",
    Fold::Number(Dim::modulo, float_modulo),
);
pub const FMOD: Binary = number(
    Kernel("arithmetic", "fmod"),
    Some(Kernel("arithmetic", "fmod_int")),
    "remainder",
    Fold::Number(Dim::remainder, |a, b| a % b),
);
pub const MAX: Binary = number(
    Kernel("arithmetic", "max"),
    None,
    "max",
    Fold::Number(Dim::larger, |a, b| if a.is_nan() || a > b { a } else { b }),
);
pub const MIN: Binary = number(
    Kernel("arithmetic", "min"),
    None,
    "min",
    Fold::Number(Dim::smaller, |a, b| if a.is_nan() || a < b { a } else { b }),
);
pub const AND: Binary = logic("bool_and", "and", |a, b| a && b);
pub const OR: Binary = logic("bool_or", "or", |a, b| a || b);
pub const XOR: Binary = logic("bool_xor", "xor", |a, b| a != b);
pub const EQUAL: Binary = compare(ANY, "equal", "equal", |order| order == Some(Ordering::Equal));
pub const GREATER: Binary = compare(NUMBER, "greater", "greater", |order| order == Some(Ordering::Greater));
pub const LESS: Binary = compare(NUMBER, "lower", "less", |order| order == Some(Ordering::Less));
pub const GREATER_OR_EQUAL: Binary = compare(NUMBER, "greater_equal", "greater_or_equal", |order| {
    matches!(order, Some(Ordering::Greater | Ordering::Equal))
});
pub const LESS_OR_EQUAL: Binary = compare(NUMBER, "lower_equal", "less_or_equal", |order| {
    matches!(order, Some(Ordering::Less | Ordering::Equal))
});
pub const BITWISE_AND: Binary = bits(Method("bitwise_and"));
pub const BITWISE_OR: Binary = bits(Method("bitwise_or"));
pub const BITWISE_XOR: Binary = bits(Method("bitwise_xor"));

pub const SHIFT_LEFT: Binary = bits(Kernel("arithmetic", "shift_left"));
pub const SHIFT_RIGHT: Binary = bits(Kernel("arithmetic", "shift_right"));
pub const PRELU: Binary = Binary {
    kinds: NUMBER,
    integers: Some(Kernel("activation", "prelu_int")),
    ..bits(Kernel("activation", "prelu"))
};

impl Binary {
    /// Returns the known elements of the result.
    pub fn fold(&self, left: &Known, right: &Known, dtype: DType) -> Option<Known> {
        match (self.known, left, right) {
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

/// Returns the number if its type can represent it. Otherwise, it would wrap at run time.
fn wrapped(dim: Dim, dtype: DType) -> Option<Dim> {
    stays(&dim, dtype).then_some(dim)
}

fn float_modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest == 0.0 {
        rest.copysign(b)
    } else if (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn known_operands_give_known_results() {
        check(
            r#"g () => (int64[2] a, int64[2] b, float[2] c, bool[2] d, int64[2] e) { x = Constant <value_ints = [7, -7]> () y = Constant <value_int = 2> () a = Div (x, y) b = Mod (x, y) f = Constant <value_floats = [7.0, -7.0]> () g = Constant <value_float = 2.0> () c = Pow (f, g) d = Less (x, y) e = Max (x, y) }"#,
            expect![[r#"
                g () => (int64[2] a, int64[2] b, float32[2] c, bool[2] d, int64[2] e)
                <
                    int64[2] a = {3, -3},
                    int64[2] b = {1, 1},
                    float32[2] c = {49, 49},
                    bool[2] d = {false, true},
                    int64[2] e = {7, 2}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn what_has_no_result_is_left_to_the_run() {
        check(
            r#"g () => (int64[2] a, int64[2] b, uint8[1] c) { x = Constant <value_ints = [7, -9223372036854775808]> () y = Constant <value_ints = [0, -1]> () a = Div (x, y) b = Mod (x, y) u = Constant <value = uint8[1] {200}> () c = Add (u, u) }"#,
            expect![[r#"
                g () => (int64[2] a, int64[2] b, uint8[1] c)
                <
                    int64[2] x = {7, -9223372036854775808},
                    int64[2] y = {0, -1},
                    uint8[1] u = {200}
                >
                {
                    int64[2] a = Div (x, y)
                    int64[2] b = Mod (x, y)
                    uint8[1] c = Add (u, u)
                }
            "#]],
        );
    }
}
