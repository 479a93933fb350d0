//! Resize to nearest neighbors: rows and columns of planes, in any number.

use burn::backend::{TensorMetadata, flex::FlexTensor};

use super::{Word, by_words, dense, dense_words, filled};
use crate::flex::{
    memory::{write_each, write_repeated},
    plan::threads_reading,
    simd::InstructionSet,
    window::{Planes, by_bands},
};

/// Returns the elements of planes (the last two axes) at these rows and columns, `None` if one is out of bounds.
pub fn picked_planes(x: FlexTensor, rows: &[usize], columns: &[usize]) -> Option<FlexTensor> {
    let x = dense(x);
    by_words!(x.dtype(), picked(&x, rows, columns))
}

fn picked<T: Word>(x: &FlexTensor, rows: &[usize], columns: &[usize]) -> Option<FlexTensor> {
    let (words, mut shape) = (dense_words::<T>(x)?, x.shape());
    let rank = shape.num_dims();
    let [high, wide] = [shape[rank - 2], shape[rank - 1]];
    let is_within = |places: &[usize], size: usize| places.iter().all(|place| *place < size);
    if !is_within(rows, high) || !is_within(columns, wide) {
        return None;
    }
    shape[rank - 2] = rows.len();
    shape[rank - 1] = columns.len();
    let (length, plane) = (shape.num_elements(), rows.len() * columns.len());
    if length == 0 {
        return None;
    }
    let times = repeats(columns, wide);
    let planes = Planes::new(length / plane, [1, rows.len(), columns.len()]);
    let threads = threads_reading(0, length * size_of::<T>());
    let filled = filled(shape, x.dtype(), |out| {
        by_bands(out, InstructionSet::best(), planes, threads, |at, band, out| {
            let words = &words[at * high * wide..][..high * wide];
            let band = &rows[band];
            let out = out.reshaped(band.len(), columns.len());
            out.write_after(|at, before, out| {
                if at > 0 && band[at] == band[at - 1] {
                    return out.write_copy_of_slice(&before[(at - 1) * columns.len()..]);
                }
                let words = &words[band[at] * wide..][..wide];
                match times {
                    Some(1) => out.write_copy_of_slice(words),
                    Some(2) => write_repeated::<T, 2>(out, words),
                    Some(4) => write_repeated::<T, 4>(out, words),
                    Some(8) => write_repeated::<T, 8>(out, words),
                    _ => write_each(out, columns, |column| words[column]),
                }
            })
        })
    });
    Some(filled)
}

/// Returns the number of repetitions of each column, if all are repeated equally often and in order.
fn repeats(columns: &[usize], wide: usize) -> Option<usize> {
    let times = columns.len() / wide;
    let mut places = columns.iter().enumerate();
    (columns.len() == times * wide && places.all(|(at, column)| *column == at / times)).then_some(times)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Int, Tensor, kind::Basic};

    use crate::backend::{of_flex, on_flex};
    use crate::testing::{device, noise, same};

    fn check<const D: usize, K: Basic>(x: Tensor<D, K>, rows: &[usize], columns: &[usize]) {
        let Some(flex) = on_flex(&x) else { return };
        let y = super::picked_planes(flex, rows, columns).unwrap();
        let places = |places: &[usize]| {
            let places: Vec<i64> = places.iter().map(|place| *place as i64).collect();
            Tensor::<1, Int>::from_data(places.as_slice(), &device())
        };
        let expected = x.select(D - 2, places(rows)).select(D - 1, places(columns));
        same(of_flex::<D, K>(y), expected.into_data());
    }

    #[test]
    fn rows_and_columns_are_picked() {
        let times = |size: usize, times: usize| (0..size * times).map(|at| at / times).collect();
        let all: [(Vec<usize>, Vec<usize>); 6] = [
            (times(5, 2), times(6, 2)),
            (times(5, 1), times(6, 4)),
            (times(5, 3), times(6, 8)),
            (times(5, 3), times(6, 3)),
            (vec![0, 4], vec![5, 0, 0, 1]),
            (vec![3], vec![2]),
        ];
        for (rows, columns) in all {
            let x = noise::<4>([2, 3, 5, 6], 1);
            check(x.clone(), &rows, &columns);
            check(noise::<4>([2, 6, 5, 3], 2).swap_dims(1, 3), &rows, &columns);
            check((x.clone() * 99.0).int().cast(DType::U8), &rows, &columns);
            check(x.cast(DType::F64), &rows, &columns);
        }
        let rows: Vec<usize> = (0..180).map(|at| at / 2).collect();
        check(noise::<3>([7, 90, 90], 3), &rows, &rows);
    }

    #[test]
    fn places_outside_are_refused() {
        let Some(flex) = on_flex(&noise::<2>([3, 4], 1)) else {
            return;
        };
        assert!(super::picked_planes(flex.clone(), &[3], &[0]).is_none());
        assert!(super::picked_planes(flex, &[0], &[4]).is_none());
    }
}
