//! Model files, their recordings and tolerances.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A model file with its recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Name of the file, without its extension.
    pub name: String,
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Recorded inputs and outputs in the folder of the file: `io.npz`, and `io2.npz` and so on for other sizes.
    pub recordings: Vec<PathBuf>,
    /// Maximum difference between an output and the recorded one, relative to its largest element.
    pub tolerance: f64,
}

/// Tolerance of a model, unless its manifest specifies a larger one.
const TOLERANCE: f64 = 1e-4;

impl Model {
    /// Returns the name of the model's package: unique, valid, and the same in every run.
    pub fn package(&self) -> String {
        let plain = |character: char| {
            if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' }
        };
        let name: String = self.name.chars().map(plain).collect();
        format!("m_{name}_{:08x}", hash(self.path.as_os_str().as_encoded_bytes()))
    }

    /// Returns the bytes of the model file and of other files in its folder, except for models and recordings.
    pub fn bytes(&self) -> u64 {
        let length = |path: &Path| path.metadata().map_or(0, |data| data.len());
        let folder = self.path.parent().and_then(|folder| folder.read_dir().ok());
        let files = folder.into_iter().flatten().flatten().map(|entry| entry.path());
        let external = |path: &PathBuf| {
            let ending = path.extension().unwrap_or_default();
            *path != self.path && ending != "onnx" && ending != "npz"
        };
        length(&self.path) + files.filter(external).map(|path| length(&path)).sum::<u64>()
    }
}

/// Returns the 32-bit FNV-1a hash.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Returns the models at `paths`: files, folders with models, and folders of such folders.
pub fn collect(paths: &[PathBuf], filter: Option<&str>) -> Result<Vec<Model>> {
    let mut models: Vec<Model> = Vec::new();
    for path in paths {
        let found = if path.is_dir() { folder(path)? } else { vec![path.clone()] };
        if found.is_empty() {
            bail!("`{}` contains no .onnx files", path.display());
        }
        for file in found {
            let model = model(&file)?;
            if !models.iter().any(|known| known.path == model.path) {
                models.push(model);
            }
        }
    }
    if let Some(filter) = filter {
        models.retain(|model| model.name.contains(filter));
    }
    if models.is_empty() {
        bail!("no model name contains `{}`", filter.unwrap_or_default())
    } else {
        Ok(models)
    }
}

/// Returns the model files in a folder or, if it has none, in its subfolders.
fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = entries(path)?;
    let models = onnx_files(&entries);
    if !models.is_empty() {
        return Ok(models);
    }
    let mut models = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_dir()) {
        models.extend(onnx_files(&self::entries(entry)?));
    }
    Ok(models)
}

fn entries(path: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("cannot read `{}`", path.display());
    let entries = path.read_dir().with_context(failed)?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut entries: Vec<PathBuf> = entries.collect::<Result<_, _>>().with_context(failed)?;
    entries.sort();
    Ok(entries)
}

fn onnx_files(entries: &[PathBuf]) -> Vec<PathBuf> {
    let onnx = |path: &&PathBuf| path.is_file() && path.extension() == Some("onnx".as_ref());
    entries.iter().filter(onnx).cloned().collect()
}

fn model(file: &Path) -> Result<Model> {
    let path = std::path::absolute(file)?;
    if !path.is_file() {
        bail!("cannot find the file `{}`", file.display());
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Model {
        tolerance: tolerance(&path).unwrap_or(0.0).max(TOLERANCE),
        recordings: recordings(&path)?,
        name,
        path,
    })
}

/// Returns the files `io.npz`, `io2.npz` and so on in the folder of a model, in this order.
fn recordings(model: &Path) -> Result<Vec<PathBuf>> {
    let folder = model.parent().unwrap_or(model);
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        match name.strip_prefix("io")?.strip_suffix(".npz")? {
            "" => Some(1),
            number => number.parse::<u32>().ok(),
        }
    };
    let mut recordings = entries(folder)?;
    recordings.retain(|path| number(path).is_some());
    recordings.sort_by_key(number);
    Ok(recordings)
}

/// Returns the tolerance that the nearest manifest specifies for a model.
fn tolerance(path: &Path) -> Option<f64> {
    let mut folders = path.ancestors().skip(1);
    let (folder, manifest) = folders.find_map(|folder| {
        let manifest = std::fs::read_to_string(folder.join("manifest.tsv")).ok()?;
        Some((folder, manifest))
    })?;
    manifest_tolerance(&manifest, path.strip_prefix(folder).ok()?)
}

fn manifest_tolerance(manifest: &str, file: &Path) -> Option<f64> {
    let mut lines = manifest.lines();
    let columns: Vec<&str> = lines.next()?.split('\t').collect();
    let column = |name: &str| columns.iter().position(|column| *column == name);
    let (names, tolerances) = (column("file")?, column("ort_noopt_vs_opt_relmax")?);
    lines.find_map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let same = Path::new(fields.get(names)?) == file;
        same.then(|| fields.get(tolerances)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_equal_names_differ() {
        let model = |path: &str| Model {
            name: "A-b.c".to_owned(),
            path: path.into(),
            recordings: Vec::new(),
            tolerance: TOLERANCE,
        };
        let (a, b) = (model("/a/A-b.c.onnx").package(), model("/b/A-b.c.onnx").package());
        assert!(a.starts_with("m_a_b_c_"), "{a}");
        assert_ne!(a, b);
    }

    #[test]
    fn the_manifest_may_widen_the_tolerance() {
        let manifest = "id\tfile\tort_noopt_vs_opt_relmax\na\ta/a.onnx\t0.013\nb\tb/b.onnx\t\n";
        let tolerance = |file: &str| manifest_tolerance(manifest, Path::new(file));
        assert_eq!(tolerance("a/a.onnx"), Some(0.013));
        assert_eq!(tolerance("b/b.onnx"), None);
        assert_eq!(tolerance("c/c.onnx"), None);
    }
}
