//! Files of other exporters in programs.
//!
//! A program that loads files of other exporters contains the files of its model without the bytes of large weights, and the
//! options ([`packed`](crate::emit::packed)). From these, the compiler makes the same graph again when such a file is loaded: it
//! reads no weight that is left out.

use std::path::PathBuf;

use bytes::Bytes;

use super::{Adapted, Obstacle, adapted, load_as};
use crate::emit::Item;
use crate::emit::packed::Packed;
use crate::files::Given;
use crate::options::Options;
use crate::read;

/// Files and options that a program was compiled from, with zeros for the weights that were left out.
#[derive(Debug)]
pub struct Compiled {
    files: Vec<(PathBuf, Bytes)>,
    options: Options,
}

impl Compiled {
    /// Reads what a program contains.
    pub fn read(packed: &'static [u8]) -> Option<Self> {
        let packed = Packed::read(packed)?;
        let options = packed.options()?;
        let files = packed.files.into_iter().map(|file| {
            let mut bytes = vec![0; usize::try_from(file.length).ok()?];
            for part in file.parts {
                let start = usize::try_from(part.start).ok()?;
                let target = bytes.get_mut(start..start.checked_add(part.bytes.len())?)?;
                target.copy_from_slice(&part.bytes);
            }
            Some((PathBuf::from(file.name), Bytes::from(bytes)))
        });
        Some(Compiled { files: files.collect::<Option<_>>()?, options })
    }

    /// Returns the number of bytes of all files.
    pub fn length(&self) -> usize {
        self.files.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Returns the files with the weights of another model.
    pub fn with_weights(&self, other: &Given) -> Result<Adapted, Obstacle> {
        let options = &self.options;
        let untyped = read::read_given(&self.own(), options).map_err(Obstacle::First)?;
        let first = crate::prepare(untyped, options, &mut |_| ()).map_err(Obstacle::First)?;
        let item = Item::model(String::new());
        adapted(&first, &item, options, |first| {
            load_as(first, options, &|options| read::read_given(other, options))
        })
    }

    fn own(&self) -> Given {
        let files = self.files.clone();
        let model = files.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default();
        Given::new(model, move |name| {
            let found = files.iter().skip(1).find(|(own, _)| own == name);
            found.map(|(_, bytes)| bytes.clone()).ok_or_else(|| "it is no file of the model".to_owned())
        })
    }
}
