//! Memory of weights, and what is read from it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::attempt::attempt;
use crate::flex::{conv::Filters, gemm::Right, simd::InstructionSet, view::RawView};

/// Sixteen numbers at an address that is a multiple of 4, and at one that is not.
fn bytes() -> [&'static [u8]; 2] {
    let values: Vec<f32> = (0..17).map(|at| at as f32).collect();
    let aligned: &'static [f32] = values.leak();
    let mut behind = vec![0u8; 1 + 64 + 4];
    let odd = usize::from(behind.as_ptr().align_offset(4) == 0);
    behind[odd..odd + 64].copy_from_slice(bytemuck::cast_slice(&aligned[..16]));
    [&bytemuck::cast_slice(aligned)[..64], &behind.leak()[odd..odd + 64]]
}

fn tensor(bytes: &'static [u8]) -> FlexTensor {
    FlexTensor::from_data(data(bytes, [4, 4].into(), DType::F32))
}

/// Owner of bytes that it does not return at the last calls.
struct Fickle(Vec<u8>, AtomicUsize);

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        let calls = self.1.fetch_update(Relaxed, Relaxed, |calls| calls.checked_sub(1));
        if calls.is_ok() { &self.0 } else { &[] }
    }
}

#[test]
fn shared_bytes_are_read_in_place_until_their_last_owner_leaves() {
    for bytes in bytes() {
        let owner: SharedBytes = Arc::new(bytes);
        let x = FlexTensor::from_data(shared(&owner, 16..48, [2, 4].into(), DType::F32));
        assert_eq!(Raw::of(&x).bytes().as_ptr(), bytes[16..].as_ptr());
        let expected: Vec<f32> = (4..12).map(|at| at as f32).collect();
        assert_eq!(readable(&x).storage::<f32>(), expected);
        let is_aligned = bytes.as_ptr().align_offset(4) == 0;
        assert_eq!(x.storage::<f32>().as_ptr().addr() == bytes[16..].as_ptr().addr(), is_aligned);
        let mut changed = x.clone();
        changed.storage_mut::<f32>()[0] = 9.0;
        assert_eq!((x.storage::<f32>()[0], changed.storage::<f32>()[0]), (4.0, 9.0));
        assert!(Arc::strong_count(&owner) > 1);
        drop((x, changed));
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}

#[test]
fn an_owner_that_changes_its_bytes_ends_the_step() {
    for calls in 0..4 {
        let owner: SharedBytes = Arc::new(Fickle(vec![0; 64], calls.into()));
        let ended = attempt(|| {
            let x = FlexTensor::from_data(shared(&owner, 0..64, [4, 4].into(), DType::F32));
            for _ in 0..9 {
                assert_eq!(x.storage::<f32>(), [0.0; 16]);
            }
        });
        // A copy of the bytes, at the first call of an odd alignment, needs the owner no more.
        assert!(ended.is_err() || calls > 0);
    }
}

#[test]
fn elements_are_the_same_in_any_alignment() {
    for bytes in bytes() {
        let x = tensor(bytes);
        assert_eq!(Raw::of(&x).bytes().as_ptr(), bytes.as_ptr());
        let expected: Vec<f32> = (0..16).map(|at| at as f32).collect();
        assert_eq!(readable(&x).storage::<f32>(), expected);
        assert_eq!(x.storage::<f32>(), expected);
        assert_eq!(x.clone().into_data().try_to_vec::<f32>().unwrap(), expected);
        assert_eq!(x.into_data().try_into_vec::<f32>().unwrap(), expected);
    }
}

#[test]
fn chunks_are_read_to_their_places() {
    for extra in [0, 16, CHUNK] {
        let size = LEAST_FILLED + extra;
        let shape = Shape::from([size / 4]);
        let read = |offset: usize, out: &mut [u8]| {
            for (at, word) in out.chunks_exact_mut(4).enumerate() {
                word.copy_from_slice(&((offset / 4 + at) as u32).to_le_bytes());
            }
            if extra == 16 && offset == CHUNK { Err("torn") } else { Ok(()) }
        };
        match filled(size, &shape, DType::U32, read).unwrap() {
            Ok(data) => {
                let expected: Vec<u32> = (0..size as u32 / 4).collect();
                assert_eq!(FlexTensor::from_data(data).storage::<u32>(), expected);
            }
            Err(reason) => assert_eq!((extra, reason), (16, "torn")),
        }
        assert!(filled(size - 4, &[size / 4 - 1].into(), DType::U32, read).is_none());
        assert!(filled(size, &[size / 4 + 1].into(), DType::U32, read).is_none());
    }
    assert!(filled(16, &[4].into(), DType::U32, |_, _| Ok::<(), ()>(())).is_none());
}

#[test]
fn aligned_elements_are_not_copied() {
    let [aligned, behind] = bytes();
    assert_eq!(tensor(aligned).bytes().as_ptr(), aligned.as_ptr());
    assert_ne!(tensor(behind).bytes().as_ptr(), behind.as_ptr());
}

#[test]
fn what_writes_has_a_copy() {
    for bytes in bytes() {
        let mut x = tensor(bytes);
        let other = x.clone();
        x.storage_mut::<f32>()[1] = 9.0;
        assert_eq!(x.storage::<f32>()[..3], [0.0, 9.0, 2.0]);
        assert_eq!(bytemuck::cast_slice::<u8, f32>(Raw::of(&x).bytes())[1], 9.0);
        assert_eq!(x.clone().storage_mut::<f32>()[1], 9.0);
        assert_eq!(other.storage::<f32>()[1], 1.0);
        drop(other);
        let mut alone = tensor(bytes);
        alone.storage_mut::<f32>()[0] = 7.0;
        assert_eq!(alone.storage::<f32>()[..2], [7.0, 1.0]);
        assert!(Raw::of(&alone).view.is_none());
        assert_eq!(tensor(bytes).storage::<f32>()[0], 0.0);
    }
}

#[test]
fn rows_of_a_table_are_read_where_they_lie() {
    let [aligned, behind] = bytes().map(tensor);
    assert!(rows_of(&aligned, 1, || vec![1]).is_none());
    let picked = rows_of(&behind, 3, || vec![3, 0, 3]).unwrap();
    assert_eq!(picked.shape()[..], [3, 4]);
    assert_eq!(picked.storage::<f32>()[3..9], [15.0, 0.0, 1.0, 2.0, 3.0, 12.0]);
    for index in [4, -1] {
        assert!(rows_of(&behind, 1, || vec![index]).is_none());
    }
    assert!(rows_of(&behind.transpose(0, 1), 1, || vec![0]).is_none());
    // No rows of no elements, and many.
    let none = FlexTensor::from_data(data(&[], [4, 0].into(), DType::F32));
    assert!(rows_of(&none, 2, || vec![0, 3]).is_none_or(|rows| rows.shape()[..] == [2, 0]));
    let many = rows_of(&aligned, LARGE_ROWS / 4, || vec![2; LARGE_ROWS / 4]).unwrap();
    assert!(many.storage::<f32>().chunks(4).all(|row| row == [8.0, 9.0, 10.0, 11.0]));
    assert!(rows_of(&aligned, LARGE_ROWS, || vec![4; LARGE_ROWS]).is_none());
}

#[test]
fn a_packed_weight_is_written_when_it_is_read() {
    let [weight, _] = bytes().map(tensor);
    let matrix = RawView::of(&weight).unwrap();
    for set in InstructionSet::all() {
        let right: Arc<dyn Plain> = Arc::new(Right::new(set, matrix.matrix(&[]).transposed()));
        for (pack, expected) in [
            (right, weight.transpose(0, 1).to_contiguous()),
            (Arc::new(Filters::new(set, matrix.matrix(&[]), 1)), weight.clone()),
            (Arc::new(Filters::new(set, matrix.matrix(&[]), 2)), weight.clone()),
        ] {
            let x = unpacked(pack, [4, 4].into());
            let mut changed = x.clone();
            assert_eq!(x.storage::<f32>(), expected.storage::<f32>());
            changed.storage_mut::<f32>()[0] = 9.0;
            assert_eq!(x.storage::<f32>()[0], 0.0);
        }
    }
}

#[test]
fn nothing_is_a_weight_too() {
    let none = FlexTensor::from_data(data(&[], [0, 4].into(), DType::F32));
    assert!(none.storage::<f32>().is_empty());
    assert!(readable(&none).storage::<f32>().is_empty());
}
