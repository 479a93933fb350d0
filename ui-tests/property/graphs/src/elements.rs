//! Elements of constants as numbers.

use half::{bf16, f16};
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::proto::TensorProto;

/// Returns the elements. The conversion is exact for the element types of the graphs, except for large integers.
pub fn numbers(tensor: &TensorProto) -> Option<Vec<f64>> {
    let raw = tensor.raw_data.as_ref()?;
    let dtype = DType::from_onnx(tensor.data_type)?;
    let size = dtype.bytes(1)?;
    let one = |bytes: &[u8]| {
        Some(match dtype {
            DType::F64 => f64::from_le_bytes(bytes.try_into().ok()?),
            DType::F32 => f32::from_le_bytes(bytes.try_into().ok()?).into(),
            DType::F16 => f16::from_le_bytes(bytes.try_into().ok()?).into(),
            DType::Bf16 => bf16::from_le_bytes(bytes.try_into().ok()?).into(),
            DType::I64 => i64::from_le_bytes(bytes.try_into().ok()?) as f64,
            DType::I32 => i32::from_le_bytes(bytes.try_into().ok()?).into(),
            DType::I8 => i8::from_le_bytes(bytes.try_into().ok()?).into(),
            DType::U8 | DType::Bool => (*bytes.first()?).into(),
            _ => return None,
        })
    };
    raw.chunks(size).map(one).collect()
}

/// Sets the element type and the elements of a constant. The numbers are converted to the type.
pub fn set(tensor: &mut TensorProto, dtype: DType, numbers: &[f64]) -> Option<()> {
    let mut raw = Vec::new();
    for &number in numbers {
        match dtype {
            DType::F64 => raw.extend(number.to_le_bytes()),
            DType::F32 => raw.extend((number as f32).to_le_bytes()),
            DType::F16 => raw.extend(f16::from_f64(number).to_le_bytes()),
            DType::Bf16 => raw.extend(bf16::from_f64(number).to_le_bytes()),
            DType::I64 => raw.extend((number as i64).to_le_bytes()),
            DType::I32 => raw.extend((number as i32).to_le_bytes()),
            DType::I8 => raw.extend((number as i8).to_le_bytes()),
            DType::U8 => raw.push(number as u8),
            DType::Bool => raw.push((number != 0.0).into()),
            _ => return None,
        }
    }
    tensor.data_type = dtype.number();
    tensor.raw_data = Some(raw.into());
    Some(())
}
