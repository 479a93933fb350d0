//! What functions do that this backend lacks. From release 11 on, `ort-sys` has the same in its module `stub`.

use std::ffi::{CString, c_char};

use ort_sys::{OrtApi, OrtErrorCode, OrtHardwareDeviceType, OrtStatus, OrtStatusPtr};

/// What a status points to.
#[derive(Debug)]
pub struct Error {
    pub code: OrtErrorCode,
    message: CString,
}

impl Error {
    /// Returns a status, which the caller owns. The message must not contain NUL.
    pub fn new_sys(code: OrtErrorCode, message: impl Into<String>) -> OrtStatusPtr {
        let message = CString::new(message.into()).unwrap_or_default();
        OrtStatusPtr(Box::into_raw(Box::new(Self { code, message })).cast())
    }

    pub fn message_ptr(&self) -> *const c_char {
        self.message.as_ptr()
    }

    /// # Safety
    ///
    /// The status is one of `new_sys`, and nobody releases it during the lifetime.
    pub unsafe fn cast_from_sys<'a>(status: *const OrtStatus) -> &'a Self {
        // SAFETY: `new_sys` made it of a box of this type, which lives as the caller promises.
        unsafe { &*status.cast() }
    }

    /// # Safety
    ///
    /// The status is one of `new_sys`, and nobody uses it from now on.
    pub unsafe fn consume_sys(status: *mut OrtStatus) -> Box<Self> {
        // SAFETY: `new_sys` made it of a box of this type, which the caller gives up.
        unsafe { Box::from_raw(status.cast()) }
    }
}

/// A type of functions, of which one does nothing but to say that it is absent.
trait Absent {
    const FUNCTION: Self;
}

/// What such a function returns.
trait Answer {
    fn answer() -> Self;
}

impl Answer for OrtStatusPtr {
    fn answer() -> Self {
        Error::new_sys(OrtErrorCode::ORT_NOT_IMPLEMENTED, "Unimplemented")
    }
}

impl Answer for OrtErrorCode {
    fn answer() -> Self {
        OrtErrorCode::ORT_NOT_IMPLEMENTED
    }
}

impl Answer for OrtHardwareDeviceType {
    fn answer() -> Self {
        OrtHardwareDeviceType::OrtHardwareDeviceType_CPU
    }
}

impl<T> Answer for *const T {
    fn answer() -> Self {
        std::ptr::null()
    }
}

impl Answer for u32 {
    fn answer() -> Self {
        0
    }
}

impl Answer for () {
    fn answer() -> Self {}
}

macro_rules! absent {
    ($($($argument:ident)*;)*) => {$(
        impl<$($argument,)* R: Answer> Absent for unsafe extern "system" fn($($argument),*) -> R {
            const FUNCTION: Self = {
                unsafe extern "system" fn absent<$($argument,)* R: Answer>($(_: $argument),*) -> R {
                    R::answer()
                }
                absent::<$($argument,)* R>
            };
        }
    )*};
}

absent! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}

macro_rules! table {
    ($($name:ident)*) => {
        OrtApi { $($name: Absent::FUNCTION,)* }
    };
}

/// Returns a table of which all functions are absent.
pub fn api() -> OrtApi {
    table! {
        CreateStatus GetErrorCode GetErrorMessage CreateEnv CreateEnvWithCustomLogger EnableTelemetryEvents
        DisableTelemetryEvents CreateSession CreateSessionFromArray Run CreateSessionOptions SetOptimizedModelFilePath
        CloneSessionOptions SetSessionExecutionMode EnableProfiling DisableProfiling EnableMemPattern DisableMemPattern
        EnableCpuMemArena DisableCpuMemArena SetSessionLogId SetSessionLogVerbosityLevel SetSessionLogSeverityLevel
        SetSessionGraphOptimizationLevel SetIntraOpNumThreads SetInterOpNumThreads CreateCustomOpDomain
        CustomOpDomain_Add AddCustomOpDomain RegisterCustomOpsLibrary SessionGetInputCount SessionGetOutputCount
        SessionGetOverridableInitializerCount SessionGetInputTypeInfo SessionGetOutputTypeInfo
        SessionGetOverridableInitializerTypeInfo SessionGetInputName SessionGetOutputName
        SessionGetOverridableInitializerName CreateRunOptions RunOptionsSetRunLogVerbosityLevel
        RunOptionsSetRunLogSeverityLevel RunOptionsSetRunTag RunOptionsGetRunLogVerbosityLevel
        RunOptionsGetRunLogSeverityLevel RunOptionsGetRunTag RunOptionsSetTerminate RunOptionsUnsetTerminate
        CreateTensorAsOrtValue CreateTensorWithDataAsOrtValue IsTensor GetTensorMutableData FillStringTensor
        GetStringTensorDataLength GetStringTensorContent CastTypeInfoToTensorInfo GetOnnxTypeFromTypeInfo
        CreateTensorTypeAndShapeInfo SetTensorElementType SetDimensions GetTensorElementType GetDimensionsCount
        GetDimensions GetSymbolicDimensions GetTensorShapeElementCount GetTensorTypeAndShape GetTypeInfo GetValueType
        CreateMemoryInfo CreateCpuMemoryInfo CompareMemoryInfo MemoryInfoGetName MemoryInfoGetId MemoryInfoGetMemType
        MemoryInfoGetType AllocatorAlloc AllocatorFree AllocatorGetInfo GetAllocatorWithDefaultOptions
        AddFreeDimensionOverride GetValue GetValueCount CreateValue CreateOpaqueValue GetOpaqueValue
        KernelInfoGetAttribute_float KernelInfoGetAttribute_int64 KernelInfoGetAttribute_string
        KernelContext_GetInputCount KernelContext_GetOutputCount KernelContext_GetInput KernelContext_GetOutput
        ReleaseEnv ReleaseStatus ReleaseMemoryInfo ReleaseSession ReleaseValue ReleaseRunOptions ReleaseTypeInfo
        ReleaseTensorTypeAndShapeInfo ReleaseSessionOptions ReleaseCustomOpDomain GetDenotationFromTypeInfo
        CastTypeInfoToMapTypeInfo CastTypeInfoToSequenceTypeInfo GetMapKeyType GetMapValueType GetSequenceElementType
        ReleaseMapTypeInfo ReleaseSequenceTypeInfo SessionEndProfiling SessionGetModelMetadata
        ModelMetadataGetProducerName ModelMetadataGetGraphName ModelMetadataGetDomain ModelMetadataGetDescription
        ModelMetadataLookupCustomMetadataMap ModelMetadataGetVersion ReleaseModelMetadata CreateEnvWithGlobalThreadPools
        DisablePerSessionThreads CreateThreadingOptions ReleaseThreadingOptions ModelMetadataGetCustomMetadataMapKeys
        AddFreeDimensionOverrideByName GetAvailableProviders ReleaseAvailableProviders GetStringTensorElementLength
        GetStringTensorElement FillStringTensorElement AddSessionConfigEntry CreateAllocator ReleaseAllocator
        RunWithBinding CreateIoBinding ReleaseIoBinding BindInput BindOutput BindOutputToDevice GetBoundOutputNames
        GetBoundOutputValues ClearBoundInputs ClearBoundOutputs TensorAt CreateAndRegisterAllocator
        SetLanguageProjection SessionGetProfilingStartTimeNs SetGlobalIntraOpNumThreads SetGlobalInterOpNumThreads
        SetGlobalSpinControl AddInitializer CreateEnvWithCustomLoggerAndGlobalThreadPools
        SessionOptionsAppendExecutionProvider_CUDA SessionOptionsAppendExecutionProvider_ROCM
        SessionOptionsAppendExecutionProvider_OpenVINO SetGlobalDenormalAsZero CreateArenaCfg ReleaseArenaCfg
        ModelMetadataGetGraphDescription SessionOptionsAppendExecutionProvider_TensorRT SetCurrentGpuDeviceId
        GetCurrentGpuDeviceId KernelInfoGetAttributeArray_float KernelInfoGetAttributeArray_int64 CreateArenaCfgV2
        AddRunConfigEntry CreatePrepackedWeightsContainer ReleasePrepackedWeightsContainer
        CreateSessionWithPrepackedWeightsContainer CreateSessionFromArrayWithPrepackedWeightsContainer
        SessionOptionsAppendExecutionProvider_TensorRT_V2 CreateTensorRTProviderOptions UpdateTensorRTProviderOptions
        GetTensorRTProviderOptionsAsString ReleaseTensorRTProviderOptions EnableOrtCustomOps RegisterAllocator
        UnregisterAllocator IsSparseTensor CreateSparseTensorAsOrtValue FillSparseTensorCoo FillSparseTensorCsr
        FillSparseTensorBlockSparse CreateSparseTensorWithValuesAsOrtValue UseCooIndices UseCsrIndices
        UseBlockSparseIndices GetSparseTensorFormat GetSparseTensorValuesTypeAndShape GetSparseTensorValues
        GetSparseTensorIndicesTypeShape GetSparseTensorIndices HasValue KernelContext_GetGPUComputeStream
        GetTensorMemoryInfo GetExecutionProviderApi SessionOptionsSetCustomCreateThreadFn
        SessionOptionsSetCustomThreadCreationOptions SessionOptionsSetCustomJoinThreadFn SetGlobalCustomCreateThreadFn
        SetGlobalCustomThreadCreationOptions SetGlobalCustomJoinThreadFn SynchronizeBoundInputs SynchronizeBoundOutputs
        SessionOptionsAppendExecutionProvider_CUDA_V2 CreateCUDAProviderOptions UpdateCUDAProviderOptions
        GetCUDAProviderOptionsAsString ReleaseCUDAProviderOptions SessionOptionsAppendExecutionProvider_MIGraphX
        AddExternalInitializers CreateOpAttr ReleaseOpAttr CreateOp InvokeOp ReleaseOp
        SessionOptionsAppendExecutionProvider CopyKernelInfo ReleaseKernelInfo GetTrainingApi
        SessionOptionsAppendExecutionProvider_CANN CreateCANNProviderOptions UpdateCANNProviderOptions
        GetCANNProviderOptionsAsString ReleaseCANNProviderOptions MemoryInfoGetDeviceType UpdateEnvWithCustomLogLevel
        SetGlobalIntraOpThreadAffinity RegisterCustomOpsLibrary_V2 RegisterCustomOpsUsingFunction
        KernelInfo_GetInputCount KernelInfo_GetOutputCount KernelInfo_GetInputName KernelInfo_GetOutputName
        KernelInfo_GetInputTypeInfo KernelInfo_GetOutputTypeInfo KernelInfoGetAttribute_tensor HasSessionConfigEntry
        GetSessionConfigEntry SessionOptionsAppendExecutionProvider_Dnnl CreateDnnlProviderOptions
        UpdateDnnlProviderOptions GetDnnlProviderOptionsAsString ReleaseDnnlProviderOptions KernelInfo_GetNodeName
        KernelInfo_GetLogger KernelContext_GetLogger Logger_LogMessage Logger_GetLoggingSeverityLevel
        KernelInfoGetConstantInput_tensor CastTypeInfoToOptionalTypeInfo GetOptionalContainedTypeInfo
        GetResizedStringTensorElementBuffer KernelContext_GetAllocator GetBuildInfoString CreateROCMProviderOptions
        UpdateROCMProviderOptions GetROCMProviderOptionsAsString ReleaseROCMProviderOptions CreateAndRegisterAllocatorV2
        RunAsync UpdateTensorRTProviderOptionsWithValue GetTensorRTProviderOptionsByName
        UpdateCUDAProviderOptionsWithValue GetCUDAProviderOptionsByName KernelContext_GetResource SetUserLoggingFunction
        ShapeInferContext_GetInputCount ShapeInferContext_GetInputTypeShape ShapeInferContext_GetAttribute
        ShapeInferContext_SetOutputTypeShape SetSymbolicDimensions ReadOpAttr SetDeterministicCompute
        KernelContext_ParallelFor SessionOptionsAppendExecutionProvider_OpenVINO_V2
        SessionOptionsAppendExecutionProvider_VitisAI KernelContext_GetScratchBuffer KernelInfoGetAllocator
        AddExternalInitializersFromMemory CreateLoraAdapter CreateLoraAdapterFromArray ReleaseLoraAdapter
        RunOptionsAddActiveLoraAdapter SetEpDynamicOptions ReleaseValueInfo ReleaseNode ReleaseGraph ReleaseModel
        GetValueInfoName GetValueInfoTypeInfo GetModelEditorApi CreateTensorWithDataAndDeleterAsOrtValue
        SessionOptionsSetLoadCancellationFlag GetCompileApi CreateKeyValuePairs AddKeyValuePair GetKeyValue
        GetKeyValuePairs RemoveKeyValuePair ReleaseKeyValuePairs RegisterExecutionProviderLibrary
        UnregisterExecutionProviderLibrary GetEpDevices SessionOptionsAppendExecutionProvider_V2
        SessionOptionsSetEpSelectionPolicy SessionOptionsSetEpSelectionPolicyDelegate HardwareDevice_Type
        HardwareDevice_VendorId HardwareDevice_Vendor HardwareDevice_DeviceId HardwareDevice_Metadata EpDevice_EpName
        EpDevice_EpVendor EpDevice_EpMetadata EpDevice_EpOptions EpDevice_Device GetEpApi
    }
}
