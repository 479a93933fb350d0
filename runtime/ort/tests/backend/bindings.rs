//! Bindings of inputs and outputs.

use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::value::Tensor;

use crate::models::*;

fn host() -> MemoryInfo {
    MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::CPUOutput).unwrap()
}

fn row(number: f32) -> Tensor<f32> {
    Tensor::from_array(([1usize, 3], vec![number; 3])).unwrap()
}

#[test]
fn an_output_is_allocated_by_the_run() {
    let mut session = session(AFFINE);
    let mut binding = session.create_binding().unwrap();
    binding.bind_input("x", &row(1.0)).unwrap();
    binding.bind_output_to_device("z", &host()).unwrap();
    binding.bind_output_to_device("y", &host()).unwrap();
    let outputs = session.run_binding(&binding).unwrap();
    assert_eq!(outputs.keys().collect::<Vec<_>>(), ["z", "y"]);
    assert_eq!(outputs["y"].try_extract_tensor::<f32>().unwrap().1, [12.0, 22.0]);
    assert_eq!(outputs["z"].try_extract_tensor::<f32>().unwrap().1, [-1.0; 3]);
}

#[test]
fn an_output_is_stored_in_the_bound_tensor() {
    let mut session = session(AFFINE);
    let mut binding = session.create_binding().unwrap();
    binding.bind_output("y", Tensor::<f32>::new(&Allocator::default(), [1usize, 2]).unwrap()).unwrap();
    for number in [1.0f32, 2.0] {
        binding.bind_input("x", &row(number)).unwrap();
        let outputs = session.run_binding(&binding).unwrap();
        let y = outputs["y"].try_extract_tensor::<f32>().unwrap().1;
        assert_eq!(y, [10.0 + 2.0 * number, 20.0 + 2.0 * number]);
    }
}

#[test]
fn an_input_is_copied_when_it_is_bound() {
    let mut session = session(AFFINE);
    let mut binding = session.create_binding().unwrap();
    let mut x = row(1.0);
    binding.bind_input("x", &x).unwrap();
    x.extract_tensor_mut().1.fill(9.0);
    binding.bind_output_to_device("z", &host()).unwrap();
    for _ in 0..2 {
        let outputs = session.run_binding(&binding).unwrap();
        assert_eq!(outputs["z"].try_extract_tensor::<f32>().unwrap().1, [-1.0; 3]);
    }
}

#[test]
fn a_binding_without_an_input_is_an_error() {
    let mut session = session(AFFINE);
    let mut binding = session.create_binding().unwrap();
    binding.bind_output_to_device("z", &host()).unwrap();
    assert!(message(session.run_binding(&binding)).contains("missing input `x`"));
    binding.bind_input("x", &row(1.0)).unwrap();
    assert!(session.run_binding(&binding).is_ok());
    binding.clear_inputs();
    assert!(session.run_binding(&binding).is_err());
}

#[test]
fn a_binding_checks_names_types_and_shapes() {
    let mut session = session(AFFINE);
    let mut binding = session.create_binding().unwrap();
    assert!(message(binding.bind_input("w", &row(1.0))).contains("no input `w` (inputs are: `x`)"));
    assert!(
        message(binding.bind_output_to_device("w", &host()))
            .contains("no output `w` (outputs are: `y`, `z`)")
    );
    binding.bind_input("x", &row(1.0)).unwrap();
    binding.bind_output("y", Tensor::<f32>::new(&Allocator::default(), [2usize, 2]).unwrap()).unwrap();
    assert!(session.run_binding(&binding).is_err());
    binding.bind_output("y", Tensor::<i32>::new(&Allocator::default(), [1usize, 2]).unwrap()).unwrap();
    assert!(session.run_binding(&binding).is_err());
}

#[test]
fn a_binding_belongs_to_one_session() {
    let first = session(AFFINE);
    let mut second = session(AFFINE);
    let binding = first.create_binding().unwrap();
    drop(first);
    assert!(message(session_run(&mut second, &binding)).contains("the binding is of another session"));
}

fn session_run(session: &mut ort::session::Session, binding: &ort::session::IoBinding) -> ort::Result<()> {
    session.run_binding(binding).map(drop)
}
