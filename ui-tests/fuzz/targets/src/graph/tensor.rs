//! Element types, sizes and constants.

use arbitrary::{Result, Unstructured};
use onnx_embed_ir::proto::{
    Dimension, DimensionValue, SparseTensorProto, TensorProto, TensorShapeProto, TensorType, TypeProto,
    TypeValue,
};

/// Floats of 32 bits, integers of 64 bits, bool, and other types.
const COMMON: [i32; 4] = [1, 7, 9, 6];
/// Numbers of element types, and beyond them.
const DTYPES: i32 = 28;

/// Sizes of inputs.
const SIZES: [i64; 10] = [1, 2, 3, 4, 0, 5, 8, 1 << 31, i64::MAX, -1];
const NAMES: [&str; 3] = ["N", "M", "K"];

/// Numbers at the limits of what operators accept.
pub const INTS: [i64; 16] =
    [0, 1, -1, 2, 3, -2, 4, 5, 7, 8, 16, i32::MAX as i64 + 1, i64::MAX, i64::MIN, 1 << 62, 1 << 40];
pub const FLOATS: [f32; 10] = [0.0, 1.0, -1.0, 0.5, 2.0, 1e-5, -0.0, 1e30, f32::INFINITY, f32::NAN];

pub fn dtype(choices: &mut Unstructured) -> Result<i32> {
    match choices.ratio(4, 5)? {
        true => choices.choose(&COMMON).copied(),
        false => choices.int_in_range(0..=DTYPES),
    }
}

/// Chooses the type of an input: mostly a tensor.
pub fn input(choices: &mut Unstructured) -> Result<TypeProto> {
    let elem_type = dtype(choices)?;
    let mut dim = Vec::new();
    for _ in 0..choices.int_in_range(0..=4)? {
        let value = match choices.int_in_range(0..=9)? {
            0..7 => Some(DimensionValue::Value(*choices.choose(&SIZES)?)),
            7..9 => Some(DimensionValue::Name((*choices.choose(&NAMES)?).to_owned())),
            _ => None,
        };
        dim.push(Dimension { value, ..Dimension::default() });
    }
    // Some files declare no rank.
    let shape = (!choices.ratio(1, 20)?).then_some(TensorShapeProto { dim });
    let value = Some(TypeValue::Tensor(TensorType { elem_type, shape }));
    Ok(TypeProto { value, ..TypeProto::default() })
}

/// Chooses a constant. Few contradict themselves.
pub fn constant(choices: &mut Unstructured) -> Result<TensorProto> {
    let mut tensor = TensorProto { data_type: dtype(choices)?, ..TensorProto::default() };
    let mut count = 1;
    for _ in 0..choices.int_in_range(0..=3)? {
        let size = choices.int_in_range(0..=4)?;
        count *= size;
        tensor.dims.push(size as i64);
    }
    if choices.ratio(1, 30)? {
        tensor.dims.push(*choices.choose(&INTS)?);
    }
    let mut data: Vec<u8> = Vec::new();
    for _ in 0..count {
        let number = *choices.choose(&INTS)?;
        match tensor.data_type {
            1 => data.extend(choices.choose(&FLOATS)?.to_le_bytes()),
            6 | 12 => data.extend((number as i32).to_le_bytes()),
            7 | 11 | 13 => data.extend(number.to_le_bytes()),
            4 | 5 | 10 | 16 => data.extend((number as i16).to_le_bytes()),
            9 => data.push((number & 1) as u8),
            _ => data.push(number as u8),
        }
    }
    if tensor.data_type == 8 {
        tensor.string_data = data.iter().map(|&byte| vec![byte & 0x7f].into()).collect();
    } else {
        if choices.ratio(1, 30)? {
            data.truncate(choices.int_in_range(0..=8)?);
        }
        tensor.raw_data = Some(data.into());
    }
    Ok(tensor)
}

pub fn sparse(choices: &mut Unstructured) -> Result<SparseTensorProto> {
    let (values, indices) = (Some(constant(choices)?), Some(constant(choices)?));
    let mut dims = Vec::new();
    for _ in 0..choices.int_in_range(0..=3)? {
        dims.push(*choices.choose(&SIZES)?);
    }
    Ok(SparseTensorProto { values, indices, dims })
}
