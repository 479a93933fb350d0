//! Packages of a program, as Cargo resolves them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;

use super::Sbom;
use super::lock::Checksums;
use super::tree::{Tree, identifier};

/// Name of the crate whose macro embeds models.
const RUNTIME: &str = "onnx-embed";
/// Index of crates.io in the names of sources.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A package with its dependencies, for one platform.
#[derive(Debug)]
pub struct Graph {
    /// Name and version of the program's package.
    pub root: String,
    /// Packages by name and version.
    pub packages: BTreeMap<String, Package>,
    /// Folder of the workspace.
    pub workspace: PathBuf,
    /// Folder of build outputs, which contains no sources.
    pub target: PathBuf,
}

/// A package that takes part in the build.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Identifier in the document: the same in every folder.
    pub reference: String,
    /// Package URL, unless the package is a folder.
    pub url: Option<String>,
    /// License expression, or the name of the file with the license.
    pub license: Option<License>,
    pub checksum: Option<String>,
    pub folder: PathBuf,
    /// Folders of the first source files of the library and the programs.
    pub sources: BTreeSet<PathBuf>,
    /// Identifiers of the packages that it is built with.
    pub dependencies: BTreeSet<String>,
    /// Whether code of the package is in the program, in contrast to packages that only run during the build.
    pub is_linked: bool,
    /// Whether the package can call the macro that embeds models.
    pub embeds: bool,
}

/// License of a package.
#[derive(Debug, PartialEq, Eq)]
pub enum License {
    Expression(String),
    File(String),
}

impl Graph {
    /// Reads the packages of the program from Cargo.
    pub fn read(arguments: &Sbom) -> Result<Self> {
        let json = metadata(arguments)?;
        let root = json["resolve"]["root"].as_str().context(
            "the folder has no package, only a workspace; specify the Cargo.toml of a package with `--manifest-path`",
        )?;
        let workspace = PathBuf::from(text(&json["workspace_root"])?);
        let checksums = Checksums::read(&workspace)?;
        let described = described(&json["packages"])?;
        let root = described.iter().find(|(_, package)| package["id"] == root);
        let root = root.context("cargo metadata lacks the package of the folder")?.0.clone();
        // The output of `cargo metadata` has packages of features that are not enabled.
        let built = Tree::read(arguments, &root, "normal,build")?;
        let linked = Tree::read(arguments, &root, "normal,no-proc-macro")?;
        let is_runtime = |id: &str| described.get(id).is_some_and(|package| package["name"] == RUNTIME);
        let embedding: BTreeSet<String> = built.users(is_runtime).into_iter().map(str::to_owned).collect();
        let mut packages = BTreeMap::new();
        for (id, dependencies) in built.0 {
            let json =
                described.get(&id).with_context(|| format!("cargo metadata lacks the package {id}"))?;
            let package = Package {
                dependencies,
                is_linked: linked.0.contains_key(&id),
                embeds: id == root || embedding.contains(&id),
                ..Package::new(json, &checksums)?
            };
            packages.insert(id, package);
        }
        let target = PathBuf::from(text(&json["target_directory"])?);
        Ok(Graph { root, packages, workspace, target })
    }
}

impl Package {
    fn new(json: &Json, checksums: &Checksums) -> Result<Self> {
        let (name, version) = (text(&json["name"])?, text(&json["version"])?);
        let source = json["source"].as_str();
        let url = source.map(|source| url(name, version, source));
        let manifest = Path::new(text(&json["manifest_path"])?);
        let expression = json["license"].as_str().filter(|text| !text.trim().is_empty());
        // Cargo accepted a slash in place of `OR`.
        let expression =
            expression.map(|text| License::Expression(text.replace('/', " OR ").replace("  ", " ")));
        let file = json["license_file"].as_str().map(|file| License::File(file.to_owned()));
        let targets = json["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let code = ["lib", "rlib", "dylib", "cdylib", "staticlib", "bin"];
        let targets = targets.iter().filter(|target| has_kind(target, &code));
        let sources = targets.filter_map(|target| Path::new(target["src_path"].as_str()?).parent());
        Ok(Package {
            name: name.to_owned(),
            version: version.to_owned(),
            reference: url.clone().unwrap_or_else(|| identifier(name, version)),
            checksum: source.and_then(|source| checksums.get(name, version, source)).map(str::to_owned),
            url,
            license: expression.or(file),
            folder: manifest.parent().unwrap_or(manifest).to_owned(),
            sources: sources.map(Path::to_owned).collect(),
            dependencies: BTreeSet::new(),
            is_linked: false,
            embeds: false,
        })
    }
}

/// Runs `cargo metadata`.
fn metadata(arguments: &Sbom) -> Result<Json> {
    let mut words = vec!["metadata".to_owned(), "--format-version=1".to_owned()];
    words.extend(selection(arguments));
    match arguments.target.as_deref() {
        Some("all") => {}
        Some(target) => words.push(format!("--filter-platform={target}")),
        None => words.push(format!("--filter-platform={}", host()?)),
    }
    serde_json::from_str(&cargo(&words)?).context("cannot read the output of cargo metadata")
}

/// Returns the arguments that select the package and its features.
pub fn selection(arguments: &Sbom) -> Vec<String> {
    let mut words = vec!["--locked".to_owned()];
    if let Some(path) = &arguments.manifest_path {
        words.push(format!("--manifest-path={}", path.display()));
    }
    words.extend(arguments.features.iter().map(|features| format!("--features={features}")));
    let flags = [
        ("--all-features", arguments.all_features),
        ("--no-default-features", arguments.no_default_features),
    ];
    words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).to_owned()));
    words
}

/// Returns the platform of this computer.
fn host() -> Result<String> {
    let version = cargo(&["-vV".to_owned()])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("cargo -vV prints no platform")
}

/// Runs Cargo and returns its output.
pub fn cargo(words: &[String]) -> Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(words).output().context("cannot run cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("cargo {} failed\n{}", words.join(" "), said.trim_end());
    }
    String::from_utf8(output.stdout).context("cargo printed text that is not UTF-8")
}

/// Returns the descriptions of packages by name and version.
fn described(packages: &Json) -> Result<BTreeMap<String, &Json>> {
    let packages = packages.as_array().context("cargo metadata lists no packages")?;
    let mut described = BTreeMap::new();
    for package in packages {
        let id = identifier(text(&package["name"])?, text(&package["version"])?);
        if described.insert(id.clone(), package).is_some() {
            bail!("there are two packages {id} from different sources");
        }
    }
    Ok(described)
}

fn has_kind(target: &Json, kinds: &[&str]) -> bool {
    let found = target["kind"].as_array().map(Vec::as_slice).unwrap_or_default();
    found.iter().any(|kind| kinds.iter().any(|expected| kind == expected))
}

fn text(value: &Json) -> Result<&str> {
    value.as_str().context("the output of cargo metadata has another form than expected")
}

/// Returns the package URL of a package from a registry or a repository.
fn url(name: &str, version: &str, source: &str) -> String {
    let version = encoded(version);
    let url = format!("pkg:cargo/{name}@{version}");
    if source == CRATES_IO {
        return url;
    }
    match source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+")) {
        Some(registry) => format!("{url}?repository_url={}", encoded(registry)),
        None => format!("{url}?vcs_url={}", encoded(source)),
    }
}

/// Returns the text with all but plain characters in percent-encoding.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_the_source() {
        assert_eq!(url("a", "1.0.0+b", CRATES_IO), "pkg:cargo/a@1.0.0%2Bb");
        assert_eq!(
            url("a", "1.0.0", "sparse+https://example.org/"),
            "pkg:cargo/a@1.0.0?repository_url=https%3A%2F%2Fexample.org%2F"
        );
        assert_eq!(
            url("a", "1.0.0", "git+https://example.org/a#0f"),
            "pkg:cargo/a@1.0.0?vcs_url=git%2Bhttps%3A%2F%2Fexample.org%2Fa%230f"
        );
    }
}
