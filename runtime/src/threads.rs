//! Number of threads of a call.

/// Calls a function, in which kernels on a CPU use at most `count` threads, the caller's included.
///
/// Otherwise they use as many as the variable `RAYON_NUM_THREADS` says, else one for each processor that the process may use.
/// `count` may be more than these. Numbers above 256 and above the number of processors are lowered to the larger of both.
///
/// ```
/// use onnx_embed::{DynModel, Error, Values, with_threads};
///
/// fn answer(model: &dyn DynModel, inputs: Values) -> Result<Values, Error> {
///     with_threads(2, || model.run(inputs))
/// }
/// ```
///
/// The number is that of this thread: a future is to be polled inside of the function. The loops of Burn's
/// own, which run operators that have no kernel here over large tensors, use rayon's global pool whatever the
/// number; in a call from a thread of another rayon pool they use that pool, as kernels do.
pub fn with_threads<T>(count: usize, call: impl FnOnce() -> T) -> T {
    onnx_embed_kernels::threads::with(count, call)
}
