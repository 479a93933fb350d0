//! Calls of the table that `ort` does not make, or not with these arguments.
//!
//! These tests do not use `ort`, so they are the same for all of its releases.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use onnx_embed_ort::ort_sys::*;

onnx_embed::onnx_model!(
    pub struct Affine = "models/affine.onnx";
);
onnx_embed::onnx_model!(
    pub struct Classes = "models/classes.onnx";
);

const AFFINE: &[u8] = include_bytes!("models/affine.onnx");
const CLASSES: &[u8] = include_bytes!("models/classes.onnx");

type Answer<T> = Result<T, (OrtErrorCode, String)>;

/// Converts and releases a status.
fn check(api: &OrtApi, status: OrtStatusPtr) -> Answer<()> {
    if status.0.is_null() {
        return Ok(());
    }
    // SAFETY: the status is not released yet.
    let code = unsafe { (api.GetErrorCode)(status.0) };
    // SAFETY: the status is not released yet, and the message is copied.
    let text = unsafe { CStr::from_ptr((api.GetErrorMessage)(status.0)) }.to_str().unwrap().to_owned();
    // SAFETY: the status is not used afterwards.
    unsafe { (api.ReleaseStatus)(status.0) };
    Err((code, text))
}

/// Calls a function that writes its result to the last argument.
macro_rules! call {
    ($api:expr, $name:ident($($argument:expr),*)) => {{
        let mut out = std::mem::MaybeUninit::uninit();
        // SAFETY: the arguments are those of the test, and `out` has room for the result.
        let status = unsafe { ($api.$name)($($argument,)* out.as_mut_ptr()) };
        // SAFETY: the function wrote the result if there is no error.
        check(&$api, status).map(|()| unsafe { out.assume_init() })
    }};
}

/// Creates a session without `ort`.
fn open(api: &OrtApi, bytes: &[u8]) -> *mut OrtSession {
    onnx_embed_ort::register::<Affine>();
    onnx_embed_ort::register::<Classes>();
    let env = call!(api, CreateEnv(OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR, c"test".as_ptr())).unwrap();
    let session =
        call!(api, CreateSessionFromArray(env, bytes.as_ptr().cast(), bytes.len(), ptr::null())).unwrap();
    // SAFETY: the environment is not used afterwards.
    unsafe { (api.ReleaseEnv)(env) };
    session
}

/// Creates a tensor over memory that outlives it.
fn tensor(api: &OrtApi, data: &mut [f32], shape: &[i64]) -> Answer<*mut OrtValue> {
    let info =
        call!(api, CreateCpuMemoryInfo(OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault))?;
    let code = ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    let (bytes, data) = (size_of_val(data), data.as_mut_ptr().cast::<c_void>());
    let made =
        call!(api, CreateTensorWithDataAsOrtValue(info, data, bytes, shape.as_ptr(), shape.len(), code));
    // SAFETY: the description is not used afterwards.
    unsafe { (api.ReleaseMemoryInfo)(info) };
    made
}

#[test]
fn null_is_an_error_of_each_function() {
    let api = onnx_embed_ort::api();
    let code = |answer: Answer<()>| answer.unwrap_err().0;
    let invalid = OrtErrorCode::ORT_INVALID_ARGUMENT;
    assert_eq!(code(call!(api, SessionGetInputCount(ptr::null())).map(drop)), invalid);
    assert_eq!(code(call!(api, GetTypeInfo(ptr::null())).map(drop)), invalid);
    assert_eq!(code(call!(api, GetTensorMutableData(ptr::null_mut())).map(drop)), invalid);
    assert_eq!(code(call!(api, SessionGetModelMetadata(ptr::null())).map(drop)), invalid);
    assert_eq!(code(call!(api, CreateIoBinding(ptr::null_mut())).map(drop)), invalid);
    assert_eq!(code(call!(api, GetDimensionsCount(ptr::null())).map(drop)), invalid);
    assert_eq!(code(call!(api, CreateSession(ptr::null(), ptr::null(), ptr::null())).map(drop)), invalid);
    // SAFETY: null is allowed where a result is expected, and an error.
    assert_eq!(code(check(&api, unsafe { (api.CreateSessionOptions)(ptr::null_mut()) })), invalid);
    // SAFETY: null is allowed where a handle is expected, and ignored.
    unsafe { (api.ReleaseSession)(ptr::null_mut()) };
    // SAFETY: null is allowed where a handle is expected, and ignored.
    unsafe { (api.ReleaseValue)(ptr::null_mut()) };
    // SAFETY: a null status stands for success.
    assert_eq!(unsafe { (api.GetErrorCode)(ptr::null()) }, OrtErrorCode::ORT_OK);
}

#[test]
fn a_function_that_is_absent_says_so() {
    let api = onnx_embed_ort::api();
    let (code, _) = call!(api, CreateCustomOpDomain(c"domain".as_ptr())).unwrap_err();
    assert_eq!(code, OrtErrorCode::ORT_NOT_IMPLEMENTED);
}

#[test]
fn a_tensor_larger_than_its_memory_is_an_error() {
    let api = onnx_embed_ort::api();
    let mut data = [0f32; 4];
    assert!(tensor(&api, &mut data, &[5]).unwrap_err().1.contains("has 20 bytes, found 16"));
    assert!(tensor(&api, &mut data, &[-1]).is_err());
    assert!(tensor(&api, &mut data, &[i64::MAX, i64::MAX]).is_err());
    assert!(tensor(&api, &mut data, &[0, i64::MAX, i64::MAX]).is_err());
    let value = tensor(&api, &mut data, &[2, 2]).unwrap();
    // SAFETY: the value is not used afterwards.
    unsafe { (api.ReleaseValue)(value) };
}

#[test]
fn memory_that_is_not_aligned_is_an_error() {
    let api = onnx_embed_ort::api();
    let mut data = [0f32; 4];
    let info =
        call!(api, CreateCpuMemoryInfo(OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault))
            .unwrap();
    let code = ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    let odd = data.as_mut_ptr().cast::<u8>().wrapping_add(1).cast::<c_void>();
    let made = call!(api, CreateTensorWithDataAsOrtValue(info, odd, 4, [1i64].as_ptr(), 1, code));
    assert!(made.unwrap_err().1.contains("not aligned to 4 bytes"));
    // SAFETY: the description is not used afterwards.
    unsafe { (api.ReleaseMemoryInfo)(info) };
}

#[test]
fn an_element_is_found_by_its_location() {
    let api = onnx_embed_ort::api();
    let mut data = [1f32, 2.0, 3.0, 4.0];
    let value = tensor(&api, &mut data, &[2, 2]).unwrap();
    let element = call!(api, TensorAt(value, [1i64, 0].as_ptr(), 2)).unwrap();
    // SAFETY: the element is one of `data`.
    assert_eq!(unsafe { element.cast::<f32>().read() }, 3.0);
    assert!(call!(api, TensorAt(value, [2i64, 0].as_ptr(), 2)).is_err());
    // SAFETY: the value is not used afterwards.
    unsafe { (api.ReleaseValue)(value) };
}

/// Returns a string of the default allocator and frees it.
fn taken(api: &OrtApi, text: *mut c_char) -> String {
    // SAFETY: the string is not freed yet, and is copied.
    let copy = unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    let allocator = call!(api, GetAllocatorWithDefaultOptions()).unwrap();
    // SAFETY: the string is of this allocator and not used afterwards.
    check(api, unsafe { (api.AllocatorFree)(allocator, text.cast()) }).unwrap();
    copy
}

#[test]
fn sequences_of_maps_come_from_a_model() {
    // `ort` 2.0.0-rc.12 with `api-22` does not handle an output that is a map, hence without it.
    let api = onnx_embed_ort::api();
    let session = open(&api, CLASSES);
    assert_eq!(call!(api, SessionGetOutputCount(session)).unwrap(), 2);
    let allocator = call!(api, GetAllocatorWithDefaultOptions()).unwrap();
    let name = call!(api, SessionGetOutputName(session, 0, allocator)).unwrap();
    assert_eq!(taken(&api, name), "probabilities");
    assert!(call!(api, SessionGetOutputName(session, 2, allocator)).is_err());

    let mut data = [0f32, 0.0, 1.0, 1.0];
    let x = tensor(&api, &mut data, &[2, 2]).unwrap();
    let outputs = run(&api, session, &[(c"x", x)], &[c"probabilities", c"by_number"]).unwrap();
    for (output, text) in outputs.iter().zip([true, false]) {
        assert_eq!(call!(api, GetValueType(*output)).unwrap(), ONNXType::ONNX_TYPE_SEQUENCE);
        assert_eq!(call!(api, GetValueCount(*output)).unwrap(), 2);
        let map = call!(api, GetValue(*output, 1, allocator)).unwrap();
        assert_eq!(call!(api, GetValueType(map)).unwrap(), ONNXType::ONNX_TYPE_MAP);
        let keys = call!(api, GetValue(map, 0, allocator)).unwrap();
        let values = call!(api, GetValue(map, 1, allocator)).unwrap();
        let pointer = call!(api, GetTensorMutableData(values)).unwrap();
        // SAFETY: the values are two floats.
        assert_eq!(unsafe { pointer.cast::<[f32; 2]>().read() }, [0.5, 0.5]);
        if text {
            assert_eq!(call!(api, GetStringTensorElementLength(keys, 1)).unwrap(), 3);
            let mut bytes = [0u8; 3];
            // SAFETY: the bytes are as many as is said.
            let status = unsafe { (api.GetStringTensorElement)(keys, 3, 1, bytes.as_mut_ptr().cast()) };
            check(&api, status).unwrap();
            assert_eq!(&bytes, b"yes");
        } else {
            let pointer = call!(api, GetTensorMutableData(keys)).unwrap();
            // SAFETY: the keys are two integers.
            assert_eq!(unsafe { pointer.cast::<[i64; 2]>().read() }, [10, 20]);
        }
        for value in [values, keys, map, *output] {
            // SAFETY: the value is not used afterwards.
            unsafe { (api.ReleaseValue)(value) };
        }
    }
    // SAFETY: the input is not used afterwards.
    unsafe { (api.ReleaseValue)(x) };
    // SAFETY: the session is not used afterwards.
    unsafe { (api.ReleaseSession)(session) };
}

/// Runs a session.
fn run(
    api: &OrtApi,
    session: *mut OrtSession,
    inputs: &[(&CStr, *mut OrtValue)],
    outputs: &[&CStr],
) -> Answer<Vec<*mut OrtValue>> {
    let names: Vec<_> = inputs.iter().map(|(name, _)| name.as_ptr()).collect();
    let values: Vec<_> = inputs.iter().map(|(_, value)| value.cast_const()).collect();
    let output_names: Vec<_> = outputs.iter().map(|name| name.as_ptr()).collect();
    let mut results = vec![ptr::null_mut(); outputs.len()];
    // SAFETY: the arrays have as many elements as is said, and names and values are alive.
    let status = unsafe {
        (api.Run)(
            session,
            ptr::null(),
            names.as_ptr(),
            values.as_ptr(),
            values.len(),
            output_names.as_ptr(),
            output_names.len(),
            results.as_mut_ptr(),
        )
    };
    check(api, status).map(|()| results)
}

#[test]
fn an_input_twice_and_an_unknown_output_are_errors() {
    let api = onnx_embed_ort::api();
    let session = open(&api, AFFINE);
    let mut data = [0f32; 3];
    let x = tensor(&api, &mut data, &[1, 3]).unwrap();
    let text = run(&api, session, &[(c"x", x), (c"x", x)], &[c"y"]).unwrap_err().1;
    assert!(text.contains("two values for input `x`"), "{text}");
    let (code, text) = run(&api, session, &[(c"x", x)], &[c"w"]).unwrap_err();
    assert_eq!(code, OrtErrorCode::ORT_INVALID_ARGUMENT);
    assert!(text.contains("no output `w` (outputs are: `y`, `z`)"), "{text}");
    // An output may be asked for twice.
    for value in run(&api, session, &[(c"x", x)], &[c"y", c"y"]).unwrap() {
        // SAFETY: the value is not used afterwards.
        unsafe { (api.ReleaseValue)(value) };
    }
    // SAFETY: the input is not used afterwards.
    unsafe { (api.ReleaseValue)(x) };
    // SAFETY: the session is not used afterwards.
    unsafe { (api.ReleaseSession)(session) };
}

#[test]
fn entries_of_options_are_read_back() {
    let api = onnx_embed_ort::api();
    let options = call!(api, CreateSessionOptions()).unwrap();
    // SAFETY: the options are not released, and the strings are alive.
    let status = unsafe { (api.AddSessionConfigEntry)(options, c"key".as_ptr(), c"value".as_ptr()) };
    check(&api, status).unwrap();
    assert_eq!(call!(api, HasSessionConfigEntry(options, c"key".as_ptr())).unwrap(), 1);
    assert_eq!(call!(api, HasSessionConfigEntry(options, c"other".as_ptr())).unwrap(), 0);
    let mut length = 0;
    // SAFETY: null asks for the length.
    let status =
        unsafe { (api.GetSessionConfigEntry)(options, c"key".as_ptr(), ptr::null_mut(), &mut length) };
    check(&api, status).unwrap();
    let mut bytes = vec![0u8; length];
    // SAFETY: the bytes are as many as `length` says.
    let status = unsafe {
        (api.GetSessionConfigEntry)(options, c"key".as_ptr(), bytes.as_mut_ptr().cast(), &mut length)
    };
    check(&api, status).unwrap();
    assert_eq!(CString::from_vec_with_nul(bytes).unwrap(), CString::from(c"value"));
    // SAFETY: the options are not used afterwards.
    unsafe { (api.ReleaseSessionOptions)(options) };
}
