//! Model files on disk, memory mapped.

use std::path::{Path, PathBuf};
use std::{fs, io};

use memmap2::Mmap;

use super::Table;
use crate::Error;

impl Table {
    /// What `load` makes of the model file at `path` and the external data files beside it.
    pub fn open<T>(
        &self,
        path: &Path,
        load: impl FnOnce(&[&[u8]]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let paths = self.files.iter().enumerate().map(|(i, file)| match i {
            0 => path.to_path_buf(),
            _ => path.with_file_name(file.name),
        });
        let maps = paths.map(open).collect::<Result<Vec<_>, _>>()?;
        let files: Vec<&[u8]> = maps.iter().map(|map| &map[..]).collect();
        load(&files)
    }
}

fn open(path: PathBuf) -> Result<Mmap, Error> {
    match fs::File::open(&path).and_then(map) {
        Ok(map) => Ok(map),
        Err(error) => Err(Error::File { path, error }),
    }
}

#[allow(unsafe_code)]
fn map(file: fs::File) -> io::Result<Mmap> {
    // SAFETY: the bytes are only copied while the model is loaded; a program that shortens the file
    // meanwhile stops this one, as with every map.
    unsafe { Mmap::map(&file) }
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;

    const fn file(name: &'static str) -> File {
        File {
            name,
            length: 0,
            tail: 0,
        }
    }

    #[test]
    fn external_files_lie_beside_the_model() {
        let folder = std::env::temp_dir().join(format!("onnx-embed-open-{}", std::process::id()));
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join("renamed.onnx"), b"model").unwrap();
        fs::write(folder.join("data/weights.bin"), b"").unwrap();
        const TABLE: Table = Table {
            files: &[file("model.onnx"), file("data/weights.bin")],
            entries: &[],
            fixed: &[],
        };
        let lengths = TABLE.open(&folder.join("renamed.onnx"), |files| {
            Ok(files.iter().map(|file| file.len()).collect::<Vec<_>>())
        });
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(lengths.unwrap(), [5, 0]);
    }

    #[test]
    fn a_missing_file_is_named() {
        const TABLE: Table = Table {
            files: &[file("m.onnx")],
            entries: &[],
            fixed: &[],
        };
        let error = TABLE.open(Path::new("no/m.onnx"), |_| Ok(())).unwrap_err();
        assert!(error.to_string().starts_with("cannot read `no/m.onnx`: "));
    }
}
