//! Files that several exporters wrote of the same network, loaded by programs compiled from one of them.

use std::path::{Path, PathBuf};

use onnx_embed::{Device, Int, OnnxModel, Tensor, TensorData};

mod script {
    use onnx_embed::onnx_model;

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct Bert = "../models/structure/bert_script14.onnx";
    }

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct MobileNet = "../models/structure/mobilenet_unfolded.onnx";
    }

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct VoiceDetector = "../models/structure/vad_script17.onnx";
    }
}

mod dynamo {
    use onnx_embed::onnx_model;

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct Bert = "../models/structure/bert_dynamo18.onnx";
    }

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct MobileNet = "../models/structure/mobilenet_dynamo18.onnx";
    }

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct VoiceDetector = "../models/structure/vad_dynamo20.onnx";
    }
}

mod signed {
    use onnx_embed::onnx_model;

    onnx_model! {
        #[onnx(weights = "file", match = "structure", signature = "../models/signed/key.pub")]
        pub struct Signed = "../models/signed/good.onnx";
    }
}

mod external {
    use onnx_embed::onnx_model;

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct Perceptron = "../models/external.onnx";
    }
}

mod plain {
    use onnx_embed::onnx_model;

    onnx_model! {
        #[onnx(weights = "file", match = "structure")]
        pub struct Perceptron = "../models/perceptron.onnx";
    }
}

const FORMS: [&str; 5] = ["script14", "script17", "unfolded", "dynamo18", "dynamo20"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/structure").join(name)
}

/// Compares results with those of ONNX Runtime, relative to the largest element.
#[track_caller]
fn check(name: &str, outputs: &[TensorData]) {
    let bytes = std::fs::read(path(&format!("{name}.f32"))).unwrap();
    let expected: Vec<f32> =
        bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    let found: Vec<f32> = outputs.iter().flat_map(|output| output.try_to_vec::<f32>().unwrap()).collect();
    let largest = expected.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= 1e-5 * largest, "{name}: {found}, expected {expected}");
    }
}

/// Returns the 64-bit integers of a file of inputs.
fn integers(name: &str) -> Vec<i64> {
    let bytes = std::fs::read(path(name)).unwrap();
    bytes.chunks_exact(8).map(|x| i64::from_le_bytes(x.try_into().unwrap())).collect()
}

fn floats(name: &str) -> Vec<f32> {
    let bytes = std::fs::read(path(name)).unwrap();
    bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect()
}

#[test]
fn a_transformer_loads_the_files_of_all_exporters() {
    let device = Device::flex();
    let (ids, mask) = {
        let all = integers("bert.in");
        let half = |at: usize| {
            Tensor::<2, Int>::from_data(TensorData::new(all[14 * at..][..14].to_vec(), [2, 7]), &device)
        };
        (half(0), half(1))
    };
    for form in FORMS {
        let file = path(&format!("bert_{form}.onnx"));
        let model = script::Bert::from_file(&file, &device).unwrap();
        let input = script::BertInput { input_ids: ids.clone(), attention_mask: mask.clone() };
        let output = model.forward(input);
        check(&format!("bert_{form}"), &[output.hidden.into_data(), output.pooled.into_data()]);
        let model = dynamo::Bert::from_file(&file, &device).unwrap();
        let input = dynamo::BertInput { input_ids: ids.clone(), attention_mask: mask.clone() };
        let output = model.forward(input);
        check(&format!("bert_{form}"), &[output.hidden.into_data(), output.pooled.into_data()]);
    }
}

#[test]
fn a_convolutional_network_loads_files_with_and_without_normalizations() {
    let device = Device::flex();
    let image = Tensor::<4>::from_data(TensorData::new(floats("mobilenet.in"), [2, 3, 32, 32]), &device);
    for form in FORMS {
        let bytes = std::fs::read(path(&format!("mobilenet_{form}.onnx"))).unwrap();
        let model = script::MobileNet::from_bytes(&bytes, &device).unwrap();
        check(&format!("mobilenet_{form}"), &[model.forward(image.clone()).into_data()]);
        let model = dynamo::MobileNet::from_bytes(&bytes, &device).unwrap();
        check(&format!("mobilenet_{form}"), &[model.forward(image.clone()).into_data()]);
    }
}

#[test]
fn a_recurrent_network_loads_files_with_other_orders_of_its_gates() {
    let device = Device::flex();
    let all = floats("vad.in");
    let audio = Tensor::<2>::from_data(TensorData::new(all[..256].to_vec(), [1, 256]), &device);
    let state = Tensor::<4>::from_data(TensorData::new(all[256..].to_vec(), [2, 1, 1, 16]), &device);
    for form in FORMS {
        let file = path(&format!("vad_{form}.onnx"));
        script::VoiceDetector::check_file(&file).unwrap();
        let model = script::VoiceDetector::from_file(&file, &device).unwrap();
        let input = script::VoiceDetectorInput { audio: audio.clone(), state: state.clone() };
        let output = model.forward(input);
        check(&format!("vad_{form}"), &[output.speech.into_data(), output.state_out.into_data()]);
        let model = dynamo::VoiceDetector::from_file(&file, &device).unwrap();
        let input = dynamo::VoiceDetectorInput { audio: audio.clone(), state: state.clone() };
        let output = model.forward(input);
        check(&format!("vad_{form}"), &[output.speech.into_data(), output.state_out.into_data()]);
    }
}

#[test]
fn the_first_difference_of_another_network_is_an_error() {
    let device = Device::flex();
    let error = script::Bert::from_file(path("vad_script17.onnx"), &device).unwrap_err();
    let text = error.to_string().replace(&path("vad_script17.onnx").display().to_string(), "/m.onnx");
    assert_eq!(
        text,
        "cannot load `/m.onnx`: its graph differs from that of the compiled model in node `/pooler/Gemm`: Concat, node \
         `/Concat_1`, expected com.microsoft.FusedGemm; compile the model again from this file"
    );
}

#[test]
fn files_of_other_exporters_must_be_signed_too() {
    let device = Device::flex();
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("models/signed").join(name);
    let bytes = |name: &str| std::fs::read(file(name)).unwrap();
    let sums = |model: &signed::Signed| {
        model.forward(Tensor::from_floats([0.0, 0.0], &device)).into_data().try_to_vec::<f32>().unwrap()
    };
    let model = signed::Signed::from_file(file("external.onnx"), &device).unwrap();
    assert_eq!(sums(&model), [1.0, 2.0]);
    let names = ["external.onnx", "external.bin", "external.onnx.minisig", "external.bin.minisig"];
    let files = names.map(bytes);
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    assert_eq!(sums(&signed::Signed::from_bytes(&files, &device).unwrap()), [1.0, 2.0]);
    let refused = |name: &str| signed::Signed::from_file(file(name), &device).unwrap_err().to_string();
    assert!(refused("external_unsigned.onnx").contains("unsigned.bin.minisig"));
    assert!(refused("../perceptron_elsewhere.onnx").contains("perceptron_elsewhere.onnx.minisig"));
    let swapped = [files[0], files[1], files[3], files[2]];
    let error = signed::Signed::from_bytes(&swapped, &device).unwrap_err();
    assert!(error.to_string().contains("is not that of the bytes of the file"), "{error}");
}

#[test]
fn weights_may_be_in_the_model_or_beside_it() {
    let device = Device::flex();
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name);
    let x = || Tensor::<2>::from_floats([[1.0, -2.0, 3.0]], &device);
    let expected =
        plain::Perceptron::from_file(file("perceptron.onnx"), &device).unwrap().forward(x()).into_data();
    let beside = plain::Perceptron::from_file(file("external.onnx"), &device).unwrap();
    assert_eq!(beside.forward(x()).into_data(), expected);
    let model = external::Perceptron::from_file(file("perceptron.onnx"), &device).unwrap();
    assert_eq!(model.forward(x()).into_data(), expected);
    let files = ["external.onnx", "weights/perceptron.bin"].map(|name| std::fs::read(file(name)).unwrap());
    let model = <plain::Perceptron as OnnxModel>::from_bytes(&[&files[0], &files[1]], &device).unwrap();
    assert_eq!(model.forward(x()).into_data(), expected);
    let error = <plain::Perceptron as OnnxModel>::from_bytes(&[&files[0]], &device).unwrap_err();
    assert!(error.to_string().contains("it is not in the list of files"), "{error}");
    let error = plain::Perceptron::from_file(file("external_missing.onnx"), &device).unwrap_err();
    assert!(error.to_string().contains("absent.bin"), "{error}");
    let error = plain::Perceptron::from_file(file("external_outside.onnx"), &device).unwrap_err();
    assert!(error.to_string().contains("outside the model's folder"), "{error}");
}
