//! Weights in the memory of the program, and packed weights.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use burn::backend::{
    Flex, TensorMetadata,
    flex::{FlexTensor, Layout},
};
use burn::tensor::{AllocationProperty, Bytes, DType, Shape, TensorData};

use super::{
    memory::{Buffer, Provider, bytes_of, pages, write_all_of},
    outcome, tensor,
};
use crate::backend::{Any, Outcome};

/// The memory of a tensor that is elsewhere already.
///
/// Bytes of the program are read in place if they are aligned for their type. Otherwise the first access to
/// the memory copies them, while kernels that read any alignment take a view, which never copies.
struct Stored {
    source: Source,
    length: usize,
    align: usize,
    copy: OnceLock<Box<[u128]>>,
    is_changed: bool,
}

#[derive(Clone)]
enum Source {
    Program(&'static [u8]),
    Pack(Arc<dyn Plain>),
}

/// Number of elements whose memory is used again by later results.
const LARGE_ROWS: usize = 16 << 10;

/// A packed weight of single precision.
pub trait Plain: Send + Sync {
    /// Writes the weight that was packed, row after row.
    fn write(&self, out: &mut [f32]);
}

/// The memory of a tensor, in any alignment.
pub struct Raw {
    memory: Arc<Bytes>,
    view: Option<Bytes>,
}

/// A tensor that reads the bytes of the program.
///
/// Every value of `bytes` must be one of the type, as it is of numbers.
pub fn data(bytes: &'static [u8], shape: Shape, dtype: DType) -> TensorData {
    let stored = Stored::new(Source::Program(bytes), bytes.len(), dtype.size());
    TensorData::from_bytes(bytes_of(stored), shape, dtype)
}

/// A tensor that is written out of its pack when something reads it.
pub fn unpacked(pack: Arc<dyn Plain>, shape: Shape) -> FlexTensor {
    let length = size_of::<f32>() * shape.num_elements();
    let stored = Stored::new(Source::Pack(pack), length, align_of::<f32>());
    FlexTensor::new(bytes_of(stored), Layout::contiguous(shape), DType::F32)
}

/// The tensor with its elements in memory that kernels read, which lasts no longer than it.
pub fn readable(x: &FlexTensor) -> FlexTensor {
    let raw = Raw::of(x);
    let Some(bytes) = &raw.view else {
        return x.clone();
    };
    if bytes.as_ptr().align_offset(x.dtype().size()) == 0 {
        return x.clone();
    }
    let copy = Bytes::from_bytes_vec(bytes.to_vec());
    FlexTensor::new(copy, x.layout().clone(), x.dtype())
}

/// Returns rows of a matrix of f32 whose memory is not aligned, or rows that are so large together that they should use memory
/// again. `None` for all other tensors, and if an index is out of bounds.
pub fn rows(x: Any<Flex>, indices: FlexTensor) -> Outcome<Flex> {
    let picked = indices.layout().num_elements();
    outcome(rows_of(&tensor(x), picked, || indices.into_data().iter().collect()))
}

fn rows_of(x: &FlexTensor, picked: usize, indices: impl FnOnce() -> Vec<i64>) -> Option<FlexTensor> {
    let raw = Raw::of(x);
    let bytes = raw.bytes();
    let is_aligned = bytes.as_ptr().align_offset(size_of::<f32>()) == 0;
    let is_whole = x.is_contiguous() && x.layout().start_offset() == 0;
    let [count, length] = x.shape()[..] else {
        return None;
    };
    let elements = picked.checked_mul(length)?;
    if !is_whole || x.dtype() != DType::F32 || (is_aligned && elements < LARGE_ROWS) {
        return None;
    }
    let indices: Vec<usize> =
        indices().into_iter().map(|at| usize::try_from(at).ok()).collect::<Option<_>>()?;
    if indices.len() != picked || indices.iter().any(|index| *index >= count) {
        return None;
    }
    let row = |index: usize| &bytes[size_of::<f32>() * index * length..][..size_of::<f32>() * length];
    let values = Buffer::filled(elements, |out| {
        out.reshaped(picked, length).write_rows(|at, out| {
            let values = row(indices[at]).chunks_exact(size_of::<f32>());
            write_all_of(out, values.map(bytemuck::pod_read_unaligned::<f32>))
        })
    });
    Some(values.tensor([picked, length]))
}

impl Raw {
    pub fn of(x: &FlexTensor) -> Self {
        let memory = x.data_arc();
        // A view of a file would read it at each call.
        let lies_here = memory.property() == AllocationProperty::Other;
        let view = lies_here.then(|| memory.view(0, memory.len()).ok());
        Self { view: view.flatten(), memory }
    }

    pub fn bytes(&self) -> &[u8] {
        self.view.as_ref().unwrap_or(&self.memory)
    }

    /// Returns true if only the tensor uses the memory.
    pub fn is_own(&self) -> bool {
        self.view.is_none()
    }

    /// Returns the pages of its memory to the system, if they are those of a file.
    pub fn give_back(&self) {
        if let Some(view) = &self.view {
            pages::give_back(view);
        }
    }
}

impl Stored {
    fn new(source: Source, length: usize, align: usize) -> Self {
        Self { source, length, align, copy: OnceLock::new(), is_changed: false }
    }

    /// The bytes that the memory has where nothing is copied.
    fn in_place(&self) -> Option<&'static [u8]> {
        match self.source {
            Source::Program(bytes) if bytes.as_ptr().align_offset(self.align) == 0 => Some(bytes),
            Source::Program(_) | Source::Pack(_) => None,
        }
    }

    fn copied(&self) -> &[u128] {
        self.copy.get_or_init(|| {
            let mut copy = vec![0u128; self.length.div_ceil(size_of::<u128>())];
            let out = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut copy)[..self.length];
            match &self.source {
                Source::Program(bytes) => {
                    out.copy_from_slice(bytes);
                    pages::give_back(bytes);
                }
                Source::Pack(pack) => pack.write(bytemuck::cast_slice_mut(out)),
            }
            copy.into()
        })
    }
}

impl Provider for Stored {
    fn length(&self) -> usize {
        self.length
    }

    fn alignment(&self) -> usize {
        self.align
    }

    fn read(&self, may_copy: bool) -> Option<&[u8]> {
        let bytes = match (self.copy.get(), self.in_place()) {
            (Some(copy), _) => bytemuck::cast_slice(copy),
            (None, Some(bytes)) => bytes,
            (None, None) if may_copy => bytemuck::cast_slice(self.copied()),
            (None, None) => return None,
        };
        Some(&bytes[..self.length])
    }

    fn change(&mut self, may_copy: bool) -> Option<&mut [u8]> {
        if self.copy.get().is_none() && !may_copy {
            return None;
        }
        self.copied();
        self.is_changed = true;
        let copy = self.copy.get_mut()?;
        Some(&mut bytemuck::cast_slice_mut::<u128, u8>(copy)[..self.length])
    }

    fn view(&self, range: Range<usize>) -> Option<Self> {
        let Source::Program(bytes) = self.source else {
            return None;
        };
        let bytes = bytes.get(range)?;
        (!self.is_changed).then(|| Self::new(Source::Program(bytes), bytes.len(), 1))
    }

    fn duplicate(&self) -> Option<Self> {
        (!self.is_changed).then(|| Self::new(self.source.clone(), self.length, self.align))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
