//! Model files on disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::source::{Unreadable, WeightSource};
use super::{Table, signed};
use crate::Error;

/// Maximum number of bytes of a signature, which has two comments.
pub const LONGEST_SIGNATURE: usize = 4096;

/// An open regular file.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    length: usize,
}

impl Table {
    /// Runs `load` on the model file at `path` and its external data files in the same folder. If there is a key, they must
    /// be signed.
    pub fn open<T>(
        &self,
        path: &Path,
        key: Option<&str>,
        load: impl FnOnce(WeightSource<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let open = |index: usize| {
            let own = self.path(index, path);
            let opened = match index {
                0 => OpenFile::model(&own),
                _ => OpenFile::external(&own, path),
            };
            opened.map_err(|error| Error::File { path: own, error })
        };
        let files = (0..self.files.len()).map(open).collect::<Result<Vec<_>, _>>()?;
        let loaded = match key {
            Some(key) => self.signed(&files, key, path).and_then(|files| {
                let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
                load(WeightSource::Memory(&files))
            }),
            None => load(WeightSource::Open(&files)),
        };
        loaded.map_err(|error| {
            let index = match &error {
                Error::FileLength { file, .. }
                | Error::FileDiffers { file, .. }
                | Error::Signature { file, .. } => self.files.iter().position(|own| own.name == *file),
                Error::WeightDiffers { .. } | Error::BadWeight { .. } => Some(0),
                _ => None,
            };
            match index {
                Some(index) => Error::AtPath { path: self.path(index, path), error: Box::new(error) },
                None => error,
            }
        })
    }

    /// Returns the bytes of files whose signatures were checked.
    fn signed(&self, files: &[OpenFile], key: &str, path: &Path) -> Result<Vec<Vec<u8>>, Error> {
        let read = |(index, file): (usize, &OpenFile)| {
            let expected = &self.files[index];
            if file.length != expected.length {
                let (file, expected, found) = (expected.name, expected.length, file.length);
                return Err(Error::FileLength { file, expected, found });
            }
            let beside = signature_of(&self.path(index, path));
            let signature = OpenFile::model(&beside).and_then(|file| file.all(LONGEST_SIGNATURE));
            let signature = signature.map_err(|error| Error::File { path: beside, error })?;
            let bytes = file.all(file.length);
            let bytes = bytes.map_err(|error| Error::File { path: self.path(index, path), error })?;
            signed::verify(expected.name, key, &bytes, &signature)?;
            Ok(bytes)
        };
        files.iter().enumerate().map(read).collect()
    }

    /// Returns the path of a file of the model at `path`.
    fn path(&self, index: usize, path: &Path) -> PathBuf {
        match self.files.get(index) {
            Some(file) if index > 0 => path.with_file_name(file.name),
            _ => path.to_path_buf(),
        }
    }
}

/// Returns the path of a file's signature.
pub fn signature_of(path: &Path) -> PathBuf {
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(".minisig");
    PathBuf::from(beside)
}

impl OpenFile {
    /// Opens the model file, which may be a link, because the caller specified it.
    pub fn model(path: &Path) -> io::Result<Self> {
        Self::open(path, true)
    }

    /// Opens an external data file. It may be a link to a file in the folder of `model` or, if `model` is a link
    /// itself, in the folder of its target, as in download caches.
    pub fn external(path: &Path, model: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let folder = match model.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.canonicalize()?,
            _ => Path::new(".").canonicalize()?,
        };
        let target = model.canonicalize()?;
        let folders = [Some(folder.as_path()), target.parent()];
        if !folders.into_iter().flatten().any(|folder| real.starts_with(folder)) {
            return Err(io::Error::other("it is a link to a file outside the model's folder"));
        }
        Self::open(&real, false)
    }

    /// Opens a regular file, no pipe or device.
    fn open(path: &Path, follow: bool) -> io::Result<Self> {
        // Pipes and devices are not even opened.
        plain(&fs::metadata(path)?)?;
        let file = open_file(path, follow)?;
        let metadata = file.metadata()?;
        // The name may refer to another file since the check.
        plain(&metadata)?;
        let length = usize::try_from(metadata.len()).map_err(io::Error::other)?;
        Ok(OpenFile { file, length })
    }

    /// Returns all bytes; a file that has more than `most` is an error.
    pub fn all(&self, most: usize) -> io::Result<Vec<u8>> {
        if self.length > most {
            return Err(io::Error::other("it is too long"));
        }
        let mut bytes = vec![0; self.length];
        read_at(&self.file, &mut bytes, 0)?;
        Ok(bytes)
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// Fills `bytes` with the bytes of the file from `start` on.
    pub fn read(&self, start: usize, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let read = read_at(&self.file, bytes, start as u64);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "is truncated: the file became shorter while it was read",
            _ => "cannot be read from its file",
        })
    }
}

fn plain(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    if metadata.is_file() { Ok(()) } else { Err(io::Error::other("it is not a file")) }
}

fn open_file(path: &Path, follow: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe would wait for a writer.
        let links = if follow { 0 } else { libc::O_NOFOLLOW };
        options.custom_flags(libc::O_NONBLOCK | links);
    }
    #[cfg(not(unix))]
    let _ = follow;
    options.open(path)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

/// Changes the position of the file, which no other read depends on.
#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    use std::io::{Read, Seek};
    file.seek(io::SeekFrom::Start(start))?;
    file.read_exact(bytes)
}

#[cfg(test)]
mod tests;
