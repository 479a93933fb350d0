//! Damages real files: truncates them or changes bytes.

use std::path::{Path, PathBuf};

use super::limits::complaint;

/// Number of damages of one file in an ordinary run.
const TRIES: usize = 40;
/// Length of a file from which it is damaged less often, in bytes.
const BYTES: usize = 2 << 20;

#[test]
fn cut_files_are_refused() {
    each(&models(), |bytes, tries| {
        let step = (bytes.len() / tries).max(1);
        let cuts = (0..bytes.len()).step_by(step).map(|end| (end, bytes[..end].to_vec()));
        check(cuts)
    });
}

#[test]
fn changed_bytes_do_no_harm() {
    each(&models(), |bytes, tries| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let damaged = (0..tries).map(|_| {
            let mut bytes = bytes.to_vec();
            let seed = random.0 as usize;
            for _ in 0..=random.below(8) {
                // The structure is at the beginning and the end, weights are in between.
                let at = match random.below(3) {
                    0 => random.below(bytes.len().min(4096)),
                    1 => bytes.len() - 1 - random.below(bytes.len().min(4096)),
                    _ => random.below(bytes.len()),
                };
                bytes[at] = match random.below(4) {
                    0 => 0xff,
                    1 => bytes[at] ^ 1 << random.below(8),
                    2 => bytes[at].wrapping_add(1),
                    _ => random.next() as u8,
                };
            }
            (seed, bytes)
        });
        check(damaged.collect::<Vec<_>>().into_iter())
    });
}

/// Marsaglia's generator, with the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}

fn check(damaged: impl Iterator<Item = (usize, Vec<u8>)>) -> Vec<String> {
    let complaints = damaged.filter_map(|(at, bytes)| {
        let complaint = complaint(&bytes)?;
        let path = std::env::temp_dir().join(format!("hostile-{:x}-{at:x}.onnx", bytes.len()));
        std::fs::write(&path, bytes).unwrap();
        Some(format!("{complaint}: {}", path.display()))
    });
    complaints.take(3).collect()
}

fn each(models: &[PathBuf], damage: impl Fn(&[u8], usize) -> Vec<String>) {
    let factor = std::env::var("HOSTILE").map_or(1, |factor| factor.parse().unwrap());
    let mut complaints = Vec::new();
    for path in models {
        let bytes = std::fs::read(path).unwrap();
        if bytes.is_empty() {
            continue;
        }
        let tries = (TRIES * factor).min(BYTES * factor / bytes.len().max(1)).max(2);
        let found = damage(&bytes, tries);
        complaints.extend(found.iter().map(|found| format!("{}: {found}", path.display())));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Returns the models of the workspace, and the collection of real ones if it is present.
fn models() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut models = vec![workspace.join("examples/mnist/mnist.onnx")];
    models.extend(onnx_files(&workspace.join("ui-tests/models")));
    let collection = workspace.join("../shared/models");
    match collection.read_dir() {
        Ok(folders) => {
            let folders = folders.flatten().map(|folder| folder.path());
            models.extend(folders.flat_map(|folder| onnx_files(&folder)));
        }
        Err(_) => println!("`{}` is not there", collection.display()),
    }
    models.sort();
    models
}

fn onnx_files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    files.filter(|path| path.extension().is_some_and(|end| end == "onnx")).collect()
}
