pub mod arith;
pub mod broadcast;
pub mod cast;
pub mod conv;
pub mod dtype;
pub mod normalize;
pub mod pool;
pub mod shape;
pub mod window;
#[cfg(test)]
mod testing;
mod widen;
mod kind;
