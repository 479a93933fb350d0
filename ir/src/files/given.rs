//! Files that the caller reads.

use std::fmt;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;

/// A model in memory, and a function that reads its external data.
#[derive(Clone)]
pub struct Given {
    model: Bytes,
    read: Rc<Read>,
}

/// Returns the bytes of the file at a path relative to the folder of the model, or why they cannot be read.
type Read = dyn Fn(&Path) -> Result<Bytes, String>;

impl Given {
    /// `read` gets paths without `..`, each once for every time that the model is read.
    pub fn new(model: Bytes, read: impl Fn(&Path) -> Result<Bytes, String> + 'static) -> Self {
        Given { model, read: Rc::new(read) }
    }

    /// Returns the bytes of the model.
    pub fn model(&self) -> Bytes {
        self.model.clone()
    }

    pub(super) fn external(&self, name: &Path) -> Result<Bytes, String> {
        (self.read)(name)
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("model", &self.model.len()).finish_non_exhaustive()
    }
}
