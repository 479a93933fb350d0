//! Col2Im: sums columns of windows into an image.

use alloc::vec;
use burn::tensor::{Tensor, kind::Numeric};

use crate::{
    convolution::window::Window,
    ensure,
    shape::{WithShape, reshape},
    sizes::{elements, product},
};

/// Adds the elements of each window of `[batch, channels * block, positions]` to the image at their pixels. `O` is `S + 2`.
///
/// # Panics
/// If the number of elements of the windows or of their positions does not fit, or the image exceeds the memory limit.
pub fn col2im<const S: usize, const O: usize, K: Numeric>(
    x: Tensor<3, K>,
    image: [usize; S],
    window: Window<S>,
) -> Tensor<O, K> {
    assert_eq!(O, S + 2, "rank of Col2Im's image");
    let [batch, rows, columns] = x.dims();
    let taps = product(&window.kernel);
    elements(&image, x.dtype().size());
    let positions = window.positions(image, false);
    ensure!(
        taps > 0 && rows % taps == 0 && positions.iter().product::<usize>() == columns,
        "expected a multiple of {taps} rows and a column for each of {positions:?} positions, found {rows} x \
         {columns}"
    );
    let channels = rows / taps;
    let mut shape = [0; O];
    (shape[0], shape[1]) = (batch, channels);
    shape[2..].copy_from_slice(&image);
    elements(&shape, x.dtype().size());
    if shape.contains(&0) || columns == 0 {
        return Tensor::zeros(shape, (&x.device(), x.dtype()));
    }
    // Taps and positions of each axis become pixels, one axis after the other.
    let (mut inner, mut done, mut ahead) = (taps, 1, columns);
    let mut y: Tensor<5, K> = x.with_shape([batch * channels, taps, 1, columns, 1]);
    for axis in 0..S {
        inner /= window.kernel[axis];
        ahead /= positions[axis];
        let sizes = [window.kernel[axis], inner * done, positions[axis], ahead];
        y = y.with_shape([batch * channels, sizes[0], sizes[1], sizes[2], sizes[3]]);
        y = accumulated(y, &window, axis, image[axis]);
        done *= image[axis];
    }
    reshape(y, shape)
}

/// Adds the elements of `[outer, taps, between, positions, inner]` to an axis of `size`, `[outer, 1, between, size, inner]`.
fn accumulated<const S: usize, K: Numeric>(
    x: Tensor<5, K>,
    window: &Window<S>,
    axis: usize,
    size: usize,
) -> Tensor<5, K> {
    let [outer, taps, between, positions, inner] = x.dims();
    let (stride, (begin, end)) = (window.strides[axis], window.pads[axis]);
    let padded = begin + size + end;
    let zeros = Tensor::<5, K>::zeros([outer, 1, between, padded, inner], (&x.device(), x.dtype()));
    let spread = match stride {
        1 => x.clone(),
        _ => {
            let separate = x.clone().with_shape([outer, taps * between, positions, 1, inner]);
            let gaps = [outer, taps * between, positions, stride - 1, inner];
            let gaps = Tensor::zeros(gaps, (&x.device(), x.dtype()));
            let spread = Tensor::cat(vec![separate, gaps], 3);
            spread.with_shape([outer, taps, between, positions * stride, inner])
        }
    };
    let reach = (positions - 1) * stride + 1;
    (0..taps)
        .map(|tap| {
            let before = tap * window.dilations[axis];
            let own = spread.clone().narrow(1, tap, 1).narrow(3, 0, reach);
            // Concatenation with zeros would be fused into a kernel that reads the elements before they are computed.
            let along = before..before + reach;
            let ranges = [0..outer, 0..1, 0..between, along, 0..inner];
            zeros.clone().slice_assign(ranges, own)
        })
        .reduce(|sum, part| sum + part)
        .expect("a block has elements")
        .narrow(3, begin, size)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};

    use super::*;
    use crate::testing::{float, has, indices, int, near, noise, same};

    fn agree<const S: usize, const O: usize>(image: [usize; S], window: Window<S>) {
        let positions = window.positions(image, false);
        let [taps, columns] = [window.kernel, positions].map(|sizes| sizes.iter().product());
        let [batch, channels]: [usize; 2] = [2, 3];
        let x = noise([columns, channels * taps, batch], 7).permute([2, 1, 0]);
        let values: Vec<f32> = x.to_data().try_to_vec().unwrap();
        let size: usize = image.iter().product();
        let mut expected = vec![0f32; batch * channels * size];
        for [plane, column] in indices([batch * channels, columns]) {
            let position = indices(positions).nth(column).unwrap();
            for (tap, at) in window.taps(image, position).into_iter().enumerate() {
                let Some(Some(at)) = at else { continue };
                let at = at.iter().zip(image).fold(0, |flat, (i, d)| flat * d + i);
                expected[plane * size + at] += values[(plane * taps + tap) * columns + column];
            }
        }
        let mut shape = [0; O];
        (shape[0], shape[1]) = (batch, channels);
        shape[2..].copy_from_slice(&image);
        let expected = TensorData::new(expected, shape);
        let y: Tensor<O> = col2im(x.clone(), image, window);
        near(y, expected.clone(), 1e-5);
        if has(DType::F64) {
            let wide: Tensor<O> = col2im(x.cast(DType::F64), image, window);
            near(wide.cast(DType::F32), expected, 1e-5);
        }
    }

    #[test]
    fn images_agree_with_the_definition() {
        agree::<1, 3>([7], Window::new([3]).strides([2]).pads([(1, 2)]));
        agree::<2, 4>([5, 6], Window::new([2, 3]));
        agree::<2, 4>([9, 8], Window::new([2, 3]).strides([3, 1]).dilations([2, 2]).pads([(0, 1), (2, 1)]));
        let window = Window::new([2, 1, 3]).strides([1, 2, 2]);
        agree::<3, 5>([4, 3, 7], window.pads([(1, 0), (0, 0), (1, 1)]));
    }

    #[test]
    fn integers_are_added() {
        let x = int::<3>([[[1u8, 2], [30, 40]]]);
        let y: Tensor<3, _> = col2im(x, [3], Window::new([2]));
        same(y, [[[1u8, 32, 40]]]);
        let x = int::<3>([[[i64::MAX, 2]]]);
        let y: Tensor<3, _> = col2im(x, [3], Window::new([1]).strides([2]));
        same(y, [[[i64::MAX, 0, 2]]]);
    }

    #[test]
    fn no_batch_gives_no_image() {
        let x = float::<3>(TensorData::new(Vec::<f32>::new(), [0, 4, 9]));
        let y: Tensor<4> = col2im(x, [4, 4], Window::new([2, 2]));
        assert_eq!(y.dims(), [0, 1, 4, 4]);
    }
}
