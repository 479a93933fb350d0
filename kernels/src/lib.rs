pub mod cast;
pub mod conv;
pub mod dtype;
pub mod normalize;
pub mod pool;
pub mod window;
#[cfg(test)]
mod testing;
mod widen;
