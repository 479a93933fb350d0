//! Windows and filter banks for signals.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, element_type, float_literal, rust_type};
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::{Known, Placement, Type};

pub const ROWS: &[Row] = &[
    row("HannWindow", &[17], |a| window(a, "hann_window")),
    row("HammingWindow", &[17], |a| window(a, "hamming_window")),
    row("BlackmanWindow", &[17], |a| window(a, "blackman_window")),
    row("MelWeightMatrix", &[17], |a| Ok(Rc::new(MelWeights(dtype(a)?)))).arity("rrrrr", "r"),
];

#[derive(Debug)]
struct Window {
    /// Name of the function in the run-time crate's `constant`.
    function: &'static str,
    dtype: DType,
    periodic: bool,
}

attributes!(struct Window { function, dtype, periodic });

/// Weights of mel filter banks, with this element type.
#[derive(Debug)]
struct MelWeights(DType);

attributes!(struct MelWeights(inner));

fn window(a: &Attributes<'_>, function: &'static str) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Window { function, dtype: dtype(a)?, periodic: a.flag("periodic", true)? }))
}

fn dtype(a: &Attributes<'_>) -> Result<DType, Problem> {
    let number = a.int_or("output_datatype", 1)?;
    let dtype = i32::try_from(number).ok().and_then(DType::from_onnx);
    let numbers = |dtype: &DType| dtype.is_float() || dtype.is_int();
    dtype.filter(numbers).ok_or_else(|| {
        Problem::expected("`output_datatype`", number, "a float or integer type")
            .help("export the model with a float type and cast the result")
    })
}

/// Returns the type in which elements are computed before they are truncated to integers.
fn computed(dtype: DType) -> Code {
    if dtype.is_int() { element_type(DType::F64) } else { element_type(dtype) }
}

/// Converts `values` to integers if `dtype` is an integer type.
fn whole(values: &Code, dtype: DType) -> Code {
    let target = format_ident!("{}", dtype.carrier());
    if dtype.is_int() { code!(ops::cast::float_to_int(#values, DType::#target)) } else { values.clone() }
}

fn tensor(rank: usize, dtype: DType) -> Code {
    let operand = Type::tensor(dtype, vec![Dim::from(1); rank]);
    rust_type(&operand, Placement::Device)
}

impl Operator for Window {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let size = size(cx, 0, "window")?;
        cx.output(0, self.dtype, vec![size]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (function, element) = (format_ident!("{}", self.function), computed(self.dtype));
        let periodic = self.periodic;
        if let Some([size]) = cx.numbers(0).as_deref() {
            let size = Literal::i64_unsuffixed(*size);
            let load = code! {
                constant::#function(weights.device(), #element, #size, #periodic)
            };
            let load = whole(&load, self.dtype);
            let field = cx.layer(self.function, tensor(1, self.dtype), load);
            return Ok(code!(#field.clone()));
        }
        cx.may_fail();
        let (size, device) = (cx.host_int(0)?, cx.device());
        let size = code!(ops::sizes::size(#size));
        let made = code!(constant::#function(#device, #element, #size, #periodic));
        Ok(whole(&made, self.dtype))
    }

    fn wants_host(&self, _: usize) -> bool {
        true
    }
}

impl Operator for MelWeights {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (bands, length) = (size(cx, 0, "bands")?, size(cx, 1, "dft")?);
        let bins = length.div(&Dim::from(2)).and_then(|half| half.add(&Dim::from(1)));
        let bins = cx.dim_or_fresh(bins, "bins");
        cx.output(0, self.0, vec![bins, bands]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let element = computed(self.0);
        let number = |input: usize| match cx.numbers(input).as_deref() {
            Some([number]) => Some(Literal::i64_unsuffixed(*number)),
            _ => None,
        };
        let edge = |input: usize| match cx.known(input) {
            Some(Known::Floats(values)) => {
                let value = values.first()?;
                Some(float_literal(*value, DType::F64))
            }
            _ => None,
        };
        let known = [number(0), number(1), number(2)].into_iter().collect::<Option<Vec<_>>>();
        let edges = [edge(3), edge(4)].into_iter().collect::<Option<Vec<_>>>();
        if let (Some(sizes), Some(edges)) = (known, edges) {
            let load = code! {
                constant::mel_weight_matrix(
                    weights.device(), #element, [#(#sizes),*], [#(#edges),*]
                )
            };
            let load = whole(&load, self.0);
            let field = cx.layer("mel_weights", tensor(2, self.0), load);
            return Ok(code!(#field.clone()));
        }
        cx.may_fail();
        let sizes = (0..3).map(|at| cx.host_int(at)).collect::<Result<Vec<_>, _>>()?;
        let edges = (3..5).map(|at| cx.host_float(at)).collect::<Result<Vec<_>, _>>()?;
        let device = cx.device();
        let sizes = sizes.iter().enumerate().map(|(at, size)| match at {
            0 => code!(ops::sizes::size(#size)),
            _ => code!(ops::sizes::positive(#size)),
        });
        let made = code! {
            constant::mel_weight_matrix(#device, #element, [#(#sizes),*], [#(#edges),*])
        };
        Ok(whole(&made, self.0))
    }

    fn wants_host(&self, _: usize) -> bool {
        true
    }
}

/// Returns a size that an input contains.
fn size(cx: &mut Infer<'_>, input: usize, hint: &str) -> Result<Dim, Problem> {
    let operand = cx.tensor(input)?;
    if !operand.dtype.is_int() || operand.count().is_some_and(|count| count != 1) {
        return Err(Problem::expected(format_args!("input {input}"), operand, "one integer"));
    }
    let known = cx.ints(input).and_then(|dims| dims.into_iter().next());
    if let Some(size) = known.as_ref().and_then(Dim::number).filter(|&size| size < 0) {
        return Err(Problem::expected(format_args!("input {input}"), size, "a non-negative integer"));
    }
    Ok(cx.dim_or_fresh(known.filter(Dim::is_size), hint))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn sizes_and_types_follow_from_inputs_and_attributes() {
        check(
            r#"<ir_version: 8, opset_import: ["": 17]> g (int64 n) => (float[a] w, double[b] h, float[c, d] m) { w = HannWindow (n) s = Constant <value_int = 9> () h = HammingWindow <output_datatype = 11> (s) b = Constant <value_int = 4> () r = Constant <value_int = 8000> () l = Constant <value_float = 0.0> () u = Constant <value_float = 4000.0> () m = MelWeightMatrix (b, s, r, l, u) }"#,
            expect![[r#"
                g (host int64[] n) => (float32[window] w, float64[9] h, float32[5, 4] m)
                <
                    int64[] s = {9},
                    int64[] b = {4},
                    int64[] r = {8000},
                    float32[] l = {0},
                    float32[] u = {4000}
                >
                {
                    float32[window] w = HannWindow <function: "hann_window", dtype: F32, periodic: true> (n)
                    float64[9] h = HammingWindow <function: "hamming_window", dtype: F64, periodic: true> (s)
                    float32[5, 4] m = MelWeightMatrix <F32> (b, s, r, l, u)
                }
            "#]],
        );
    }

    #[test]
    fn sizes_are_single_whole_numbers() {
        problems(
            &[
                r#"<ir_version: 8, opset_import: ["": 17]> g (int64[2] n) => (float[a] y) { y = HannWindow (n) }"#,
                r#"<ir_version: 8, opset_import: ["": 17]> g (float n) => (float[a] y) { y = HannWindow (n) }"#,
                r#"<ir_version: 8, opset_import: ["": 17]> g () => (float[a] y) { n = Constant <value_int = -1> () y = BlackmanWindow (n) }"#,
                r#"<ir_version: 8, opset_import: ["": 17]> g (int64 n) => (bool[a] y) { y = HannWindow <output_datatype = 9> (n) }"#,
            ],
            expect![[r#"
                input 0 is int64[2], expected one integer
                input 0 is float32, expected one integer
                input 0 is -1, expected a non-negative integer
                `output_datatype` is 9, expected a float or integer type
            "#]],
        );
    }
}
