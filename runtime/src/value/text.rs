//! Display of values.

use alloc::{format, string::String, string::ToString};
use core::fmt::{self, Debug, Display, Formatter};

use super::number::number;
use super::{Key, Value};
use crate::ElementType;

/// Maximum length of an axis that is shown completely; a longer one is cut to `ROW_CUT` elements.
const ROW: usize = 12;
const ROW_CUT: usize = 10;
/// Maximum number of elements of a value that are shown.
const MAX_SHOWN_ELEMENTS: usize = 40;
/// Maximum number of letters of a string that are shown.
const LETTERS: usize = 60;

impl Value {
    /// Returns type and sizes as in signatures: `float32[2, 3]`, `sequence(map(int64, float32))`.
    pub(crate) fn kind(&self) -> String {
        match self {
            Value::Tensor(_) | Value::Strings(_) => {
                let sizes = self.shape().unwrap_or_default();
                tensor_kind(self.element_type(), sizes)
            }
            Value::Sequence(values) => format!("sequence({})", common(values.iter())),
            Value::Optional(value) => {
                format!("optional({})", common(value.as_deref().into_iter()))
            }
            Value::Map(map) => match map.keys().next() {
                Some(Key::Int(_)) => format!("map(int64, {})", common(map.values())),
                Some(Key::Text(_)) => format!("map(string, {})", common(map.values())),
                None => "map()".to_string(),
            },
        }
    }

    fn write(&self, f: &mut Formatter<'_>, all: bool) -> fmt::Result {
        write!(f, "{} = ", self.kind())?;
        let left = if all { usize::MAX } else { MAX_SHOWN_ELEMENTS };
        Writer { f, left, all }.value(self)
    }
}

/// Formats the type of a tensor: `float32[2, 3]`, or `float32` for rank 0.
pub(super) fn tensor_kind(ty: Option<ElementType>, sizes: &[usize]) -> String {
    let name = ty.map_or("quantized", ElementType::name);
    if sizes.is_empty() { name.to_string() } else { format!("{name}{sizes:?}") }
}

/// Type and elements, as in `float32[2, 3] = [[0.16, 0.46, 0.38], [0.2, 0.3, 0.5]]`. `{:#}` shows all elements with all
/// digits, `{}` at most some dozens.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, f.alternate())
    }
}

/// As [`Display`] without `#`.
impl Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Key::Int(key) => write!(f, "{key}"),
            Key::Text(key) => write!(f, "{key:?}"),
        }
    }
}

/// Returns the kind that all values share: `float32[..]` if they are tensors that differ in their sizes, `..` if there
/// is none.
fn common<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> String {
    let Some(first) = values.clone().next() else {
        return String::new();
    };
    let kind = first.kind();
    if values.clone().skip(1).all(|value| value.kind() == kind) {
        return kind;
    }
    match first.element_type() {
        Some(ty) if values.clone().all(|value| value.element_type() == Some(ty)) => {
            format!("{ty}[..]")
        }
        _ => "..".to_string(),
    }
}

struct Writer<'a, 'f> {
    f: &'a mut Formatter<'f>,
    /// Number of elements that may still be shown.
    left: usize,
    all: bool,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: &Value) -> fmt::Result {
        match value {
            Value::Tensor(data) => {
                let sizes = data.shape().as_slice();
                let exact = self.all;
                self.axis(sizes, 0, &|at| number(data, at, exact))
            }
            Value::Strings(array) => {
                let all = self.all;
                self.axis(array.shape(), 0, &|at| quoted(&array.data()[at], all))
            }
            Value::Sequence(values) => {
                self.list(['[', ']'], values.len(), |writer, at| writer.value(&values[at]))
            }
            Value::Optional(Some(value)) => self.value(value),
            Value::Optional(None) => self.f.write_str("none"),
            Value::Map(map) => {
                let mut entries = map.iter();
                self.list(['{', '}'], map.len(), |writer, _| match entries.next() {
                    Some((key, value)) => {
                        write!(writer.f, "{key}: ")?;
                        writer.value(value)
                    }
                    None => Ok(()),
                })
            }
        }
    }

    /// Writes the tensor of these sizes whose first element is at `start`.
    fn axis(&mut self, sizes: &[usize], start: usize, element: &dyn Fn(usize) -> String) -> fmt::Result {
        match sizes {
            [] => {
                self.left = self.left.saturating_sub(1);
                self.f.write_str(&element(start))
            }
            [size, inner @ ..] => {
                let step: usize = inner.iter().product();
                self.list(['[', ']'], *size, |writer, at| writer.axis(inner, start + at * step, element))
            }
        }
    }

    /// Writes items in brackets up to the limits, and `..` for the others.
    fn list(
        &mut self,
        [open, close]: [char; 2],
        count: usize,
        mut item: impl FnMut(&mut Self, usize) -> fmt::Result,
    ) -> fmt::Result {
        let most = match count {
            0..=ROW => count,
            _ if self.all => count,
            _ => ROW_CUT,
        };
        write!(self.f, "{open}")?;
        for at in 0..count {
            if at > 0 {
                self.f.write_str(", ")?;
            }
            if at == most || self.left == 0 {
                self.f.write_str("..")?;
                break;
            }
            item(self, at)?;
        }
        write!(self.f, "{close}")
    }
}

fn quoted(text: &str, all: bool) -> String {
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) if !all => format!("{:?}..", &text[..end]),
        _ => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use burn::tensor::TensorData;

    fn check(value: impl Into<Value>, expected: &str) {
        assert_eq!(value.into().to_string(), expected);
    }

    #[test]
    fn tensors_show_type_sizes_and_elements() {
        check([[0.16f32, 0.46], [1.0, -2.5]], "float32[2, 2] = [[0.16, 0.46], [1, -2.5]]");
        check(16_000i64, "int64 = 16000");
        check([true], "bool[1] = [true]");
        check([[0u8; 0]; 2], "uint8[2, 0] = [[], []]");
        check("a\nb", r#"string = "a\nb""#);
    }

    #[test]
    fn long_tensors_are_cut() {
        let long: Vec<i64> = (0..1000).collect();
        check(long, "int64[1000] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..]");
        check(
            TensorData::zeros::<f32, _>([1, 3, 224, 224]),
            "float32[1, 3, 224, 224] = [[[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..], \
             [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..], \
             [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..], ..], ..]]",
        );
        check("w".repeat(100).as_str(), &format!("string = {:?}..", "w".repeat(60)));
    }

    #[test]
    fn the_alternate_form_shows_all() {
        let value = Value::from(vec![0.123_456_79f32; 20]);
        let all = vec!["0.12345679"; 20].join(", ");
        assert_eq!(format!("{value:#}"), format!("float32[20] = [{all}]"));
    }

    #[test]
    fn containers_show_what_they_hold() {
        let scores =
            |a: f32, b: f32| Value::from(BTreeMap::from([(Key::Int(0), a.into()), (Key::Int(1), b.into())]));
        check(
            vec![scores(0.45, 0.55), scores(0.3, 0.7)],
            "sequence(map(int64, float32)) = [{0: 0.45, 1: 0.55}, {0: 0.3, 1: 0.7}]",
        );
        check(vec![Value::from([1i64]), Value::from([2i64, 3])], "sequence(int64[..]) = [[1], [2, 3]]");
        check(
            BTreeMap::from([(Key::from("cat"), Value::from([0.5f32]))]),
            r#"map(string, float32[1]) = {"cat": [0.5]}"#,
        );
        check(Some(Value::from([1i64])), "optional(int64[1]) = [1]");
        check(None::<Value>, "optional() = none");
        check(Vec::<Value>::new(), "sequence() = []");
    }

    #[test]
    fn long_containers_are_cut() {
        let items: Vec<Value> = (0..50).map(|at| Value::from(at as i64)).collect();
        check(items, "sequence(int64) = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..]");
    }
}
