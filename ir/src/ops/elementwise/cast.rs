//! Conversions between element types.

mod known;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, host_element};
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};

pub use known::{nearest, stays};

pub const ROWS: &[Row] = &[
    row("Cast", &[1, 6, 9, 13, 19, 21, 23, 24, 25, 28], cast).elementwise(),
    row("CastLike", &[15, 19, 21, 23, 24, 25], |a| read(a, None))
        .newer(&[("saturate", 19), ("round_mode", 24)])
        .arity("rr", "r"),
];

/// A conversion to a type, or to the type of input 1.
#[derive(Debug)]
struct Cast {
    to: Option<DType>,
    /// Whether 8-bit floats saturate at their largest value.
    saturate: bool,
    /// Rounding direction of numbers between two powers of two.
    toward: &'static str,
}

attributes!(struct Cast { to, saturate, toward });

/// Returns the operator that converts to a type.
pub fn to(dtype: DType) -> Rc<dyn Operator> {
    Rc::new(Cast { to: Some(dtype), saturate: true, toward: "Up" })
}

fn cast(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let (to, text) = match a.version() {
        ..6 => {
            let name = a.required("to", Attributes::string)?;
            (named(&name), name)
        }
        _ => {
            let number = a.required("to", Attributes::int)?;
            let to = i32::try_from(number).ok().and_then(DType::from_onnx);
            (to, number.to_string())
        }
    };
    match to {
        Some(to) => read(a, Some(to)),
        None => Err(Problem::expected("`to`", text, "an ONNX element type")),
    }
}

fn read(a: &Attributes<'_>, to: Option<DType>) -> Result<Rc<dyn Operator>, Problem> {
    let modes = [("up", "Up"), ("down", "Down"), ("nearest", "Nearest")];
    let toward = a.choice("round_mode", "up", &modes)?;
    Ok(Rc::new(Cast { to, saturate: a.flag("saturate", true)?, toward }))
}

/// Returns the type with this name in ONNX's enumeration, which version 1 uses.
fn named(name: &str) -> Option<DType> {
    use DType::*;
    let names = [
        ("FLOAT", F32),
        ("UINT8", U8),
        ("INT8", I8),
        ("UINT16", U16),
        ("INT16", I16),
        ("INT32", I32),
        ("INT64", I64),
        ("STRING", String),
        ("BOOL", Bool),
        ("FLOAT16", F16),
        ("DOUBLE", F64),
        ("UINT32", U32),
        ("UINT64", U64),
        ("COMPLEX64", C64),
        ("COMPLEX128", C128),
        ("BFLOAT16", Bf16),
    ];
    names.into_iter().find(|entry| entry.0 == name).map(|entry| entry.1)
}

impl Operator for Cast {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let to = match self.to {
            Some(to) => to,
            None => cx.tensor(1)?.dtype,
        };
        if x.dtype == to {
            cx.output_same(0, 0);
            return Ok(());
        }
        if [x.dtype.kind(), to.kind()].contains(&ElementClass::Complex) {
            return Err(Problem::new(format!(
                "a cast from {} to {to} is not supported, expected real types",
                x.dtype
            )));
        }
        let known = cx.folded(0).and_then(|known| known::converted(known, to));
        cx.output(0, to, x.shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (from, to) = (cx.tensor_type(0)?.dtype, cx.output_tensor(0)?.dtype);
        if cx.on_host() && from == to {
            return cx.value(0);
        }
        if from == DType::String {
            cx.may_fail();
        }
        let packed = (1..8).contains(&to.bits()) || is_small(to);
        if cx.on_host() {
            let (x, element) = (cx.host(0)?, host_element(to));
            return Ok(match (from, to) {
                _ if packed => self.small_on_host(cx, from, to)?,
                (_, DType::String) => code!(host::print(#x)),
                (DType::String, _) => code!(host::parse::<#element>(#x)),
                _ => code!(host::cast::<_, #element>(#x)),
            });
        }
        let x = cx.tensor(0)?;
        let target = format_ident!("{}", to.carrier());
        if packed {
            return Ok(self.small(&x, from, to));
        }
        if from.carrier() == to.carrier() {
            return Ok(x);
        }
        Ok(match (from.kind(), to.kind()) {
            (_, ElementClass::Bool) => code!(ops::cast::to_bool(#x)),
            (ElementClass::Bool, _) => from_bool(&x, to),
            (ElementClass::Int, ElementClass::Int) => code!(ops::cast::int_to_int(#x, DType::#target)),
            (ElementClass::Int, _) => code!(ops::cast::int_to_float(#x, DType::#target)),
            (_, ElementClass::Int) => code!(ops::cast::float_to_int(#x, DType::#target)),
            _ => code!(ops::cast::float_to_float(#x, DType::#target)),
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

impl Cast {
    /// Converts host values on the device, for types that only the device supports.
    fn small_on_host(&self, cx: &mut Emit<'_, '_>, from: DType, to: DType) -> Result<Code, Problem> {
        let tensor = cx.tensor_type(0)?;
        let (rank, axes) = (tensor.rank(), tensor.burn_rank());
        let (rank, axes) = (Literal::usize_unsuffixed(rank), Literal::usize_unsuffixed(axes));
        let (x, device) = (cx.host(0)?, cx.device());
        let (read, between) = match (from, to.kind()) {
            (DType::String, ElementClass::Int) => (code!(&host::parse::<i64>(#x)), DType::I64),
            (DType::String, _) => (code!(&host::parse::<f32>(#x)), DType::F32),
            _ => (x, from),
        };
        let element = host_element(between);
        let moved = match between.kind() {
            ElementClass::Bool => code!(host::to_device_bool::<#axes>(#read, #device)),
            ElementClass::Int => code!(host::to_device_int::<#element, #axes>(#read, #device)),
            _ => code!(host::to_device::<#element, #axes>(#read, #device)),
        };
        let (small, element) = (self.small(&moved, between, to), host_element(to));
        Ok(code!(host::to_host::<#element, #axes, _>(#small, #rank)))
    }

    /// Converts to a type that Burn lacks, with fewer bits than its carrier.
    fn small(&self, x: &Code, from: DType, to: DType) -> Code {
        if let Some(small) = small_float(to, self.toward) {
            let saturate = self.saturate;
            let x = match from.kind() {
                ElementClass::Int => code!(ops::cast::int_to_float(#x, DType::F32)),
                ElementClass::Bool => code!(ops::cast::bool_to_float(#x, DType::F32)),
                _ => x.clone(),
            };
            return code!(ops::small::to_small(#x, #small, #saturate));
        }
        let (target, bits) = (format_ident!("{}", to.carrier()), Literal::u32_unsuffixed(to.bits()));
        let x = match from.kind() {
            ElementClass::Bool => return code!(ops::cast::bool_to_int(#x, DType::#target)),
            ElementClass::Int => x.clone(),
            _ => code!(ops::cast::float_to_int(#x, DType::I32)),
        };
        code!(ops::small::to_bits(#x, DType::#target, #bits))
    }
}

/// Applies `run`, which takes floats, to numbers of any type, and converts the result back to this type.
pub fn through_floats(x: Code, dtype: DType, run: impl FnOnce(Code) -> Code) -> Code {
    let to = format_ident!("{}", dtype.carrier());
    match dtype.kind() {
        ElementClass::Int => {
            let y = run(code!(ops::cast::int_to_float(#x, DType::F64)));
            code!(ops::cast::float_to_int(#y, DType::#to))
        }
        ElementClass::Bool => {
            let y = run(code!(ops::cast::bool_to_float(#x, DType::F32)));
            code!(ops::cast::to_bool(#y))
        }
        _ => run(x),
    }
}

/// Converts `true` to 1 and `false` to 0; returns the tensor unchanged if `to` is bool.
pub fn from_bool(x: &Code, to: DType) -> Code {
    let target = format_ident!("{}", to.carrier());
    match to.kind() {
        ElementClass::Int => code!(ops::cast::bool_to_int(#x, DType::#target)),
        ElementClass::Float => code!(ops::cast::bool_to_float(#x, DType::#target)),
        _ => x.clone(),
    }
}

/// Returns `true` for a float type that is carried by `f32`.
pub fn is_small(dtype: DType) -> bool {
    dtype.kind() == ElementClass::Float && !dtype.is_float()
}

/// Returns the kernels' name of a float type that is carried by `f32`.
pub fn small_float(dtype: DType, toward: &str) -> Option<Code> {
    let name = match dtype {
        DType::F8E4M3Fn => "E4M3Fn",
        DType::F8E4M3Fnuz => "E4M3Fnuz",
        DType::F8E5M2 => "E5M2",
        DType::F8E5M2Fnuz => "E5M2Fnuz",
        DType::F4E2M1 => "E2M1",
        DType::F8E8M0 => {
            let toward = format_ident!("{toward}");
            return Some(code!(ops::small::Small::E8M0(ops::small::Toward::#toward)));
        }
        _ => return None,
    };
    let name = format_ident!("{name}");
    Some(code!(ops::small::Small::#name))
}

/// Wraps an integer of 8 or 16 bits to its width, since some devices compute it in a wider type.
pub fn wrapped(x: Code, dtype: DType) -> Code {
    match dtype.kind() {
        ElementClass::Int if matches!(dtype.bits(), 8 | 16) => {
            let target = format_ident!("{}", dtype.carrier());
            code!(ops::cast::int_to_int(#x, DType::#target))
        }
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn sizes_stay_known_in_integers_of_32_bits() {
        check(
            "main (float[N, 3] x) => (int32[2] y) { s = Shape (x) y = Cast <to = 6> (s) }",
            expect![[r#"
                main (float32[N, 3] x) => (int32[2] y)
                <
                    int32[2] y = {N, 3}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn constants_wrap_around_and_are_cut_off() {
        check(
            r#"
            main () => (uint8[2] a, int64[2] b, int32[2] c)
            <int64[2] i = {300, -1}, float[2] f = {-1.9, 0.5}, double[2] d = {nan, 1e10}> {
                a = Cast <to = 2> (i)
                b = Cast <to = 7> (f)
                c = Cast <to = 6> (d)
            }
            "#,
            expect![[r#"
                main () => (uint8[2] a, int64[2] b, int32[2] c)
                <
                    uint8[2] a = {44, 255},
                    int64[2] b = {-1, 0},
                    int32[2] c = {0, 2147483647}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn strings_are_cast_on_the_host() {
        check(
            "main (float[2] x, string[n] s) => (string[2] y, float[n] z, float8e4m3fn[n] w) {
                y = Cast <to = 8> (x)
                z = Cast <to = 1> (s)
                w = Cast <to = 17> (s)
            }",
            expect![[r#"
                main (host float32[2] x, host string[n] s) => (host string[2] y, host float32[n] z, host float8e4m3fn[n] w)
                {
                    host string[2] y = Cast <to: String, saturate: true, toward: "Up"> (x)
                    host float32[n] z = Cast <to: F32, saturate: true, toward: "Up"> (s)
                    host float8e4m3fn[n] w = Cast <to: F8E4M3Fn, saturate: true, toward: "Up"> (s)
                }
            "#]],
        );
    }
}
