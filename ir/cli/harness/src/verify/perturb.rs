//! Changes the values of constants in model files.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use onnx_embed_ir::dtype::{DType, ElementClass};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::Options;
use onnx_embed_ir::weight::{Encoding, Weight};

use crate::random::next;

/// A constant in the files of a model.
pub struct Constant {
    pub name: String,
    weight: Weight,
    /// Whether the code depends on the values.
    pub is_fixed: bool,
}

/// Files of a model: names and bytes.
pub type Files = Vec<(String, Vec<u8>)>;

/// Returns every constant of the model that can be changed, and the files of the model.
pub fn constants(path: &Path, options: &Options) -> Result<(Vec<Constant>, Files)> {
    let failed = |problems: onnx_embed_ir::diagnostics::Diagnostics| {
        anyhow!("{}", problems.report(&path.to_string_lossy()))
    };
    let model = onnx_embed_ir::load(path, options).map_err(failed)?;
    let item = Item::model("model.onnx");
    // The values that the code depends on are known only after emission.
    onnx_embed_ir::code(&model, &item, options).map_err(failed)?;
    let values = &model.graph.values;
    let mut constants: Vec<Constant> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (_, value) in values.iter() {
        let Some(weight) = &value.weight else {
            continue;
        };
        let Some(first) = weight.parts.first() else {
            continue;
        };
        if changed(weight, 0).is_some() && seen.insert((first.file, first.start)) {
            constants.push(Constant {
                name: value.name.clone(),
                weight: weight.clone(),
                is_fixed: values.sources().is_consulted(weight),
            });
        }
    }
    let files = model.files.list().into_iter();
    let files = files.map(|(name, bytes)| (name.to_string_lossy().into_owned(), bytes.to_vec()));
    Ok((constants, files.collect()))
}

impl Constant {
    /// Returns the index of the file in which the constant starts, and the offset there, in bytes.
    pub fn start(&self) -> (usize, usize) {
        self.weight.start().unwrap_or_default()
    }

    /// Writes other values of the constant into the files. Factors depend on `number`, so that those of many constants
    /// cancel out.
    pub fn change(&self, number: usize, files: &mut Files) -> Result<()> {
        let parts = changed(&self.weight, number).context("the constant cannot be changed")?;
        for (part, bytes) in self.weight.parts.iter().zip(parts) {
            let file = files.get_mut(part.file).context("a constant refers to a missing file")?;
            let range = file.1.get_mut(part.start..part.start + bytes.len());
            range.context("a constant exceeds the length of its file")?.copy_from_slice(&bytes);
        }
        Ok(())
    }
}

/// Maximum relative change of float constants and inputs, to test if roundings determine the result.
const NOISE: f64 = 1.0 / (1 << 22) as f64;

impl Constant {
    /// Changes floats of 32 and 64 bits in the files by roundings: each by a random share of itself.
    pub fn add_noise(&self, state: &mut u64, files: &mut Files) -> Result<()> {
        if self.weight.encoding != Encoding::Raw {
            return Ok(());
        }
        for part in &self.weight.parts {
            let file = files.get_mut(part.file).context("a constant refers to a missing file")?;
            let range = file.1.get_mut(part.start..part.start + part.bytes.len());
            noise(self.weight.dtype, range.context("a constant exceeds the length of its file")?, state);
        }
        Ok(())
    }
}

fn noise(dtype: DType, bytes: &mut [u8], state: &mut u64) {
    let mut factor = || {
        let share = (next(state) >> 11) as f64 / (1u64 << 53) as f64;
        1.0 + NOISE * (2.0 * share - 1.0)
    };
    match dtype {
        DType::F32 => {
            for float in bytes.as_chunks_mut().0 {
                *float = ((f64::from(f32::from_le_bytes(*float)) * factor()) as f32).to_le_bytes();
            }
        }
        DType::F64 => {
            for float in bytes.as_chunks_mut().0 {
                *float = (f64::from_le_bytes(*float) * factor()).to_le_bytes();
            }
        }
        _ => {}
    }
}

/// Returns other bytes of the same length for each part. Floats are scaled, 8-bit integers are halved, bits of smaller
/// integers are flipped, and one element of other types is changed. Returns `None` if this changes nothing.
fn changed(weight: &Weight, number: usize) -> Option<Vec<Vec<u8>>> {
    let mut parts: Vec<Vec<u8>> = weight.parts.iter().map(|part| part.bytes.to_vec()).collect();
    let factor = if number.is_multiple_of(2) { 1.25 } else { 0.8 };
    match weight.encoding {
        Encoding::Raw => {
            let mut bytes = parts.concat();
            raw(weight.dtype, &mut bytes, factor);
            let mut rest = bytes.as_slice();
            for part in &mut parts {
                let (these, behind) = rest.split_at_checked(part.len())?;
                part.copy_from_slice(these);
                rest = behind;
            }
        }
        Encoding::Varint => parts.iter_mut().for_each(|part| varints(weight.dtype, part)),
        Encoding::Records => {
            let middle = parts.len() / 2;
            record(parts.get_mut(middle)?);
        }
    }
    let same = weight.parts.iter().zip(&parts).all(|(part, bytes)| part.bytes == *bytes);
    (!same).then_some(parts)
}

fn raw(dtype: DType, bytes: &mut [u8], factor: f64) {
    macro_rules! floats {
        ($type:ty, $size:literal, $read:expr, $write:expr) => {{
            let (all, _) = bytes.as_chunks_mut::<$size>();
            let zeros = all.iter().all(|float| $read(<$type>::from_le_bytes(*float)) == 0.0);
            for float in all {
                let value: f64 = $read(<$type>::from_le_bytes(*float));
                let other = if zeros { 0.125 } else { value * factor };
                *float = <$type>::to_le_bytes($write(other));
            }
        }};
    }
    match dtype {
        DType::F32 => floats!(f32, 4, f64::from, |value| value as f32),
        DType::F64 => floats!(f64, 8, f64::from, |value| value),
        DType::F16 => floats!(half::f16, 2, half::f16::to_f64, half::f16::from_f64),
        DType::Bf16 => floats!(half::bf16, 2, half::bf16::to_f64, half::bf16::from_f64),
        DType::I8 => halved(bytes, |byte| ((byte as i8) >> 1) as u8),
        DType::U8 => halved(bytes, |byte| byte >> 1),
        _ if dtype.bits() < 8 => bytes.iter_mut().for_each(|byte| *byte ^= 0x11),
        _ => {
            let width = (dtype.bits() / 8) as usize;
            let middle = bytes.len() / width / 2 * width;
            // The lowest byte changes by one; from 1 to 127 it decreases, so that indices stay in range.
            if let Some(byte) = bytes.get_mut(middle) {
                *byte = if *byte > 0 && *byte < 0x80 { *byte - 1 } else { *byte ^ 1 };
            }
        }
    }
}

/// Halves all elements or, if this changes none, flips a bit of the first one.
fn halved(bytes: &mut [u8], half: fn(u8) -> u8) {
    let before = bytes.to_vec();
    bytes.iter_mut().for_each(|byte| *byte = half(*byte));
    if before == bytes
        && let Some(first) = bytes.first_mut()
    {
        *first ^= 1;
    }
}

/// Changes one integer, or a bit of the fraction of each 16-bit float. No varint becomes longer.
fn varints(dtype: DType, bytes: &mut [u8]) {
    let mut starts = Vec::new();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte < 0x80 {
            starts.push(start);
            start = at + 1;
        }
    }
    let long = |at: &&usize| bytes.get(**at).is_some_and(|byte| *byte >= 0x80);
    let (chosen, behind, bit) = match (dtype, dtype.kind()) {
        (DType::F16, _) => (starts.iter().filter(long).copied().collect(), 1, 0x02),
        (DType::Bf16, _) => (starts.clone(), 0, 0x20),
        (_, ElementClass::Float) => (starts.clone(), 0, 0x01),
        _ => (Vec::from_iter(starts.get(starts.len() / 2).copied()), 0, 0x01),
    };
    for at in chosen {
        if let Some(byte) = bytes.get_mut(at + behind) {
            *byte ^= bit;
        }
    }
}

/// Changes a number, or the last letter of a string, in an attribute's list. The key before it stays.
fn record(bytes: &mut [u8]) {
    let key = bytes.iter().position(|byte| *byte < 0x80);
    let wire = bytes.first().map_or(2, |byte| byte & 7);
    let Some((_, number)) = key.and_then(|end| bytes.split_at_mut_checked(end + 1)) else {
        return;
    };
    match (wire, number) {
        (0, [first, ..]) => *first ^= 1,
        (2, [_, .., letter]) => *letter ^= 1,
        (5, [.., fraction, _]) => *fraction ^= 0x20,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_scaled_and_zeros_are_not_left() {
        let mut bytes = [2.0f32, -1.0].map(f32::to_le_bytes).concat();
        raw(DType::F32, &mut bytes, 1.25);
        assert_eq!(bytes, [2.5f32, -1.25].map(f32::to_le_bytes).concat());
        let mut bytes = [0.0f32; 2].map(f32::to_le_bytes).concat();
        raw(DType::F32, &mut bytes, 1.25);
        assert_eq!(bytes, [0.125f32; 2].map(f32::to_le_bytes).concat());
    }

    #[test]
    fn noise_moves_floats_by_roundings() {
        let before = [3.0f32; 64];
        let mut bytes = before.map(f32::to_le_bytes).concat();
        noise(DType::F32, &mut bytes, &mut 1);
        let (after, _) = bytes.as_chunks();
        let shares = after.iter().map(|float| {
            let float = f64::from(f32::from_le_bytes(*float));
            (float / 3.0 - 1.0) * f64::from(1 << 22)
        });
        let shares = Vec::from_iter(shares);
        assert!(shares.iter().all(|share| share.abs() < 1.3), "{shares:?}");
        for side in [-1.0, 1.0] {
            assert!(shares.iter().any(|share| share * side > 0.5), "{shares:?}");
        }
        let mut bytes = [1i64, 2].map(i64::to_le_bytes).concat();
        noise(DType::I64, &mut bytes, &mut 1);
        assert_eq!(bytes, [1i64, 2].map(i64::to_le_bytes).concat());
    }

    #[test]
    fn one_integer_is_another() {
        let mut bytes = [4i64, 2, 7].map(i64::to_le_bytes).concat();
        raw(DType::I64, &mut bytes, 1.25);
        assert_eq!(bytes, [4i64, 1, 7].map(i64::to_le_bytes).concat());
        let mut bytes = vec![8, 1];
        raw(DType::U8, &mut bytes, 1.25);
        assert_eq!(bytes, [4, 0]);
    }

    #[test]
    fn varints_keep_their_length() {
        let mut bytes = vec![0x05, 0xac, 0x02, 0x07];
        varints(DType::I64, &mut bytes);
        assert_eq!(bytes, [0x05, 0xad, 0x02, 0x07]);
        let mut bytes = vec![0x80, 0x78, 0x00];
        varints(DType::F16, &mut bytes);
        assert_eq!(bytes, [0x80, 0x7a, 0x00]);
    }

    #[test]
    fn records_keep_their_keys() {
        let mut bytes = b"\x40\x05".to_vec();
        record(&mut bytes);
        assert_eq!(bytes, b"\x40\x04");
        let mut bytes = b"\x3d\0\0\x80\x3f".to_vec();
        record(&mut bytes);
        assert_eq!(bytes, b"\x3d\0\0\xa0\x3f");
        let mut bytes = b"\x3a\x02ab".to_vec();
        record(&mut bytes);
        assert_eq!(bytes, b"\x3a\x02ac");
        let mut bytes = b"\x3a\0".to_vec();
        record(&mut bytes);
        assert_eq!(bytes, b"\x3a\0");
    }
}
