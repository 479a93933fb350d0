//! Weights in the order of tiles, kept as long as the weight is the same.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{Bytes, DType};

use super::{
    conv::{Filters, phases::Phases},
    gemm::Right,
    instructions::Set,
    integer::{self, Dot},
    stored::{Plain, Raw, unpacked},
};

/// What is kept of one weight.
#[derive(Default)]
pub struct Cell(RwLock<Option<Kept>>);

struct Kept {
    of: Identity,
    pack: Pack,
}

/// A weight that is packed.
#[derive(Clone)]
pub enum Pack {
    Right(Arc<Right>),
    Rights(Arc<[Right]>),
    Filters(Arc<Filters>),
    Phases(Arc<Phases>),
    ByteRight(Arc<integer::Right>),
    ByteFilters(Arc<integer::Filters>),
}

/// A tensor as long as nobody writes to its memory.
///
/// While there is a weak pointer to it, memory is not used for another tensor, and is written to in a
/// copy alone.
struct Identity {
    memory: Weak<Bytes>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    start: usize,
}

impl Cell {
    /// The pack of a weight: what is kept, if it `fits`, else what `make` gives.
    pub fn pack(
        &self,
        weight: &FlexTensor,
        fits: impl Fn(&Pack) -> bool,
        make: impl FnOnce() -> Option<Pack>,
    ) -> Option<Pack> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept
            && kept.of.is(weight)
            && kept.pack.is_best()
            && fits(&kept.pack)
        {
            return Some(kept.pack.clone());
        }
        drop(kept);
        let pack = make()?;
        Raw::of(weight).give_back();
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Kept {
            of: Identity::new(weight),
            pack: pack.clone(),
        });
        Some(pack)
    }
}

/// The same weight without memory of its own, where its pack has all of it.
pub fn without_memory(weight: FlexTensor, packed: &Cell) -> FlexTensor {
    let mut kept = packed.0.write().unwrap_or_else(PoisonError::into_inner);
    let Some(kept) = kept.as_mut().filter(|kept| kept.of.is(&weight)) else {
        return weight;
    };
    let pack: Arc<dyn Plain> = match &kept.pack {
        Pack::Right(right) => right.clone(),
        Pack::Filters(filters) => filters.clone(),
        _ => return weight,
    };
    if weight.dtype() != DType::F32 || !Raw::of(&weight).is_own() {
        return weight;
    }
    let weight = unpacked(pack, weight.shape());
    kept.of = Identity::new(&weight);
    weight
}

impl Pack {
    /// Whether it is for the best instructions of the processor.
    fn is_best(&self) -> bool {
        match self {
            Self::Right(right) => right.set == Set::best(),
            Self::Rights(rights) => rights.iter().all(|right| right.set == Set::best()),
            Self::Filters(filters) => filters.set == Set::best(),
            Self::ByteRight(right) => right.dot == Dot::best(),
            Self::ByteFilters(filters) => filters.dot == Dot::best(),
            Self::Phases(phases) => phases.set == Set::best(),
        }
    }
}

impl Identity {
    fn new(tensor: &FlexTensor) -> Self {
        let layout = tensor.layout();
        Self {
            memory: Arc::downgrade(&tensor.data_arc()),
            shape: tensor.shape().to_vec(),
            strides: layout.strides().to_vec(),
            start: layout.start_offset(),
        }
    }

    fn is(&self, tensor: &FlexTensor) -> bool {
        let layout = tensor.layout();
        self.memory.as_ptr() == Arc::as_ptr(&tensor.data_arc())
            && self.start == layout.start_offset()
            && self.shape[..] == tensor.shape()[..]
            && self.strides[..] == layout.strides()[..]
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Count;

    use burn::tensor::TensorData;

    use super::*;
    use crate::flex::view::View;

    fn tensor(values: [f32; 4]) -> FlexTensor {
        FlexTensor::from_data(TensorData::new(values.to_vec(), [2, 2]))
    }

    #[test]
    fn a_weight_is_packed_once_until_it_changes() {
        let (cell, made) = (Cell::default(), Count::new(0));
        let pack = |weight: &FlexTensor| {
            cell.pack(
                weight,
                |_| true,
                || {
                    made.set(made.get() + 1);
                    let view = View::of(weight).unwrap();
                    let right = Right::new(Set::best(), view.matrix(&[]));
                    Some(Pack::Right(Arc::new(right)))
                },
            );
            made.get()
        };
        let mut weight = tensor([1.0, 2.0, 3.0, 4.0]);
        assert_eq!([pack(&weight), pack(&weight.clone())], [1, 1]);
        assert_eq!(pack(&weight.transpose(0, 1)), 2);
        assert_eq!(pack(&weight), 3);
        weight.storage_mut::<f32>()[0] = 5.0;
        assert_eq!([pack(&weight), pack(&weight)], [4, 4]);
        drop(weight);
        assert_eq!(pack(&tensor([1.0, 2.0, 3.0, 4.0])), 5);
    }
}
