//! Lists of attributes as weights.

use super::Files;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::proto::{Elements, List, Run};
use crate::weight::{ByteRange, Encoding, Weight};

impl Files {
    /// Returns the location of the elements of an attribute's list.
    pub fn stored(&self, list: &List) -> Result<Weight, Problem> {
        let model = self.model();
        let base = model.as_ptr() as usize;
        let packed = list.runs().iter().any(|run| run.packed);
        let dtype = match &list.elements {
            Elements::Floats(_) => DType::F32,
            Elements::Ints(_) => DType::I64,
            Elements::Strings(_) => DType::String,
        };
        let part = |run: &Run| {
            let start = run.start.checked_sub(base)?;
            let bytes = model.get(start..run.end.checked_sub(base)?)?;
            let starts = bytes.first() == Some(&list.key());
            (run.packed == packed && (packed || starts)).then(|| ByteRange {
                file: 0,
                start,
                bytes: model.slice_ref(bytes),
            })
        };
        let parts: Option<Vec<ByteRange>> = list.runs().iter().map(part).collect();
        let parts = parts.ok_or_else(|| {
            Problem::new("the encoding of a list attribute is not supported")
                .help("save the model again with a current version of the onnx package")
        })?;
        let encoding = match (packed, dtype) {
            (false, _) => Encoding::Records,
            (true, DType::F32) => Encoding::Raw,
            (true, _) => Encoding::Varint,
        };
        Ok(Weight { dtype, sizes: vec![list.len()], encoding, parts })
    }
}
