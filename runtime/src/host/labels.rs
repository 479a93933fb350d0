//! Lookup tables, and maps as tensors.

use alloc::collections::BTreeMap;
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::cmp::Ordering;

use onnx_embed_kernels::{ensure, fault::fail};

use crate::Array;
use crate::host::parse_number;

/// A key of a table. Zeros of both signs are equal, and so are all NaNs.
pub trait Label: Copy {
    fn order(self, other: Self) -> Ordering;
}

/// A value of a map that becomes an element of a tensor.
pub trait Entry<T> {
    fn element(&self) -> T;

    /// Returns the element for a key that the map does not have.
    fn none() -> T;
}

macro_rules! labels {
    ($($whole:ty)*; $($float:ty)*) => {
        $(impl Label for $whole {
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        })*
        $(impl Label for $float {
            fn order(self, other: Self) -> Ordering {
                let nan = || self.is_nan().cmp(&other.is_nan());
                self.partial_cmp(&other).unwrap_or_else(nan)
            }
        })*
    };
}

labels!(&str i16 i32 i64; f32 f64);

/// Computes ONNX's `LabelEncoder`: the value of each key in `table`, which is sorted by keys.
pub fn look_up<K: Label, V: Copy>(x: &Array<K>, table: &[(K, V)], default: V) -> Array<V> {
    x.map(|&key| {
        let found = table.binary_search_by(|entry| entry.0.order(key));
        found.map_or(default, |at| table[at].1)
    })
}

/// Borrows the strings, as tables contain them.
pub fn texts(x: &Array<String>) -> Array<&str> {
    Array::new(x.shape(), x.data().iter().map(String::as_str).collect())
}

/// Returns owned strings.
pub fn owned(x: &Array<&str>) -> Array<String> {
    x.map(|&text| text.to_owned())
}

/// Computes ONNX's `OneHotEncoder`: a 1 at the index of the category of each element.
///
/// `table` contains the sorted categories and their indices.
///
/// # Panics
///
/// If an element has no category, unless `zeros` allows this.
#[track_caller]
pub fn one_hot_encoder<K: Label>(
    x: &Array<K>,
    table: &[(K, usize)],
    categories: usize,
    zeros: bool,
) -> Array<f32> {
    let indices = look_up(x, table, categories);
    if let (false, true) = (zeros, indices.data().contains(&categories)) {
        fail(format_args!(
            "expected each element to be a category, the number of categories is {categories}"
        ));
    }
    Array::from_fn([x.shape(), &[categories]].concat(), |index| {
        let (at, element) = index.split_last().expect("the categories are an axis");
        f32::from(u8::from(indices[element] == *at))
    })
}

/// Computes ONNX's `ZipMap`: a map for each row, with its values by `keys`.
#[track_caller]
pub fn zip_map<K: Ord + From<L>, L: Copy>(x: &Array<f32>, keys: &[L]) -> Vec<BTreeMap<K, f32>> {
    let (width, count) = (x.shape().last().copied().unwrap_or(1), keys.len());
    ensure!(width == count, "the number of columns is {width}, expected {count}, one per key");
    let row = |row: &[f32]| {
        let pairs = keys.iter().zip(row);
        pairs.map(|(&key, &value)| (key.into(), value)).collect()
    };
    x.data().chunks(count).map(row).collect()
}

/// Computes ONNX's `DictVectorizer`: a row with the values of the keys in a vocabulary.
pub fn dict_vectorizer<K: Ord + From<L>, L: Copy, V: Clone + Default>(
    x: &BTreeMap<K, V>,
    vocabulary: &[L],
) -> Array<V> {
    let value = |&key| x.get(&K::from(key)).cloned().unwrap_or_default();
    Array::new([1, vocabulary.len()], vocabulary.iter().map(value).collect())
}

/// Computes ONNX's `CastMap`: the values in the order of their keys or, with a `size`, each at the index that is its
/// key.
pub fn cast_map<V: Entry<T>, T: Clone>(x: &BTreeMap<i64, V>, size: Option<usize>) -> Array<T> {
    let values: Vec<T> = match size {
        None => x.values().map(V::element).collect(),
        Some(size) => {
            let value = |key: usize| i64::try_from(key).ok().and_then(|key| x.get(&key));
            let element = |key| value(key).map_or_else(V::none, V::element);
            (0..size).map(element).collect()
        }
    };
    Array::new([1, values.len()], values)
}

impl Entry<f32> for f32 {
    fn element(&self) -> f32 {
        *self
    }

    fn none() -> f32 {
        0.0
    }
}

impl Entry<i64> for f32 {
    fn element(&self) -> i64 {
        *self as i64
    }

    fn none() -> i64 {
        0
    }
}

/// Strings as ONNX Runtime writes them, also for missing keys.
impl Entry<String> for f32 {
    fn element(&self) -> String {
        format!("{self:.6}").to_lowercase()
    }

    fn none() -> String {
        "0.f".to_owned()
    }
}

impl Entry<f32> for String {
    #[track_caller]
    fn element(&self) -> f32 {
        parse_number(self)
    }

    fn none() -> f32 {
        0.0
    }
}

impl Entry<i64> for String {
    #[track_caller]
    fn element(&self) -> i64 {
        parse_number(self)
    }

    fn none() -> i64 {
        0
    }
}

impl Entry<String> for String {
    fn element(&self) -> String {
        self.clone()
    }

    fn none() -> String {
        "0.f".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_find_zeros_and_what_is_no_number() {
        let table = [(-1.0f32, 1i64), (0.0, 2), (f32::NAN, 3)];
        let x = Array::vector([-0.0, -f32::NAN, 7.0, -1.0]);
        assert_eq!(look_up(&x, &table, -1).data(), [2, 3, -1, 1]);
        let words = Array::vector(["b".to_owned(), "c".to_owned()]);
        let found = look_up(&texts(&words), &[("a", "x"), ("b", "y")], "none");
        assert_eq!(owned(&found).data(), ["y", "none"]);
    }

    #[test]
    fn categories_become_an_axis() {
        let x = Array::vector([5i64, 9]);
        let hot = one_hot_encoder(&x, &[(3, 0), (5, 1)], 2, true);
        assert_eq!(hot, Array::new([2, 2], vec![0.0, 1.0, 0.0, 0.0]));
    }

    #[test]
    fn rows_become_maps() {
        let x = Array::new([2, 2], vec![0.25, 0.75, 1.0, 0.0]);
        let maps: Vec<BTreeMap<i64, f32>> = zip_map(&x, &[7i64, 3]);
        assert_eq!(maps[0], BTreeMap::from([(3, 0.75), (7, 0.25)]));
        let row = Array::vector([0.5]);
        let maps: Vec<BTreeMap<String, f32>> = zip_map(&row, &["a"]);
        assert_eq!(maps, [BTreeMap::from([("a".to_owned(), 0.5)])]);
    }

    #[test]
    fn a_vocabulary_orders_a_map() {
        let map = BTreeMap::from([("a".to_owned(), 4i64), ("q".to_owned(), 1)]);
        let row = dict_vectorizer(&map, &["c", "a"]);
        assert_eq!(row, Array::new([1, 2], vec![0, 4]));
    }

    #[test]
    fn maps_are_packed_or_not() {
        let map = BTreeMap::from([(-1i64, 2.5f32), (1, f32::NAN), (3, 1.0)]);
        let dense: Array<i64> = cast_map(&map, None);
        assert_eq!(dense, Array::new([1, 3], vec![2, 0, 1]));
        let sparse: Array<String> = cast_map(&map, Some(3));
        assert_eq!(sparse.data(), ["0.f", "nan", "0.f"]);
        let words = BTreeMap::from([(0i64, "1.5".to_owned())]);
        let row: Array<f32> = cast_map(&words, Some(2));
        assert_eq!(row.data(), [1.5, 0.0]);
    }
}
