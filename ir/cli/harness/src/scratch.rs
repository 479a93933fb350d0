//! Cargo workspace of crates that call the real macro.

mod sources;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use onnx_embed_ir::options::Options;

use crate::models::Model;
use crate::settings::Programs;
use sources::{functions, library, main, reloading_library};

/// A cargo workspace in a target folder: a library for each model, and programs that link several.
pub struct Scratch {
    root: PathBuf,
    pub target: PathBuf,
    features: Vec<&'static str>,
    /// Options with which models are compiled.
    pub options: Options,
    /// Absolute path of the file with functions that compute operators, if any.
    functions: Option<PathBuf>,
    /// Whether programs can load the weights of other files.
    other_weights: bool,
    /// Lock of the folder, held while this process uses it.
    _lock: File,
}

/// Maximum number of models in a program: if one changes, all are linked again.
const MAX_PROGRAM_MODELS: usize = 24;
/// Maximum bytes of models in a program: linkers fail above 2 GiB.
const MAX_PROGRAM_BYTES: u64 = 512 << 20;
/// Maximum bytes of a model with embedded weights. Larger models stay in their files, as the guide recommends.
const EMBEDDED: u64 = 1 << 30;

/// Features of the runtime crate that the runner lacks.
const RUNTIME_ALONE: [&str; 3] = ["autotune", "image", "regex"];

/// Packages that the profile of the checkout optimizes and the programs may need.
const SHADER_COMPILERS: [&str; 5] = ["cubecl-core", "cubecl-ir", "cubecl-opt", "cubecl-wgpu", "naga"];

/// Path of the checkout, whose crates are used if the command was built in one.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

impl Scratch {
    /// Opens the folder for programs with these options. Waits while another process uses it.
    pub fn open(programs: &Programs, other_weights: bool) -> Result<Self> {
        let target = match &programs.target_dir {
            Some(folder) => std::path::absolute(folder)?,
            None => default_target()?,
        };
        let root = target.join(if other_weights { "onnx-embed-other-weights" } else { "onnx-embed-verify" });
        let failed = || format!("cannot write to `{}`", root.display());
        fs::create_dir_all(root.join("values")).with_context(failed)?;
        fs::create_dir_all(root.join("messages")).with_context(failed)?;
        let lock = File::create(root.join("lock")).with_context(failed)?;
        if lock.try_lock().is_err() {
            anstream::eprintln!("waiting for another process that builds in `{}`", root.display());
            lock.lock().with_context(failed)?;
        }
        let features = programs.features();
        let functions = programs.functions.as_deref().map(existing).transpose()?;
        Ok(Scratch {
            root,
            target,
            features,
            options: programs.options(),
            functions,
            other_weights,
            _lock: lock,
        })
    }

    /// Returns the folder of the workspace.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of a file for inputs or outputs of a model.
    pub fn values(&self, model: &Model, kind: &str) -> PathBuf {
        let name = format!("{}.{kind}", model.package());
        self.root.join("values").join(name)
    }

    /// Returns the path of a file for messages of the compiler or of the program about a model.
    pub fn messages(&self, model: &Model) -> PathBuf {
        let name = format!("{}.txt", model.package());
        self.root.join("messages").join(name)
    }

    /// Returns the folder in which the compile cost of each model is recorded.
    pub fn costs(&self, release: bool) -> PathBuf {
        let profile = if release { "release" } else { "debug" };
        self.root.join("costs").join(profile)
    }

    /// Writes a library for each model, and no programs.
    pub fn write_libraries(&self, models: &[&Model]) -> Result<()> {
        for model in models {
            let folder = self.root.join("models").join(model.package());
            let manifest = self.manifest(&model.package(), &[]);
            write(&folder.join("Cargo.toml"), &manifest)?;
            let mut library = if self.other_weights {
                reloading_library(model, &self.options)
            } else {
                library(model, &self.options)
            };
            if let Some(file) = &self.functions {
                library.push_str(&functions(file));
            }
            write(&folder.join("src/lib.rs"), &library)?;
        }
        self.write_workspace(models, 0)
    }

    /// Writes programs that link the models. Returns the models of each program.
    pub fn write_programs<'m>(&self, models: &[&'m Model]) -> Result<Vec<(String, Vec<&'m Model>)>> {
        let batches = batches(models);
        let mut programs = Vec::new();
        for (at, batch) in batches.into_iter().enumerate() {
            let package = program(at);
            let folder = self.root.join("programs").join(&package);
            let manifest = self.manifest(&package, &batch);
            write(&folder.join("Cargo.toml"), &manifest)?;
            write(&folder.join("src/main.rs"), &main(&batch))?;
            programs.push((package, batch));
        }
        self.write_workspace(models, programs.len())?;
        Ok(programs)
    }

    fn write_workspace(&self, models: &[&Model], programs: usize) -> Result<()> {
        let models = models.iter().map(|model| format!("models/{}", model.package()));
        let programs = (0..programs).map(|at| format!("programs/{}", program(at)));
        let members: Vec<String> = models.chain(programs).collect();
        // Dependencies have the profile of the checkout, so that Burn is built once for both.
        let mut manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = {members:#?}\n\n\
             [profile.dev]\ndebug = false\n"
        );
        for package in SHADER_COMPILERS {
            manifest.push_str(&format!("\n[profile.dev.package.{package}]\nopt-level = 2\n"));
        }
        let lock = Path::new(CHECKOUT).join("Cargo.lock");
        if in_checkout() && lock.is_file() {
            // Use the same versions as the checkout, without a query to the registry.
            fs::copy(lock, self.root.join("Cargo.lock"))?;
        }
        write(&self.root.join("Cargo.toml"), &manifest)
    }

    fn manifest(&self, package: &str, libraries: &[&Model]) -> String {
        let version = self.version();
        let mut text = format!(
            "[package]\nname = \"{package}\"\nversion = \"{version}\"\nedition = \"2024\"\n\
             publish = false\n\n[dependencies]\n"
        );
        let mut of_devices = self.features.clone();
        of_devices.retain(|feature| !RUNTIME_ALONE.contains(feature));
        for (name, folder, features) in
            [("onnx-embed", "runtime", &self.features), ("onnx-embed-runner", "ir/cli/runner", &of_devices)]
        {
            let source = source(folder);
            text.push_str(&format!("{name} = {{ {source}, features = {features:?} }}\n"));
        }
        // Burn and our crates have the features with which tests of the checkout build them.
        let shared = Path::new(CHECKOUT).join("ui-tests/features");
        if shared.join("Cargo.toml").is_file() {
            for (name, folder) in
                [("onnx-embed-features", "ui-tests/features"), ("onnx-embed-kernels", "kernels")]
            {
                text.push_str(&format!("{name} = {{ {} }}\n", source(folder)));
            }
        }
        for model in libraries {
            let package = model.package();
            text.push_str(&format!("{package} = {{ path = \"../../models/{package}\" }}\n"));
        }
        text
    }

    /// Returns the version of the packages of this workspace. Both workspaces share the target folder, where cargo
    /// distinguishes packages by name and version, not by folder.
    fn version(&self) -> &'static str {
        if self.other_weights { "0.0.1" } else { "0.0.0" }
    }
}

/// Returns the absolute path of an existing file.
fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("cannot read `{}`", path.display()))
}

/// Returns the target folder of the current workspace or, if there is none, a cache folder.
fn default_target() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output =
        Command::new(cargo).args(["metadata", "--no-deps", "--format-version", "1", "--offline"]).output();
    let metadata = output.ok().filter(|output| output.status.success());
    let metadata = metadata.and_then(|output| serde_json::from_slice(&output.stdout).ok());
    let metadata: serde_json::Value = metadata.unwrap_or_default();
    if let Some(folder) = metadata["target_directory"].as_str() {
        return Ok(folder.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".cache"));
    match cache.or_else(home) {
        Some(cache) => Ok(cache.join("onnx-embed")),
        // In a folder that all users share, programs may belong to another user.
        None => bail!("cannot find a home folder for builds; specify a folder with `--target-dir FOLDER`"),
    }
}

fn in_checkout() -> bool {
    Path::new(CHECKOUT).join("runtime/Cargo.toml").is_file()
}

/// Returns the Cargo.toml entry of one of our crates: its path in the checkout, or its version.
fn source(folder: &str) -> String {
    if in_checkout() {
        let path = Path::new(CHECKOUT).join(folder);
        let path = path.canonicalize().unwrap_or(path);
        format!("path = {}", literal(&path))
    } else {
        format!("version = \"={}\"", env!("CARGO_PKG_VERSION"))
    }
}

/// Returns the Cargo.toml entry of one of our crates for users: its path in the checkout, or the Git repository.
pub fn dependency(folder: &str) -> String {
    if in_checkout() { source(folder) } else { format!("git = \"{}\"", env!("CARGO_PKG_REPOSITORY")) }
}

fn program(at: usize) -> String {
    format!("onnx_embed_program_{at}")
}

/// Groups models by the program that links them.
fn batches<'m>(models: &[&'m Model]) -> Vec<Vec<&'m Model>> {
    let mut batches: Vec<Vec<&Model>> = Vec::new();
    let mut total = 0;
    for model in models {
        let bytes = model.bytes();
        match batches.last_mut() {
            Some(batch) if batch.len() < MAX_PROGRAM_MODELS && total + bytes <= MAX_PROGRAM_BYTES => {
                batch.push(model);
                total += bytes;
            }
            _ => {
                batches.push(vec![model]);
                total = bytes;
            }
        }
    }
    batches
}

/// Formats a path as a string literal of Rust and of TOML.
fn literal(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

/// Writes a file unless it already contains the text: cargo compares the times of modification.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("cannot write `{}`", path.display());
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    fs::write(path, text).with_context(failed)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;
    use crate::settings::{Device, Precision};

    pub fn model(name: &str) -> Model {
        Model {
            name: name.to_owned(),
            path: Path::new("/models").join(name).with_extension("onnx"),
            recordings: Vec::new(),
            tolerance: 0.0,
        }
    }

    /// Returns the manifests of a model in both workspaces for a device.
    fn manifests(device: Device, test: &str) -> [String; 2] {
        let name = format!("onnx-embed-{test}-{}", std::process::id());
        let target = std::env::temp_dir().join(name);
        let programs = Programs {
            device,
            filter: None,
            target_dir: Some(target.clone()),
            keep: false,
            no_fusion: false,
            no_autotune: false,
            no_simplify: false,
            precision: Precision::AsIs,
            operators: Vec::new(),
            functions: None,
        };
        let manifests = [false, true].map(|other_weights| {
            let scratch = Scratch::open(&programs, other_weights).unwrap();
            scratch.manifest("m_a", &[])
        });
        fs::remove_dir_all(&target).unwrap();
        manifests
    }

    #[test]
    fn packages_of_both_workspaces_differ() {
        let [one, other] = manifests(Device::Flex, "packages");
        assert_ne!(one, other);
    }

    #[test]
    fn crates_have_the_features_that_programs_name() {
        let crates = [("onnx-embed = ", "runtime"), ("onnx-embed-runner = ", "ir/cli/runner")];
        let crates = crates.map(|(start, folder)| {
            let path = Path::new(CHECKOUT).join(folder).join("Cargo.toml");
            (start, fs::read_to_string(path).unwrap())
        });
        for &device in Device::value_variants() {
            let [manifest, _] = manifests(device, "features");
            for (start, theirs) in &crates {
                let mut lines = manifest.lines();
                let line = lines.find(|line| line.starts_with(*start)).unwrap();
                let (_, features) = line.split_once("features = [").unwrap();
                let features = features.split('"').skip(1).step_by(2);
                for feature in features {
                    let defined = theirs.contains(&format!("\n{feature} = ["));
                    assert!(defined, "{start}{feature} for {}", device.name());
                }
            }
        }
    }

    #[test]
    fn no_program_links_too_many_models() {
        let models: Vec<Model> = (0..MAX_PROGRAM_MODELS + 1).map(|at| model(&at.to_string())).collect();
        let models: Vec<&Model> = models.iter().collect();
        let lengths: Vec<usize> = batches(&models).iter().map(Vec::len).collect();
        assert_eq!(lengths, [MAX_PROGRAM_MODELS, 1]);
    }
}
