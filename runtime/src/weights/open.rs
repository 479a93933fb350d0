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
        let paths = (0..self.files.len()).map(|place| self.path(place, path));
        let maps = paths.map(open).collect::<Result<Vec<_>, _>>()?;
        let files: Vec<&[u8]> = maps.iter().map(|map| &map[..]).collect();
        load(&files).map_err(|error| {
            let place = match &error {
                Error::FileLength { file, .. } | Error::FileDiffers { file, .. } => {
                    self.files.iter().position(|own| own.name == *file)
                }
                Error::WeightDiffers { .. } | Error::BadWeight { .. } => Some(0),
                _ => None,
            };
            match place {
                Some(place) => Error::AtPath {
                    path: self.path(place, path),
                    error: Box::new(error),
                },
                None => error,
            }
        })
    }

    /// Where a file of the model at `path` is.
    fn path(&self, place: usize, path: &Path) -> PathBuf {
        match self.files.get(place) {
            Some(file) if place > 0 => path.with_file_name(file.name),
            _ => path.to_path_buf(),
        }
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
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder",
        ));
    }
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

    #[test]
    fn the_path_that_was_given_is_named() {
        const TABLE: Table = Table {
            files: &[file("m.onnx")],
            entries: &[],
            fixed: &[],
        };
        let folder = std::env::temp_dir().join(format!("onnx-embed-other-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("other.onnx"), b"other").unwrap();
        let message = |path: &Path| {
            let opened = TABLE.open(path, |files| TABLE.check(files));
            let message = opened.unwrap_err().to_string();
            message.replace(&folder.display().to_string(), "/data")
        };
        let messages = [message(&folder.join("other.onnx")), message(&folder)];
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            messages,
            [
                "`/data/other.onnx` is not the model that was compiled (`m.onnx`): 5 bytes, not 0; export \
                 with the same exporter and opset, or compile again",
                "cannot read `/data`: it is a folder"
            ]
        );
    }
}
