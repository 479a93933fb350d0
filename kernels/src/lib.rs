pub mod activation;
pub mod arith;
pub mod broadcast;
pub mod cast;
pub mod conv;
pub mod conv_transpose;
pub mod cumulative;
pub mod depth;
pub mod dtype;
pub mod extreme;
pub mod gather;
pub mod grid_sample;
pub mod normalize;
pub mod pool;
pub mod recurrent;
pub mod reduce;
pub mod resize;
pub mod scatter;
pub mod select;
pub mod shape;
pub mod softmax;
pub mod window;
#[cfg(test)]
mod testing;
mod widen;
mod kind;
#[cfg(test)]
mod native;
