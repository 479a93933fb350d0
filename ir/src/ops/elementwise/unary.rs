//! Operators on single elements.

mod known;
mod shaped;

use std::rc::Rc;

use quote::format_ident;

use super::cast::wrapped;
use super::classes;
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{MICROSOFT, Operator, Row, row};
use crate::rust::{Code, code};

use known::fold;
pub use known::rounded;
pub use shaped::Shaped;
use shaped::shaped;

/// Defines the rows of operators without attributes: name, versions, a row of the table below, and other properties.
macro_rules! plain {
    ($($name:literal $since:tt $table:ident $($fact:ident)*;)*) => {
        pub const ROWS: &[Row] = &[
            $(
                row($name, &$since, |attributes| read(attributes, &$table))
                    .elementwise()$(.$fact())*,
            )*
            row("Elu", &[1, 6, 22], |a| shaped(a, "elu", &[("alpha", 1.0)])).elementwise().follows().activation(),
            row("Selu", &[1, 6, 22], |a| {
                shaped(a, "selu", &[("alpha", 1.673_263_2), ("gamma", 1.050_701)])
            }).elementwise().follows().activation(),
            row("Celu", &[12, 28], |a| shaped(a, "celu", &[("alpha", 1.0)])).elementwise().follows().activation(),
            row("LeakyRelu", &[1, 6, 16], |a| shaped(a, "leaky_relu", &[("alpha", 0.01)])).elementwise().follows().activation(),
            row("HardSigmoid", &[1, 6, 22], |a| {
                shaped(a, "hard_sigmoid", &[("alpha", 0.2), ("beta", 0.5)])
            }).elementwise().follows().activation(),
            row("ThresholdedRelu", &[10, 22], |a| {
                shaped(a, "thresholded_relu", &[("alpha", 1.0)])
            }).elementwise().follows().activation(),
            row("Swish", &[24], |a| shaped(a, "swish", &[("alpha", 1.0)])).elementwise().follows().activation(),
            row("Shrink", &[9], |a| shaped(a, "shrink", &[("lambd", 0.5), ("bias", 0.0)])).elementwise().follows(),
            row("Gelu", &[20], gelu).elementwise().follows().activation(),
            row("Gelu", &[1], |attributes| read(attributes, &GELU)).elementwise().follows().activation().of(MICROSOFT),
            row("QuickGelu", &[1], |a| shaped(a, "swish", &[("alpha", 1.702)])).elementwise().follows().activation().of(MICROSOFT),
            row("IsInf", &[10, 20], infinite).elementwise(),
        ];
    };
}

plain! {
    "Relu" [1, 6, 13, 14] RELU follows activation;
    "Sigmoid" [1, 6, 13] SIGMOID nonnegative follows activation;
    "Tanh" [1, 6, 13] TANH follows activation;
    "Exp" [1, 6, 13] EXP nonnegative;
    "Log" [1, 6, 13] LOG exact;
    "Sqrt" [1, 6, 13] SQRT exact;
    "Reciprocal" [1, 6, 13] RECIPROCAL;
    "Neg" [1, 6, 13] NEG follows;
    "Abs" [1, 6, 13] ABS nonnegative follows;
    "Sign" [9, 13] SIGN follows;
    "Floor" [1, 6, 13] FLOOR;
    "Ceil" [1, 6, 13] CEIL;
    "Round" [11, 22] ROUND;
    "Erf" [9, 13] ERF follows;
    "Sin" [7, 22] SIN exact;
    "Cos" [7, 22] COS exact;
    "Tan" [7, 22] TAN exact;
    "Asin" [7, 22] ASIN;
    "Acos" [7, 22] ACOS;
    "Atan" [7, 22] ATAN;
    "Sinh" [9, 22] SINH;
    "Cosh" [9, 22] COSH;
    "Asinh" [9, 22] ASINH;
    "Acosh" [9, 22] ACOSH;
    "Atanh" [9, 22] ATANH;
    "Softplus" [1, 22] SOFTPLUS nonnegative follows activation;
    "Softsign" [1, 22] SOFTSIGN follows activation;
    "HardSwish" [14, 22] HARD_SWISH follows activation;
    "Mish" [18, 22] MISH follows activation;
    "Not" [1] NOT;
    "BitwiseNot" [18] BITWISE_NOT;
    "IsNaN" [9, 13, 20] IS_NAN;
}

/// Implementation of an operator on one element: on the device, on the host, and at compile time.
#[derive(Debug)]
struct Unary {
    /// Classes of elements that the operator accepts.
    kinds: &'static [ElementClass],
    device: Device,
    /// Name of the function in the run-time crate's `host`, if any.
    host: Option<&'static str>,
    known: fn(f64) -> Option<f64>,
    ints: fn(&Dim) -> Option<Dim>,
    bool_result: bool,
}

attributes!(struct Unary { kinds, device, host, bool_result; known, ints });

/// Code of an operator on a tensor.
#[derive(Clone, Copy, Debug)]
enum Device {
    /// A method of the tensor.
    Method(&'static str),
    /// A function of the kernels.
    Kernel(&'static str, &'static str),
}

attributes!(
    enum Device {
        Method(inner),
        Kernel(first, second),
    }
);

const FLOAT: &[ElementClass] = &[ElementClass::Float];
const NUMBER: &[ElementClass] = &[ElementClass::Float, ElementClass::Int];

const fn unary(
    kinds: &'static [ElementClass],
    device: Device,
    host: Option<&'static str>,
    known: fn(f64) -> Option<f64>,
) -> Unary {
    Unary { kinds, device, host, known, ints: |_| None, bool_result: false }
}

const fn float(function: &'static str) -> Unary {
    unary(FLOAT, Device::Kernel("elementary", function), None, |_| None)
}

use Device::{Kernel, Method};

const RELU: Unary = Unary {
    ints: |x| x.larger(&Dim::default()),
    ..unary(NUMBER, Kernel("activation", "relu"), None, |x| Some(if x < 0.0 { 0.0 } else { x }))
};
const SIGMOID: Unary = unary(FLOAT, Kernel("elementary", "sigmoid"), None, |_| None);
const TANH: Unary = unary(FLOAT, Kernel("elementary", "tanh"), None, |_| None);
const EXP: Unary = unary(FLOAT, Kernel("elementary", "exp"), Some("exp"), |_| None);
const LOG: Unary = unary(FLOAT, Kernel("elementary", "log"), Some("log"), |_| None);
const SQRT: Unary = unary(FLOAT, Method("sqrt"), Some("sqrt"), |x| Some(x.sqrt()));
const RECIPROCAL: Unary = unary(FLOAT, Method("recip"), None, |x| Some(1.0 / x));
const NEG: Unary = Unary { ints: Dim::neg, ..unary(NUMBER, Method("neg"), Some("neg"), |x| Some(-x)) };
const ABS: Unary = Unary { ints: Dim::abs, ..unary(NUMBER, Method("abs"), Some("abs"), |x| Some(x.abs())) };
const SIGN: Unary = Unary {
    ints: |x| x.number().map(|number| number.signum().into()),
    ..unary(NUMBER, Kernel("arithmetic", "sign"), Some("sign"), |x| {
        Some(if x == 0.0 || x.is_nan() { x } else { x.signum() })
    })
};
const FLOOR: Unary = unary(FLOAT, Method("floor"), Some("floor"), |x| Some(x.floor()));
const CEIL: Unary = unary(FLOAT, Method("ceil"), Some("ceil"), |x| Some(x.ceil()));
const ROUND: Unary = unary(FLOAT, Method("round"), Some("round"), |x| Some(x.round_ties_even()));
const ERF: Unary = Unary {
    ints: |x| x.number().map(|number| (i64::from(number >= 4) - i64::from(number <= -4)).into()),
    ..unary(NUMBER, Kernel("elementary", "erf"), None, |_| None)
};
const SIN: Unary = float("sin");
const COS: Unary = float("cos");
const TAN: Unary = float("tan");
const ASIN: Unary = float("asin");
const ACOS: Unary = float("acos");
const ATAN: Unary = float("atan");
const SINH: Unary = float("sinh");
const COSH: Unary = float("cosh");
const ASINH: Unary = unary(FLOAT, Kernel("elementary", "asinh"), None, |_| None);
const ACOSH: Unary = unary(FLOAT, Kernel("elementary", "acosh"), None, |_| None);
const ATANH: Unary = float("atanh");
const SOFTPLUS: Unary = unary(FLOAT, Kernel("activation", "softplus"), None, |_| None);
const SOFTSIGN: Unary = unary(FLOAT, Kernel("activation", "softsign"), None, |_| None);
const HARD_SWISH: Unary = unary(FLOAT, Kernel("activation", "hard_swish"), None, |_| None);
const MISH: Unary = unary(FLOAT, Kernel("activation", "mish"), None, |_| None);
const GELU: Unary = unary(FLOAT, Kernel("elementary", "gelu"), None, |_| None);
const GELU_BY_TANH: Unary = unary(FLOAT, Kernel("activation", "gelu_tanh"), None, |_| None);
const NOT: Unary =
    unary(&[ElementClass::Bool], Method("bool_not"), Some("not"), |x| Some(f64::from(x == 0.0)));
const BITWISE_NOT: Unary = unary(&[ElementClass::Int], Method("bitwise_not"), None, |_| None);
const IS_NAN: Unary =
    Unary { bool_result: true, ..unary(FLOAT, Method("is_nan"), None, |x| Some(f64::from(x.is_nan()))) };

#[derive(Debug)]
pub struct Plain(&'static Unary);

attributes!(struct Plain(inner));

/// Tests if elements are infinite, with either sign or with one.
#[derive(Debug)]
struct Infinite {
    negative: bool,
    positive: bool,
}

attributes!(struct Infinite { negative, positive });

fn read(attributes: &Attributes<'_>, table: &'static Unary) -> Result<Rc<dyn Operator>, Problem> {
    if attributes.version() < 6 {
        attributes.ignore(&["consumed_inputs"]);
    }
    Ok(Rc::new(Plain(table)))
}

fn gelu(attributes: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let tables = [("none", &GELU), ("tanh", &GELU_BY_TANH)];
    read(attributes, attributes.choice("approximate", "none", &tables)?)
}

fn infinite(attributes: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Infinite {
        negative: attributes.flag("detect_negative", true)?,
        positive: attributes.flag("detect_positive", true)?,
    }))
}

impl Operator for Plain {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if !self.0.kinds.contains(&x.dtype.kind()) {
            let (dtype, expected) = (x.dtype, classes(self.0.kinds));
            return Err(Problem::new(format!("the input has type {dtype}, expected {expected}")));
        }
        let dtype = if self.0.bool_result { DType::Bool } else { x.dtype };
        let known = cx.folded(0).and_then(|known| fold(self.0, known, x.dtype));
        cx.output(0, dtype, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if let (true, Some(host)) = (cx.on_host(), self.0.host) {
            let (x, host) = (cx.host(0)?, format_ident!("{host}"));
            return Ok(code!(host::#host(#x)));
        }
        let dtype = cx.tensor_type(0)?.dtype;
        let integers = dtype.is_int();
        let x = cx.tensor(0)?;
        Ok(match self.0.device {
            // An integer is never NaN, and the activation accepts only floats. Burn's `sign` uses -1, which devices
            // reject in unsigned types.
            Kernel(_, "sign") if integers && !dtype.is_signed() => code!(#x.clamp_max(1)),
            Kernel(_, "sign") if integers => code!(#x.sign()),
            Kernel(_, "relu") if integers => code!(#x.clamp_min(0)),
            Kernel(_, "erf") if integers => code!(ops::elementary::erf_int(#x)),
            Method("bitwise_not") => wrapped(code!(#x.bitwise_not()), dtype),
            Method(name) => {
                let name = format_ident!("{name}");
                code!(#x.#name())
            }
            Kernel(family, name) => {
                let (family, name) = (format_ident!("{family}"), format_ident!("{name}"));
                code!(ops::#family::#name(#x))
            }
        })
    }

    fn runs_on_host(&self) -> bool {
        self.0.host.is_some()
    }
}

impl Operator for Infinite {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if x.dtype.kind() != ElementClass::Float {
            return Err(Problem::new(format!("the input has type {}, expected floats", x.dtype)));
        }
        cx.output(0, DType::Bool, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, dtype) = (cx.tensor(0)?, cx.tensor_type(0)?.dtype);
        // Values that are computed in higher precision may be finite although they are infinite in their own type.
        let x = if dtype.is_half() {
            let dtype = format_ident!("{}", dtype.carrier());
            code!(ops::cast::float_to_float(#x, DType::#dtype))
        } else {
            x
        };
        let (negative, positive) = (self.negative, self.positive);
        Ok(if negative && positive {
            code!(#x.is_inf())
        } else {
            code!(ops::arithmetic::is_inf(#x, #negative, #positive))
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn types_and_known_values_go_through() {
        check(
            r#"g (float16[n, 2] x, bool[3] b) => (float16[n, 2] a, bool[n, 2] c, bool[3] d, float[2] f) { a = Abs (x) c = IsNaN (x) d = Not (b) e = Constant <value_floats = [-1.5, 2.5]> () f = Round (e) }"#,
            expect![[r#"
                g (float16[n, 2] x, bool[3] b) => (float16[n, 2] a, bool[n, 2] c, bool[3] d, float32[2] f)
                <
                    float32[2] f = {-2, 2}
                >
                {
                    float16[n, 2] a = Abs (x)
                    bool[n, 2] c = IsNaN (x)
                    bool[3] d = Not (b)
                }
            "#]],
        );
    }

    #[test]
    fn elements_are_of_the_kinds_that_the_operator_takes() {
        problems(
            &[
                r#"(bool[2] x) => (bool[2] y) { y = Neg (x) }"#,
                r#"(int64[2] x) => (int64[2] y) { y = Exp (x) }"#,
                r#"(float[2] x) => (bool[2] y) { y = Not (x) }"#,
                r#"(float[2] x) => (float[2] y) { y = BitwiseNot (x) }"#,
                r#"(int64[2] x) => (bool[2] y) { y = IsNaN (x) }"#,
                r#"(string[2] x) => (string[2] y) { y = Relu (x) }"#,
                r#"(uint8[2] x) => (uint8[2] y) { y = Sign (x) }"#,
            ],
            expect![[r#"
                the input has type bool, expected floats or integers
                the input has type int64, expected floats
                the input has type float32, expected booleans
                the input has type float32, expected integers
                the input has type int64, expected floats
                the input has type string, expected floats or integers
                fine
            "#]],
        );
    }
}
