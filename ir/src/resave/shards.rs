//! Files of external data.

use std::io::{self, BufWriter, Write};

use bytes::Bytes;

use super::{Create, Shard, Sharding};

/// Writes tensors to files, one after another.
pub(super) struct Shards<'a> {
    sharding: Sharding,
    create: &'a mut Create<'a>,
    open: Option<BufWriter<Box<dyn Write>>>,
    written: Vec<Shard>,
}

/// Location of a tensor in a file of external data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub file: String,
    pub offset: u64,
    pub length: u64,
}

/// Bytes of a line of a cache, the alignment of small tensors.
const LINE: u64 = 64;
/// Largest page of common systems, the alignment of large tensors: Windows maps files at multiples of it.
const PAGE: u64 = 64 << 10;
/// Number of bytes of tensors that begin with a page. The padding takes less than 6% of them.
const LARGE: u64 = 1 << 20;

impl<'a> Shards<'a> {
    pub fn new(sharding: &Sharding, create: &'a mut Create<'a>) -> Self {
        Self { sharding: sharding.clone(), create, open: None, written: Vec::new() }
    }

    /// Writes a tensor, which consists of these parts.
    pub fn add(&mut self, parts: &[Bytes]) -> io::Result<Location> {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let alignment = if length >= LARGE { PAGE } else { LINE };
        let position = self.written.last().map_or(0, |shard| shard.bytes);
        let offset = position.next_multiple_of(alignment);
        let is_full = offset.saturating_add(length) > self.sharding.most && position > 0;
        if self.open.is_none() || is_full {
            self.start()?;
        }
        let (Some(open), Some(shard)) = (&mut self.open, self.written.last_mut()) else {
            return Err(io::Error::other("no file is open"));
        };
        let offset = shard.bytes.next_multiple_of(alignment);
        let zeros = [0; LINE as usize];
        let mut padding = offset.saturating_sub(shard.bytes);
        while padding > 0 {
            let count = padding.min(LINE);
            open.write_all(zeros.get(..usize::try_from(count).unwrap_or_default()).unwrap_or_default())?;
            padding -= count;
        }
        for part in parts {
            open.write_all(part)?;
        }
        shard.bytes = offset.saturating_add(length);
        shard.tensors += 1;
        Ok(Location { file: shard.name.clone(), offset, length })
    }

    /// Ends the last file, and returns all.
    pub fn finish(mut self) -> io::Result<Vec<Shard>> {
        if let Some(mut open) = self.open.take() {
            open.flush()?;
        }
        Ok(self.written)
    }

    fn start(&mut self) -> io::Result<()> {
        if let Some(mut open) = self.open.take() {
            open.flush()?;
        }
        let name = match self.written.len() {
            0 => self.sharding.name.clone(),
            number => format!("{}.{number}", self.sharding.name),
        };
        self.open = Some(BufWriter::with_capacity(1 << 20, (self.create)(&name)?));
        self.written.push(Shard { name, bytes: 0, tensors: 0 });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::*;

    type Folder = Rc<RefCell<BTreeMap<String, Vec<u8>>>>;

    struct InFolder(Folder, String);

    impl Write for InFolder {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().get_mut(&self.1).unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn tensors_are_aligned_and_files_end_before_their_limit() {
        let folder = Folder::default();
        let mut create = |name: &str| -> io::Result<Box<dyn Write>> {
            folder.borrow_mut().insert(name.to_owned(), Vec::new());
            Ok(Box::new(InFolder(folder.clone(), name.to_owned())))
        };
        let mut shards = Shards::new(&Sharding { name: "d".to_owned(), most: 3 << 20 }, &mut create);
        let mut add = |parts: &[usize]| {
            let parts: Vec<Bytes> = parts.iter().map(|&length| vec![7; length].into()).collect();
            let Location { file, offset, length } = shards.add(&parts).unwrap();
            (file, offset, length)
        };
        assert_eq!(add(&[3, 2]), ("d".to_owned(), 0, 5));
        assert_eq!(add(&[100]), ("d".to_owned(), 64, 100));
        assert_eq!(add(&[2 << 20]), ("d".to_owned(), 65536, 2 << 20));
        assert_eq!(add(&[2 << 20]), ("d.1".to_owned(), 0, 2 << 20));
        // Larger than a file may be: alone in one.
        assert_eq!(add(&[4 << 20]), ("d.2".to_owned(), 0, 4 << 20));
        assert_eq!(add(&[1]), ("d.3".to_owned(), 0, 1));
        let written = shards.finish().unwrap();
        for shard in &written {
            assert_eq!(folder.borrow()[&shard.name].len() as u64, shard.bytes);
        }
        assert_eq!(written.len(), 4);
        assert_eq!(folder.borrow()["d"][..8], [7, 7, 7, 7, 7, 0, 0, 0]);
        assert!(folder.borrow()["d"][164..65536].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_file_that_cannot_be_created_is_an_error() {
        let mut create = |_: &str| -> io::Result<Box<dyn Write>> { Err(io::Error::other("no space")) };
        let mut shards = Shards::new(&Sharding { name: "d".to_owned(), most: 1 }, &mut create);
        assert_eq!(shards.add(&[Bytes::from_static(b"1")]).unwrap_err().to_string(), "no space");
        assert_eq!(shards.finish().unwrap(), []);
    }
}
