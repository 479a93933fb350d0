//! Number of threads of a call.

/// Calls a function whose kernels on a CPU use at most `count` threads, including the caller's.
///
/// By default, kernels use as many threads as the environment variable `RAYON_NUM_THREADS` specifies, otherwise one for
/// each processor available to the process. `count` may exceed this number. A `count` above both 256 and the number of
/// processors is lowered to the larger of the two.
///
/// ```
/// use onnx_embed::{DynModel, Error, Values, with_threads};
///
/// fn answer(model: &dyn DynModel, inputs: Values) -> Result<Values, Error> {
///     with_threads(2, || model.run(inputs))
/// }
/// ```
///
/// The number applies to this thread, so poll a future inside the function. Burn's own loops over large tensors, for
/// operators without a kernel of onnx-embed, use rayon's global pool and ignore the number. In a call from a thread of
/// another rayon pool they use that pool, as kernels do.
pub fn with_threads<T>(count: usize, call: impl FnOnce() -> T) -> T {
    onnx_embed_kernels::threads::with(count, call)
}
