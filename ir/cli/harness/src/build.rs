//! Runs cargo and assigns errors to packages.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use serde_json::Value as Json;

use crate::cost::Cost;

/// Results of a build.
#[derive(Debug, Default)]
pub struct Built {
    /// Packages that were built.
    pub packages: BTreeSet<String>,
    /// Programs by package.
    pub programs: BTreeMap<String, PathBuf>,
    /// Errors of each package that failed.
    pub errors: BTreeMap<String, String>,
    /// Number of warnings of each package.
    pub warnings: BTreeMap<String, usize>,
}

/// Options of a build.
#[derive(Clone, Copy, Debug)]
pub struct BuildRequest<'p> {
    /// Folder of the workspace.
    pub root: &'p Path,
    /// Target folder.
    pub target: &'p Path,
    /// Folder in which the cost of each crate is recorded, if any.
    pub costs: Option<&'p Path>,
    pub release: bool,
}

/// Builds packages of a workspace, as many as possible.
pub fn build(plan: &BuildRequest<'_>, packages: &[String], bar: &ProgressBar) -> Result<Built> {
    let mut cargo = command(plan.root, plan.target);
    if let Some(folder) = plan.costs {
        Cost::note(&mut cargo, folder)?;
    }
    cargo.args(["build", "--keep-going", "--message-format=json"]);
    if plan.release {
        cargo.arg("--release");
    }
    for package in packages {
        cargo.args(["-p", package]);
    }
    let mut child = cargo.spawn().context("cannot run `cargo`")?;
    let log = Arc::new(Mutex::new(String::new()));
    let reader = child.stderr.take().map(|stderr| {
        let (log, bar) = (log.clone(), bar.clone());
        std::thread::spawn(move || follow(BufReader::new(stderr), &log, &bar))
    });
    let ours: BTreeSet<&str> = packages.iter().map(String::as_str).collect();
    let mut built = Built::default();
    let mut foreign = String::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let Ok(message) = serde_json::from_str::<Json>(&line?) else {
                continue;
            };
            let name = message["target"]["name"].as_str().unwrap_or_default();
            match message["reason"].as_str() {
                Some("compiler-artifact") if ours.contains(name) => {
                    built.artifact(name, &message);
                    bar.inc(1);
                }
                Some("compiler-message") if ours.contains(name) => built.message(name, &message),
                Some("compiler-message") if level(&message) == "error" => {
                    foreign.push_str(rendered(&message));
                }
                _ => {}
            }
        }
    }
    let status = child.wait()?;
    if let Some(reader) = reader {
        let _ = reader.join();
    }
    let text = log.lock().map(|log| log.clone()).unwrap_or_default();
    if !foreign.is_empty() {
        bail!("a dependency of the models does not compile\n{foreign}");
    }
    let reported = built.packages.len() + built.errors.len();
    if !status.success() && reported == 0 {
        bail!("cargo failed\n{text}");
    }
    for package in packages {
        if !built.packages.contains(package) && !built.errors.contains_key(package) {
            // The compiler was killed or crashed, which only cargo reports.
            built.errors.insert(package.clone(), about(package, &text));
        }
    }
    Ok(built)
}

impl Built {
    fn artifact(&mut self, name: &str, message: &Json) {
        self.packages.insert(name.to_owned());
        if let Some(program) = message["executable"].as_str() {
            self.programs.insert(name.to_owned(), program.into());
        }
    }

    fn message(&mut self, name: &str, message: &Json) {
        match level(message) {
            "warning" => *self.warnings.entry(name.to_owned()).or_default() += 1,
            level if level.starts_with("error") => {
                let text = self.errors.entry(name.to_owned()).or_default();
                text.push_str(rendered(message));
            }
            _ => {}
        }
    }
}

/// Returns a command for cargo, without the variables that cargo set for this process.
fn command(root: &Path, target: &Path) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if own.iter().any(|start| name.starts_with(start)) {
            command.env_remove(&*name);
        }
    }
    command
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Copies cargo's standard error to the log, and shows the package that is being compiled.
fn follow(lines: impl BufRead, log: &Mutex<String>, bar: &ProgressBar) {
    for line in lines.lines().map_while(Result::ok) {
        let Ok(mut log) = log.lock() else {
            return;
        };
        if let Some(package) = line.trim_start().strip_prefix("Compiling ") {
            let name = package.split(' ').next().unwrap_or_default();
            bar.set_message(format!("compiling {name}"));
        } else if line.trim_start().starts_with("Blocking ") {
            bar.set_message("waiting for another cargo process".to_owned());
        }
        log.push_str(&line);
        log.push('\n');
    }
}

/// Returns up to 8 lines of cargo's output, from the first one that names the package.
fn about(package: &str, text: &str) -> String {
    let quoted = format!("`{package}`");
    let mut lines = text.lines().skip_while(|line| !line.contains(&quoted));
    let about: Vec<&str> = lines.by_ref().take(8).collect();
    if about.is_empty() { "cargo did not build the crate".to_owned() } else { about.join("\n") }
}

fn level(message: &Json) -> &str {
    message["message"]["level"].as_str().unwrap_or_default()
}

fn rendered(message: &Json) -> &str {
    message["message"]["rendered"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_fails_takes_no_other_down() {
        let name = format!("onnx-embed-build-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let sources = [
            ("good", "pub fn f() {}"),
            ("odd", "pub fn f() { let x = 1; }"),
            ("bad", "pub fn f() -> i32 { \"\" }\nmod missing;"),
        ];
        for (package, source) in sources {
            let folder = root.join(package).join("src");
            let manifest = format!("[package]\nname = \"{package}\"\nedition = \"2024\"\n");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("lib.rs"), source).unwrap();
            std::fs::write(root.join(package).join("Cargo.toml"), manifest).unwrap();
        }
        let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"good\", \"odd\", \"bad\"]\n";
        std::fs::write(root.join("Cargo.toml"), workspace).unwrap();
        let packages = sources.map(|(package, _)| package.to_owned());
        let bar = ProgressBar::hidden();
        let plan = BuildRequest { root: &root, target: &root.join("target"), costs: None, release: false };
        let built = build(&plan, &packages, &bar);
        std::fs::remove_dir_all(&root).unwrap();
        let built = built.unwrap();
        assert_eq!(Vec::from_iter(&built.packages), ["good", "odd"]);
        assert_eq!(built.warnings, BTreeMap::from([("odd".to_owned(), 1)]));
        assert_eq!(built.errors.keys().collect::<Vec<_>>(), ["bad"]);
        assert!(built.errors["bad"].contains("error[E0583]"), "{built:?}");
    }

    #[test]
    fn a_crash_of_the_compiler_is_reported_by_cargo() {
        let text = "error: could not compile `a` (lib)\n\nerror: could not compile `b` (lib)\n\n\
                    Caused by:\n  process didn't exit successfully (signal: 11)\n";
        assert!(about("b", text).starts_with("error: could not compile `b`"));
        assert!(about("b", text).ends_with("(signal: 11)"));
        assert_eq!(about("c", text), "cargo did not build the crate");
    }

    #[test]
    fn warnings_are_counted_and_errors_kept() {
        let message = |level: &str| serde_json::json!({ "message": { "level": level, "rendered": level } });
        let mut built = Built::default();
        for level in ["warning", "error: internal compiler error", "warning", "note"] {
            built.message("m", &message(level));
        }
        assert_eq!(built.warnings["m"], 2);
        assert_eq!(built.errors["m"], "error: internal compiler error");
    }

    #[test]
    fn what_cargo_says_is_kept() {
        let log = Mutex::new(String::new());
        let text = "   Compiling m_a v0.0.0 (/x)\n    Finished `dev` profile\n";
        follow(text.as_bytes(), &log, &ProgressBar::hidden());
        assert_eq!(log.into_inner().unwrap(), text);
    }
}
