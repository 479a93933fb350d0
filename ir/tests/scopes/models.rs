//! Checks models of files, unchanged and with dynamic sizes.
//!
//! An ordinary run checks a sample. `SCOPES=all cargo test --release -p onnx-embed-ir --test scopes` checks all.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::open::{Naming, open};
use super::{faults, loaded};

/// Sampling intervals of an ordinary run, of cases and of real models.
const CASES: usize = 24;
const MODELS: usize = 8;

#[test]
fn conformance_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui-tests/conformance");
    let mut archives: Vec<PathBuf> = Vec::new();
    for folder in [folder.join("own"), folder] {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        archives.extend(files.filter(|path| path.extension().is_some_and(|end| end == "xz")));
    }
    archives.sort();
    assert!(archives.len() > 20, "only {archives:?} were found");
    for archive in archives {
        let cases = unpacked(&archive);
        assert!(cases.len() > 20, "{} contains {} cases", archive.display(), cases.len());
        check(&cases, CASES);
    }
}

#[test]
fn models_of_tests_and_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = BTreeSet::new();
    for folder in ["ui-tests/models", "examples", "ir/tests/golden"] {
        collect(&root.join(folder), &mut paths);
    }
    assert!(paths.len() > 30);
    check_files(&paths, 1);
}

/// Models with recorded outputs are next to a checkout, if they were downloaded.
#[test]
fn real_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/models");
    let mut paths = BTreeSet::new();
    collect(&folder, &mut paths);
    if paths.is_empty() {
        println!("there are no models in `{}`", folder.display());
    }
    check_files(&paths, MODELS);
}

/// Checks every `spread`th path with its weights, and its model with dynamic sizes.
fn check_files(paths: &BTreeSet<PathBuf>, spread: usize) {
    let mut cases = Vec::new();
    for path in paths.iter().step_by(step(spread)) {
        let name = path.display().to_string();
        let load = |options: &_| onnx_embed_ir::load_observed(path, options, &mut |_| ()).ok();
        let found = faults(&load).unwrap_or_default();
        assert!(found.is_empty(), "{name}: {found:#?}");
        if path.extension().is_some_and(|end| end == "onnx") {
            cases.push((name, Bytes::from(fs::read(path).unwrap())));
        }
    }
    check(&cases, 1);
}

/// Checks every `spread`th case unchanged, with equal sizes under one name, and with a name for each size.
fn check(cases: &[(String, Bytes)], spread: usize) {
    let next = AtomicUsize::new(0);
    let step = step(spread);
    let (wrong, compiled) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let work = || {
        while let Some((name, model)) = cases.get(next.fetch_add(step, Ordering::Relaxed)) {
            let shared = open(model, Naming::Shared);
            let own = open(model, Naming::Own).filter(|own| Some(own) != shared.as_ref());
            for (form, model) in [("", Some(model.clone())), (" (open)", shared), (" (own)", own)] {
                let Some(model) = model else { continue };
                let found = faults(&|options| loaded(&model, options));
                compiled.fetch_add(usize::from(found.is_some()), Ordering::Relaxed);
                let found = found.unwrap_or_default().into_iter();
                let found = found.map(|fault| format!("{name}{form}: {fault}"));
                wrong.lock().unwrap().extend(found);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    println!("{} expansions of {} models", compiled.into_inner(), cases.len());
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

fn step(spread: usize) -> usize {
    match std::env::var("SCOPES").as_deref() {
        Ok("all") => 1,
        _ => spread,
    }
}

/// Returns the models of an archive with the names of their folders.
fn unpacked(archive: &Path) -> Vec<(String, Bytes)> {
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut BufReader::new(File::open(archive).unwrap()), &mut bytes).unwrap();
    let mut archive = tar::Archive::new(bytes.as_slice());
    let mut cases = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if path.file_name().is_some_and(|name| name == "model.onnx") {
            let mut model = Vec::new();
            entry.read_to_end(&mut model).unwrap();
            cases.push((path.parent().unwrap().display().to_string(), model.into()));
        }
    }
    cases
}

fn collect(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension().and_then(|end| end.to_str()) {
            Some("onnx" | "onnxtxt") => drop(found.insert(path)),
            _ if path.is_dir() => collect(&path, found),
            _ => {}
        }
    }
}
