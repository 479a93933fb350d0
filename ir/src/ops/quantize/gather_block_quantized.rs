//! GatherBlockQuantized: dequantized slices of quantized tensors.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::axes::axis;
use crate::ops::elementwise::cast::is_small;
use crate::ops::{MICROSOFT, Operator, Row, row, sizes};
use crate::rust::{Code, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[row("GatherBlockQuantized", &[1], read).arity("rrro", "r").of(MICROSOFT)];

/// Dequantized slices. Inputs are the tensor, indices, scales and zero points.
#[derive(Debug)]
struct Gather {
    axis: i64,
    blocks_axis: i64,
    /// Number of elements in a block; 0 for the whole axis.
    block: usize,
    /// Number of bits of a value that is packed into bytes.
    bits: usize,
}

attributes!(struct Gather { axis, blocks_axis, block, bits });

fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let block = a.int_or("block_size", 128)?;
    let size = usize::try_from(block).ok();
    let size = size.filter(|&size| size == 0 || size >= 16 && size.is_power_of_two());
    let bits = match a.int_or("bits", 4)? {
        2 => 2,
        4 => 4,
        8 => 8,
        bits => return Err(Problem::expected("`bits`", bits, "2, 4 or 8")),
    };
    Ok(Rc::new(Gather {
        axis: a.int_or("gather_axis", 0)?,
        blocks_axis: a.int_or("quantize_axis", 1)?,
        block: size
            .ok_or_else(|| Problem::expected("`block_size`", block, "0 or a power of two of at least 16"))?,
        bits,
    }))
}

impl Gather {
    /// Returns the number of bits of a value. Only unsigned bytes may contain several values.
    fn bits(&self, x: &TensorType) -> usize {
        if x.dtype == DType::U8 { self.bits } else { 8 }
    }

    fn axes(&self, x: &TensorType) -> Result<[usize; 2], Problem> {
        Ok([axis(self.axis, x.rank())?, axis(self.blocks_axis, x.rank())?])
    }

    fn check(&self, cx: &Infer<'_>, x: &TensorType) -> Result<(), Problem> {
        let [gathered, blocks] = self.axes(x)?;
        let scales = cx.tensor(2)?;
        let (dtype, small) = (x.dtype, is_small(x.dtype));
        if !small && !matches!(dtype, DType::U8 | DType::U4 | DType::I4) {
            let expected = "uint8, uint4, int4 or floats of at most 8 bits";
            return Err(Problem::expected("`data`", x, expected));
        }
        if !scales.dtype.is_float() || scales.rank() != x.rank() {
            return Err(Problem::expected("`scales`", scales, format_args!("floats of rank {}", x.rank())));
        }
        if cx.has(3) && small {
            return Err(Problem::new(format!(
                "`zero_points` is present, expected none for data of type {dtype}"
            )));
        }
        if cx.has(3) {
            let zeros = cx.tensor(3)?;
            sizes::same_type(("`zero_points`", &zeros), ("`data`", x))?;
            if dtype != DType::U8 {
                sizes::shaped("`zero_points`", &zeros, &scales.shape)?;
            }
        }
        if self.block == 0 && !small {
            return Err(Problem::expected("`block_size`", 0, format_args!("at least 16 for type {dtype}")));
        }
        if dtype == DType::U8 && (gathered != 0 || blocks == 0 || blocks + 1 != x.rank()) {
            return Err(Problem::new(format!(
                "`gather_axis` is {gathered} and `quantize_axis` is {blocks}, expected two different axes, \
                 the first and the last, for data of type uint8"
            )));
        }
        for (at, (size, scales)) in x.shape.iter().zip(&scales.shape).enumerate() {
            let (Some(size), Some(scales)) = (size.fixed(), scales.fixed()) else {
                continue;
            };
            let elements = size.saturating_mul(8 / self.bits(x));
            let expected = match (at == blocks, self.block) {
                (true, 0) => 1,
                (true, block) => elements.div_ceil(block),
                (false, _) if small && scales == 1 => 1,
                (false, _) => size,
            };
            if scales != expected {
                let what = format_args!("the size of `scales` on axis {at}");
                return Err(Problem::expected(what, scales, expected));
            }
        }
        Ok(())
    }
}

impl Operator for Gather {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices, scales) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        self.check(cx, &x)?;
        sizes::integers(cx, 1, "indices")?;
        let [gathered, blocks] = self.axes(&x)?;
        let mut shape = x.shape.clone();
        if let Some(size) = shape.get_mut(blocks) {
            let per_byte = i64::try_from(8 / self.bits(&x)).unwrap_or(1);
            *size = cx.dim_or_fresh(size.mul(&Dim::from(per_byte)), "gathered");
        }
        shape.splice(gathered..=gathered, indices.shape);
        cx.output(0, scales.dtype, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (x, indices) = (cx.tensor_type(0)?.clone(), cx.tensor_type(1)?.clone());
        let [gathered, blocks] = self.axes(&x)?.map(Literal::usize_unsuffixed);
        let length = x.shape.get(self.axes(&x)?[1]).cloned().unwrap_or_default();
        let block = match self.block {
            0 => {
                let length = cx.size(&length);
                code!(#length)
            }
            block => {
                let block = Literal::usize_unsuffixed(block);
                code!(#block)
            }
        };
        let bits = self.bits(&x);
        let middle = if x.dtype == DType::U8 { 1i64 << (bits - 1) } else { 0 };
        let (bits, middle) = (Literal::usize_unsuffixed(bits), Literal::i64_unsuffixed(middle));
        let how = code! {
            ops::quantize::Gather {
                axis: #gathered,
                blocks_axis: #blocks,
                block: #block,
                bits: #bits,
                zero: #middle,
            }
        };
        let rank = Literal::usize_unsuffixed(x.rank() + indices.burn_rank() - 1);
        let (data, found, scales) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let integers = x.dtype.kind() == ElementClass::Int;
        let function = format_ident!("{}", if integers { "gather_int" } else { "gather_float" });
        let zeros = if integers {
            let zeros = cx.optional(3)?;
            code!(#zeros,)
        } else {
            code!()
        };
        let slices = code! {
            ops::quantize::#function::<_, _, #rank>(#data, #found, #scales, #zeros &#how)
        };
        // A scalar index removes the axis.
        Ok(if indices.rank() == 0 && x.rank() > 1 { code!(#slices.squeeze_dim(#gathered)) } else { slices })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn bytes_hold_several_numbers() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (uint8[9, 16] x, int64[N, M] i, float16[9, 2] s) => (float16[N, M, 32] y) {
                y = com.microsoft.GatherBlockQuantized <block_size = 16> (x, i, s)
            }
            "#,
            expect![[r#"
                main (uint8[9, 16] x, int64[N, M] i, float16[9, 2] s) => (float16[N, M, 32] y)
                {
                    float16[N, M, 32] y = com.microsoft.GatherBlockQuantized <axis: 0, blocks_axis: 1, block: 16, bits: 4> (x, i, s)
                }
            "#]],
        );
    }

    #[test]
    fn scales_must_fit() {
        check(
            r#"
            <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
            main (uint8[9, 16] x, int64[N] i, float[9, 3] s, float[9, 2] t) => (float[N, 32] y, float[N, 32] z) {
                y = com.microsoft.GatherBlockQuantized <block_size = 16> (x, i, s)
                z = com.microsoft.GatherBlockQuantized <block_size = 16, gather_axis = 1> (x, i, t)
            }
            "#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  the size of `scales` on axis 1 is 3, expected 2
                    at node `y` (com.microsoft.GatherBlockQuantized version 1)

                  `gather_axis` is 1 and `quantize_axis` is 1, expected two different axes, the first and the last, for data of type uint8
                    at node `z` (com.microsoft.GatherBlockQuantized version 1)

                  model: IR version 10, ai.onnx 21, com.microsoft 1"#]],
        );
    }
}
