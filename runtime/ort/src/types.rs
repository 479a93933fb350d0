//! Type information of values, inputs and outputs.

use std::ffi::CString;

use onnx_embed::{ElementType, Size, ValueType};
use ort_sys::{
    ONNXTensorElementDataType as Code, OrtMapTypeInfo, OrtOptionalTypeInfo, OrtSequenceTypeInfo,
    OrtTensorTypeAndShapeInfo, OrtTypeInfo,
};

use crate::elements::code_of;
use crate::handle::{Handle, c_string};
use crate::status::Failure;

/// Type of a value, an input or an output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypeInfo {
    Tensor(TensorInfo),
    Sequence(SequenceInfo),
    Map(MapInfo),
    Optional(OptionalInfo),
}

/// Element type and shape of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorInfo {
    pub code: Code,
    /// Size of each axis, -1 if it is not fixed.
    pub shape: Vec<i64>,
    /// Name of the size of each axis, empty for a fixed size or one without a name.
    pub symbols: Vec<CString>,
    /// `false` if the rank is unknown. In this case, the shape is empty.
    pub ranked: bool,
}

/// Type of the items of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SequenceInfo(pub Box<TypeInfo>);

/// Types of the keys and values of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapInfo {
    pub key: Code,
    pub value: Box<TypeInfo>,
}

/// Type of the value of an optional.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OptionalInfo(pub Box<TypeInfo>);

impl Handle for TypeInfo {
    type Raw = OrtTypeInfo;
    const NAME: &'static str = "type_info";
}

impl Handle for TensorInfo {
    type Raw = OrtTensorTypeAndShapeInfo;
    const NAME: &'static str = "info";
}

impl Handle for SequenceInfo {
    type Raw = OrtSequenceTypeInfo;
    const NAME: &'static str = "sequence_type_info";
}

impl Handle for MapInfo {
    type Raw = OrtMapTypeInfo;
    const NAME: &'static str = "map_type_info";
}

impl Handle for OptionalInfo {
    type Raw = OrtOptionalTypeInfo;
    const NAME: &'static str = "optional_type_info";
}

impl TensorInfo {
    /// Returns the type of a tensor of this shape.
    pub(crate) fn of_shape(code: Code, shape: Vec<i64>) -> Self {
        let symbols = vec![CString::default(); shape.len()];
        Self { code, shape, symbols, ranked: true }
    }

    fn unranked(code: Code) -> Self {
        Self { code, shape: Vec::new(), symbols: Vec::new(), ranked: false }
    }
}

impl TypeInfo {
    /// Returns the type of an input or output. `fixed` returns the size that the session's options set for a name.
    ///
    /// # Errors
    ///
    /// If this version of the C API lacks an element type.
    pub(crate) fn of_port(kind: &ValueType, fixed: &impl Fn(&str) -> Option<i64>) -> Result<Self, Failure> {
        Ok(match kind {
            ValueType::Tensor { dtype, sizes } => {
                let (mut shape, mut symbols) = (Vec::new(), Vec::new());
                for size in *sizes {
                    let (size, symbol) = match size {
                        Size::Fixed(size) => (i64::try_from(*size).ok(), ""),
                        Size::Named(name) => (fixed(name), *name),
                        Size::Unknown => (None, ""),
                    };
                    shape.push(size.unwrap_or(-1));
                    symbols.push(c_string(if size.is_none() { symbol } else { "" }));
                }
                Self::Tensor(TensorInfo { code: code(*dtype)?, shape, symbols, ranked: true })
            }
            ValueType::Unranked(dtype) => Self::Tensor(TensorInfo::unranked(code(*dtype)?)),
            ValueType::Sequence(item) => Self::Sequence(SequenceInfo(Box::new(Self::of_port(item, fixed)?))),
            ValueType::Optional(item) => Self::Optional(OptionalInfo(Box::new(Self::of_port(item, fixed)?))),
            ValueType::Map { key, value } => {
                Self::Map(MapInfo { key: code(*key)?, value: Box::new(Self::of_port(value, fixed)?) })
            }
        })
    }
}

/// Returns the code of an element type.
///
/// # Errors
///
/// If this version of the C API lacks the type.
fn code(element: ElementType) -> Result<Code, Failure> {
    code_of(element).ok_or_else(|| Failure::unsupported(format!("the C API has no element type {element}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: ValueType = ValueType::Tensor {
        dtype: ElementType::Float32,
        sizes: &[Size::Named("batch"), Size::Fixed(3), Size::Unknown],
    };

    #[test]
    fn open_sizes_have_their_names() {
        let TypeInfo::Tensor(info) = TypeInfo::of_port(&ROWS, &|_| None).unwrap() else {
            panic!("no tensor")
        };
        assert_eq!(info.shape, [-1, 3, -1]);
        assert_eq!(info.symbols, [c"batch", c"", c""].map(CString::from));
    }

    #[test]
    fn a_size_that_the_options_set_is_fixed() {
        let fixed = |name: &str| (name == "batch").then_some(8);
        let TypeInfo::Tensor(info) = TypeInfo::of_port(&ROWS, &fixed).unwrap() else { panic!("no tensor") };
        assert_eq!(info.shape, [8, 3, -1]);
        assert_eq!(info.symbols[0], CString::default());
    }

    #[test]
    fn an_element_type_that_the_c_api_lacks_is_an_error() {
        assert!(TypeInfo::of_port(&ValueType::Unranked(ElementType::Int2), &|_| None).is_err());
    }
}
