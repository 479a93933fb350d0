//! Sessions allocate nothing from their third call on: models of all kinds on an allocator that counts.

#[allow(unsafe_code)]
#[path = "../../../kernels/memory/tests/counting/mod.rs"]
mod counting;

use counting::{Counting, counts};
use onnx_embed::{Device, Error, OnnxModel, SessionAllocator, Tensor, Values, with_threads};

#[global_allocator]
static ALLOCATOR: SessionAllocator = SessionAllocator::over(&Counting);

/// Returns the numbers of blocks that a call allocates and frees beneath, and of pages that it touches first.
fn counted(call: impl FnOnce()) -> [usize; 3] {
    let now = || {
        let [allocated, freed] = counts();
        [allocated, freed, faults()]
    };
    let before = now();
    call();
    let after = now();
    [0, 1, 2].map(|at| after[at] - before[at])
}

/// Returns the number of pages that this thread has touched first.
#[cfg(target_os = "linux")]
fn faults() -> usize {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("usage");
    usage.minor_page_faults().try_into().expect("a count")
}

#[cfg(not(target_os = "linux"))]
fn faults() -> usize {
    0
}

/// Checks that later calls take no memory, and that a session has the results of a run.
fn check<M: OnnxModel>(name: &str, model: &M, sizes: &[(&str, usize)]) {
    let mut session = model.session(sizes).expect("a session");
    let mut outputs = Values::new();
    let mut run = || session.run_into(&mut outputs).expect("outputs");
    for _ in 0..3 {
        run();
    }
    // The system may take pages away at any time, so that one call without any is asked for.
    let calls: Vec<[usize; 3]> = (0..10).map(|_| counted(&mut run)).collect();
    for [allocated, freed, _] in &calls {
        assert_eq!((*allocated, *freed), (0, 0), "{name} allocates and frees blocks");
    }
    let least = calls.iter().map(|[_, _, faults]| faults).min();
    assert_eq!(least, Some(&0), "{name} touches new pages");
    // Another session has other memory.
    let mut other = Values::new();
    model.session(sizes).expect("a session").run_into(&mut other).expect("outputs");
    assert_eq!(outputs.to_string(), other.to_string(), "{name}");
}

macro_rules! models {
    ($($name:ident $path:literal $sizes:expr;)*) => {
        $(mod $name {
            onnx_embed::onnx_model! { pub struct Model = $path; }

            #[test]
            fn allocates_nothing() {
                let model = Model::new(&onnx_embed::Device::flex());
                super::check(stringify!($name), &model, &$sizes);
            }
        })*
    };
}

models! {
    bert_layer "models/blocks/bert_layer/bert_layer.onnx" [];
    churn "../examples/trees/churn.onnx" [];
    conv_norm "models/training/conv_norm.onnx" [];
    deep "models/half_precision/deep/deep.onnx" [];
    decoder "models/decoder/decoder.onnx" [("past", 5), ("total", 6)];
    detector "models/blocks/detector/detector.onnx" [];
    detector_in_half_precision "models/half_precision/detector/detector.onnx" [];
    digits "../examples/mnist/mnist.onnx" [];
    equal_scales "models/training/equal_scales.onnx" [];
    iris "models/iris.onnx" [];
    lines "../examples/ocr/lines.onnx" [];
    llama_layer "models/blocks/llama_layer/llama_layer.onnx" [];
    mobilenet_block "models/blocks/mobilenet_block/mobilenet_block.onnx" [];
    objects "../examples/detect/detector.onnx" [];
    perceptron "models/perceptron.onnx" [];
    pump "../examples/update/pump_3.onnx" [];
    segmentation "models/half_precision/segmentation/segmentation.onnx" [];
    shapes "../examples/classify/shapes.onnx" [];
    shared_blocks "models/training/shared_blocks.onnx" [];
    tied_embedding "models/training/tied_embedding.onnx" [];
    vad "../examples/vad/vad.onnx" [];
    yolo_head "models/blocks/yolo_head/yolo_head.onnx" [];
}

mod step {
    onnx_embed::onnx_model! {
        #[onnx(state("past_*" = "present_*"))]
        pub struct Model = "models/decoder/decoder.onnx";
    }
}

#[test]
fn steps_do_not_copy_the_state() {
    let device = Device::flex();
    let model = step::Model::new(&device);
    let mut state = model.state(1);
    let mut bytes = [0; 64];
    with_threads(1, || {
        for (seen, bytes) in bytes.iter_mut().enumerate() {
            let step = step::ModelStep {
                ids: Tensor::from_ints([[3]], &device),
                mask: Tensor::ones([1, seen + 1], &device),
            };
            let before = counting::bytes();
            model.step(&mut state, step);
            *bytes = counting::bytes() - before;
        }
    });
    // Scores and masks have as many elements as there are tokens. The caches get room for 16, 17 and 26 more.
    let more = bytes.windows(2).filter(|steps| steps[1] > steps[0] + 4096).count();
    assert_eq!(more, 3, "steps that copy the caches, of {bytes:?}");
}

mod written {
    onnx_embed::onnx_model! {
        #[onnx(state(past = present))]
        pub struct Model = "models/written_cache.onnx";
    }
}

#[test]
fn steps_write_into_a_cache_of_fixed_size() {
    let device = Device::flex();
    let model = written::Model::new(&device);
    let mut state = model.state();
    let mut bytes = [0; 64];
    with_threads(1, || {
        for (seen, bytes) in bytes.iter_mut().enumerate() {
            let step = written::ModelStep {
                new: Tensor::full([1, 2, 1, 8], seen as f32 + 1.0, &device),
                seen: Tensor::from_ints([seen as i64], &device),
            };
            let before = counting::bytes();
            let largest = model.step(&mut state, step);
            *bytes = counting::bytes() - before;
            assert_eq!(largest.max().into_scalar::<f32>(), seen as f32 + 1.0);
        }
    });
    // A copy of the cache takes 16,384 bytes.
    assert!(bytes.iter().skip(1).all(|&bytes| bytes < 8192), "steps allocate {bytes:?}");
}

#[test]
fn inputs_and_outputs_are_copied() -> Result<(), Error> {
    let model = iris::Model::new(&Device::flex());
    let mut session = model.session(&[("batch", 2)])?;
    let mut outputs = Values::new();
    let (mut labels, mut probabilities) = ([String::new(), String::new()], [0.0f32; 6]);
    for features in [[6.0f32, 2.2, 4.0, 1.0, 5.0, 3.4, 1.5, 0.2], [6.3, 3.3, 6.0, 2.5, 5.1, 3.5, 1.4, 0.2]] {
        session.set("features", &features)?;
        session.run_into(&mut outputs)?;
        outputs["label"].copy_to(&mut labels)?;
        outputs["probabilities"].copy_to(&mut probabilities)?;
        let (rows, _) = features.as_chunks::<4>();
        let expected = model.run(Values::new().with("features", rows.to_vec()))?;
        assert_eq!(expected["label"].to_vec::<String>()?, labels);
        assert_eq!(expected["probabilities"].to_vec::<f32>()?, probabilities);
    }
    // Inputs stay, and so do outputs until the next call.
    session.run_into(&mut outputs)?;
    assert_eq!(outputs["probabilities"].to_vec::<f32>()?, probabilities);
    // Other sizes.
    session.set_value("features", [[6.0f32, 2.2, 4.0, 1.0]])?;
    session.run_into(&mut outputs)?;
    assert_eq!(outputs["label"].to_vec::<String>()?, ["versicolor"]);
    Ok(())
}

#[test]
fn wrong_inputs_are_errors() -> Result<(), Error> {
    let model = iris::Model::new(&Device::flex());
    let mut session = model.session(&[])?;
    let mut outputs = Values::new();
    let text = |result: Result<(), Error>| result.expect_err("an error").to_string();
    assert_eq!(
        text(session.set("features", &[0.0f64; 4])),
        "the value is float32[1, 4], expected a tensor of float64: use `to_vec::<f32>()`"
    );
    assert_eq!(
        text(session.set("features", &[0.0f32; 5])),
        "the value is float32[1, 4], and the slice has 5 elements"
    );
    assert_eq!(text(session.set("feature", &[0.0f32; 4])), text(session.set_value("feature", [[0.0f32; 4]])));
    assert!(text(model.session(&[("rows", 2)]).map(drop)).contains("the model has no size `rows`"));
    session.set_value("features", [[0.0f32; 3]])?;
    assert!(text(session.run_into(&mut outputs)).contains("features"));
    assert!(outputs.is_empty());
    session.set_value("features", [[0.0f32; 4]])?;
    session.run_into(&mut outputs)?;
    assert_eq!(
        text(outputs["probabilities"].copy_to(&mut [0.0f32; 2])),
        "the value is float32[1, 3], and the slice has 2 elements"
    );
    Ok(())
}
