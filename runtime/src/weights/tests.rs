//! Weights of small files on the device.

use alloc::sync::Arc;

use onnx_embed_kernels::attempt::attempt;
use onnx_embed_kernels::stored::SharedBytes;

use super::*;

static TABLE: Table = Table {
    files: &[],
    entries: &[
        Entry {
            name: "fc.weight",
            dtype: ElementType::Float32,
            shape: &[1, 2],
            parts: &[at(1, 8)],
            encoding: Encoding::Raw,
        },
        Entry {
            name: "axis",
            dtype: ElementType::Int64,
            shape: &[],
            parts: &[at(9, 10)],
            encoding: Encoding::Varint,
        },
        Entry {
            name: "mask",
            dtype: ElementType::Bool,
            shape: &[2],
            parts: &[at(19, 2)],
            encoding: Encoding::Raw,
        },
        Entry {
            name: "words",
            dtype: ElementType::String,
            shape: &[2],
            parts: &[at(21, 3), at(24, 2)],
            encoding: Encoding::Records,
        },
    ],
    fixed: &[],
};

const fn at(start: usize, length: usize) -> ByteRange {
    ByteRange { file: 0, start, length, gap: 0 }
}

/// A byte that misaligns the others, 1.5 and -2.0, -1 as a varint, false and true, "a" and "".
const FILE: &[u8] = b"#\x00\x00\xc0\x3f\x00\x00\x00\xc0\
    \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x01\x32\x01a\x32\x00";

#[test]
fn weights_arrive_on_the_device_in_their_dtype() {
    let weights = Weights::embedded(&TABLE, &[FILE], &Device::flex());
    let weight = weights.float::<2>("fc.weight");
    assert_eq!(weight.val().into_data(), TensorData::from([[1.5f32, -2.0]]));
    let mask = weights.boolean::<1>("mask");
    assert_eq!(mask.into_data(), TensorData::from([false, true]));
}

#[test]
fn a_large_weight_of_the_program_is_the_same_as_one_of_a_file() {
    static LARGE: Table = Table {
        files: &[],
        entries: &[Entry {
            name: "table",
            dtype: ElementType::Float32,
            shape: &[128, 64],
            parts: &[at(3, 4 * 128 * 64)],
            encoding: Encoding::Raw,
        }],
        fixed: &[],
    };
    let values: Vec<f32> = (0..128 * 64).map(|at| at as f32).collect();
    for shift in 0..4 {
        let mut file = vec![0; shift + 3];
        file.extend_from_slice(bytemuck::cast_slice(&values));
        let files: [&'static [u8]; 1] = [&file.leak()[shift..]];
        let device = Device::flex();
        let expected =
            Weights::of(&LARGE, WeightSource::Memory(&files), Kept::new(), &device).tensor::<2>("table");
        let weights = Weights::embedded(&LARGE, &files, &device);
        let table = weights.tensor::<2>("table");
        let rows = Tensor::<1, Int>::from_data([127i64, 2], &device);
        let picked: Tensor<2> = onnx_embed_kernels::gather::gather(table.clone(), 0, rows.clone());
        let of_file = expected.clone().select(0, rows);
        assert_eq!(picked.into_data(), of_file.into_data());
        assert_eq!(table.into_data(), expected.into_data());
        let flat = weights.tensor::<2>("table").flatten::<1>(0, 1).into_data();
        assert_eq!(flat.try_into_vec::<f32>().unwrap(), values);
    }
}

#[test]
fn a_large_weight_of_shared_bytes_keeps_them_while_it_is_used() {
    static LARGE: Table = Table {
        files: &[],
        entries: &[Entry {
            name: "table",
            dtype: ElementType::Float32,
            shape: &[128, 64],
            parts: &[at(4, 4 * 128 * 64)],
            encoding: Encoding::Raw,
        }],
        fixed: &[],
    };
    let values: Vec<f32> = (0..=128 * 64).map(|at| at as f32).collect();
    let file: Arc<Vec<u8>> = Arc::new(bytemuck::cast_slice(&values).to_vec());
    let files: [SharedBytes; 1] = [file.clone()];
    let device = Device::flex();
    let weights = Weights::of(&LARGE, WeightSource::Shared(&files), Kept::new(), &device);
    let table = weights.tensor::<2>("table");
    drop(weights);
    drop(files);
    assert_eq!(Arc::strong_count(&file), 2);
    let rows = Tensor::<1, Int>::from_data([127i64], &device);
    let picked: Tensor<2> = onnx_embed_kernels::gather::gather(table.clone(), 0, rows);
    assert_eq!(picked.into_data().try_into_vec::<f32>().unwrap(), values[1 + 127 * 64..]);
    drop(table);
    assert_eq!(Arc::strong_count(&file), 1);
}

#[test]
fn a_scalar_has_one_axis_on_the_device_alone() {
    let weights = Weights::embedded(&TABLE, &[FILE], &Device::flex());
    assert_eq!(weights.int::<1>("axis").into_data(), TensorData::from([-1i64]));
    assert_eq!(weights.array::<i64>("axis"), Array::scalar(-1));
    assert_eq!(weights.tensor_data("axis").rank(), 0);
}

#[test]
fn strings_stay_on_the_host() {
    let weights = Weights::embedded(&TABLE, &[FILE], &Device::flex());
    assert_eq!(weights.strings("words").data(), ["a", ""]);
}

#[test]
fn a_weight_that_the_device_cannot_bind_is_named() {
    let check = |elements| {
        let checked = attempt(|| check_bytes("embed", elements, DType::F32, Some(128 << 20)));
        checked.map_err(|fault| fault.reason)
    };
    assert_eq!(check(32 << 20), Ok(()));
    assert_eq!(
        check(50 << 20).unwrap_err(),
        "weight `embed` requires 200.0 MiB, the limit for a tensor on this device is 128.0 MiB"
    );
    assert_eq!(most_bytes(&Device::flex()), None);
}
