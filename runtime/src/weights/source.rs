//! Bytes of model files in memory or in open files.

use alloc::borrow::Cow;

use onnx_embed_kernels::stored::SharedBytes;

use super::ByteRange;
use super::fingerprint::fnv1a_behind;
#[cfg(feature = "std")]
use super::open::OpenFile;

/// Files of a model: the `.onnx` file, then its external data files.
///
/// Bytes of open files are read when a weight is loaded, never mapped: if another program truncates the file meanwhile,
/// that is an error instead of the end of the process.
#[derive(Clone, Copy)]
pub enum WeightSource<'a> {
    Memory(&'a [&'a [u8]]),
    /// Files that tensors read in place.
    Shared(&'a [SharedBytes]),
    #[cfg(feature = "std")]
    Open(&'a [OpenFile]),
}

/// Reason why bytes cannot be read.
pub type Unreadable = &'static str;

const OUTSIDE: Unreadable = "is outside its file";
/// Number of bytes that are hashed at once.
#[cfg(feature = "std")]
const CHUNK: usize = 64 << 10;

impl<'a> WeightSource<'a> {
    /// Returns the number of files.
    pub fn count(&self) -> usize {
        match self {
            WeightSource::Memory(files) => files.len(),
            WeightSource::Shared(files) => files.len(),
            #[cfg(feature = "std")]
            WeightSource::Open(files) => files.len(),
        }
    }

    /// Returns the length of a file in bytes.
    pub fn length(&self, file: usize) -> usize {
        match self {
            WeightSource::Memory(_) | WeightSource::Shared(_) => self.file(file).map_or(0, <[u8]>::len),
            #[cfg(feature = "std")]
            WeightSource::Open(files) => files.get(file).map_or(0, OpenFile::length),
        }
    }

    /// Returns the bytes of a file in memory.
    pub fn file(&self, file: usize) -> Option<&'a [u8]> {
        match self {
            WeightSource::Memory(files) => files.get(file).copied(),
            WeightSource::Shared(files) => files.get(file).map(|bytes| (**bytes).as_ref()),
            #[cfg(feature = "std")]
            WeightSource::Open(_) => None,
        }
    }

    /// Returns the bytes of a part.
    pub fn part(&self, part: &ByteRange) -> Result<Cow<'a, [u8]>, Unreadable> {
        match self {
            WeightSource::Memory(_) | WeightSource::Shared(_) => {
                let file = self.file(part.file).ok_or(OUTSIDE)?;
                let end = part.start.checked_add(part.length).ok_or(OUTSIDE)?;
                file.get(part.start..end).map(Cow::Borrowed).ok_or(OUTSIDE)
            }
            #[cfg(feature = "std")]
            WeightSource::Open(_) => {
                let end = part.start.checked_add(part.length);
                end.filter(|&end| end <= self.length(part.file)).ok_or(OUTSIDE)?;
                let mut bytes = alloc::vec![0; part.length];
                self.read(part, &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Copies the bytes of a part to `bytes`, which has the same length.
    pub fn read(&self, part: &ByteRange, bytes: &mut [u8]) -> Result<(), Unreadable> {
        match self {
            WeightSource::Memory(_) | WeightSource::Shared(_) => {
                let stored = self.part(part)?;
                if stored.len() != bytes.len() {
                    return Err(OUTSIDE);
                }
                bytes.copy_from_slice(&stored);
                Ok(())
            }
            #[cfg(feature = "std")]
            WeightSource::Open(files) => {
                let file = files.get(part.file).ok_or(OUTSIDE)?;
                file.read(part.start, bytes)
            }
        }
    }

    /// Continues the FNV-1a hash `before` with the bytes from `start` to `end`.
    pub fn hash(&self, file: usize, start: usize, end: usize, before: u64) -> Result<u64, Unreadable> {
        match self {
            WeightSource::Memory(_) | WeightSource::Shared(_) => {
                let bytes = self.file(file).and_then(|file| file.get(start..end));
                Ok(fnv1a_behind(before, bytes.unwrap_or_default()))
            }
            #[cfg(feature = "std")]
            WeightSource::Open(files) => {
                let open = files.get(file).ok_or(OUTSIDE)?;
                let mut buffer = alloc::vec::Vec::new();
                let (mut hash, mut at) = (before, start);
                while at < end {
                    buffer.resize(CHUNK.min(end - at), 0);
                    open.read(at, &mut buffer)?;
                    hash = fnv1a_behind(hash, &buffer);
                    at += buffer.len();
                }
                Ok(hash)
            }
        }
    }
}
