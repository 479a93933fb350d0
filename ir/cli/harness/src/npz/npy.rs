//! One array in numpy's format.

use std::io::Read;

use anyhow::{Result, bail};
use npyz::{Deserialize, NpyFile, Order, TypeChar, TypeStr};
use onnx_embed_ir::dtype::DType;

use crate::value::{Tensor, Value};

/// Decodes the array in the contents of a file.
pub fn array(bytes: &[u8]) -> Result<Value> {
    check_header(bytes)?;
    let mut rest = bytes;
    let file = NpyFile::new(&mut rest)?;
    let npyz::DType::Plain(kind) = file.dtype() else {
        bail!("structured arrays are not supported");
    };
    let shape = shape(&file, &kind, bytes.len())?;
    let column_major = file.order() == Order::Fortran;
    if kind.type_char() == TypeChar::UnicodeStr {
        let texts = sorted(file.into_vec()?, &shape, column_major);
        return Ok(Value::Strings { shape, texts });
    }
    macro_rules! numbers {
        ($($dtype:ident $number:ty,)*) => {
            match dtype(&kind)? {
                $(DType::$dtype => {
                    let numbers: Vec<$number> = elements(file, &shape, column_major)?;
                    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
                })*
                _ => {
                    let all: Vec<bool> = elements(file, &shape, column_major)?;
                    all.into_iter().map(u8::from).collect()
                }
            }
        };
    }
    let dtype = dtype(&kind)?;
    let bytes = numbers! {
        F16 half::f16, F32 f32, F64 f64, I8 i8, I16 i16, I32 i32, I64 i64,
        U8 u8, U16 u16, U32 u32, U64 u64,
    };
    let tensor = Tensor { dtype, shape, bytes };
    Ok(Value::Tensor(tensor))
}

/// Returns an error if the header is longer than the file.
fn check_header(bytes: &[u8]) -> Result<()> {
    let length = match bytes.get(6) {
        Some(1) => bytes.get(8..10).map(|length| 10 + little(length)),
        _ => bytes.get(8..12).map(|length| 12 + little(length)),
    };
    match length {
        Some(length) if length <= bytes.len() as u64 => Ok(()),
        _ => bail!("the header of the array is truncated"),
    }
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Returns the shape of an array, or an error if a file of `length` bytes cannot contain its elements.
fn shape<R: Read>(file: &NpyFile<R>, kind: &TypeStr, length: usize) -> Result<Vec<usize>> {
    // Strings may have 0 bytes.
    let size = kind.num_bytes().unwrap_or(usize::MAX).max(1);
    let sizes = file.shape();
    let shape: Vec<usize> = sizes.iter().filter_map(|&size| usize::try_from(size).ok()).collect();
    // Loops use the other sizes of an empty array as strides, so that their product must not overflow.
    let mut factors = shape.iter().map(|&size| size.max(1));
    let bytes = factors.try_fold(size, usize::checked_mul);
    let is_contained = match bytes {
        Some(bytes) => bytes <= length || shape.contains(&0),
        None => false,
    };
    if shape.len() < sizes.len() || !is_contained {
        bail!("an array of shape {sizes:?} does not fit into a file of {length} bytes");
    }
    Ok(shape)
}

fn dtype(kind: &TypeStr) -> Result<DType> {
    Ok(match (kind.type_char(), kind.size_field()) {
        (TypeChar::Bool, _) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        _ => bail!("element type `{kind}` is not supported"),
    })
}

fn elements<T: Deserialize + Clone>(
    file: NpyFile<impl Read>,
    shape: &[usize],
    column_major: bool,
) -> Result<Vec<T>> {
    Ok(sorted(file.into_vec()?, shape, column_major))
}

/// Returns the elements in row-major order. If `column_major` is set, they are in column-major order before.
fn sorted<T: Clone>(elements: Vec<T>, shape: &[usize], column_major: bool) -> Vec<T> {
    if !column_major || shape.len() < 2 {
        return elements;
    }
    let mut sorted = Vec::with_capacity(elements.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..elements.len() {
        let axes = index.iter().zip(shape).rev();
        let position = axes.fold(0, |position, (at, size)| position * size + at);
        sorted.extend(elements.get(position).cloned());
        for (at, size) in index.iter_mut().zip(shape).rev() {
            *at = (*at + 1) % size;
            if *at > 0 {
                break;
            }
        }
    }
    sorted
}

#[cfg(test)]
pub mod tests {
    use npyz::WriterBuilder;

    use super::*;

    pub fn npy<T: npyz::Serialize>(dtype: &str, order: Order, shape: &[u64], all: &[T]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let dtype = npyz::DType::new_scalar(dtype.parse().unwrap());
        let options = npyz::WriteOptions::new().dtype(dtype).shape(shape);
        let writer = options.order(order).writer(&mut bytes);
        let mut writer = writer.begin_nd().unwrap();
        writer.extend(all.iter()).unwrap();
        writer.finish().unwrap();
        bytes
    }

    pub fn tensor(dtype: DType, shape: &[usize], bytes: &[u8]) -> Value {
        let (shape, bytes) = (shape.to_vec(), bytes.to_vec());
        Value::Tensor(Tensor { dtype, shape, bytes })
    }

    #[test]
    fn elements_keep_their_type_and_shape() {
        let bytes = npy(">f2", Order::C, &[1, 2], &[half::f16::ONE, half::f16::ZERO]);
        let expected = tensor(DType::F16, &[1, 2], &[0, 0x3c, 0, 0]);
        assert_eq!(array(&bytes).unwrap(), expected);
    }

    #[test]
    fn column_major_arrays_are_transposed() {
        let bytes = npy("|u1", Order::Fortran, &[2, 3], &[0u8, 3, 1, 4, 2, 5]);
        let expected = tensor(DType::U8, &[2, 3], &[0, 1, 2, 3, 4, 5]);
        assert_eq!(array(&bytes).unwrap(), expected);
    }

    #[test]
    fn strings_lose_their_padding() {
        let bytes = npy("<U3", Order::C, &[2], &["ab".to_owned(), String::new()]);
        let (shape, texts) = (vec![2], vec!["ab".to_owned(), String::new()]);
        assert_eq!(array(&bytes).unwrap(), Value::Strings { shape, texts });
    }

    /// Returns a `.npy` file with these sizes in its header, and 12 bytes of elements.
    fn claimed(dtype: &str, sizes: &str) -> Vec<u8> {
        let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({sizes}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([0; 12]);
        bytes
    }

    #[test]
    fn headers_say_sizes_that_are_there() {
        let expected = tensor(DType::F32, &[3], &[0; 12]);
        assert_eq!(array(&claimed("<f4", "3,")).unwrap(), expected);
        let most = u64::MAX;
        for (dtype, sizes) in [
            ("<f4", "1152921504606846976,".to_owned()),
            ("<U0", "1152921504606846976,".to_owned()),
            ("<f4", "4294967296, 4294967296".to_owned()),
            ("<f4", "4611686018427387905, 4".to_owned()),
            ("<f4", format!("{most}, 0, {most}")),
        ] {
            let problem = array(&claimed(dtype, &sizes)).unwrap_err().to_string();
            assert!(problem.starts_with("an array of shape ["), "{sizes}: {problem}");
        }
        let long = b"\x93NUMPY\x02\0\xFF\xFF\xFF\xFF{'descr'";
        let problem = array(long).unwrap_err().to_string();
        assert_eq!(problem, "the header of the array is truncated");
    }
}
