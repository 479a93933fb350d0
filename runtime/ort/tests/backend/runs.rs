//! Runs: by name and position, with options, asynchronous, on several threads.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use ort::session::{OutputSelector, RunOptions};
use ort::value::{Tensor, TensorRef};

use crate::models::*;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            // `ort` stores its waker after it looks for the result, so a wake may be lost.
            Poll::Pending => thread::park_timeout(std::time::Duration::from_millis(1)),
        }
    }
}

#[test]
fn inputs_are_named_or_in_order() {
    let mut session = session(SCALAR);
    let x = TensorRef::from_array_view(([3usize], &[1i64, 2, 3][..])).unwrap();
    let factor = Tensor::from_array((Vec::<i64>::new(), vec![10i64])).unwrap();
    {
        let outputs = session.run(ort::inputs!["factor" => &factor, "x" => x.clone()]).unwrap();
        assert_eq!(outputs["y"].try_extract_tensor::<i64>().unwrap().1, [10, 20, 30]);
    }
    let outputs = session.run(ort::inputs![x, &factor]).unwrap();
    assert_eq!(outputs[0].try_extract_tensor::<i64>().unwrap().1, [10, 20, 30]);
}

#[test]
fn a_scalar_may_be_a_tensor_of_one_element() {
    let mut session = session(SCALAR);
    let x = TensorRef::from_array_view(([2usize], &[1i64, 2][..])).unwrap();
    let factor = Tensor::from_array(([1usize], vec![5i64])).unwrap();
    let outputs = session.run(ort::inputs![x, factor]).unwrap();
    assert_eq!(outputs[0].try_extract_tensor::<i64>().unwrap().1, [5, 10]);
}

#[test]
fn a_batch_may_be_empty() {
    let mut session = session(AFFINE);
    let x = Tensor::<f32>::new(&ort::memory::Allocator::default(), [0usize, 3]).unwrap();
    let outputs = session.run(ort::inputs![x]).unwrap();
    let (shape, data) = outputs["y"].try_extract_tensor::<f32>().unwrap();
    assert_eq!((&shape[..], data), (&[0, 2][..], &[][..]));
}

#[test]
fn options_choose_outputs_and_their_memory() {
    let mut session = session(AFFINE);
    let x = TensorRef::from_array_view(([1usize, 3], &[1f32, 2.0, 3.0][..])).unwrap();
    let place = Tensor::<f32>::new(&ort::memory::Allocator::default(), [1usize, 3]).unwrap();
    let options = RunOptions::new().unwrap();
    let options = options.with_outputs(OutputSelector::no_default().with("z").preallocate("z", place));
    let outputs = session.run_with_options(ort::inputs![x], &options).unwrap();
    assert_eq!(outputs.len(), 1);
    assert_eq!(outputs["z"].try_extract_tensor::<f32>().unwrap().1, [-1.0, -2.0, -3.0]);
}

#[test]
fn memory_of_another_shape_is_an_error() {
    let mut session = session(AFFINE);
    let x = TensorRef::from_array_view(([1usize, 3], &[1f32, 2.0, 3.0][..])).unwrap();
    let place = Tensor::<f32>::new(&ort::memory::Allocator::default(), [2usize, 3]).unwrap();
    let options = RunOptions::new().unwrap();
    let options = options.with_outputs(OutputSelector::no_default().with("z").preallocate("z", place));
    assert!(session.run_with_options(ort::inputs![x], &options).is_err());
}

#[test]
fn a_terminated_run_is_an_error() {
    let mut session = session(AFFINE);
    let x = || TensorRef::from_array_view(([1usize, 3], &[1f32, 2.0, 3.0][..])).unwrap();
    let options = RunOptions::new().unwrap();
    options.terminate().unwrap();
    let text = message(session.run_with_options(ort::inputs![x()], &options));
    assert!(text.contains("Exiting due to terminate flag being set to true."), "{text}");
    options.unterminate().unwrap();
    assert!(session.run_with_options(ort::inputs![x()], &options).is_ok());
}

#[test]
fn run_options_keep_their_values() {
    set_up();
    let mut options = RunOptions::new().unwrap();
    options.set_tag("a tag").unwrap();
    options.set_log_verbosity(3).unwrap();
    options.set_log_level(ort::logging::LogLevel::Error).unwrap();
    options.add_config_entry("key", "value").unwrap();
    assert_eq!((options.tag().unwrap(), options.log_verbosity().unwrap()), ("a tag", 3));
    assert_eq!(options.log_level().unwrap(), ort::logging::LogLevel::Error);
}

#[test]
fn a_run_is_asynchronous() {
    let mut session = session(AFFINE);
    let options = RunOptions::new().unwrap();
    for number in 0..20 {
        let x = Tensor::from_array(([1usize, 3], vec![number as f32; 3])).unwrap();
        let outputs = block_on(session.run_async(ort::inputs![x], &options).unwrap()).unwrap();
        let y = outputs["y"].try_extract_tensor::<f32>().unwrap().1;
        assert_eq!(y, [10.0 + 2.0 * number as f32, 20.0 + 2.0 * number as f32]);
    }
}

#[test]
fn an_asynchronous_run_reports_errors() {
    let mut session = session(AFFINE);
    let options = RunOptions::new().unwrap();
    let x = Tensor::from_array(([1usize, 4], vec![0f32; 4])).unwrap();
    let run = session.run_async(ort::inputs![x], &options).unwrap();
    let text = message(block_on(run));
    assert!(text.contains("`x`"), "{text}");
}

#[test]
fn a_future_that_is_dropped_terminates_its_run() {
    let mut session = session(AFFINE);
    let options = RunOptions::new().unwrap();
    let x = Tensor::from_array(([1usize, 3], vec![0f32; 3])).unwrap();
    drop(session.run_async(ort::inputs![x], &options).unwrap());
    options.unterminate().unwrap();
    let x = Tensor::from_array(([1usize, 3], vec![0f32; 3])).unwrap();
    assert!(block_on(session.run_async(ort::inputs![x], &options).unwrap()).is_ok());
}

#[test]
fn sessions_run_on_several_threads() {
    set_up();
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                let (mut affine, mut scalar) = (session(AFFINE), session(SCALAR));
                for _ in 0..50 {
                    let x = Tensor::from_array(([1usize, 3], vec![number as f32; 3])).unwrap();
                    let outputs = affine.run(ort::inputs![x]).unwrap();
                    assert_eq!(outputs["z"].try_extract_tensor::<f32>().unwrap().1, [-(number as f32); 3]);
                    let x = Tensor::from_array(([1usize], vec![number as i64])).unwrap();
                    let factor = TensorRef::from_array_view(([1usize], &[3i64][..])).unwrap();
                    let outputs = scalar.run(ort::inputs![x, factor]).unwrap();
                    assert_eq!(outputs[0].try_extract_tensor::<i64>().unwrap().1, [3 * number as i64]);
                }
            });
        }
    });
}
