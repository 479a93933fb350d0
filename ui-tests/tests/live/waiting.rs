//! Models that wait for their device without blocking.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use onnx_embed::__private::ops::observe::Event;
use onnx_embed::{Device, Error, OnnxModel, Tensor, TensorData, Values, onnx_model};

use crate::{events, inputs, on_each, turn};

onnx_model! { struct Perceptron = "../../models/perceptron.onnx"; }
onnx_model! { struct Rows = "../../models/rows.onnx"; }
onnx_model! { struct Steered = "../../models/steered.onnx"; }
onnx_model! { struct Found = "../../models/found.onnx"; }
onnx_model! { struct Modules = "../../models/modules.onnx"; }

/// Blocks this thread until a future is ready: a minimal executor.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Checks that `run_async` returns the result of `run` and never blocks. Returns the number of times that it awaits
/// the device.
fn agree(model: &impl OnnxModel, inputs: Values) -> usize {
    let expected = model.run(inputs.clone());
    let (found, events) = events(|| block_on(model.run_async(inputs)));
    let describe = |result: Result<Values, _>| result.map_err(|error: onnx_embed::Error| error.to_string());
    assert_eq!(describe(found), describe(expected));
    assert!(!events.contains(&Event::Read), "it blocks: {events:?}");
    events.iter().filter(|&&event| event == Event::Wait).count()
}

fn vector(values: &[f32]) -> TensorData {
    TensorData::from(values)
}

#[test]
fn a_model_without_reads_waits_for_its_outputs_alone() {
    on_each(|device| {
        let x = || TensorData::from([[1f32, 2.0, 3.0], [-1.0, 0.0, 1.0]]);
        let model = Perceptron::new(device);
        assert_eq!(agree(&model, inputs([("x", x())])), 0);
        let tensor = || Tensor::<2>::from_data(x(), device);
        let expected = model.forward(tensor()).into_data();
        assert_eq!(block_on(model.forward_async(tensor())).into_data(), expected);
    });
}

#[test]
fn values_that_steer_are_awaited() {
    on_each(|device| {
        let model = Steered::new(device);
        let branch = agree(&model, inputs([("x", vector(&[1.0, 2.0, 30.0, 4.0]))]));
        assert!(branch >= 2, "{branch}");
        let longer = agree(&model, inputs([("x", vector(&[-1.0, 0.5, 0.0, 0.1]))]));
        assert!(longer > branch, "{longer} and {branch}");
    });
}

#[test]
fn sizes_of_results_are_awaited() {
    on_each(|device| {
        let model = Found::new(device);
        let boxes = [[0f32, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 7.0]];
        let scores = [[0.5f32, 0.6, 0.4], [0.1, 0.2, 0.3], [0.9, 0.8, 0.7]];
        let waits = agree(
            &model,
            inputs([
                ("boxes", TensorData::from([boxes, boxes])),
                ("scores", TensorData::from([scores, scores])),
                ("x", vector(&[3.0, 0.0, -1.0, 3.0])),
            ]),
        );
        assert!(waits >= 4, "{waits}");
    });
}

#[test]
fn parts_of_a_model_wait() {
    on_each(|device| {
        let model = Modules::new(device);
        let waits = agree(&model, inputs([("x", vector(&[3.0, 0.0, -1.0, 2.0]))]));
        assert_eq!(waits, 6);
    });
}

#[test]
fn a_step_that_fails_is_named() {
    on_each(|device| {
        let ids = || TensorData::from([3i64, 99]);
        agree(&Rows::new(device), inputs([("ids", ids())]));
        let model = Rows::new(device);
        let failed = block_on(model.run_async(inputs([("ids", ids())])));
        let text = "cannot run `/emb/Gather` (Gather): index 99 is out of bounds for axis 0 of size 50";
        assert_eq!(failed.map(drop).unwrap_err().to_string(), text);
        let ids = Tensor::from_data(ids(), device);
        let failed = block_on(model.try_forward_async(ids));
        assert_eq!(failed.map(drop).unwrap_err().to_string(), text);
        // A step that may await fails before it does.
        let boxes = inputs([
            ("boxes", TensorData::from([[[0f32; 4]]])),
            ("scores", TensorData::from([[[0f32], [0.0], [0.0]]])),
            ("x", vector(&[1.0])),
        ]);
        let failed = block_on(Found::new(device).run_async(boxes.clone()));
        let failed = failed.map(drop).unwrap_err().to_string();
        assert_eq!(failed, "cannot run `/top/TopK` (TopK): expected `k` of at most 1, found 2");
    });
}

#[test]
fn errors_of_the_typed_form_keep_their_type() {
    on_each(|device| {
        let model = Perceptron::new(device);
        let wide: Tensor<2> = Tensor::ones([2, 5], device);
        match block_on(model.try_forward_async(wide)) {
            Err(Error::WrongShape { name: "x", found, .. }) => assert_eq!(found, [2, 5]),
            other => panic!("{other:?}"),
        }
        let x = || Tensor::<2>::ones([2, 3], device);
        let output = block_on(model.try_forward_async(x())).unwrap();
        assert_eq!(output.into_data(), model.forward(x()).into_data());
    });
}

/// Runs requests for models of several types, each on any free thread, as a server or a page does.
#[test]
fn models_behind_one_type_wait_on_any_thread() {
    use onnx_embed::DynModel;

    let _turn = turn();
    let device = Device::flex();
    let models: [(Box<dyn DynModel>, _); 2] = [
        (Box::new(Perceptron::new(&device)), inputs([("x", TensorData::from([[1f32, 2.0, 3.0]]))])),
        (Box::new(Modules::new(&device)), inputs([("x", vector(&[3.0, 0.0, -1.0, 2.0]))])),
    ];
    for (model, inputs) in &models {
        let expected = model.run(inputs.clone()).unwrap();
        let future = async {
            model.warm_up_async(&[]).await?;
            model.run_async(inputs.clone()).await
        };
        let found = thread::scope(|scope| scope.spawn(|| block_on(future)).join().unwrap());
        assert_eq!(found.unwrap(), expected);
    }
}

#[test]
fn futures_are_small() {
    on_each(|device| {
        let model = Modules::new(device);
        let future = model.run_async(Values::new());
        let size = size_of_val(&future);
        assert!(size < 4096, "{size}");
        let x = Tensor::<1>::zeros([2], device);
        let size = size_of_val(&model.forward_async(x.clone()));
        assert!(size < 16384, "{size}");
        let size = size_of_val(&model.try_forward_async(x));
        assert!(size < 4096, "{size}");
    });
}

#[test]
fn futures_go_from_thread_to_thread() {
    fn sent(future: impl Future<Output = Result<Values, onnx_embed::Error>> + Send) -> Values {
        thread::scope(|scope| scope.spawn(|| block_on(future)).join().unwrap()).unwrap()
    }

    let _turn = turn();
    let x = || inputs([("x", vector(&[3.0, 0.0, -1.0, 2.0]))]);
    let model = Modules::new(&Device::flex());
    assert_eq!(sent(model.run_async(x())), model.run(x()).unwrap());
}
