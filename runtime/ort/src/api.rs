//! The table of functions.

use ort_sys::OrtApi;

use crate::functions::binding::*;
use crate::functions::containers::*;
use crate::functions::environment::*;
use crate::functions::memory::*;
use crate::functions::metadata::*;
use crate::functions::options::*;
use crate::functions::run_options::*;
use crate::functions::runs::*;
use crate::functions::sessions::*;
use crate::functions::strings::*;
use crate::functions::tensors::*;
use crate::functions::types::*;
use crate::status::*;

/// Returns the table of functions for `ort::set_api`.
///
/// Functions that this backend lacks return `ORT_NOT_IMPLEMENTED`.
pub fn api() -> OrtApi {
    OrtApi {
        // Statuses.
        CreateStatus,
        GetErrorCode,
        GetErrorMessage,
        ReleaseStatus,
        // Environments.
        CreateEnv,
        CreateEnvWithCustomLogger,
        CreateEnvWithGlobalThreadPools,
        CreateEnvWithCustomLoggerAndGlobalThreadPools,
        ReleaseEnv,
        EnableTelemetryEvents: SwitchTelemetry,
        DisableTelemetryEvents: SwitchTelemetry,
        UpdateEnvWithCustomLogLevel,
        CreateThreadingOptions,
        ReleaseThreadingOptions,
        SetGlobalIntraOpNumThreads,
        SetGlobalInterOpNumThreads,
        SetGlobalSpinControl,
        CreatePrepackedWeightsContainer,
        ReleasePrepackedWeightsContainer,
        GetAvailableProviders,
        ReleaseAvailableProviders,
        GetBuildInfoString,
        // Options of sessions.
        CreateSessionOptions,
        CloneSessionOptions,
        ReleaseSessionOptions,
        SetIntraOpNumThreads,
        SetInterOpNumThreads,
        DisablePerSessionThreads,
        AddFreeDimensionOverrideByName,
        AddFreeDimensionOverride,
        AddExternalInitializersFromMemory: AddExternalInitializersFromFilesInMemory,
        AddExternalInitializers,
        AddInitializer,
        AddSessionConfigEntry,
        HasSessionConfigEntry,
        GetSessionConfigEntry,
        SessionOptionsSetLoadCancellationFlag,
        EnableMemPattern: AcceptSwitch,
        DisableMemPattern: AcceptSwitch,
        EnableCpuMemArena: AcceptSwitch,
        DisableCpuMemArena: AcceptSwitch,
        DisableProfiling: AcceptSwitch,
        SetSessionExecutionMode,
        SetSessionGraphOptimizationLevel,
        SetDeterministicCompute,
        SetSessionLogId,
        SetSessionLogSeverityLevel: AcceptLogLevel,
        SetSessionLogVerbosityLevel: AcceptLogLevel,
        SetUserLoggingFunction,
        SessionOptionsSetEpSelectionPolicy,
        // Options of runs.
        CreateRunOptions,
        ReleaseRunOptions,
        RunOptionsSetTerminate,
        RunOptionsUnsetTerminate,
        RunOptionsSetRunTag,
        RunOptionsGetRunTag,
        RunOptionsSetRunLogSeverityLevel,
        RunOptionsGetRunLogSeverityLevel,
        RunOptionsSetRunLogVerbosityLevel,
        RunOptionsGetRunLogVerbosityLevel,
        AddRunConfigEntry,
        // Sessions.
        CreateSession,
        CreateSessionFromArray,
        CreateSessionWithPrepackedWeightsContainer,
        CreateSessionFromArrayWithPrepackedWeightsContainer,
        ReleaseSession,
        SessionGetInputCount,
        SessionGetOutputCount,
        SessionGetOverridableInitializerCount,
        SessionGetInputName,
        SessionGetOutputName,
        SessionGetInputTypeInfo,
        SessionGetOutputTypeInfo,
        SetEpDynamicOptions,
        Run,
        RunAsync,
        // Bindings.
        CreateIoBinding,
        ReleaseIoBinding,
        BindInput,
        BindOutput,
        BindOutputToDevice,
        RunWithBinding,
        GetBoundOutputValues,
        GetBoundOutputNames,
        ClearBoundInputs,
        ClearBoundOutputs,
        SynchronizeBoundInputs: SynchronizeBinding,
        SynchronizeBoundOutputs: SynchronizeBinding,
        // Metadata.
        SessionGetModelMetadata,
        ReleaseModelMetadata,
        ModelMetadataGetProducerName,
        ModelMetadataGetGraphName,
        ModelMetadataGetDomain,
        ModelMetadataGetDescription,
        ModelMetadataGetGraphDescription,
        ModelMetadataGetVersion,
        ModelMetadataLookupCustomMetadataMap,
        ModelMetadataGetCustomMetadataMapKeys,
        // Values.
        CreateTensorAsOrtValue,
        CreateTensorWithDataAsOrtValue,
        ReleaseValue,
        IsTensor,
        HasValue,
        GetValueType,
        GetTypeInfo,
        GetTensorTypeAndShape,
        #[cfg(not(any(ort_release = "10", ort_release = "11")))]
        GetTensorElementTypeAndShapeDataReference,
        GetTensorMutableData,
        #[cfg(not(any(ort_release = "10", ort_release = "11")))]
        GetTensorData,
        #[cfg(not(any(ort_release = "10", ort_release = "11")))]
        GetTensorSizeInBytes,
        GetTensorMemoryInfo,
        TensorAt,
        FillStringTensor,
        FillStringTensorElement,
        GetStringTensorDataLength,
        GetStringTensorContent,
        GetStringTensorElementLength,
        GetStringTensorElement,
        CreateValue,
        GetValueCount,
        GetValue,
        // Types.
        GetOnnxTypeFromTypeInfo,
        CastTypeInfoToTensorInfo,
        CastTypeInfoToSequenceTypeInfo,
        CastTypeInfoToMapTypeInfo,
        CastTypeInfoToOptionalTypeInfo,
        GetSequenceElementType,
        GetOptionalContainedTypeInfo,
        GetMapKeyType,
        GetMapValueType,
        GetDenotationFromTypeInfo,
        CreateTensorTypeAndShapeInfo,
        SetTensorElementType,
        SetDimensions,
        SetSymbolicDimensions,
        GetTensorElementType,
        GetDimensionsCount,
        GetDimensions,
        GetSymbolicDimensions,
        GetTensorShapeElementCount,
        #[cfg(not(any(ort_release = "10", ort_release = "11")))]
        TensorTypeAndShape_HasShape,
        ReleaseTypeInfo,
        ReleaseTensorTypeAndShapeInfo,
        // Memory.
        CreateMemoryInfo,
        CreateCpuMemoryInfo,
        ReleaseMemoryInfo,
        CompareMemoryInfo,
        MemoryInfoGetName,
        MemoryInfoGetId,
        MemoryInfoGetMemType,
        MemoryInfoGetType,
        MemoryInfoGetDeviceType,
        #[cfg(not(any(ort_release = "10", ort_release = "11")))]
        MemoryInfoGetDeviceMemType,
        GetAllocatorWithDefaultOptions,
        CreateAllocator,
        ReleaseAllocator,
        AllocatorAlloc,
        AllocatorFree,
        AllocatorGetInfo,
        ..crate::stub::api()
    }
}
