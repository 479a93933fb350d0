//! Packed weights, kept until the weight changes.

use std::sync::{Arc, Weak};

use burn::backend::{TensorMetadata, flex::FlexTensor};
use burn::tensor::{Bytes, DType};

use super::{
    conv::{Filters, phases::Phases},
    gemm::Right,
    integer,
    simd::{DotInstructions, InstructionSet},
    stored::{Plain, Raw, unpacked},
};
use crate::spec::packed::Packed;

/// The pack of one weight, as long as that is the same.
struct Kept {
    weight: Identity,
    pack: Pack,
}

/// A weight in the order in which a kernel reads it.
#[derive(Clone)]
pub enum Pack {
    Right(Arc<Right>),
    Rights(Arc<[Right]>),
    Filters(Arc<Filters>),
    Phases(Arc<Phases>),
    ByteRight(Arc<integer::Right>),
    ByteFilters(Arc<integer::Filters>),
}

/// A tensor until its memory is changed.
///
/// A weak pointer keeps the address from being used for another tensor, and makes writers copy the memory first.
struct Identity {
    memory: Weak<Bytes>,
    shape: Vec<usize>,
    strides: Vec<isize>,
    start: usize,
}

/// Returns the pack of a weight: the one that `packed` holds if it `fits`, else what `make` returns, which
/// `packed` then holds.
pub fn pack(
    packed: Option<&Packed>,
    weight: &FlexTensor,
    fits: impl Fn(&Pack) -> bool,
    make: impl FnOnce() -> Option<Pack>,
) -> Option<Pack> {
    let Some(packed) = packed else {
        return make();
    };
    if let Some(kept) = packed.read().as_ref().and_then(|kept| kept.downcast_ref::<Kept>())
        && kept.weight.is(weight)
        && kept.pack.is_best()
        && fits(&kept.pack)
    {
        return Some(kept.pack.clone());
    }
    let pack = make()?;
    Raw::of(weight).give_back();
    *packed.write() = Some(Box::new(Kept { weight: Identity::new(weight), pack: pack.clone() }));
    Some(pack)
}

/// The same weight without memory of its own, where its pack has all of it.
pub fn without_memory(weight: FlexTensor, packed: &Packed) -> FlexTensor {
    let mut kept = packed.write();
    let kept = kept.as_mut().and_then(|kept| kept.downcast_mut::<Kept>());
    let Some(kept) = kept.filter(|kept| kept.weight.is(&weight)) else {
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
    kept.weight = Identity::new(&weight);
    weight
}

impl Pack {
    /// Returns true if it is packed for the best instruction set of the processor.
    fn is_best(&self) -> bool {
        match self {
            Self::Right(right) => right.set == InstructionSet::best(),
            Self::Rights(rights) => rights.iter().all(|right| right.set == InstructionSet::best()),
            Self::Filters(filters) => filters.set == InstructionSet::best(),
            Self::ByteRight(right) => right.dot == DotInstructions::best(),
            Self::ByteFilters(filters) => filters.dot == DotInstructions::best(),
            Self::Phases(phases) => phases.set == InstructionSet::best(),
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
    use std::cell::Cell;

    use burn::tensor::TensorData;

    use super::*;
    use crate::flex::view::View;

    fn tensor(values: [f32; 4]) -> FlexTensor {
        FlexTensor::from_data(TensorData::new(values.to_vec(), [2, 2]))
    }

    #[test]
    fn a_weight_is_packed_once_until_it_changes() {
        let (packed, made) = (Packed::default(), Cell::new(0));
        let pack = |weight: &FlexTensor| {
            pack(
                Some(&packed),
                weight,
                |_| true,
                || {
                    made.set(made.get() + 1);
                    let view = View::of(weight).unwrap();
                    let right = Right::new(InstructionSet::best(), view.matrix(&[]));
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
