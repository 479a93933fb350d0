//! Conversion of sparse constants to dense ones.

use super::Files;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::proto::SparseTensorProto;
use crate::types::{Known, Shape};

/// Maximum number of elements of sparse constants that are made dense at compile time.
const MAX_DENSE_ELEMENTS: usize = 1 << 16;

impl Files {
    /// Converts a sparse constant to a dense one.
    pub fn sparse(&self, sparse: &SparseTensorProto) -> Result<(DType, Shape, Known), Problem> {
        let name = sparse.values.as_ref().map(|values| values.name.as_str());
        let name = name.unwrap_or_default();
        let damaged = || {
            Problem::new(format!("values, indices and shape of sparse constant `{name}` do not match"))
                .inconsistent()
        };
        let values = self.weight(sparse.values.as_ref().ok_or_else(damaged)?)?;
        let indices = self.weight(sparse.indices.as_ref().ok_or_else(damaged)?)?;
        let sizes = sparse.dims.iter().map(|&size| usize::try_from(size).ok());
        let sizes: Vec<usize> = sizes.collect::<Option<_>>().ok_or_else(damaged)?;
        let count = sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let small = |count: Option<usize>| count.filter(|&count| count <= MAX_DENSE_ELEMENTS);
        let large = || {
            Problem::new(format!("sparse constant `{name}` has more than {MAX_DENSE_ELEMENTS} elements"))
                .help("save the model with a dense tensor instead")
        };
        let unsupported = || {
            let dtype = values.dtype;
            Problem::new(format!("sparse constant `{name}` has type {dtype}, which is not supported"))
                .help("save the model with a dense tensor instead")
        };
        let count = small(count).ok_or_else(large)?;
        small(values.count()).and(small(indices.count())).ok_or_else(large)?;
        let numbers = indices.elements().and_then(|known| known.numbers());
        let numbers = numbers.ok_or_else(damaged)?;
        let positions: Option<Vec<usize>> = match indices.sizes.get(1) {
            None => numbers.iter().map(|&at| usize::try_from(at).ok()).collect(),
            Some(0) => None,
            Some(&rank) if rank != sizes.len() => None,
            Some(&rank) => numbers.chunks_exact(rank).map(|row| flat(row, &sizes)).collect(),
        };
        let positions = positions.ok_or_else(damaged)?;
        let dense = match values.elements().ok_or_else(unsupported)? {
            Known::Ints(values) => spread(&positions, values, count, Dim::from(0)).map(Known::Ints),
            Known::Floats(values) => spread(&positions, values, count, 0.0).map(Known::Floats),
            Known::Bools(values) => spread(&positions, values, count, false).map(Known::Bools),
            Known::Strings(_) => None,
        };
        let shape = sparse.dims.iter().map(|&size| Dim::from(size)).collect();
        Ok((values.dtype, shape, dense.ok_or_else(damaged)?))
    }
}

/// Returns the flat index of a row of coordinates.
fn flat(coordinates: &[i64], sizes: &[usize]) -> Option<usize> {
    let mut pairs = coordinates.iter().zip(sizes);
    pairs.try_fold(0usize, |at, (&coordinate, &size)| {
        let coordinate = usize::try_from(coordinate).ok().filter(|&coordinate| coordinate < size)?;
        at.checked_mul(size)?.checked_add(coordinate)
    })
}

/// Returns `None` if the numbers of indices and values differ, or an index is out of bounds.
fn spread<T: Clone>(positions: &[usize], values: Vec<T>, count: usize, zero: T) -> Option<Vec<T>> {
    let mut dense = vec![zero; count];
    if positions.len() != values.len() {
        return None;
    }
    for (&at, value) in positions.iter().zip(values) {
        *dense.get_mut(at)? = value;
    }
    Some(dense)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::proto::TensorProto;

    /// Checks the dense elements for values 5 and 7 at these flat indices or rows of coordinates.
    fn check(indices: &[i64], rank: i64, dims: &[i64], expected: Result<&[f64], &str>) {
        let mut file: Vec<u8> = [5f32, 7.0].iter().flat_map(|n| n.to_le_bytes()).collect();
        file.extend(indices.iter().flat_map(|n| n.to_le_bytes()));
        let file = Bytes::from(file);
        let tensor = |data_type, dims, bytes| TensorProto {
            data_type,
            dims,
            raw_data: Some(bytes),
            ..TensorProto::default()
        };
        let sizes = match rank {
            1 => vec![indices.len() as i64],
            rank => vec![indices.len() as i64 / rank, rank],
        };
        let sparse = SparseTensorProto {
            values: Some(tensor(1, vec![2], file.slice(..8))),
            indices: Some(tensor(7, sizes, file.slice(8..))),
            dims: dims.to_vec(),
        };
        let made = Files::memory(file).sparse(&sparse).map(|made| made.2);
        match expected {
            Ok(floats) => assert_eq!(made, Ok(Known::Floats(floats.to_vec()))),
            Err(part) => assert!(made.unwrap_err().to_string().contains(part)),
        }
    }

    #[test]
    fn positions_are_flat_or_coordinates() {
        check(&[0, 3], 1, &[2, 2], Ok(&[5.0, 0.0, 0.0, 7.0]));
        check(&[0, 1, 1, 0], 2, &[2, 2], Ok(&[0.0, 5.0, 7.0, 0.0]));
    }

    #[test]
    fn positions_outside_are_refused() {
        check(&[0, 4], 1, &[2, 2], Err("do not match"));
        check(&[0, -1], 1, &[2, 2], Err("do not match"));
        check(&[0, 2, 1, 0], 2, &[2, 2], Err("do not match"));
        check(&[0], 1, &[2, 2], Err("do not match"));
        check(&[0, 1, 1, 0], 2, &[4], Err("do not match"));
    }

    #[test]
    fn large_ones_are_refused() {
        check(&[0, 1], 1, &[1 << 40, 1 << 40], Err("more than 65536 elements"));
        check(&[0, 1], 1, &[-1], Err("do not match"));
    }
}
