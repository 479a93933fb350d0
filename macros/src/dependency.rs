//! Name of the run-time crate in the calling package.
//!
//! Only one key is needed: a TOML parser would be as large as all other dependencies of the macro together.

use std::path::{Path, PathBuf};

use proc_macro2::{Ident, Span};

const PACKAGE: &str = "onnx-embed";

/// Returns the name of the dependency on the run-time crate, if the package renames it.
pub fn renamed() -> Option<Ident> {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let name = name(&manifest, || workspace(&folder))?;
    syn::parse_str::<Ident>(&name.replace('-', "_"))
        .ok()
        .map(|name| Ident::new(&name.to_string(), Span::call_site()))
}

/// Returns the manifest of the workspace that contains a package; the package's own manifest may be that of the
/// workspace.
fn workspace(folder: &Path) -> Option<String> {
    let manifests = folder.ancestors().map(|folder| folder.join("Cargo.toml"));
    let mut texts = manifests.filter_map(|manifest| std::fs::read_to_string(manifest).ok());
    texts.find(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")))
}

/// Returns the key of the dependency in a manifest, or `None` if the key is the name of the package.
fn name(manifest: &str, workspace: impl FnOnce() -> Option<String>) -> Option<String> {
    let own = dependencies(manifest, false);
    if own.iter().any(|(name, _)| name == PACKAGE) {
        return None;
    }
    if let Some((name, _)) = own.iter().find(|(_, value)| value.is_package()) {
        return Some(name.clone());
    }
    let workspace = workspace()?;
    let shared = dependencies(&workspace, true);
    let mut renamed = shared.into_iter().filter(|(_, value)| value.is_package());
    let inherited = |name: &str| own.iter().any(|(own, value)| own == name && value.is_inherited());
    renamed.find(|(name, _)| inherited(name)).map(|(name, _)| name)
}

/// A value that a manifest assigns to a dependency.
struct Value<'a> {
    /// Remainder of the key, such as `package` in `name.package = ".."`.
    key: String,
    text: &'a str,
}

impl Value<'_> {
    /// Returns `true` if the value specifies the run-time crate as the package.
    fn is_package(&self) -> bool {
        self.says("package", &format!("\"{PACKAGE}\"")) || self.says("package", &format!("'{PACKAGE}'"))
    }

    fn is_inherited(&self) -> bool {
        self.says("workspace", "true")
    }

    fn says(&self, key: &str, value: &str) -> bool {
        let is = |text: &str| text.trim() == value;
        if self.key == key {
            return is(self.text);
        }
        let inside = self.text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let mut pairs = inside.into_iter().flat_map(|text| text.split(','));
        self.key.is_empty()
            && pairs.any(|pair| {
                let pair = pair.split_once('=');
                pair.is_some_and(|(found, text)| found.trim() == key && is(text))
            })
    }
}

/// Returns the names and values of the dependencies in a manifest: those of its workspace if `shared`, otherwise those
/// of the package.
fn dependencies(manifest: &str, shared: bool) -> Vec<(String, Value<'_>)> {
    let mut found = Vec::new();
    let mut table = "";
    for line in manifest.lines() {
        let line = line.split(" #").next().unwrap_or(line).trim();
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = header.trim();
        } else if let Some((key, text)) = line.split_once('=') {
            let full = format!("{table}.{key}");
            let mut parts = full.split('.').map(str::trim).filter(|part| !part.is_empty());
            let is_shared = parts.clone().next() == Some("workspace");
            let list = parts.find(|part| part.ends_with("dependencies"));
            if let (Some(_), Some(name)) = (list, parts.next())
                && is_shared == shared
            {
                let key = parts.collect::<Vec<_>>().join(".");
                let text = text.trim();
                found.push((unquoted(name), Value { key, text }));
            }
        }
    }
    found
}

fn unquoted(name: &str) -> String {
    name.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(manifest: &str, workspace: &str, expected: Option<&str>) {
        let found = name(manifest, || Some(workspace.to_owned()));
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_dependency_may_be_renamed() {
        let tables = [
            "[dependencies]\nserde = \"1\"\noe = { package = \"onnx-embed\", version = \"0.1\" } # models",
            "[dependencies]\noe.package = \"onnx-embed\"\noe.version = \"0.1\"",
            "dependencies.oe = { package = \"onnx-embed\" }\n[workspace]",
            "[dependencies.oe]\nversion = \"0.1\"\npackage = 'onnx-embed'",
            "[dev-dependencies]\n\"oe\" = { path = \"..\", package = \"onnx-embed\" }",
            "[target.'cfg(unix)'.dependencies]\noe = { package = \"onnx-embed\" }",
        ];
        tables.iter().for_each(|table| check(table, "", Some("oe")));
    }

    #[test]
    fn the_name_may_be_that_of_the_workspace() {
        let workspace = "[workspace.dependencies]\noe = { package = \"onnx-embed\", version = \"0.1\" }";
        check("[dependencies]\noe = { workspace = true }", workspace, Some("oe"));
        check("[dependencies]\noe.workspace = true", workspace, Some("oe"));
        check("[dependencies]\nserde.workspace = true", workspace, None);
    }

    #[test]
    fn its_own_name_comes_first() {
        check("[dependencies]\nonnx-embed = \"0.1\"\noe = { package = \"onnx-embed\" }", "", None);
        check("[package]\nname = \"app\"", "", None);
        check("[dependencies]\noe = { package = \"other\" }\n[features]\nx = []", "", None);
    }
}
