//! GatherBlockQuantized: dequantized slices of quantized tensors.

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, Kind};
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
    let bits = a.int_or("bits", 4)?;
    let bits = usize::try_from(bits).ok().filter(|bits| [2, 4, 8].contains(bits));
    Ok(Rc::new(Gather {
        axis: a.int_or("gather_axis", 0)?,
        blocks_axis: a.int_or("quantize_axis", 1)?,
        block: size.ok_or_else(|| {
            Problem::new(format!("`block_size` is {block}")).help("it is a power of two of at least 16")
        })?,
        bits: bits.ok_or_else(|| Problem::new("`bits` is none of 2, 4 and 8"))?,
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
        let small = is_small(x.dtype);
        let integer = matches!(x.dtype, DType::U8 | DType::U4 | DType::I4);
        let zeros = cx.has(3) && (small || cx.tensor(3)?.dtype != x.dtype);
        if !scales.dtype.is_float() || scales.rank() != x.rank() || !(small || integer) || zeros {
            return Err(Problem::new(format!("the data is {x}, and the scales are {scales}")));
        }
        if cx.has(3) && x.dtype != DType::U8 {
            sizes::shaped("the tensor of zero points", &cx.tensor(3)?, &scales.shape)?;
        }
        if self.block == 0 && !small {
            return Err(
                Problem::new("`block_size` is 0").help("integers have a scale for each block of at least 16")
            );
        }
        if x.dtype == DType::U8 && (gathered != 0 || blocks == 0 || blocks + 1 != x.rank()) {
            return Err(Problem::new(format!(
                "bytes are gathered along axis {gathered}, and in blocks along axis {blocks}"
            ))
            .help("export the model with `gather_axis` 0, and the last axis as `quantize_axis`"));
        }
        for (at, (size, scales)) in x.shape.iter().zip(&scales.shape).enumerate() {
            let (Some(size), Some(scales)) = (size.fixed(), scales.fixed()) else {
                continue;
            };
            let elements = size.saturating_mul(8 / self.bits(x));
            let fits = match (at == blocks, self.block) {
                (true, 0) => scales == 1,
                (true, block) => elements.div_ceil(block) == scales,
                (false, _) => scales == size || small && scales == 1,
            };
            if !fits {
                return Err(Problem::new(format!("there are {scales} scales along axis {at}")));
            }
        }
        Ok(())
    }
}

impl Operator for Gather {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, indices, scales) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        self.check(cx, &x)?;
        if !matches!(indices.dtype, DType::I32 | DType::I64) {
            return Err(Problem::new(format!("the indices are {indices}")));
        }
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
        let integers = x.dtype.kind() == Kind::Int;
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

                  there are 3 scales along axis 1
                    at node `y` (com.microsoft.GatherBlockQuantized version 1)

                  bytes are gathered along axis 1, and in blocks along axis 1
                    at node `z` (com.microsoft.GatherBlockQuantized version 1)
                    help: export the model with `gather_axis` 0, and the last axis as `quantize_axis`

                  model: IR version 10, ai.onnx 21, com.microsoft 1"#]],
        );
    }
}
