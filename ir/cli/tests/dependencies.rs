//! Checks where dependencies come from, their licenses, and which of them run code during the build.
//!
//! `deny.toml` lists what is accepted, so that `cargo deny check` has the same rules.
//!
//! By default those of the workspace are checked as this computer builds it; with `DEPENDENCIES=all`, those of all
//! features and all platforms, and that no entry of the lists is superfluous.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use onnx_embed_ir::licenses::accepts;
use serde_json::Value as Json;

/// Only package that loads files while it is built: LLVM, for the features `cuda` and `rocm`.
const DOWNLOADING: &str = "tracel-llvm-bundler";
/// Packages with which a build script can load files.
const CLIENTS: [&str; 7] = ["attohttpc", "curl", "hyper", "isahc", "minreq", "reqwest", "ureq"];

/// Packages that the workspace is built with, by name and version, without those of the workspace.
struct Dependencies {
    packages: BTreeMap<(String, String), Json>,
    /// Names of packages that depend directly on one of `CLIENTS`.
    loading: BTreeSet<String>,
    is_complete: bool,
}

/// Lists of `deny.toml`.
struct Lists {
    licenses: Vec<String>,
    /// Packages with other licenses.
    exceptions: BTreeMap<String, String>,
    build_scripts: BTreeSet<String>,
}

impl Lists {
    fn read() -> Self {
        let text = fs::read_to_string(root().join("deny.toml")).unwrap();
        let lines = |start: &str| {
            let (_, list) = text.split_once(&format!("\n{start} = [\n")).unwrap_or_else(|| panic!("{start}"));
            let (list, _) = list.split_once("\n]").unwrap();
            let strings =
                |line: &str| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            list.lines().map(strings).collect::<Vec<_>>()
        };
        let first = |line: Vec<String>| line.into_iter().next().unwrap();
        let pair = |line: Vec<String>| (line[0].clone(), line[1].clone());
        let lists = Lists {
            licenses: lines("allow").into_iter().map(first).collect(),
            exceptions: lines("exceptions").into_iter().map(pair).collect(),
            build_scripts: lines("allow-build-scripts").into_iter().map(first).collect(),
        };
        assert!(lists.licenses.contains(&"MIT".to_owned()) && lists.build_scripts.contains("libc"));
        lists
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(words: &[&str]) -> String {
    let run = |words: &[&str]| Command::new(env!("CARGO")).current_dir(root()).args(words).output().unwrap();
    let mut output = run(&[words, &["--offline"]].concat());
    if !output.status.success() {
        // A package of another platform may not be on this computer yet.
        output = run(words);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

impl Dependencies {
    fn read() -> Self {
        let is_complete = std::env::var_os("DEPENDENCIES").is_some_and(|value| value == "all");
        let tree =
            ["tree", "--workspace", "--locked", "--edges=normal,build,dev", "--prefix=depth", "--format={p}"];
        let tree = match is_complete {
            true => cargo(&[&tree[..], &["--target=all", "--all-features"]].concat()),
            false => cargo(&tree),
        };
        let metadata = ["metadata", "--locked", "--format-version=1"];
        let metadata = match is_complete {
            true => cargo(&[&metadata[..], &["--all-features"]].concat()),
            false => {
                let platform = format!("--filter-platform={}", target());
                cargo(&[&metadata[..], &[platform.as_str()]].concat())
            }
        };
        let metadata: Json = serde_json::from_str(&metadata).unwrap();
        let key = |package: &Json| {
            let text = |key: &str| package[key].as_str().unwrap().to_owned();
            (text("name"), text("version"))
        };
        let described = metadata["packages"].as_array().unwrap().iter();
        let described: BTreeMap<_, _> = described.map(|package| (key(package), package)).collect();
        let mut packages = BTreeMap::new();
        let mut loading = BTreeSet::new();
        let mut path: Vec<String> = Vec::new();
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let package = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let depth: usize = line.strip_suffix(package).unwrap().parse().unwrap();
            let mut words = package.split_whitespace();
            let name = words.next().unwrap().to_owned();
            let version = words.next().unwrap().trim_start_matches('v').to_owned();
            path.truncate(depth);
            if CLIENTS.contains(&name.as_str()) {
                loading.extend(path.last().cloned());
            }
            path.push(name.clone());
            let key = (name, version);
            let package = described[&key];
            if !package["source"].is_null() {
                packages.insert(key, package.clone());
            }
        }
        assert!(packages.len() > 200, "only {} packages are listed", packages.len());
        Dependencies { packages, loading, is_complete }
    }
}

fn target() -> String {
    let output = Command::new(env!("CARGO")).arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn licenses_are_permissive() {
    let (all, lists) = (Dependencies::read(), Lists::read());
    let mut used = BTreeSet::new();
    let mut refused = Vec::new();
    for ((name, version), package) in &all.packages {
        let license = package["license"].as_str().unwrap_or("no license");
        let is_exception = lists.exceptions.get(name).is_some_and(|exception| exception == license);
        if is_exception {
            used.insert(name);
        } else if !accepts(&lists.licenses, &license.replace('/', " OR ")) {
            refused.push(format!("{name} {version}: {license}"));
        }
    }
    assert!(refused.is_empty(), "not permissive: {refused:#?}");
    if all.is_complete {
        assert_eq!(used, lists.exceptions.keys().collect(), "exceptions that no package needs");
    }
}

#[test]
fn build_scripts_were_read() {
    let (all, lists) = (Dependencies::read(), Lists::read());
    let is_script =
        |target: &Json| target["kind"].as_array().unwrap().iter().any(|kind| kind == "custom-build");
    let packages = all.packages.iter();
    let found = packages.filter(|(_, package)| package["targets"].as_array().unwrap().iter().any(is_script));
    let found: BTreeSet<String> = found.map(|((name, _), _)| name.clone()).collect();
    let new: Vec<&String> = found.difference(&lists.build_scripts).collect();
    assert!(new.is_empty(), "read these build scripts, then add the packages to deny.toml: {new:?}");
    if all.is_complete {
        assert_eq!(found, lists.build_scripts, "packages that have no build script any more");
    }
}

#[test]
fn builds_load_no_files() {
    let all = Dependencies::read();
    let expected = all.is_complete.then(|| DOWNLOADING.to_owned());
    assert_eq!(all.loading, expected.into_iter().collect(), "packages that depend on a client of HTTP");
    let names: BTreeSet<&str> = all.packages.keys().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.contains(DOWNLOADING), all.is_complete);
}

#[test]
fn packages_are_those_of_crates_io() {
    let folders = ["examples", "ui-tests"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let folders = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let locks = folders.chain([root()]).map(|folder| folder.join("Cargo.lock")).filter(|path| path.is_file());
    let locks: BTreeSet<PathBuf> = locks.collect();
    assert!(locks.len() > 5, "{locks:?}");
    for name in locks {
        let lock = fs::read_to_string(&name).unwrap();
        let mut count = 0;
        for package in lock.split("[[package]]").skip(1) {
            let value = |key: &str| {
                let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
                line.map(|value| value.trim_matches('"'))
            };
            let Some(source) = value("source") else {
                continue;
            };
            count += 1;
            let package = value("name").unwrap();
            assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{package}");
            assert_eq!(value("checksum").map(str::len), Some(64), "{package} has no checksum");
        }
        assert!(count > 3, "{} has only {count} packages", name.display());
    }
}

#[test]
fn requirements_name_versions() {
    let metadata: Json =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--locked", "--format-version=1"])).unwrap();
    for package in metadata["packages"].as_array().unwrap() {
        for dependency in package["dependencies"].as_array().unwrap() {
            let is_ours = !dependency["path"].is_null();
            let wildcard = dependency["req"] == "*";
            assert!(is_ours || !wildcard, "{}: {} has no version", package["name"], dependency["name"]);
        }
    }
}
