//! `com.microsoft.WordConvEmbedding`: embeddings of words by convolutions over their characters.

use burn::tensor::{Bool, Int, Tensor};

use crate::{
    attempt::nonnegative,
    elementwise::elementary::tanh,
    ensure,
    index::gather::gather_nonnegative,
    product::matmul::product,
    shape::{WithShape, expand::to_shape},
    spec::indices::Axis,
};

/// Returns `[words, filters]`: for each filter the maximum of a convolution over the characters of a word.
///
/// `characters` is `[words, length]`, padded with codes of 0 or less; `weight` is `[filters, 1, width, features]`, and `table`
/// `[codes, features]`. A word that starts with padding has no characters, and its row is 0.
#[inline(never)]
pub fn word_conv_embedding(
    characters: Tensor<2, Int>,
    weight: Tensor<4>,
    bias: Tensor<1>,
    table: Tensor<2>,
) -> Tensor<2> {
    let [words, length] = characters.dims();
    let [filters, channels, width, features] = weight.dims();
    ensure!(
        channels == 1 && bias.dims() == [filters] && table.dims()[1] == features,
        "expected a weight that matches the bias and the table, found shapes {:?}, {:?} and {:?}",
        weight.dims(),
        bias.dims(),
        table.dims()
    );
    ensure!(
        0 < width && width <= length && features > 0,
        "expected a weight with features and a width from 1 to the number of characters, found shapes {:?} \
         and {:?}",
        weight.dims(),
        characters.dims()
    );
    let device = &characters.device();
    if words == 0 || filters == 0 {
        return Tensor::zeros([words, filters], (device, weight.dtype()));
    }
    let positions = length - width + 1;
    let is_letter = characters.clone().greater_elem(0);
    let is_empty = is_letter.clone().slice([0..words, 0..1]).bool_not();
    // A short word is padded to the width of the filters.
    let used = is_letter.int().sum_dim(1).clamp_min(width as i64);
    let beyond = |count: usize, offset: usize| -> Tensor<2, Bool> {
        let ends = Tensor::<1, Int>::arange(offset as i64..(count + offset) as i64, device);
        let ends = ends.cast(used.dtype()).with_shape([1, count]);
        let used = to_shape(used.clone(), [words, count]);
        to_shape(ends, [words, count]).greater_equal(used)
    };
    let codes = characters.mask_fill(beyond(length, 0), 0);
    let axis = Axis { number: 0, size: table.dims()[0] };
    let x: Tensor<3> = gather_nonnegative(table, 0, nonnegative(codes, axis));
    let taps = (0..width).map(|tap| x.clone().slice([0..words, tap..tap + positions]));
    let windows = Tensor::cat(taps.collect(), 2).with_shape([words * positions, width * features]);
    let weight = weight.with_shape([filters, width * features]).transpose();
    let sums = product(windows, weight).add(bias.with_shape([1, filters]));
    let values = tanh(sums).with_shape([words, positions, filters]);
    let hidden = beyond(positions, width - 1).with_shape([words, positions, 1]);
    // Less than any hyperbolic tangent.
    let values = values.mask_fill(to_shape(hidden, [words, positions, filters]), -2.0);
    let largest = values.max_dim(1).with_shape([words, filters]);
    largest.mask_fill(to_shape(is_empty, [words, filters]), 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attempt::attempt, testing::device};

    fn embedded(characters: &[[i32; 4]]) -> Vec<f32> {
        let device = &device();
        let rows = characters.iter().flatten().map(|&code| i64::from(code));
        let rows: Vec<i64> = rows.collect();
        let characters = Tensor::<1, Int>::from_ints(rows.as_slice(), device);
        let characters = characters.reshape([rows.len() / 4, 4]);
        // The sum and the difference of two adjacent characters.
        let weight = Tensor::<1>::from_floats([1.0, 1.0, 1.0, -1.0], device);
        let bias = Tensor::from_floats([0.0, 0.5], device);
        let table = Tensor::from_floats([[0.25], [1.0], [-1.0], [0.5]], device);
        let y = word_conv_embedding(characters, weight.reshape([2, 1, 2, 1]), bias, table);
        y.into_data().try_to_vec().unwrap()
    }

    fn tanh(values: &[f32]) -> Vec<f32> {
        values.iter().map(|value| value.tanh()).collect()
    }

    #[test]
    fn the_largest_of_the_windows_counts() {
        let close = |found: Vec<f32>, expected: Vec<f32>| {
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
            assert!(
                found.len() == expected.len() && found.iter().zip(&expected).all(near),
                "{found:?} {expected:?}"
            );
        };
        // 1, -1, 0.5: the sums are 0 and -0.5, the differences 2.5 and -1.
        close(embedded(&[[1, 2, 3, 0]]), tanh(&[0.0, 2.5]));
        // One character and the padding, whose code has an embedding too.
        close(embedded(&[[1, 0, 0, 0]]), tanh(&[1.25, 1.25]));
        // Padding may be negative; a word that starts with it is empty.
        close(embedded(&[[1, 3, -1, -5], [0, 1, 1, 1]]), [tanh(&[1.5, 1.0]), vec![0.0, 0.0]].concat());
    }

    #[test]
    fn codes_are_rows_of_the_table() {
        for (characters, code) in [([1, 4, 0, 0], 4), ([1, -1, 2, 0], -1), ([i32::MAX, 1, 1, 1], i32::MAX)] {
            let y = attempt(|| embedded(&[characters]));
            let reason = format!("index {code} is out of bounds for axis 0 of size 4");
            assert_eq!(y.map_err(|fault| fault.reason).err(), Some(reason));
        }
    }
}
