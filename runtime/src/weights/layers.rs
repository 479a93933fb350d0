//! Weights of arrays of layers.

use super::Weights;

impl Weights<'_> {
    /// Loads the elements of an array of layers, each from `W` weights. In the table these follow each other, layer by
    /// layer, from the weight `first` on.
    ///
    /// # Panics
    ///
    /// If the table does not contain them.
    pub fn each<T, const N: usize, const W: usize>(
        &self,
        first: &str,
        load: impl Fn(&Self, [&'static str; W]) -> T,
    ) -> [T; N] {
        let start = self.table.iter().position(|entry| entry.name == first);
        let rest = start.and_then(|start| self.table.get(start..)).unwrap_or_default();
        let (rows, _) = rest.as_chunks::<W>();
        assert!(rows.len() >= N, "the model has no {N} layers with {W} weights from `{first}` on");
        core::array::from_fn(|at| load(self, rows[at].each_ref().map(|entry| entry.name)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use burn::tensor::Device;
    use onnx_embed_kernels::attempt::attempt;

    use super::super::check::Kept;
    use super::super::{Encoding, Entry, Table, WeightSource};
    use super::*;
    use crate::ElementType;

    const fn entry(name: &'static str) -> Entry {
        Entry { name, dtype: ElementType::Float32, shape: &[], parts: &[], encoding: Encoding::Raw }
    }

    static TABLE: Table = Table {
        files: &[],
        entries: &[entry("a"), entry("w0"), entry("b0"), entry("w1"), entry("b1"), entry("z")],
        fixed: &[],
    };

    #[test]
    fn each_layer_gets_the_names_of_its_weights() {
        let weights = Weights::of(&TABLE, WeightSource::Memory(&[]), Kept::new(), &Device::flex());
        let names: [Vec<&str>; 2] = weights.each("w0", |_, names: [&'static str; 2]| names.to_vec());
        assert_eq!(names, [["w0", "b0"], ["w1", "b1"]]);
    }

    #[test]
    fn layers_that_the_table_does_not_contain_are_a_fault() {
        let weights = Weights::of(&TABLE, WeightSource::Memory(&[]), Kept::new(), &Device::flex());
        for first in ["w1", "w2"] {
            let loaded = attempt(|| {
                let _: [(); 3] = weights.each(first, |_, _: [&'static str; 2]| ());
            });
            assert!(loaded.is_err(), "{first}");
        }
    }
}
