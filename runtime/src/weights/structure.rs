//! Files of other exporters, whose weights are stored in a copy of the compiled files.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_embed_ir::diff::Difference;
use onnx_embed_ir::files::Given;
use onnx_embed_ir::structure::{Compiled, Obstacle};
use onnx_embed_kernels::attempt::attempt;

use super::open::{LONGEST_SIGNATURE, OpenFile, signature_of};
use super::{Table, WeightSource, signed};
use crate::Error;

/// Files of another exporter may have this number of times the bytes of the compiled files, plus [`MORE`]: other encodings of
/// integers take more bytes, and weights that the compiled model shares may be repeated.
const TIMES: usize = 4;
const MORE: usize = 64 << 20;

/// Name of external data in errors.
const EXTERNAL: &str = "external data";

/// Returns the result of loading compiled files, or that of `adapt` if the files are others. `model` is the path that the caller
/// specified.
pub fn or_adapted<T>(
    loaded: Result<T, Error>,
    compiled: Option<&'static [u8]>,
    model: Option<&Path>,
    adapt: impl FnOnce(&'static [u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    match (loaded, compiled) {
        (Err(error), Some(compiled)) if are_others(&error, model) => match (adapt(compiled), error) {
            // A file of the compiled model is missing.
            (Err(Error::NotAdapted { .. }), error @ Error::File { .. }) => Err(error),
            (adapted, _) => adapted,
        },
        (loaded, _) => loaded,
    }
}

/// Returns `true` if an error means that files are not the compiled ones.
fn are_others(error: &Error, model: Option<&Path>) -> bool {
    match error {
        Error::AtPath { error, .. } => are_others(error, model),
        // The other exporter may store weights in other files.
        Error::File { path, .. } => model.is_some_and(|model| path != model),
        Error::FileCount { .. }
        | Error::FileLength { .. }
        | Error::FileDiffers { .. }
        | Error::WeightDiffers { .. } => true,
        _ => false,
    }
}

impl Table {
    /// Runs `load` on the compiled files with the weights of the model at `path`, which another exporter wrote. If there is a
    /// key, its files must be signed.
    pub fn open_other<T>(
        &self,
        compiled: &'static [u8],
        path: &Path,
        key: Option<&'static str>,
        load: impl FnOnce(WeightSource<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let at_path = |error| match error {
            error @ Error::File { .. } => error,
            error => Error::AtPath { path: path.to_path_buf(), error: error.into() },
        };
        let name = self.files.first().map_or("", |file| file.name);
        let reader = Reader { model: path.to_path_buf(), key, room: Cell::new(self.most()) };
        let model = reader.read(path, name, OpenFile::model(path)).map_err(at_path)?;
        let external = move |own: &Path| {
            let own = reader.model.with_file_name(own);
            reader.read(&own, EXTERNAL, OpenFile::external(&own, &reader.model))
        };
        adapted(compiled, model, external).and_then(|files| loaded(&files, load)).map_err(at_path)
    }

    /// Runs `load` on the compiled files with the weights of `files`, which another exporter wrote. If there is a key, their
    /// signatures follow.
    pub fn load_other<T>(
        &self,
        compiled: &'static [u8],
        files: &[&[u8]],
        key: Option<&str>,
        load: impl FnOnce(WeightSource<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let files = match key {
            Some(key) => signed::in_memory(self, key, files)?,
            None => files,
        };
        let ([model, external @ ..], true) =
            (files, files.iter().map(|file| file.len()).sum::<usize>() <= self.most())
        else {
            return Err(too_long(files.iter().map(|file| file.len()).sum()));
        };
        let external: Vec<Bytes> = external.iter().map(|file| Bytes::copy_from_slice(file)).collect();
        let names = RefCell::new(Vec::<PathBuf>::new());
        let read = move |name: &Path| {
            let mut names = names.borrow_mut();
            names.push(name.to_path_buf());
            let missing = || Error::NotAdapted { reason: "it is not in the list of files".to_owned() };
            external.get(names.len() - 1).cloned().ok_or_else(missing)
        };
        let files = adapted(compiled, Bytes::copy_from_slice(model), read)?;
        loaded(&files, load)
    }

    /// Returns the maximum number of bytes of all files of another exporter.
    fn most(&self) -> usize {
        let compiled: usize = self.files.iter().map(|file| file.length).sum();
        compiled.saturating_mul(TIMES).saturating_add(MORE)
    }
}

/// Source of files in the folder of a model.
struct Reader {
    model: PathBuf,
    key: Option<&'static str>,
    /// Number of bytes that further files may have.
    room: Cell<usize>,
}

impl Reader {
    /// Returns the bytes of a file, after checking its signature if there is a key.
    fn read(&self, path: &Path, name: &'static str, file: std::io::Result<OpenFile>) -> Result<Bytes, Error> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |error| Error::File { path, error }
        };
        let file = file.map_err(failed(path))?;
        let left = self.room.get().checked_sub(file.length()).ok_or_else(|| too_long(file.length()))?;
        self.room.set(left);
        let bytes = file.all(file.length()).map_err(failed(path))?;
        if let Some(key) = self.key {
            let beside = signature_of(path);
            let signature = OpenFile::model(&beside).and_then(|file| file.all(LONGEST_SIGNATURE));
            signed::verify(name, key, &bytes, &signature.map_err(failed(&beside))?)?;
        }
        Ok(bytes.into())
    }
}

fn too_long(length: usize) -> Error {
    let reason = alloc::format!("its {length} bytes are many more than those of the compiled model");
    Error::NotAdapted { reason }
}

/// Returns the compiled files with the weights of another model. `external` reads a file in its folder, which is called once for
/// each.
fn adapted(
    compiled: &'static [u8],
    model: Bytes,
    external: impl Fn(&Path) -> Result<Bytes, Error> + 'static,
) -> Result<Vec<Vec<u8>>, Error> {
    let failure = Rc::new(RefCell::new(None));
    let first = failure.clone();
    // The model is read several times.
    let known = RefCell::new(BTreeMap::<PathBuf, Bytes>::new());
    let read = move |name: &Path| -> Result<Bytes, String> {
        let found = known.borrow().get(name).cloned();
        let bytes = match found {
            Some(bytes) => bytes,
            None => external(name).map_err(|error| {
                let text = error.to_string();
                first.borrow_mut().get_or_insert(error);
                text
            })?,
        };
        known.borrow_mut().insert(name.to_path_buf(), bytes.clone());
        Ok(bytes)
    };
    let other = Given::new(model, read);
    let adapted = attempt(|| {
        let compiled = Compiled::read(compiled).ok_or_else(|| Error::NotAdapted {
            reason: "the program does not contain the compiled model".to_owned(),
        })?;
        compiled.with_weights(&other).map_err(error)
    });
    let adapted = adapted.unwrap_or_else(|fault| Err(Error::Load { reason: fault.reason }));
    match (adapted, failure.take()) {
        (Err(Error::NotAdapted { .. }), Some(error)) => Err(error),
        (adapted, _) => Ok(adapted?.files.into_iter().map(|(_, bytes)| bytes).collect()),
    }
}

fn error(obstacle: Obstacle) -> Error {
    match obstacle {
        Obstacle::Differs(Difference { location, first, second }) => {
            Error::GraphDiffers { location, expected: first, found: second }
        }
        obstacle => Error::NotAdapted { reason: obstacle.to_string() },
    }
}

fn loaded<T>(files: &[Vec<u8>], load: impl FnOnce(WeightSource<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    load(WeightSource::Memory(&files))
}
