//! Weights in the memory of the program, and packed weights.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use burn::backend::{
    Flex, TensorMetadata,
    flex::{FlexTensor, Layout},
};
use burn::tensor::{AllocationProperty, Bytes, DType, Shape, TensorData};

use super::{
    memory::{Buffer, Cuts, Grid, Provider, bytes_of, pages, write_all_of, zeroed},
    outcome, tensor,
};
use crate::{
    backend::{Any, Outcome},
    spec::stored::SharedBytes,
};

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
    /// A range of bytes that several owners share.
    Shared(SharedBytes, Range<usize>),
    Pack(Arc<dyn Plain>),
}

/// Number of elements whose memory is used again by later results.
const LARGE_ROWS: usize = 16 << 10;

/// Minimum number of bytes of a weight that is read by several threads into recycled memory.
const LEAST_FILLED: usize = 256 << 10;

/// Number of bytes that are read at once. They fit the cache of a core.
const CHUNK: usize = 128 << 10;

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

/// The same with a range of shared bytes.
pub fn shared(bytes: &SharedBytes, range: Range<usize>, shape: Shape, dtype: DType) -> TensorData {
    let length = range.len();
    let stored = Stored::new(Source::Shared(bytes.clone(), range), length, dtype.size());
    TensorData::from_bytes(bytes_of(stored), shape, dtype)
}

/// A tensor in memory that others used before, whose bytes `read` writes, chunk by chunk and side by side. The arguments of
/// `read` are the offset and the bytes of a chunk. `None` for sizes that are not recycled.
pub fn filled<E: Send>(
    size: usize,
    shape: &Shape,
    dtype: DType,
    read: impl Fn(usize, &mut [u8]) -> Result<(), E> + Send + Sync,
) -> Option<Result<TensorData, E>> {
    const WORD: usize = size_of::<u128>();
    if size < LEAST_FILLED || !size.is_multiple_of(WORD) || size != shape.num_elements() * dtype.size() {
        return None;
    }
    let failed = Mutex::new(None);
    let words = size / WORD;
    let buffer = Buffer::<u128>::filled(words, |out| {
        let grid = Grid::of_row(Cuts::every(words, CHUNK / WORD));
        out.side_by_side(grid, usize::MAX, |_, spot, part| {
            part.write(|words| {
                // Readers of files take initialized bytes; the zeros of a chunk are in the cache when it is read.
                let words = zeroed(words);
                let bytes = bytemuck::cast_slice_mut(&mut *words);
                if let Err(error) = read(spot.columns.start * WORD, bytes) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                words
            })
        })
    });
    Some(match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(TensorData::from_bytes(buffer.into_bytes(), shape.clone(), dtype)),
    })
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
    fn in_place(&self) -> Option<&[u8]> {
        self.source.bytes().filter(|bytes| bytes.as_ptr().align_offset(self.align) == 0)
    }

    fn copied(&self) -> &[u128] {
        self.copy.get_or_init(|| {
            let mut copy = vec![0u128; self.length.div_ceil(size_of::<u128>())];
            let out = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut copy)[..self.length];
            match &self.source {
                Source::Program(_) | Source::Shared(..) => {
                    let bytes = self.source.bytes().expect("shared bytes keep their length");
                    out.copy_from_slice(bytes);
                    pages::give_back(bytes);
                }
                Source::Pack(pack) => pack.write(bytemuck::cast_slice_mut(out)),
            }
            copy.into()
        })
    }
}

impl Source {
    /// The bytes, if they are in memory as they are used. Their owner may return others at each call.
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Program(bytes) => Some(bytes),
            Self::Shared(bytes, range) => (**bytes).as_ref().get(range.clone()),
            Self::Pack(_) => None,
        }
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
        let length = range.len();
        let source = match &self.source {
            Source::Program(bytes) => Source::Program(bytes.get(range)?),
            Source::Shared(bytes, whole) => {
                let start = whole.start.checked_add(range.start)?;
                let end = whole.start.checked_add(range.end).filter(|end| *end <= whole.end)?;
                Source::Shared(bytes.clone(), start..end)
            }
            Source::Pack(_) => return None,
        };
        (!self.is_changed).then(|| Self::new(source, length, 1))
    }

    fn duplicate(&self) -> Option<Self> {
        (!self.is_changed).then(|| Self::new(self.source.clone(), self.length, self.align))
    }
}

#[cfg(test)]
mod tests;
