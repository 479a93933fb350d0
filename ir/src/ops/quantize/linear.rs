//! QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::is_quantized;
use super::layout::{Layout, literals};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::elementwise::cast::{is_small, small_float};
use crate::ops::{Operator, broadcast, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};
use crate::types::TensorType;

/// Conversion from floats to integers, or back. Inputs 1 and 2 are scale and zero point.
#[derive(Debug)]
pub struct Linear {
    back: bool,
    axis: i64,
    block: i64,
    to: Option<DType>,
    /// Whether 8-bit floats saturate at their largest value.
    saturate: bool,
    /// Precision of `x / scale`, if it is not that of the scale.
    precision: Option<Precision>,
}

attributes!(struct Linear { back, axis, block, to, saturate, precision });

/// Precision of quotients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// That of versions before 23, which do not specify it.
    Single,
    Of(DType),
}

attributes!(
    enum Precision {
        Single,
        Of(inner),
    }
);

/// Conversion to 8 bits that span the range of the values.
#[derive(Debug)]
struct Dynamic;

attributes!(struct Dynamic);

pub fn quantize(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let precision = match a.version() {
        ..23 => Some(Precision::Single),
        _ => element_type(a, "precision")?.map(Precision::Of),
    };
    read(a, false, precision)
}

pub fn dequantize(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    read(a, true, None)
}

pub fn dynamic(_: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    Ok(Rc::new(Dynamic))
}

/// Returns the element type that an attribute contains, if any.
fn element_type(a: &Attributes<'_>, name: &str) -> Result<Option<DType>, Problem> {
    match a.int_or(name, 0)? {
        0 => Ok(None),
        number => {
            let dtype = i32::try_from(number).ok().and_then(DType::from_onnx);
            let unknown = || Problem::expected(format_args!("`{name}`"), number, "an ONNX element type");
            Ok(Some(dtype.ok_or_else(unknown)?))
        }
    }
}

fn read(a: &Attributes<'_>, back: bool, precision: Option<Precision>) -> Result<Rc<dyn Operator>, Problem> {
    let to = element_type(a, "output_dtype")?;
    Ok(Rc::new(Linear {
        back,
        axis: a.int_or("axis", 1)?,
        block: a.int_or("block_size", 0)?,
        to,
        saturate: !back && a.flag("saturate", true)?,
        precision,
    }))
}

impl Linear {
    /// Returns `true` if integers are converted to floats.
    pub fn is_back(&self) -> bool {
        self.back
    }

    /// Returns the axis along which scales differ, if there are several.
    pub fn axis(&self) -> i64 {
        self.axis
    }

    /// Returns the number of elements along the axis that share a scale; 0 if each has its own.
    pub fn block(&self) -> i64 {
        self.block
    }

    /// Returns the type to which quotients are rounded before they are rounded to integers, if it has 16 bits.
    fn rounded(&self, scale: DType) -> Option<DType> {
        let precision = match self.precision {
            None if !self.back => scale,
            None | Some(Precision::Single) => return None,
            Some(Precision::Of(dtype)) => dtype,
        };
        precision.is_half().then_some(precision)
    }
}

impl Operator for Linear {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, scale) = (cx.tensor(0)?, cx.tensor(1)?);
        let zero = if cx.has(2) { Some(cx.tensor(2)?) } else { None };
        let whole = !self.back && scale.dtype == DType::I32;
        if scale.dtype.kind() != ElementClass::Float && !whole {
            let expected = if self.back { "floats" } else { "floats or int32" };
            return Err(Problem::expected("the scale", scale, expected));
        }
        let layout = Layout::of(&x, &scale, self.axis, self.block)?;
        if let Some(zero) = &zero {
            layout.check(&x, "the zero point", zero)?;
        }
        let to = if self.back { self.to.unwrap_or(scale.dtype) } else { quantized(self.to, zero.as_ref())? };
        if let Some(zero) = zero.filter(|_| self.back) {
            sizes::same_type(("the zero point", &zero), ("the input", &x))?;
        }
        let (name, is_supported) = if self.back {
            let is_source = is_quantized(x.dtype) || x.dtype == DType::I32 || is_small(x.dtype);
            ("dequantization", is_source && to.is_float())
        } else {
            let is_source = x.dtype.is_float() || x.dtype == DType::I32;
            ("quantization", is_source && (is_quantized(to) || is_small(to)))
        };
        if !is_supported {
            return Err(Problem::new(format!("{name} from {} to {to} is not supported", x.dtype)));
        }
        cx.output(0, to, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let (operand, scale) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let layout = Layout::of(&operand, &scale, self.axis, self.block)?;
        let factor = |cx: &mut Emit<'_, '_>| {
            let factor = layout.emit(cx, 1, &operand)?;
            Ok::<_, Problem>(match scale.dtype.kind() {
                ElementClass::Int => code!(ops::cast::int_to_float(#factor, DType::F32)),
                _ => factor,
            })
        };
        let x = match (self.back, operand.dtype.kind()) {
            (false, ElementClass::Int) => {
                let x = cx.tensor(0)?;
                code!(ops::cast::int_to_float(#x, DType::F32))
            }
            _ => cx.tensor(0)?,
        };
        let rounded = self.rounded(scale.dtype).map(|dtype| format_ident!("{}", dtype.carrier()));
        let x = match &rounded {
            Some(dtype) => {
                let scale = factor(cx)?;
                code!(ops::quantize::quotient(#x, #scale, DType::#dtype))
            }
            None => x,
        };
        // The quotient is divided by ones.
        let factor = |cx: &mut Emit<'_, '_>| {
            let scale = factor(cx)?;
            Ok::<_, Problem>(if rounded.is_some() { code!(#scale.ones_like()) } else { scale })
        };
        let to = cx.output_tensor(0)?.dtype;
        let (dtype, bits) = (format_ident!("{}", to.carrier()), Literal::u32_unsuffixed(to.bits()));
        if self.back && is_small(operand.dtype) {
            let scale = factor(cx)?;
            return Ok(code!(ops::quantize::dequantize_small(#x, #scale, DType::#dtype)));
        }
        if let Some(small) = small_float(to, "Up") {
            let (scale, saturate) = (factor(cx)?, self.saturate);
            return Ok(code!(ops::quantize::quantize_small(#x, #scale, #small, #saturate)));
        }
        let target = if self.back { code!(DType::#dtype) } else { code!(DType::#dtype, #bits) };
        let function = if self.back { "dequantize" } else { "quantize" };
        if let (Some([scale, zero]), None) = (literals(cx, 1, 2), &rounded) {
            let function = format_ident!("{function}_by");
            return Ok(code!(ops::quantize::#function(#x, #scale, #zero, #target)));
        }
        let scale = factor(cx)?;
        let zero = if cx.has(2) {
            let zero = layout.emit(cx, 2, &operand)?;
            code!(Some(#zero))
        } else {
            code!(None)
        };
        let function = format_ident!("{function}");
        Ok(code!(ops::quantize::#function(#x, #scale, #zero, #target)))
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        let at = rows.alone()?;
        match Layout::of(rows.tensor(0)?, rows.tensor(1)?, self.axis, self.block).ok()? {
            Layout::Along(axis) | Layout::Blocks(axis, _) if axis == at => None,
            // Blocks may have the same scale for all rows, or one for each.
            Layout::Blocks(..) => None,
            Layout::Whole | Layout::Along(_) => Some(vec![at]),
        }
    }
}

/// Returns the type of quantized values: the attribute, else the type of the zero point, else uint8.
fn quantized(attribute: Option<DType>, zero: Option<&TensorType>) -> Result<DType, Problem> {
    match (attribute, zero.map(|zero| zero.dtype)) {
        (Some(attribute), Some(zero_dtype)) if attribute != zero_dtype => Err(Problem::new(format!(
            "`output_dtype` is {attribute}, but the zero point has type {zero_dtype}"
        ))),
        (attribute, zero_dtype) => Ok(attribute.or(zero_dtype).unwrap_or(DType::U8)),
    }
}

impl Operator for Dynamic {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        if x.dtype != DType::F32 {
            return Err(Problem::expected("the input", x, "float32"));
        }
        cx.output(0, DType::U8, x.shape);
        cx.output(1, DType::F32, Vec::new());
        cx.output(2, DType::U8, Vec::new());
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let x = cx.tensor(0)?;
        let made = code!(ops::quantize::quantize_dynamic(#x));
        Ok(match cx.outputs() {
            1 => code!(#made.0),
            2 => code!({
                let (quantized, scale, _) = #made;
                (quantized, scale)
            }),
            _ => made,
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn the_zero_point_or_the_attribute_says_the_type() {
        check(
            r#"
            main (float[N, 3] x, float s, int8[3] z, float[3] t)
                => (uint8[N, 3] a, int16[N, 3] b, int8[N, 3] c, float16[N, 3] d) {
                a = QuantizeLinear (x, s)
                b = QuantizeLinear <output_dtype = 5> (x, s)
                c = QuantizeLinear (x, t, z)
                h = Cast <to = 10> (s)
                d = DequantizeLinear (b, h)
            }
            "#,
            expect![[r#"
                main (float32[N, 3] x, float32[] s, int8[3] z, float32[3] t) => (uint8[N, 3] a, int16[N, 3] b, int8[N, 3] c, float16[N, 3] d)
                {
                    uint8[N, 3] a = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (x, s)
                    int16[N, 3] b = QuantizeLinear <axis: 1, block: 0, to: I16, saturate: true, precision: Single> (x, s)
                    int8[N, 3] c = QuantizeLinear <axis: 1, block: 0, saturate: true, precision: Single> (x, t, z)
                    float16[] h = Cast <to: F16, saturate: true, toward: "Up"> (s)
                    float16[N, 3] d = DequantizeLinear <back: true, axis: 1, block: 0> (b, h)
                }
            "#]],
        );
    }

    #[test]
    fn scales_must_fit() {
        check(
            r#"
            main (float[2, 6] x, float[5] s, float[2, 3] t) => (uint8[2, 6] a, uint8[2, 6] b, uint8[2, 6] c) {
                a = QuantizeLinear (x, s)
                b = QuantizeLinear <block_size = 3> (x, t)
                c = QuantizeLinear <block_size = 2> (x, t)
            }
            "#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  the scale is float32[5], expected one element for each index along axis 1 of float32[2, 6]
                    at node `a` (QuantizeLinear version 21)

                  the scale is float32[2, 3], expected one element for each block of 3 along axis 1 of float32[2, 6]
                    at node `b` (QuantizeLinear version 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
