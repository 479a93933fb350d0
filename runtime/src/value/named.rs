//! Values by name.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::fmt;
use core::ops::Index;

use super::Value;
use crate::near::near;

/// Values by name, in the order of insertion.
///
/// [`with`](Self::with) accepts any type that converts to a [`Value`], so inputs of different types need neither
/// conversions nor a macro:
///
/// ```
/// use onnx_embed::Values;
///
/// let inputs = Values::new()
///     .with("samples", [[0.5f32, -0.25]])
///     .with("rate", 16_000i64)
///     .with("language", ["en"]);
/// assert_eq!(inputs["rate"].to_vec::<i64>()?, [16_000]);
/// # Ok::<(), onnx_embed::Error>(())
/// ```
///
/// Values of one type also convert from pairs, `Values::from([("x", x), ("y", y)])`. `Display` writes a line for each
/// value.
#[derive(Clone, Default, PartialEq)]
pub struct Values {
    entries: Vec<(String, Value)>,
}

impl Values {
    /// Creates an empty list of values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value called `name` and returns the previous value of that name, if any.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        match self.entries.iter_mut().find(|entry| entry.0 == name) {
            Some(entry) => Some(core::mem::replace(&mut entry.1, value)),
            None => {
                self.entries.push((name, value));
                None
            }
        }
    }

    /// Adds a value called `name`, or replaces the one of that name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.insert(name, value);
        self
    }

    /// Removes the value called `name` and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.entries.iter().position(|entry| entry.0 == name)?;
        Some(self.entries.remove(at).1)
    }

    /// Returns the value called `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.entries.iter().find(|entry| entry.0 == name);
        found.map(|entry| &entry.1)
    }

    /// Returns names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the same values, whose clones share the memory of their numbers. Use it for inputs of several calls.
    pub fn shared(self) -> Self {
        let entries = self.entries.into_iter();
        Self { entries: entries.map(|(name, value)| (name, value.shared())).collect() }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Returns the value called `name`.
///
/// # Panics
///
/// If there is no such value. The message lists the names, or the nearest one.
impl Index<&str> for Values {
    type Output = Value;

    #[track_caller]
    fn index(&self, name: &str) -> &Value {
        match self.get(name) {
            Some(value) => value,
            None => panic!("{}", Absent { name, values: self }),
        }
    }
}

/// Message that no value has this name.
struct Absent<'a> {
    name: &'a str,
    values: &'a Values,
}

impl fmt::Display for Absent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.values.iter().map(|(name, _)| name).collect();
        match (near(self.name, &names), names.as_slice()) {
            (_, []) => write!(f, "no value `{}`: there are no values", self.name),
            (Some(near), _) => write!(f, "no value `{}`: did you mean `{near}`?", self.name),
            (None, _) => {
                let names = names.join("`, `");
                write!(f, "no value `{}` (values are: `{names}`)", self.name)
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
    type IntoIter = alloc::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = (&'a str, &'a Value);
    type IntoIter = Box<dyn Iterator<Item = Self::Item> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{name}: ")?;
            fmt::Display::fmt(value, f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use burn::tensor::TensorData;

    use super::*;
    use crate::{Array, Key};

    #[test]
    fn values_keep_their_order() {
        let values = Values::from([("z", TensorData::from([1i64])), ("a", TensorData::from([2i64]))]);
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
        let addresses = |values: &Values| {
            let all = values["all"].sequence().unwrap();
            let tensors = [&values["x"], &all[0], &values["map"].map().unwrap()[&Key::from(1)]];
            tensors.map(|value| value.tensor().unwrap().as_bytes().as_ptr())
        };
        assert_eq!(addresses(&clone), addresses(&shared));
        assert_ne!(addresses(&values.clone()), addresses(&values));
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

    #[test]
    fn values_of_several_kinds_stand_side_by_side() {
        let values = Values::new().with("x", [[0.5f32, 1.5]]).with("k", vec![3i64]).with("words", ["a", "b"]);
        assert_eq!(
            values.to_string(),
            "x: float32[1, 2] = [[0.5, 1.5]]\nk: int64[1] = [3]\nwords: string[2] = [\"a\", \"b\"]"
        );
        assert_eq!(
            format!("{values:?}"),
            r#"{"x": float32[1, 2] = [[0.5, 1.5]], "k": int64[1] = [3], "words": string[2] = ["a", "b"]}"#
        );
        assert_eq!((&values).into_iter().count(), 3);
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_those_that_are() {
        let message = |names: &[&str], name: &str| {
            let values: Values = names.iter().map(|name| (*name, 1i64)).collect();
            let found = catch_unwind(AssertUnwindSafe(|| values[name].clone()));
            *found.unwrap_err().downcast::<String>().unwrap()
        };
        assert_eq!(
            message(&["logits", "probabilities"], "probabilites"),
            "no value `probabilites`: did you mean `probabilities`?"
        );
        assert_eq!(message(&["logits", "state"], "y"), "no value `y` (values are: `logits`, `state`)");
        assert_eq!(message(&[], "y"), "no value `y`: there are no values");
    }
}
