//! Reductions along axes.

pub mod arg_max;
pub mod cumulative;
mod mean;
mod reduction;
pub(crate) mod sum;

pub use reduction::{
    reduce_int, reduce_l1, reduce_l2, reduce_log_sum, reduce_log_sum_exp, reduce_max, reduce_mean,
    reduce_min, reduce_prod, reduce_sum, reduce_sum_square,
};
