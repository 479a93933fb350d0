//! Values: tensors, strings, sequences and maps.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use onnx_embed::burn::tensor::{Bytes, DType};
use onnx_embed::{Array, Element, ElementType, Key, TensorData, Value, ValueType};
use ort_sys::{ONNXTensorElementDataType as Code, OrtValue};

use crate::elements::{code_of, count, is_plain, shape, sizes, width};
use crate::handle::{Handle, locked};
use crate::status::Failure;
use crate::storage::Storage;
use crate::types::{MapInfo, OptionalInfo, SequenceInfo, TensorInfo, TypeInfo};

/// A value of the C API. Several handles may share one, as those of a bound output do.
#[derive(Clone)]
pub(crate) struct ValueHandle(pub Arc<Stored>);

impl Handle for ValueHandle {
    type Raw = OrtValue;
    const NAME: &'static str = "value";
}

/// Content of a value.
pub(crate) enum Stored {
    Tensor(Tensor),
    Strings(Strings),
    Sequence {
        item: TypeInfo,
        items: Vec<Arc<Stored>>,
    },
    Map {
        keys: Arc<Stored>,
        values: Arc<Stored>,
    },
    /// An optional without a value, of this type.
    Absent(TypeInfo),
}

/// A tensor of numbers or booleans in row-major order.
pub(crate) struct Tensor {
    pub element: ElementType,
    pub code: Code,
    pub shape: Vec<i64>,
    pub storage: Storage,
}

/// A tensor of strings.
pub(crate) struct Strings {
    pub shape: Vec<i64>,
    pub data: Mutex<Vec<String>>,
}

impl Tensor {
    /// Creates a tensor over `storage`.
    ///
    /// # Errors
    ///
    /// If tensors of this type cannot be passed, or if the storage has fewer bytes than the tensor.
    pub(crate) fn new(element: ElementType, shape: Vec<i64>, storage: Storage) -> Result<Self, Failure> {
        let needed = bytes(element, &shape)?;
        if storage.length() < needed {
            let found = storage.length();
            return Err(Failure::argument(format!(
                "{element} of shape {shape:?} has {needed} bytes, found {found}"
            )));
        }
        let code =
            code_of(element).ok_or_else(|| Failure::unsupported(format!("the C API has no {element}")))?;
        Ok(Self { element, code, shape, storage })
    }

    /// Creates a tensor of zeros.
    ///
    /// # Errors
    ///
    /// If tensors of this type cannot be passed, or if memory is exhausted.
    pub(crate) fn zeros(element: ElementType, shape: Vec<i64>) -> Result<Self, Failure> {
        let storage = Storage::zeroed(bytes(element, &shape)?)?;
        Self::new(element, shape, storage)
    }

    /// Returns the number of bytes of all elements.
    pub(crate) fn length(&self) -> Result<usize, Failure> {
        bytes(self.element, &self.shape)
    }

    /// Returns a copy of the elements.
    fn data(&self) -> Result<TensorData, Failure> {
        let length = self.length()?;
        let dtype =
            self.element.carrier().ok_or_else(|| Failure::unsupported("element type without numbers"))?;
        let copied = match width(self.element)? {
            1 if self.element == ElementType::Bool => {
                // Any byte but 0 is true for callers in C; a Rust `bool` must be 0 or 1.
                let bytes = self.storage.copied::<u8>(length)?;
                Bytes::from_elems(bytes.into_iter().map(|byte| u8::from(byte != 0)).collect())
            }
            1 => Bytes::from_elems(self.storage.copied::<u8>(length)?),
            2 => Bytes::from_elems(self.storage.copied::<u16>(length)?),
            4 => Bytes::from_elems(self.storage.copied::<u32>(length)?),
            _ => Bytes::from_elems(self.storage.copied::<u64>(length)?),
        };
        Ok(TensorData::from_bytes(copied, sizes(&self.shape)?, dtype))
    }
}

/// Returns the number of bytes of a tensor.
fn bytes(element: ElementType, shape: &[i64]) -> Result<usize, Failure> {
    let bytes = count(shape)?.checked_mul(width(element)?).filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| Failure::argument(format!("the shape {shape:?} has too many bytes")))
}

impl Strings {
    /// Creates a tensor of strings.
    ///
    /// # Errors
    ///
    /// If the number of strings is not that of the shape.
    pub(crate) fn new(shape: Vec<i64>, data: Vec<String>) -> Result<Self, Failure> {
        let needed = count(&shape)?;
        if data.len() != needed {
            return Err(Failure::argument(format!("{} strings for a tensor of shape {shape:?}", data.len())));
        }
        Ok(Self { shape, data: Mutex::new(data) })
    }
}

impl Stored {
    /// Returns the type of the value.
    pub(crate) fn type_info(&self) -> TypeInfo {
        match self {
            Stored::Tensor(tensor) => {
                TypeInfo::Tensor(TensorInfo::of_shape(tensor.code, tensor.shape.clone()))
            }
            Stored::Strings(strings) => {
                let code = Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
                TypeInfo::Tensor(TensorInfo::of_shape(code, strings.shape.clone()))
            }
            Stored::Sequence { item, .. } => TypeInfo::Sequence(SequenceInfo(Box::new(item.clone()))),
            Stored::Map { keys, values } => {
                let key = keys.code().unwrap_or(Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED);
                TypeInfo::Map(MapInfo { key, value: Box::new(values.type_info()) })
            }
            Stored::Absent(kind) => kind.clone(),
        }
    }

    /// Returns the element type, if the value is a tensor.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Stored::Tensor(tensor) => Some(tensor.code),
            Stored::Strings(_) => Some(Code::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING),
            _ => None,
        }
    }

    /// Returns the shape, if the value is a tensor.
    pub(crate) fn shape(&self) -> Option<&[i64]> {
        match self {
            Stored::Tensor(tensor) => Some(&tensor.shape),
            Stored::Strings(strings) => Some(&strings.shape),
            _ => None,
        }
    }

    /// Returns the tensor of numbers.
    pub(crate) fn tensor(&self) -> Result<&Tensor, Failure> {
        match self {
            Stored::Tensor(tensor) => Ok(tensor),
            _ => Err(Failure::argument("the value is not a tensor of numbers")),
        }
    }

    /// Returns the tensor of strings.
    pub(crate) fn strings(&self) -> Result<&Strings, Failure> {
        match self {
            Stored::Strings(strings) => Ok(strings),
            _ => Err(Failure::argument("the value is not a tensor of strings")),
        }
    }

    /// Copies the value for an input of this type. A scalar may have one element of any rank, as in ONNX Runtime.
    pub(crate) fn to_input(&self, kind: &ValueType) -> Result<Value, Failure> {
        if let ValueType::Optional(item) = kind {
            let value =
                if let Stored::Absent(_) = self { None } else { Some(Box::new(self.to_input(item)?)) };
            return Ok(Value::Optional(value));
        }
        let scalar = matches!(kind, ValueType::Tensor { sizes: [], .. });
        Ok(match self {
            Stored::Tensor(tensor) => {
                let (bytes, shape, dtype) = tensor.data()?.into_parts();
                let is_one = shape.iter().all(|size| *size == 1);
                let shape = if scalar && is_one { Vec::<usize>::new().into() } else { shape };
                Value::Tensor(TensorData::from_bytes(bytes, shape, dtype))
            }
            Stored::Strings(strings) => {
                let data = locked(&strings.data).clone();
                let shape = if scalar && data.len() == 1 { Vec::new() } else { sizes(&strings.shape)? };
                Value::Strings(Array::new(shape, data))
            }
            Stored::Sequence { items, .. } => {
                let item = if let ValueType::Sequence(item) = kind { item } else { kind };
                let items = items.iter().map(|value| value.to_input(item));
                Value::Sequence(items.collect::<Result<_, _>>()?)
            }
            Stored::Map { keys, values } => map(keys, values, kind)?,
            Stored::Absent(_) => {
                return Err(Failure::argument("an optional without a value for an input that needs one"));
            }
        })
    }

    /// Converts an output of this type. `fixed` is for the type of items of an empty sequence.
    pub(crate) fn of_output(value: Value, kind: &ValueType) -> Result<Self, Failure> {
        if let (ValueType::Tensor { dtype, .. } | ValueType::Unranked(dtype), Value::Tensor(_)) =
            (kind, &value)
            && !is_plain(*dtype)
        {
            return Err(Failure::unsupported(format!("outputs of {dtype} cannot be passed")));
        }
        Ok(match value {
            Value::Tensor(data) => Stored::Tensor(of_data(data)?),
            Value::Strings(array) => {
                let (sizes, data) = array.into_parts();
                Stored::Strings(Strings::new(shape(&sizes), data)?)
            }
            Value::Sequence(values) => {
                let item = if let ValueType::Sequence(item) = kind { item } else { kind };
                let items = values.into_iter().map(|value| Ok(Arc::new(Self::of_output(value, item)?)));
                let item = TypeInfo::of_port(item, &|_| None)?;
                Stored::Sequence { item, items: items.collect::<Result<_, Failure>>()? }
            }
            Value::Map(entries) => of_map(entries.into_iter().collect(), kind)?,
            Value::Optional(value) => {
                let item = if let ValueType::Optional(item) = kind { item } else { kind };
                match value {
                    Some(value) => Self::of_output(*value, item)?,
                    None => {
                        let item = TypeInfo::of_port(item, &|_| None)?;
                        Stored::Absent(TypeInfo::Optional(OptionalInfo(Box::new(item))))
                    }
                }
            }
        })
    }
}

/// Moves the elements of a model's answer into a tensor. Booleans that a device stores as numbers are converted.
fn of_data(data: TensorData) -> Result<Tensor, Failure> {
    let element = ElementType::of(data.dtype()).ok_or_else(|| Failure::unsupported("quantized data"))?;
    let shape = shape(data.shape().as_slice());
    let bytes = match data.dtype() {
        DType::Bool(_) => Bytes::from_elems(Value::Tensor(data).to_vec::<bool>()?),
        _ => data.into_parts().0,
    };
    Tensor::new(element, shape, Storage::of_bytes(bytes, width(element)?)?)
}

/// Converts a map, whose keys and values are tensors of equal lengths.
fn map(keys: &Stored, values: &Stored, kind: &ValueType) -> Result<Value, Failure> {
    let item = if let ValueType::Map { value, .. } = kind { value } else { kind };
    let keys = key_list(&keys.to_input(&ValueType::Unranked(ElementType::Int64))?)?;
    let values = values.to_input(&ValueType::Unranked(ElementType::Float32))?;
    let values = elements(values, matches!(item, ValueType::Tensor { sizes: [], .. }))?;
    if keys.len() != values.len() {
        return Err(Failure::argument(format!("a map of {} keys and {} values", keys.len(), values.len())));
    }
    Ok(Value::Map(keys.into_iter().zip(values).collect()))
}

/// Returns the keys of a map.
fn key_list(keys: &Value) -> Result<Vec<Key>, Failure> {
    if let Some(texts) = keys.strings() {
        return Ok(texts.data().iter().cloned().map(Key::Text).collect());
    }
    let ints = |keys: Vec<i64>| keys.into_iter().map(Key::Int).collect();
    Ok(match keys.element_type() {
        Some(ElementType::Int32) => ints(widened::<i32>(keys)?),
        Some(ElementType::Int16) => ints(widened::<i16>(keys)?),
        Some(ElementType::Int8) => ints(widened::<i8>(keys)?),
        Some(ElementType::UInt32) => ints(widened::<u32>(keys)?),
        Some(ElementType::UInt16) => ints(widened::<u16>(keys)?),
        Some(ElementType::UInt8) => ints(widened::<u8>(keys)?),
        _ => ints(keys.to_vec::<i64>()?),
    })
}

fn widened<T: Element + Into<i64>>(keys: &Value) -> Result<Vec<i64>, Failure> {
    Ok(keys.to_vec::<T>()?.into_iter().map(Into::into).collect())
}

/// Returns each element of a tensor as a value: a scalar, or a tensor of one element.
fn elements(values: Value, scalar: bool) -> Result<Vec<Value>, Failure> {
    let shape = if scalar { vec![] } else { vec![1usize] };
    match values {
        Value::Tensor(data) => {
            let (bytes, sizes, dtype) = data.into_parts();
            let width = bytes.len() / sizes.iter().product::<usize>().max(1);
            let one = |bytes: &[u8]| TensorData::from_bytes_vec(bytes.to_vec(), shape.clone(), dtype);
            Ok(bytes.chunks_exact(width.max(1)).map(|bytes| Value::Tensor(one(bytes))).collect())
        }
        Value::Strings(texts) => {
            let texts = texts.into_data().into_iter();
            Ok(texts.map(|text| Value::Strings(Array::new(shape.clone(), vec![text]))).collect())
        }
        _ => Err(Failure::unsupported("maps of these values cannot be passed")),
    }
}

/// Converts a map that a model returned to a tensor of keys and one of values.
fn of_map(entries: Vec<(Key, Value)>, kind: &ValueType) -> Result<Stored, Failure> {
    let ValueType::Map { key, value } = kind else {
        return Err(Failure::unsupported("a map of unknown type"));
    };
    let length = shape(&[entries.len()]);
    let (mut texts, mut ints, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in entries {
        match key {
            Key::Text(text) => texts.push(text),
            Key::Int(int) => ints.push(int),
        }
        values.push(value);
    }
    let keys = if *key == ElementType::String {
        Stored::Strings(Strings::new(length.clone(), texts)?)
    } else {
        let keys = of_data(TensorData::new(ints.clone(), [ints.len()]))?;
        Stored::Tensor(if *key == ElementType::Int64 { keys } else { narrowed(&ints, *key)? })
    };
    let values = joined(values, value, length)?;
    Ok(Stored::Map { keys: Arc::new(keys), values: Arc::new(values) })
}

/// Returns integer keys in a narrower type.
fn narrowed(keys: &[i64], element: ElementType) -> Result<Tensor, Failure> {
    let dtype = element.carrier().ok_or_else(|| Failure::unsupported(format!("keys of {element}")))?;
    of_data(TensorData::new(keys.to_vec(), [keys.len()]).convert_dtype(dtype))
}

/// Joins the values of a map, each of one element, to a tensor of rank 1.
fn joined(values: Vec<Value>, kind: &ValueType, length: Vec<i64>) -> Result<Stored, Failure> {
    let (ValueType::Tensor { dtype, .. } | ValueType::Unranked(dtype)) = kind else {
        return Err(Failure::unsupported(format!("maps of {kind} cannot be passed")));
    };
    if *dtype == ElementType::String {
        let texts = values.iter().filter_map(Value::strings).flat_map(|texts| texts.data().to_vec());
        return Ok(Stored::Strings(Strings::new(length, texts.collect())?));
    }
    let tensor = Tensor::zeros(*dtype, length)?;
    let width = width(*dtype)?;
    for (index, value) in values.into_iter().enumerate() {
        let Value::Tensor(data) = value else { return Err(Failure::unsupported("a map of unknown values")) };
        let from = of_data(data)?;
        if from.length()? != width {
            return Err(Failure::unsupported("maps of tensors of several elements cannot be passed"));
        }
        tensor.storage.write(index * width, &from.storage, width)?;
    }
    Ok(Stored::Tensor(tensor))
}

/// Returns a pointer to the elements, null if there are none.
pub(crate) fn pointer(tensor: &Tensor) -> Result<*mut u8, Failure> {
    let empty = tensor.length()? == 0;
    Ok(if empty {
        std::ptr::null_mut()
    } else {
        tensor.storage.pointer().map_or(std::ptr::null_mut(), NonNull::as_ptr)
    })
}
