//! Means of integers.

use burn::tensor::{DType, Int, IntDType, Tensor};

use super::reduce_sum;
use crate::dtype::lowered;

/// Returns the mean of at least one element, truncated toward zero.
///
/// The sum of 32-bit integers fits 64 bits. For other widths each element is divided first: the sums of quotients and of
/// remainders fit, unless there are more elements than the square root of the largest integer.
pub fn of_integers<const D: usize, const O: usize>(x: Tensor<D, Int>, axes: &[usize]) -> Tensor<O, Int> {
    let (dims, dtype) = (x.dims(), x.dtype());
    let count: usize = axes.iter().map(|&axis| dims[axis]).product();
    let count = count as i64;
    let wide = lowered(&x.device(), DType::I64);
    if dtype.size() < wide.size() {
        let sum: Tensor<O, Int> = reduce_sum(x.cast(IntDType::from(wide)), axes);
        return sum.div_scalar(count).cast(IntDType::from(dtype));
    }
    let quotients = x.clone().div_scalar(count);
    let remainders = x.sub(quotients.clone().mul_scalar(count));
    let whole: Tensor<O, Int> = reduce_sum(quotients, axes);
    let rest: Tensor<O, Int> = reduce_sum(remainders, axes);
    let more = rest.clone().div_scalar(count);
    let rest = rest.sub(more.clone().mul_scalar(count));
    let mean = whole.add(more);
    if dtype.is_uint() {
        return mean;
    }
    // A remainder of the other sign reduces the magnitude.
    let is_less = mean.clone().greater_scalar(0).bool_and(rest.clone().lower_scalar(0));
    let is_more = mean.clone().lower_scalar(0).bool_and(rest.greater_scalar(0));
    let mean = mean.clone().mask_where(is_less, mean.sub_scalar(1));
    mean.clone().mask_where(is_more, mean.add_scalar(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{has, int, same};

    #[test]
    fn sums_beyond_the_dtype_have_means_in_it() {
        let x = int::<1>([i32::MAX, i32::MAX, 3]);
        same(of_integers::<1, 1>(x, &[0]), [1_431_655_765i32]);
        let x = int::<1>([i32::MIN, i32::MIN]);
        same(of_integers::<1, 1>(x, &[0]), [i32::MIN]);
        if !has(DType::U64) {
            return;
        }
        let (least, most) = (i64::MIN, i64::MAX);
        let x = int::<2>([[most, most, 3], [least, least, -1], [most, -5, -5], [least, 5, 5], [-7, 2, 2]]);
        let expected = [
            6_148_914_691_236_517_205i64,
            -6_148_914_691_236_517_205,
            3_074_457_345_618_258_599,
            -3_074_457_345_618_258_599,
            -1,
        ];
        same(of_integers::<2, 1>(x, &[1]), expected);
        let x = int::<1>([u64::MAX, u64::MAX, 4]);
        same(of_integers::<1, 1>(x, &[0]), [u64::MAX / 3 * 2 + 1]);
        same(of_integers::<1, 1>(int([200u8, 255, 255]), &[0]), [236u8]);
    }
}
