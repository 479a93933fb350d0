//! Extracts cases from a compressed archive.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;

/// Writes the files of the wanted cases, which are `case/..` in the archive, and returns the names of the cases.
///
/// # Panics
///
/// If the archive is damaged.
pub fn unpack(archive: &Path, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let show = archive.display();
    let file = File::open(archive).unwrap_or_else(|error| panic!("`{show}`: {error}"));
    let mut bytes = Vec::new();
    if let Err(error) = lzma_rs::xz_decompress(&mut BufReader::new(file), &mut bytes) {
        panic!("`{show}`: {error:?}");
    }
    let mut cases = BTreeSet::new();
    let mut archive = tar::Archive::new(bytes.as_slice());
    for entry in archive.entries().expect("the bytes are in memory") {
        let mut entry = entry.unwrap_or_else(|error| panic!("`{show}`: {error}"));
        let path = entry.path().expect("names are UTF-8").into_owned();
        let case = path.iter().next().and_then(|first| first.to_str());
        let Some(case) = case.filter(|case| wanted(case)) else {
            continue;
        };
        cases.insert(case.to_owned());
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("the bytes are in memory");
        let path = folder.join(&path);
        let parent = path.parent().expect("it is in the folder");
        fs::create_dir_all(parent).expect("cargo's folder can be written");
        fs::write(&path, bytes).expect("cargo's folder can be written");
    }
    cases
}
