//! Random inputs for the signature of a model.

use anyhow::{Result, anyhow, bail};
use half::{bf16, f16};
use onnx_embed_ir::dim::Dim;
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::inspect::Port;
use onnx_embed_ir::types::Type;

use crate::value::{Tensor, Value, Values};

/// Returns random inputs, which are the same in each call. Dynamic sizes are those in `dims`, or 1.
pub fn inputs(ports: &[Port], dims: &[(String, i64)]) -> Result<Values> {
    let mut state = 0;
    let input = |port: &Port| {
        let Some(Type::Tensor(tensor)) = &port.ty else {
            bail!(
                "cannot create a random value for input `{}`, expected a tensor of known rank; record an io.npz",
                port.name
            );
        };
        let sizes = tensor.shape.iter().map(|dim| size(dim, dims));
        let shape: Vec<usize> = sizes.collect::<Result<_>>()?;
        let value = value(tensor.dtype, shape, &mut state);
        let failed =
            || anyhow!("cannot create a random value of type {} for input `{}`", tensor.dtype, port.name);
        Ok((port.name.clone(), value.ok_or_else(failed)?))
    };
    ports.iter().map(input).collect()
}

fn size(dim: &Dim, dims: &[(String, i64)]) -> Result<usize> {
    let chosen = |name: &str| dims.iter().find(|(key, _)| key == name).map(|pair| pair.1);
    let size = match (dim.number(), dim.name()) {
        (Some(number), _) => number,
        (_, Some(name)) => chosen(name).unwrap_or(1),
        _ => 1,
    };
    Ok(usize::try_from(size)?)
}

/// Returns floats from 0 to 1, or the integers 0 and 1, which are valid indices for almost any axis.
fn value(dtype: DType, shape: Vec<usize>, state: &mut u64) -> Option<Value> {
    let count = shape.iter().product();
    if dtype == DType::String {
        let texts = vec![String::new(); count];
        return Some(Value::Strings { shape, texts });
    }
    let mut bytes = Vec::new();
    // Types that Burn lacks are represented exactly by a larger type.
    let carrier = match dtype {
        DType::I4 | DType::I2 => DType::I8,
        DType::U4 | DType::U2 => DType::U8,
        DType::C64 | DType::C128 => return None,
        other if other.bits() == 8 && other.is_int() => other,
        other if other.bits() < 16 && other != DType::Bool => DType::F32,
        other => other,
    };
    for _ in 0..count {
        let bits = next(state);
        let (float, int) = ((bits >> 40) as f32 / (1u64 << 24) as f32, bits >> 63);
        match carrier {
            DType::F32 => bytes.extend(float.to_le_bytes()),
            DType::F64 => bytes.extend(f64::from(float).to_le_bytes()),
            DType::F16 => bytes.extend(f16::from_f32(float).to_le_bytes()),
            DType::Bf16 => bytes.extend(bf16::from_f32(float).to_le_bytes()),
            _ => bytes.extend(int.to_le_bytes().into_iter().take(carrier.bytes(1)?)),
        }
    }
    let dtype = carrier;
    Some(Value::Tensor(Tensor { dtype, shape, bytes }))
}

/// Advances the SplitMix64 generator and returns its next number.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(dtype: DType, shape: Vec<Dim>) -> Port {
        Port { name: "x".to_owned(), ty: Some(Type::tensor(dtype, shape)) }
    }

    #[test]
    fn open_sizes_are_1_unless_chosen() {
        let ports = [port(DType::F16, vec![Dim::named("batch"), 3.into(), Dim::named("n")])];
        let values = inputs(&ports, &[("batch".to_owned(), 2)]).unwrap();
        let Value::Tensor(tensor) = &values[0].1 else {
            panic!("{values:?}");
        };
        assert_eq!((tensor.shape.as_slice(), tensor.bytes.len()), ([2, 3, 1].as_slice(), 12));
    }

    #[test]
    fn small_types_travel_in_wider_ones() {
        let carrier = |dtype| match &inputs(&[port(dtype, vec![])], &[]).unwrap()[0].1 {
            Value::Tensor(tensor) => (tensor.dtype, tensor.bytes.len()),
            other => panic!("{other:?}"),
        };
        assert_eq!(carrier(DType::U4), (DType::U8, 1));
        assert_eq!(carrier(DType::F8E5M2), (DType::F32, 4));
        assert_eq!(carrier(DType::I64), (DType::I64, 8));
        assert_eq!(carrier(DType::Bool), (DType::Bool, 1));
    }
}
