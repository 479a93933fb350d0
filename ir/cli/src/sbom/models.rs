//! Models that the packages of a program embed or open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use onnx_embed_ir::files::no_file;
use onnx_embed_ir::files::variables::expanded;
use onnx_embed_ir::inspect::contents::{Contents, contents};
use onnx_embed_ir::licenses::is_license;
use sha2::{Digest, Sha256};

use super::packages::{Graph, Package};
use super::sources::{Call, calls};

/// Properties that name the author of a model. The first is that of the ONNX standard.
const AUTHORS: [&str; 2] = ["model_author", "author"];

/// Models, in the order of their names.
#[derive(Debug)]
pub struct Models(Vec<Model>);

/// A model and what its file declares.
#[derive(Debug)]
pub struct Model {
    /// Path in the folder of the package or the workspace, with slashes, which is the same in every folder.
    pub path: String,
    /// Packages whose sources name the model.
    pub users: BTreeSet<String>,
    pub hash: String,
    pub size: usize,
    pub contents: Contents,
    pub external: Vec<External>,
}

/// A file of external data.
#[derive(Debug)]
pub struct External {
    pub name: String,
    pub hash: String,
    pub size: usize,
}

impl Models {
    /// Finds the models in the sources of packages, and adds those of the caller. The inner error is the report of a
    /// file that is not a model.
    pub fn find(graph: &Graph, added: &[PathBuf]) -> Result<Result<Self, String>> {
        let mut users: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
        for (id, package) in graph.packages.iter().filter(|(_, package)| package.embeds) {
            for call in calls(package, &graph.target)? {
                match &call.path {
                    Some(written) => {
                        let file = file(written, &call, package)?;
                        users.entry(file).or_default().insert(id.clone());
                    }
                    None if added.is_empty() => bail!(
                        "a call of `onnx_model!` in `{}` has a path that is not a string; list its model with \
                         `--model`",
                        call.file.display()
                    ),
                    None => {}
                }
            }
        }
        for path in added {
            let file = path.canonicalize().with_context(|| format!("cannot read `{}`", path.display()))?;
            users.entry(file).or_default().insert(graph.root.clone());
        }
        let mut models = Vec::new();
        for (file, users) in users {
            match contents(&file) {
                Ok(contents) => models.push(Model::new(graph, &file, users, contents)),
                Err(problems) => return Ok(Err(problems.report(&file.display().to_string()))),
            }
        }
        models.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(Ok(Models(models)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.0.iter()
    }
}

impl Model {
    fn new(graph: &Graph, file: &Path, users: BTreeSet<String>, contents: Contents) -> Self {
        let mut files = contents.files.iter();
        let (hash, size) = files.next().map(|(_, bytes)| (sha256(bytes), bytes.len())).unwrap_or_default();
        let external = files.map(|(name, bytes)| External {
            name: slashes(name),
            hash: sha256(bytes),
            size: bytes.len(),
        });
        let external = external.collect();
        let path = path(graph, file, &users, &hash);
        Model { path, users, hash, size, contents, external }
    }

    /// Identifier in the document.
    pub fn reference(&self) -> String {
        format!("model:{}", self.path)
    }

    /// Returns the licenses that the file declares.
    pub fn licenses(&self) -> impl Iterator<Item = &str> {
        self.properties(is_license)
    }

    /// Returns the authors that the file declares.
    pub fn authors(&self) -> impl Iterator<Item = &str> {
        self.properties(|name| AUTHORS.iter().any(|author| author.eq_ignore_ascii_case(name)))
    }

    fn properties(&self, matches: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let properties = self.contents.about.metadata.iter();
        let found = properties.filter(move |(name, _)| matches(name)).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty())
    }
}

/// Returns the file that a call names, as the macro finds it.
fn file(written: &str, call: &Call, package: &Package) -> Result<PathBuf> {
    let place = || format!("the model in `{}`", call.file.display());
    let value = |name: &str| match name {
        "CARGO_MANIFEST_DIR" => Some(package.folder.display().to_string()),
        _ => std::env::var(name).ok(),
    };
    let path = expanded(written, value).map_err(|problem| {
        anyhow::anyhow!(
            "{problem}; set the variable for this command, as it is set when the package is built"
        )
    });
    let path = path.with_context(place)?;
    let folders = [call.file.parent().unwrap_or(&package.folder), &package.folder];
    // An absolute path replaces the folder.
    let candidates = folders.map(|folder| folder.join(&path));
    let found = candidates.iter().find(|file| file.is_file());
    let found = found.with_context(|| no_file(&candidates).to_string()).with_context(place)?;
    found.canonicalize().with_context(place)
}

/// Returns a name of the file that does not depend on the folder of the workspace.
fn path(graph: &Graph, file: &Path, users: &BTreeSet<String>, hash: &str) -> String {
    let packages = users.iter().filter_map(|id| graph.packages.get(id));
    let inside = |folder: &Path, name: &str| {
        let path = file.strip_prefix(folder.canonicalize().ok()?).ok()?;
        Some(format!("{name}{}", slashes(path)))
    };
    let in_package = |package: &Package| inside(&package.folder, &format!("{}/", package.name));
    let mut found = packages.filter_map(in_package);
    found.next().or_else(|| inside(&graph.workspace, "")).unwrap_or_else(|| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        format!("{}/{name}", hash.get(..16).unwrap_or(hash))
    })
}

fn slashes(path: &Path) -> String {
    let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.collect::<Vec<_>>().join("/")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
