//! A copy whose larger weights are in other files.

use std::path::Path;

use super::graph::{self, Changes, Edit, Initializer};
use super::shards::Shards;
use super::storage::{Data, Storage};
use super::{Copy, Create, Failure, Sharding, message};
use crate::files::Files;
use crate::proto::{GraphProto, OperatorSetIdProto, TensorProto};
use crate::read;

struct Externalize<'a> {
    storage: Storage<'a>,
}

/// Writes the initializers of more than 1 kB to aligned positions of other files, and returns the copy that refers to them.
/// Tensors that are in other files already move, too.
pub fn externalize<'a>(
    path: &Path,
    sharding: &Sharding,
    create: &'a mut Create<'a>,
) -> Result<Copy, Failure> {
    let files = Files::open(path, None)?;
    let model = read::decode(files.model())?;
    let mut edit = Externalize { storage: Storage::new(&files, Some(Shards::new(sharding, create))) };
    let copy = graph::copy(&files.model(), &model, &mut edit)?;
    let shards = edit.storage.shards.map(Shards::finish).transpose()?.unwrap_or_default();
    Ok(Copy { model: message(copy)?, shards })
}

impl Edit for Externalize<'_> {
    fn graph(&mut self, graph: &GraphProto) -> Result<Changes, Failure> {
        let mut changes = Changes::default();
        for (at, tensor) in graph.initializer.iter().enumerate() {
            if let Some(data) = self.storage.moved(tensor)? {
                changes.initializers.insert(at, Initializer::Stored(data));
            }
        }
        Ok(changes)
    }

    fn attribute(&mut self, tensor: &TensorProto) -> Result<Data, Failure> {
        super::storage::required(self.storage.moved(tensor)?, tensor)
    }

    fn opset(&self) -> Option<OperatorSetIdProto> {
        None
    }

    fn ir_version(&self) -> i64 {
        0
    }
}
