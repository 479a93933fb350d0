//! Models that sessions are made of.

use std::any::{TypeId, type_name};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;

use onnx_embed::{Device, DynModel, Error, OnnxModel};
use ort_sys::OrtErrorCode;

use crate::handle::locked;
use crate::options::Settings;
use crate::status::Failure;

/// Key of ONNX Runtime for the folder of external data files of a model in memory.
const FOLDER: &str = "session.model_external_initializers_file_folder_path";

/// A loaded model, or why it is not the registered one.
type Loaded = Result<Box<dyn DynModel>, Error>;

/// A model type that sessions can be made of.
#[derive(Clone)]
struct Registered {
    id: TypeId,
    name: &'static str,
    device: Device,
    /// Names of the compiled files: the `.onnx` file, then its external data files.
    files: Vec<&'static str>,
    is_signed: bool,
    from_bytes: fn(&[&[u8]], &Device) -> Loaded,
    from_file: fn(&Path, &Device) -> Loaded,
}

static MODELS: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

/// Registers a model: sessions of files with its graph run on `M`, on the CPU.
///
/// Register all models before the first session is created. Registering a model twice has no effect.
pub fn register<M: OnnxModel + 'static>() {
    register_on::<M>(&Device::flex());
}

/// Registers a model, which runs on `device`.
///
/// Inputs and outputs are in the memory of the host on all devices. If the model is registered already, its sessions
/// are created on `device` from now on.
pub fn register_on<M: OnnxModel + 'static>(device: &Device) {
    let model = Registered {
        id: TypeId::of::<M>(),
        name: type_name::<M>(),
        device: device.clone(),
        files: M::table().files.iter().map(|file| file.name).collect(),
        is_signed: M::PUBLIC_KEY.is_some(),
        from_bytes: |files, device| Ok(Box::new(M::from_bytes(files, device)?)),
        from_file: |path, device| Ok(Box::new(M::from_file(path, device)?)),
    };
    let mut models = locked(&MODELS);
    match models.iter_mut().find(|known| known.id == model.id) {
        Some(known) => *known = model,
        None => models.push(model),
    }
}

/// Loads the registered model whose graph is that of the file at `path`.
///
/// # Errors
///
/// If there is none. The error names the first difference of each registered model.
pub(crate) fn load_file(path: &Path, settings: &Settings) -> Result<Box<dyn DynModel>, Failure> {
    if settings.files.is_empty() {
        return first(|model| Ok((model.from_file)(path, &model.device)?));
    }
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::new(OrtErrorCode::ORT_NO_SUCHFILE, format!("cannot read `{}`: {error}", path.display()))
    })?;
    load_bytes(&bytes, settings)
}

/// Loads the registered model whose graph is that of a file in memory.
///
/// # Errors
///
/// If there is none. The error names the first difference of each registered model.
pub(crate) fn load_bytes(bytes: &[u8], settings: &Settings) -> Result<Box<dyn DynModel>, Failure> {
    first(|model| {
        let mut files = vec![Cow::Borrowed(bytes)];
        for name in &model.files[1..] {
            files.push(external(name, settings)?);
        }
        if model.is_signed {
            for name in &model.files {
                files.push(external(&format!("{name}.minisig"), settings)?);
            }
        }
        let files: Vec<&[u8]> = files.iter().map(|file| &**file).collect();
        Ok((model.from_bytes)(&files, &model.device)?)
    })
}

/// Returns an external data file: of the options, or of the folder that they name.
fn external<'a>(name: &str, settings: &'a Settings) -> Result<Cow<'a, [u8]>, Failure> {
    if let Some((_, bytes)) = settings.files.iter().find(|(path, _)| path == Path::new(name)) {
        return Ok(Cow::Borrowed(bytes));
    }
    let missing = || {
        let cure = "load the model from its path, or add the file to the session options";
        Failure::argument(format!("its file `{name}` is missing: {cure}"))
    };
    let folder = settings.entry(FOLDER).and_then(|folder| folder.to_str().ok()).ok_or_else(missing)?;
    let path = Path::new(folder).join(name);
    let read = std::fs::read(&path);
    read.map(Cow::Owned)
        .map_err(|error| Failure::argument(format!("cannot read `{}`: {error}", path.display())))
}

/// Returns the first model that `load` loads.
fn first(
    load: impl Fn(&Registered) -> Result<Box<dyn DynModel>, Failure>,
) -> Result<Box<dyn DynModel>, Failure> {
    // Not locked while models are loaded, which takes long and runs code of the program.
    let models = locked(&MODELS).clone();
    if models.is_empty() {
        let message = "no model is registered: call `onnx_embed_ort::register::<Model>()` first";
        return Err(Failure::new(OrtErrorCode::ORT_NO_MODEL, message));
    }
    let mut message = String::from("the file is none of the registered models:");
    for model in &models {
        match load(model) {
            Ok(model) => return Ok(model),
            // Writing to a string cannot fail.
            Err(failure) => drop(write!(message, "\n  `{}`: {}", model.name, failure.message())),
        }
    }
    Err(Failure::new(OrtErrorCode::ORT_INVALID_GRAPH, message))
}
