//! A changed model is compiled again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MAIN: &str = r#"
use embedded::burn::module::Module;
use embedded::{Device, OnnxModel, Tensor, burn, onnx_model};

onnx_model!("../embedded.onnx");

onnx_model! {
    #[onnx(weights = "file")]
    pub struct Stored = "../stored.onnx";
}

#[derive(Module, Debug)]
struct Whole {
    model: Model,
}

fn signature<M: OnnxModel>(_: &M) -> String {
    M::SIGNATURE.to_string()
}

fn main() {
    let device = Device::flex();
    let x = Tensor::<1>::from_floats([-1.0, 2.0], &device);
    let whole = Whole { model: Model::new(&device) }.to_device(&device);
    let y = whole.model.forward(x).into_data();
    let _ = signature(&whole.model);
    println!("{:?} {}", y.try_to_vec::<f32>().unwrap(), Stored::SIGNATURE);
}
"#;

/// A package that reuses the built dependencies of this package and has another name for the runtime crate.
struct Package {
    folder: PathBuf,
    target: PathBuf,
}

impl Package {
    fn new() -> Self {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let package =
            Package { folder: temporary.join("rebuild"), target: temporary.parent().unwrap().to_owned() };
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let manifest = format!(
            r#"
                package = {{ name = "onnx-embed-rebuild", edition = "2024" }}
                dependencies.embedded = {{ package = "onnx-embed", path = {:?}, features = ["image", "regex"] }}
                dependencies.onnx-embed-kernels.path = {:?}
                dependencies.onnx-embed-features.path = {:?}
                profile.dev.debug = false
                workspace = {{}}
            "#,
            workspace.join("runtime"),
            // With these and the features above, only crates are used that tests of the workspace have built.
            workspace.join("kernels"),
            workspace.join("ui-tests/features"),
        );
        fs::create_dir_all(package.folder.join("src")).unwrap();
        fs::write(package.folder.join("src/main.rs"), MAIN).unwrap();
        fs::write(package.folder.join("Cargo.toml"), manifest).unwrap();
        let _ = fs::copy(workspace.join("Cargo.lock"), package.folder.join("Cargo.lock"));
        package
    }

    /// Replaces a model of the package with a model of the tests.
    fn replace(&self, place: &str, model: &str) {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        let bytes = fs::read(models.join(model)).unwrap();
        fs::write(self.folder.join(place), bytes).unwrap();
    }

    fn run(&self) -> Output {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(&self.folder).args(["run", "--quiet", "--offline"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        cargo.env("CARGO_TARGET_DIR", &self.target).output().unwrap()
    }

    fn prints(&self, expected: &str) {
        let output = self.run();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), expected, "{errors}");
    }
}

#[test]
fn a_changed_model_is_compiled_again() {
    let package = Package::new();
    package.replace("embedded.onnx", "rebuild_before.onnx");
    package.replace("stored.onnx", "rebuild_before.onnx");
    package.prints("[0.0, 2.0] (x: float32[n]) -> (y: float32[n])");

    package.replace("embedded.onnx", "rebuild_after.onnx");
    package.prints("[1.0, -2.0] (x: float32[n]) -> (y: float32[n])");

    package.replace("stored.onnx", "rebuild_after.onnx");
    package.prints("[1.0, -2.0] (x: float32[n]) -> (z: float32[n])");

    package.replace("embedded.onnx", "empty.onnx");
    let errors = String::from_utf8(package.run().stderr).unwrap();
    let count = errors.lines().filter(|line| line.starts_with("error")).count();
    assert!(errors.starts_with("error: cannot compile `../embedded.onnx`"), "{errors}");
    assert_eq!(count, 2, "one error and Cargo's own: {errors}");
}
