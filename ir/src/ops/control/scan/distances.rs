//! Nearest neighbors that are written as a Scan.

use super::{BODY, Scan};
use crate::dtype::DType;
use crate::emit::Emit;
use crate::graph::ValueId;
use crate::types::Type;

/// Returns the input of points and the other rows if the body computes the squared distances of each point from all
/// rows. scikit-learn's exporter writes nearest neighbors this way; one iteration for each point is many times slower.
pub fn operands(scan: &Scan, cx: &Emit<'_, '_>) -> Option<(usize, ValueId)> {
    let is_plain = |list: &[Vec<i64>; 2]| list.iter().flatten().all(|&number| number == 0);
    let block = cx.block(BODY).ok()?;
    let ([point], [result]) = (block.inputs.as_slice(), block.outputs.as_slice()) else {
        return None;
    };
    let [difference, sum] = block.nodes.as_slice() else {
        return None;
    };
    if scan.flow.batched || !is_plain(&scan.inputs) || !is_plain(&scan.outputs) {
        return None;
    }
    let others = match difference.inputs.as_slice() {
        [Some(a), Some(b)] if a == point => *b,
        [Some(a), Some(b)] if b == point => *a,
        _ => return None,
    };
    let is_chain = &*difference.kind == "Sub"
        && &*sum.kind == "ReduceSumSquare"
        && sum.input(0) == difference.output(0)
        && sum.output(0) == Some(*result);
    let dims = |id: ValueId| match cx.type_of(id).ok()? {
        Type::Tensor(ty) if matches!(ty.dtype, DType::F32 | DType::F64) => Some(&ty.shape),
        _ => None,
    };
    let (point, rows, result) = (dims(*point)?, dims(others)?, dims(*result)?);
    let ([features], [count, each], [results]) = (&**point, &**rows, &**result) else {
        return None;
    };
    // Otherwise, the squares may be summed along the rows.
    let is_by_row = results == count && count != each;
    (is_chain && is_by_row && features == each).then_some((0, others))
}
