//! Named values of any kind that a model takes and gives.

use std::collections::BTreeMap;
use std::ops::Index;

use burn::tensor::TensorData;

use crate::Array;

/// What one input or output of a model holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Numbers or booleans; a tensor of rank 0 has an empty shape.
    Tensor(TensorData),
    /// A tensor of strings.
    Strings(Array<String>),
    /// Any number of values.
    Sequence(Vec<Value>),
    /// A value that may be absent.
    Optional(Option<Box<Value>>),
    /// Values by key.
    Map(BTreeMap<Key, Value>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    Int(i64),
    Text(String),
}

/// Values by name, in the order in which they were inserted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    entries: Vec<(String, Value)>,
}

impl Value {
    /// The numbers or booleans, if that is what the value is.
    pub fn tensor(&self) -> Option<&TensorData> {
        match self {
            Value::Tensor(data) => Some(data),
            _ => None,
        }
    }

    /// The strings, if that is what the value is.
    pub fn strings(&self) -> Option<&Array<String>> {
        match self {
            Value::Strings(array) => Some(array),
            _ => None,
        }
    }

    /// The sequence, if that is what the value is.
    pub fn sequence(&self) -> Option<&[Value]> {
        match self {
            Value::Sequence(values) => Some(values),
            _ => None,
        }
    }

    /// The map, if that is what the value is.
    pub fn map(&self) -> Option<&BTreeMap<Key, Value>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The same value, whose clones have its memory in common.
    fn shared(self) -> Self {
        let shared_all = |values: Vec<Value>| values.into_iter().map(Value::shared).collect();
        match self {
            Value::Tensor(data) => {
                let (bytes, shape, dtype) = data.into_parts();
                Value::Tensor(TensorData::from_bytes(bytes.shared(), shape, dtype))
            }
            Value::Strings(_) => self,
            Value::Sequence(values) => Value::Sequence(shared_all(values)),
            Value::Optional(value) => Value::Optional(value.map(|value| Box::new(value.shared()))),
            Value::Map(map) => {
                let entries = map.into_iter();
                Value::Map(entries.map(|(key, value)| (key, value.shared())).collect())
            }
        }
    }

    pub(crate) fn description(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor of numbers",
            Value::Strings(_) => "a tensor of strings",
            Value::Sequence(_) => "a sequence",
            Value::Optional(_) => "an optional",
            Value::Map(_) => "a map",
        }
    }
}

impl Values {
    /// No values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value called `name` and returns the one that it replaces.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        match self.entries.iter_mut().find(|entry| entry.0 == name) {
            Some(entry) => Some(std::mem::replace(&mut entry.1, value)),
            None => {
                self.entries.push((name, value));
                None
            }
        }
    }

    /// Takes the value called `name` out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.entries.iter().position(|entry| entry.0 == name)?;
        Some(self.entries.remove(at).1)
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.entries.iter().find(|entry| entry.0 == name);
        found.map(|entry| &entry.1)
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// The same values, whose clones have their numbers in common: for inputs of several calls.
    pub fn shared(self) -> Self {
        let entries = self.entries.into_iter();
        Self {
            entries: entries
                .map(|(name, value)| (name, value.shared()))
                .collect(),
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Index<&str> for Values {
    type Output = Value;

    #[track_caller]
    fn index(&self, name: &str) -> &Value {
        match self.get(name) {
            Some(value) => value,
            None => {
                let names: Vec<_> = self.iter().map(|(name, _)| name).collect();
                panic!("no value `{name}` among {names:?}")
            }
        }
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let mut all = Self::new();
        for (name, value) in values {
            all.insert(name, value);
        }
        all
    }
}

impl<N: Into<String>, V: Into<Value>, const M: usize> From<[(N, V); M]> for Values {
    fn from(values: [(N, V); M]) -> Self {
        values.into_iter().collect()
    }
}

impl IntoIterator for Values {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl From<TensorData> for Value {
    fn from(data: TensorData) -> Self {
        Value::Tensor(data)
    }
}

impl From<Array<String>> for Value {
    fn from(array: Array<String>) -> Self {
        Value::Strings(array)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Value::Sequence(values)
    }
}

impl From<BTreeMap<Key, Value>> for Value {
    fn from(map: BTreeMap<Key, Value>) -> Self {
        Value::Map(map)
    }
}

impl From<i64> for Key {
    fn from(key: i64) -> Self {
        Key::Int(key)
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        Key::Text(key)
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Key::Text(key.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order() {
        let values = Values::from([
            ("z", TensorData::from([1i64])),
            ("a", TensorData::from([2i64])),
        ]);
        let names: Vec<_> = values.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["z", "a"]);
    }

    #[test]
    fn clones_of_shared_values_have_memory_in_common() {
        let numbers = || Value::from(TensorData::from([1f32, 2.0]));
        let values = Values::from([
            ("x", numbers()),
            ("all", vec![numbers()].into()),
            ("map", BTreeMap::from([(Key::from(1), numbers())]).into()),
            ("some", Value::Optional(Some(Box::new(numbers())))),
            ("text", Array::scalar("one".to_string()).into()),
        ]);
        let shared = values.clone().shared();
        assert_eq!(shared, values);
        let clone = shared.clone();
        let place = |values: &Values| {
            let all = values["all"].sequence().unwrap();
            let tensors = [
                &values["x"],
                &all[0],
                &values["map"].map().unwrap()[&Key::from(1)],
            ];
            tensors.map(|value| value.tensor().unwrap().as_bytes().as_ptr())
        };
        assert_eq!(place(&clone), place(&shared));
        assert_ne!(place(&values.clone()), place(&values));
    }

    #[test]
    fn inserting_twice_replaces() {
        let mut values = Values::new();
        values.insert("x", Array::scalar("old".to_string()));
        let old = values.insert("x", TensorData::from([1i64]));
        assert_eq!(old.unwrap().strings().unwrap().item(), "old");
        assert_eq!(values.len(), 1);
        assert_eq!(values["x"].tensor(), Some(&TensorData::from([1i64])));
    }
}
