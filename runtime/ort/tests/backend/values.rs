//! Values of all kinds.

use half::{bf16, f16};
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::value::{
    DynTensor, Map, Sequence, Shape, Tensor, TensorElementType, TensorRef, TensorRefMut, ValueType,
};

use crate::models::*;

#[test]
fn every_element_type_passes() {
    let mut session = session(TYPES);
    let shape = [2usize];
    macro_rules! twice {
        ($($name:ident $ty:ty),*) => {
            vec![$((stringify!($name), {
                let data = vec![<$ty>::try_from(1i8).unwrap(), <$ty>::try_from(3i8).unwrap()];
                Tensor::from_array((shape, data)).unwrap().into_dyn()
            })),*]
        };
    }
    let mut inputs = twice! {
        float32 f32, float64 f64, int8 i8, int16 i16, int32 i32, int64 i64, uint8 u8, uint16 u16, uint32 u32, uint64 u64
    };
    let halves = vec![f16::from_f32(1.5), f16::from_f32(-2.0)];
    inputs.push(("float16", Tensor::from_array((shape, halves)).unwrap().into_dyn()));
    let halves = vec![bf16::from_f32(1.5), bf16::from_f32(-2.0)];
    inputs.push(("bfloat16", Tensor::from_array((shape, halves)).unwrap().into_dyn()));
    inputs.push(("bool", Tensor::from_array((shape, vec![true, false])).unwrap().into_dyn()));
    let outputs = session.run(inputs).unwrap();
    macro_rules! check {
        ($($name:literal $ty:ty),*) => {$(
            let data = outputs[concat!($name, "_twice")].try_extract_tensor::<$ty>().unwrap().1;
            assert_eq!(data, [<$ty>::try_from(2i8).unwrap(), <$ty>::try_from(6i8).unwrap()]);
        )*};
    }
    check! {
        "float32" f32, "float64" f64, "int8" i8, "int16" i16, "int32" i32, "int64" i64, "uint8" u8, "uint16" u16,
        "uint32" u32, "uint64" u64
    }
    let halves = outputs["float16_twice"].try_extract_tensor::<f16>().unwrap().1;
    assert_eq!(halves, [f16::from_f32(3.0), f16::from_f32(-4.0)]);
    let halves = outputs["bfloat16_twice"].try_extract_tensor::<bf16>().unwrap().1;
    assert_eq!(halves, [bf16::from_f32(3.0), bf16::from_f32(-4.0)]);
    assert_eq!(outputs["not_bool"].try_extract_tensor::<bool>().unwrap().1, [false, true]);
}

#[test]
fn strings_pass() {
    let mut session = session(TEXTS);
    let left = Tensor::from_string_array(([3usize], &["a", "", "grün"][..])).unwrap();
    let right = Tensor::from_string_array(([1usize], &["!"][..])).unwrap();
    let outputs = session.run(ort::inputs![left, right]).unwrap();
    let (shape, texts) = outputs["joined"].try_extract_strings().unwrap();
    assert_eq!((&shape[..], texts), (&[3][..], vec!["a!".to_owned(), "!".into(), "grün!".into()]));
}

#[test]
fn sequences_pass() {
    let mut session = session(SEQUENCES);
    assert!(matches!(session.inputs()[0].dtype(), ValueType::Sequence(_)));
    let one = Tensor::from_array(([2usize], vec![1f32, 2.0])).unwrap();
    let other = Tensor::from_array(([1usize], vec![3f32])).unwrap();
    let items = Sequence::new([one, other]).unwrap();
    assert_eq!(items.len(), 2);
    let outputs = session.run(ort::inputs![items]).unwrap();
    assert_eq!(outputs["joined"].try_extract_tensor::<f32>().unwrap().1, [1.0, 2.0, 3.0]);
    let longer = outputs["longer"].downcast_ref::<ort::value::DynSequenceValueType>().unwrap();
    let items = longer.try_extract_sequence::<ort::value::TensorValueType<f32>>().unwrap();
    let items: Vec<Vec<f32>> = items.iter().map(|item| item.extract_tensor().1.to_vec()).collect();
    assert_eq!(items, [vec![1.0, 2.0], vec![3.0], vec![1.0, 2.0, 3.0]]);
}

#[test]
fn maps_hold_keys_and_values() {
    set_up();
    let map = Map::<i64, f32>::new([(1, 0.5), (2, 0.25)]).unwrap();
    let mut entries = map.extract_key_values();
    entries.sort_by_key(|(key, _)| *key);
    assert_eq!(entries, [(1, 0.5), (2, 0.25)]);
    let map = Map::<String, f32>::new([("a".to_owned(), 1.0)]).unwrap();
    assert_eq!(map.extract_map()["a"], 1.0);
}

#[test]
fn a_tensor_over_memory_of_the_caller_shares_it() {
    set_up();
    let mut data = vec![1f32, 2.0];
    {
        let mut tensor = TensorRefMut::from_array_view_mut(([2usize], &mut data[..])).unwrap();
        tensor.extract_tensor_mut().1[0] = 7.0;
    }
    assert_eq!(data, [7.0, 2.0]);
}

#[test]
fn a_clone_has_memory_of_its_own() {
    set_up();
    let mut tensor = Tensor::from_array(([2usize], vec![1i64, 2])).unwrap();
    let clone = tensor.clone();
    tensor.extract_tensor_mut().1[0] = 9;
    assert_eq!((tensor.extract_tensor().1, clone.extract_tensor().1), (&[9, 2][..], &[1, 2][..]));
}

#[test]
fn a_tensor_is_copied_into_another() {
    set_up();
    let from = Tensor::from_array(([2usize], vec![1u8, 2])).unwrap();
    let mut to = Tensor::<u8>::new(&Allocator::default(), [2usize]).unwrap();
    assert_eq!(to.extract_tensor().1, [0, 0]);
    from.copy_into(&mut to).unwrap();
    assert_eq!(to.extract_tensor().1, [1, 2]);
}

#[test]
fn tensors_are_in_memory_of_the_host() {
    set_up();
    let allocator = Allocator::default();
    let tensor = DynTensor::new(&allocator, TensorElementType::Float32, [2usize]).unwrap();
    assert_eq!(tensor.memory_info().allocation_device(), AllocationDevice::CPU);
    assert!(tensor.memory_info().is_cpu_accessible());
    let cuda =
        MemoryInfo::new(AllocationDevice::CUDA, 1, AllocatorType::Arena, MemoryType::CPUInput).unwrap();
    assert_eq!(cuda.allocation_device(), AllocationDevice::CUDA);
    assert_eq!(
        (cuda.device_id(), cuda.allocator_type(), cuda.memory_type()),
        (1, AllocatorType::Arena, MemoryType::CPUInput)
    );
    assert!(!cuda.is_cpu_accessible());
    let mut data = [0f32];
    let shape = Shape::new([1]);
    // SAFETY: the memory is that of `data`, which outlives the call. It is not used, as this device is refused.
    let tensor = unsafe { TensorRefMut::<f32>::from_raw(cuda, data.as_mut_ptr().cast(), shape) };
    assert!(tensor.is_err());
}

#[test]
fn allocated_memory_can_be_written() {
    set_up();
    let allocator = Allocator::default();
    let mut block = allocator.alloc::<u64>(4).unwrap();
    let data = block.as_mut_ptr().cast::<u64>();
    // SAFETY: the block has four elements.
    unsafe { data.add(3).write(42) };
    // SAFETY: the element was written.
    assert_eq!(unsafe { data.add(3).read() }, 42);
}

#[test]
fn sessions_and_values_are_dropped_in_any_order() {
    let mut first = session(AFFINE);
    let x = Tensor::from_array(([1usize, 3], vec![1f32; 3])).unwrap();
    let view = TensorRef::from_array_view(([1usize, 3], &[1f32; 3][..])).unwrap();
    let mut kept = Vec::new();
    {
        let mut outputs = first.run(ort::inputs![&x]).unwrap();
        kept.push(outputs.remove("y").unwrap());
        kept.push(outputs.remove("z").unwrap());
    }
    let mut second = session(AFFINE);
    drop(first);
    drop(x);
    let mut outputs = second.run(ort::inputs![view]).unwrap();
    kept.push(outputs.remove("y").unwrap());
    drop(outputs);
    drop(second);
    assert_eq!(
        kept[0].try_extract_tensor::<f32>().unwrap().1,
        kept[2].try_extract_tensor::<f32>().unwrap().1
    );
    kept.remove(1);
    assert_eq!(kept[0].try_extract_tensor::<f32>().unwrap().1, [12.0, 22.0]);
}
