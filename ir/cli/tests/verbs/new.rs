//! `new`: from a file to a program that runs.

use std::path::Path;
use std::process::Command;

use expect_test::expect;

use super::{folder, model, run, run_in};

#[test]
fn a_program_that_builds_and_prints_probabilities() {
    let folder = folder("new_mnist").join("digits");
    let answer = run(&["new", "examples/mnist/mnist.onnx", folder.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let main = std::fs::read_to_string(folder.join("src/main.rs")).unwrap();
    expect![[r#"
        mod model {
            onnx_embed::onnx_model!("mnist.onnx");
        }

        use onnx_embed::{Device, Tensor};

        fn main() {
            let device = Device::default();
            let model = model::Model::new(&device);
            // `image`: float32[batch, 1, 28, 28]
            let image = Tensor::<4>::zeros([1, 1, 28, 28], &device);
            let output = model.forward(image);
            // `probabilities`: float32[batch, 10]
            println!("probabilities: {}", output.into_data());
        }
    "#]]
    .assert_eq(&main);
    // The versions of the checkout, and Burn as it was built for other programs.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--target-dir"])
        .arg(target)
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.starts_with("probabilities: ["), "{printed}");
}

#[test]
fn labels_of_the_file_stand_beside_the_best_scores() {
    let source = r#"<ir_version: 10, opset_import: ["": 21], metadata_props: ["names": "{0: 'cat', 1: 'dog'}"]>
        g (float[n, 2] x) => (float[n, 2] scores) { scores = Softmax (x) }"#;
    let folder = folder("new_labels");
    model(&folder, "pets.onnx", source);
    assert_eq!(run_in(&folder, &["new", "pets.onnx"]).code, 0);
    let main = std::fs::read_to_string(folder.join("pets/src/main.rs")).unwrap();
    expect![[r#"
        mod model {
            onnx_embed::onnx_model!("pets.onnx");
        }

        use onnx_embed::{Device, Tensor};

        /// What the file calls its classes.
        const LABELS: [&str; 2] = ["cat", "dog"];

        fn main() {
            let device = Device::default();
            let model = model::Model::new(&device);
            // `x`: float32[n, 2]
            let x = Tensor::<2>::zeros([1, 2], &device);
            let output = model.forward(x);
            // `scores`: float32[n, 2]
            let scores = output.into_data().try_to_vec::<f32>().expect("`scores` is of floats");
            let mut best: Vec<usize> = (0..LABELS.len()).collect();
            best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            for class in best.into_iter().take(3) {
                println!("{} {:.3}", LABELS[class], scores[class]);
            }
        }
    "#]]
    .assert_eq(&main);
}

#[test]
fn sizes_that_are_asked_for_and_inputs_of_every_kind() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (int64[batch, sequence] ids, bool[batch, sequence] mask, int64 length, string[batch] names)
            => (float[batch, sequence] scores, string[batch] names) {
            hidden = Not (mask)
            kept = Cast <to = 1> (hidden)
            weights = Cast <to = 1> (ids)
            all = Mul (kept, weights)
            factor = Cast <to = 1> (length)
            scores = Mul (all, factor)
        }"#;
    let folder = folder("new_kinds");
    model(&folder, "Kinds.onnx", source);
    let answer = run_in(&folder, &["new", "Kinds.onnx", "--dim", "sequence=16"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.contains("kinds"), "{}", answer.out);
    let main = std::fs::read_to_string(folder.join("kinds/src/main.rs")).unwrap();
    expect![[r#"
        mod model {
            onnx_embed::onnx_model!("kinds.onnx");
        }

        use onnx_embed::{Array, Device, Int, Tensor};

        fn main() {
            let device = Device::default();
            let model = model::Model::new(&device);
            // `ids`: int64[batch, sequence]
            let ids = Tensor::<2, Int>::zeros([1, 16], &device);
            // `mask`: bool[batch, sequence]
            let mask = Tensor::<2, Int>::zeros([1, 16], &device).bool();
            // `length`: int64
            let length = Tensor::<1, Int>::zeros([1], &device);
            // `names`: string[batch]
            let names = Array::new([1], vec![String::new(); 1]);
            let output = model.forward(model::ModelInput { ids, mask, length, names });
            // `scores`: float32[batch, sequence]
            println!("scores: {}", output.scores.into_data());
            // `names`: string[batch]
            println!("names: {:?}", output.names);
        }
    "#]]
    .assert_eq(&main);
    let again = run_in(&folder, &["new", "Kinds.onnx"]);
    expect![[r#"
        error: `kinds` is there already and not empty
    "#]]
    .assert_eq(&again.err);
}
