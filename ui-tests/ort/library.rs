// The table of functions of ONNX Runtime's library at `ORT_DYLIB_PATH`, for crates whose backend is set by the program.

/// Returns the functions of the library.
pub fn api() -> ort_sys::OrtApi {
    let path = std::env::var("ORT_DYLIB_PATH").expect("ORT_DYLIB_PATH names ONNX Runtime's library");
    // SAFETY: the caller chose this library, whose initializers run here.
    let library = unsafe { libloading::Library::new(path) }.expect("a library");
    // Its functions are used until the program ends.
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: the type is that of ONNX Runtime's C header.
    let base =
        unsafe { library.get::<unsafe extern "system" fn() -> *const ort_sys::OrtApiBase>(b"OrtGetApiBase") };
    // SAFETY: the function has no conditions. What it returns lives as long as the library.
    let base = unsafe { &*base.expect("ONNX Runtime's library")() };
    // SAFETY: any version may be asked for.
    let api = unsafe { (base.GetApi)(ort_sys::ORT_API_VERSION) };
    assert!(!api.is_null(), "the library is older than the crate `ort`");
    // SAFETY: the table has the functions of the version that was asked for, and they may be called from copies of it.
    unsafe { std::ptr::read(api) }
}
