//! The same values in another element type.

use std::rc::Rc;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::elementwise::rounded;
use super::{Operator, Row, row};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, Kind};
use crate::emit::{Emit, host_element};
use crate::infer::Infer;
use crate::types::Known;

pub const ROWS: &[Row] = &[
    row("Cast", &[1, 6, 9, 13, 19, 21, 23, 24, 25, 28], cast),
    row("CastLike", &[15, 19, 21, 23, 24, 25], |a| {
        about_float8(a)?;
        Ok(Rc::new(Cast { to: None }))
    }),
];

/// A conversion to a type, or to that of input 1.
#[derive(Debug)]
struct Cast {
    to: Option<DType>,
}

fn cast(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    about_float8(a)?;
    let missing = || Problem::new("attribute `to` is missing");
    let (to, text) = match a.version() {
        ..6 => {
            let name = a.string("to")?.ok_or_else(missing)?;
            (named(&name), name)
        }
        _ => {
            let number = a.int("to")?.ok_or_else(missing)?;
            let to = i32::try_from(number).ok().and_then(DType::from_onnx);
            (to, number.to_string())
        }
    };
    match to {
        Some(to) => Ok(Rc::new(Cast { to: Some(to) })),
        None => Err(Problem::new(format!(
            "`to` is {text}, which is no element type"
        ))),
    }
}

/// How values are rounded to floats of 8 bits, which are not made here.
fn about_float8(a: &Attributes<'_>) -> Result<(), Problem> {
    a.ignore(&["saturate", "round_mode"]);
    Ok(())
}

/// The type that version 1 spells as ONNX's enumeration does.
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
    names
        .into_iter()
        .find(|held| held.0 == name)
        .map(|held| held.1)
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
        let numbers = [Kind::Float, Kind::Int, Kind::Bool];
        let packed = to.bits() < 8 || (to.kind() == Kind::Float && !to.is_float());
        if !numbers.contains(&x.dtype.kind()) || !numbers.contains(&to.kind()) || packed {
            let problem = format!("a cast from {} to {to} is not supported", x.dtype);
            return Err(Problem::new(problem));
        }
        let known = cx.known(0).and_then(|known| converted(known, to));
        cx.output(0, to, x.shape);
        if let Some(known) = known {
            cx.output_known(0, known);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<TokenStream, Problem> {
        let (from, to) = (cx.tensor_type(0)?.dtype, cx.output_tensor(0)?.dtype);
        if cx.on_host() && from == to {
            return cx.value(0);
        }
        if cx.on_host() {
            let (x, element) = (cx.host(0)?, host_element(to));
            return Ok(quote!(host::cast::<_, #element>(#x)));
        }
        let x = cx.tensor(0)?;
        let target = format_ident!("{}", carrier(to));
        if carrier(from) == carrier(to) {
            return Ok(x);
        }
        Ok(match (from.kind(), to.kind()) {
            (_, Kind::Bool) => quote!(ops::cast::to_bool(#x)),
            (Kind::Bool, Kind::Int) => quote!(ops::cast::bool_to_int(#x, DType::#target)),
            (Kind::Bool, _) => quote!(ops::cast::bool_to_float(#x, DType::#target)),
            (Kind::Int, Kind::Int) => quote!(ops::cast::int_to_int(#x, DType::#target)),
            (Kind::Int, _) => quote!(ops::cast::int_to_float(#x, DType::#target)),
            (_, Kind::Int) => quote!(ops::cast::float_to_int(#x, DType::#target)),
            _ => quote!(ops::cast::float_to_float(#x, DType::#target)),
        })
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

/// The name of Burn's type that carries the values.
pub fn carrier(dtype: DType) -> &'static str {
    use DType::*;
    match dtype {
        F32 | F8E4M3Fn | F8E4M3Fnuz | F8E5M2 | F8E5M2Fnuz | F4E2M1 | F8E8M0 => "F32",
        F64 => "F64",
        F16 => "F16",
        Bf16 => "BF16",
        U8 | U4 | U2 => "U8",
        I8 | I4 | I2 => "I8",
        U16 => "U16",
        I16 => "I16",
        U32 => "U32",
        I32 => "I32",
        U64 => "U64",
        I64 => "I64",
        Bool | String | C64 | C128 => "Bool",
    }
}

/// What is known after the conversion. Floats that no integer of the type is near are left to the
/// run, which differs by device.
fn converted(known: &Known, to: DType) -> Option<Known> {
    match (known, to.kind()) {
        (Known::Ints(dims), Kind::Int) => {
            let dims = dims.iter().map(|dim| match dim.number() {
                Some(number) => wrapped(number, to).map(Dim::from),
                // Sizes fit into 32 bits.
                None => (to.bits() >= 32).then(|| dim.clone()),
            });
            dims.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Ints(dims), Kind::Float) => {
            let floats = dims.iter().map(|dim| float(dim.number()?, to));
            floats.collect::<Option<_>>().map(Known::Floats)
        }
        (Known::Ints(dims), Kind::Bool) => {
            let truths = dims
                .iter()
                .map(|dim| dim.number().map(|number| number != 0));
            truths.collect::<Option<_>>().map(Known::Bools)
        }
        (Known::Floats(values), Kind::Int) => {
            let ints = values.iter().map(|&value| {
                let whole = value.trunc();
                let number = (whole.abs() < 9e18).then_some(whole as i64)?;
                fits(number, to).then(|| Dim::from(number))
            });
            ints.collect::<Option<_>>().map(Known::Ints)
        }
        (Known::Floats(values), Kind::Float) => Some(Known::Floats(
            values.iter().map(|&value| rounded(value, to)).collect(),
        )),
        (Known::Floats(values), Kind::Bool) => Some(Known::Bools(
            values.iter().map(|&value| value != 0.0).collect(),
        )),
        (Known::Bools(values), Kind::Int) => Some(Known::Ints(
            values
                .iter()
                .map(|&value| i64::from(value).into())
                .collect(),
        )),
        (Known::Bools(values), Kind::Float) => Some(Known::Floats(
            values.iter().map(|&value| f64::from(value)).collect(),
        )),
        _ => None,
    }
}

/// Whether an integer of the type can be this number.
pub fn fits(number: i64, dtype: DType) -> bool {
    wrapped(number, dtype) == Some(number)
}

/// The low bits of a number as an integer of the type; `None` beyond what `i64` holds.
fn wrapped(number: i64, to: DType) -> Option<i64> {
    let shift = 64u32.saturating_sub(to.bits());
    let high = number.wrapping_shl(shift);
    match (to.is_signed(), shift) {
        (true, _) => Some(high >> shift),
        (false, 0) => (number >= 0).then_some(number),
        (false, _) => i64::try_from((high as u64) >> shift).ok(),
    }
}

/// An integer rounded once to a float of the type.
fn float(number: i64, to: DType) -> Option<f64> {
    match to {
        DType::F32 => Some(f64::from(number as f32)),
        DType::F64 => Some(number as f64),
        _ => (number.unsigned_abs() < 1 << 52).then(|| rounded(number as f64, to)),
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
                    float64[2] d = {NaN, 10000000000},
                    uint8[2] a = {44, 255},
                    int64[2] b = {-1, 0}
                >
                {
                    int32[2] c = Cast <to: Some(I32)> (d)
                }
            "#]],
        );
    }

    #[test]
    fn strings_are_not_cast() {
        check(
            "main (float[2] x) => (string[2] y) { y = Cast <to = 8> (x) }",
            expect![[r#"
                cannot compile `model`

                  a cast from float32 to string is not supported
                    at node `y` (Cast version 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
