//! Indices of true conditions compared with the host.

use burn::tensor::{Bool, Tensor, TensorData};

use crate::index::select::{compress, nonzero};
use crate::testing::{bool, int, noise, on_each, same, with_launches, with_reads};

fn agree<const D: usize>(condition: Tensor<D, Bool>) {
    let dims = condition.dims();
    let values: Vec<bool> = condition.to_data().iter::<bool>().collect();
    let indices: Vec<usize> = (0..values.len()).filter(|&at| values[at]).collect();
    let mut expected = Vec::new();
    let mut after = values.len();
    for size in dims {
        after /= size.max(1);
        expected.extend(indices.iter().map(|index| (index / after.max(1) % size.max(1)) as i64));
    }
    same(nonzero(condition), TensorData::new(expected, [D, indices.len()]));
}

fn some<const D: usize>(shape: [usize; D], above: f32) -> Tensor<D, Bool> {
    noise::<D>(shape, 3).greater_scalar(above)
}

#[test]
fn indices_of_true_conditions() {
    on_each(|| {
        for size in [1, 65, 1025, 5000] {
            for above in [-2.0, 0.0, 2.0] {
                agree(some([size], above));
            }
            agree(some([size, 3], 0.3));
            agree(some([2, size, 3], 0.3).permute([2, 0, 1]));
        }
        agree(some([3, 7, 5], 0.0).slice([1..3, 2..7, 0..4]));
        agree(bool::<2>(TensorData::new(Vec::<bool>::new(), [0, 3])));
    });
}

#[test]
fn slices_with_true_conditions() {
    on_each(|| {
        let values: Vec<i32> = (0..3000).collect();
        let x = int::<2>(TensorData::new(values, [1500, 2]));
        let condition = some([1500], 0.0);
        let kept: Vec<bool> = condition.to_data().iter::<bool>().collect();
        let kept = (0..1500).filter(|&at| kept[at]);
        let expected: Vec<i32> = kept.flat_map(|at| [2 * at as i32, 2 * at as i32 + 1]).collect();
        let shape = [expected.len() / 2, 2];
        same(compress(x, 0, condition), TensorData::new(expected, shape));
    });
}

#[test]
fn indices_take_a_few_launches() {
    on_each(|| {
        let condition = some([3, 4, 5], 0.0);
        let _ = condition.clone().into_data();
        // Conversion to integers, prefix counts, compaction, and coordinates.
        let run = || nonzero(condition).into_data();
        with_reads(1, || with_launches(5, run));
    });
}
