//! The types of a model's inputs.

use crate::diagnostics::{Problem, Topic};
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::names::Names;
use crate::options::{Options, Size};
use crate::proto::{Dimension, DimensionValue, TensorType, TypeProto, TypeValue, ValueInfoProto};
use crate::types::{MAX_AXES, Shape, Type};

/// Maximum depth of nested types.
pub(super) const MAX_TYPE_DEPTH: usize = 8;

/// Reads the types of inputs, with the sizes and names that the caller chose.
pub(super) struct Inputs<'a> {
    pub options: &'a Options,
    pub names: &'a mut Names,
}

impl Inputs<'_> {
    /// Returns the type that the file or the caller specifies for an input.
    pub fn input_type(&mut self, input: &ValueInfoProto) -> Result<Type, Problem> {
        let name = &input.name;
        let ty = input
            .r#type
            .as_ref()
            .ok_or_else(|| Problem::new(format!("input `{name}` has no type")).inconsistent())?;
        match self.read_type(name, ty, 0)? {
            Type::Tensor(tensor) if !tensor.fits() => {
                let message = format!("input `{name}` is {tensor}, which does not fit in memory");
                Err(Problem::new(message).inconsistent())
            }
            ty => Ok(ty),
        }
    }

    fn read_type(&mut self, name: &str, ty: &TypeProto, depth: usize) -> Result<Type, Problem> {
        let unknown = || Problem::new(format!("input `{name}` has an unknown type"));
        let inner = |ty: &Option<Box<TypeProto>>| ty.clone().ok_or_else(unknown);
        if depth > MAX_TYPE_DEPTH {
            return Err(unknown());
        }
        match ty.value.as_ref().ok_or_else(unknown)? {
            TypeValue::Tensor(tensor) => {
                let dtype = DType::from_onnx(tensor.elem_type).ok_or_else(unknown)?;
                self.tensor(name, tensor, dtype, depth)
            }
            TypeValue::Sequence(sequence) => {
                let item = self.read_type(name, &*inner(&sequence.elem_type)?, depth + 1)?;
                Ok(Type::Sequence(Box::new(item)))
            }
            TypeValue::Optional(optional) => {
                let item = self.read_type(name, &*inner(&optional.elem_type)?, depth + 1)?;
                Ok(Type::Optional(Box::new(item)))
            }
            TypeValue::Map(map) => {
                let key = DType::from_onnx(map.key_type).ok_or_else(unknown)?;
                let item = self.read_type(name, &*inner(&map.value_type)?, depth + 1)?;
                Ok(Type::Map(key, Box::new(item)))
            }
            TypeValue::SparseTensor(_) => {
                Err(Problem::expected(format_args!("input `{name}`"), "a sparse tensor", "a dense tensor")
                    .help("export the model with a dense tensor as its input"))
            }
            TypeValue::Opaque(_) => {
                Err(Problem::new(format!("input `{name}` has an opaque type, which is not supported")))
            }
        }
    }

    fn tensor(
        &mut self,
        name: &str,
        tensor: &TensorType,
        dtype: DType,
        depth: usize,
    ) -> Result<Type, Problem> {
        if let Some(sizes) = self.options.inputs.get(name) {
            fits(name, tensor, sizes)?;
            let dim = |size: &Size| match size {
                Size::Fixed(size) => Dim::from(*size),
                Size::Named(name) => self.named(name),
            };
            return Ok(Type::tensor(dtype, sizes.iter().map(dim).collect()));
        }
        if depth > 0 && tensor.shape.is_none() {
            return Ok(Type::Unranked(dtype));
        }
        let shape = tensor.shape.as_ref().ok_or_else(|| {
            Problem::new(format!("the file does not specify the rank of input `{name}`"))
                .help(format!(
                    "set its shape with `#[onnx(inputs({name}: [batch, 3]))]`, with names for dynamic sizes"
                ))
                .about(Topic::Shape)
        })?;
        if shape.dim.len() > MAX_AXES {
            let message = format!("input `{name}` has more than {MAX_AXES} axes");
            return Err(Problem::new(message).inconsistent());
        }
        let negative = |dim: &Dimension| match dim.value {
            Some(DimensionValue::Value(size)) => (size < -1).then_some(size),
            _ => None,
        };
        if let Some(size) = shape.dim.iter().find_map(negative) {
            let message = format!("input `{name}` has negative size {size}");
            return Err(Problem::new(message).inconsistent());
        }
        let dims = shape.dim.iter().enumerate();
        let dims: Shape = dims
            .map(|(axis, dim)| match &dim.value {
                Some(DimensionValue::Value(size)) if *size >= 0 => Dim::from(*size),
                // Some exporters write a dynamic size as -1.
                Some(DimensionValue::Name(size)) if is_name(size) => {
                    let other = self.options.names.get(&(name.to_owned(), axis));
                    self.named(other.unwrap_or(size))
                }
                _ => {
                    let fresh = self.names.fresh(&format!("{name}_{axis}"));
                    let chosen = fresh.name().and_then(|name| self.options.dims.get(&**name));
                    chosen.copied().map_or(fresh, Dim::from)
                }
            })
            .collect();
        Ok(Type::tensor(dtype, dims))
    }

    fn named(&mut self, name: &str) -> Dim {
        if let Some(size) = self.options.dims.get(name) {
            return Dim::from(*size);
        }
        let symbol = Symbol::from(name);
        self.names.reserve(&symbol);
        Dim::named(symbol)
    }
}

/// Checks that a shape from the caller has the rank that the file declares.
fn fits(name: &str, tensor: &TensorType, sizes: &[Size]) -> Result<(), Problem> {
    let (rank, found) = (sizes.len(), tensor.shape.as_ref().map(|shape| shape.dim.len()));
    match found.filter(|&found| found != rank) {
        None => contradiction(name, tensor, sizes),
        Some(found) => Err(Problem::new(format!(
            "input `{name}` has rank {rank} in `inputs(..)`, expected {found} as in the file"
        ))
        .help("specify one size for each axis, or export the model for another rank")
        .choice(name)),
    }
}

/// Checks that sizes from the caller equal those that the file declares.
fn contradiction(name: &str, tensor: &TensorType, sizes: &[Size]) -> Result<(), Problem> {
    let dims = tensor.shape.iter().flat_map(|shape| &shape.dim);
    for (axis, (dim, size)) in dims.zip(sizes).enumerate() {
        if let (Some(DimensionValue::Value(found)), Size::Fixed(size)) = (&dim.value, size)
            && *found >= 0
            && found != size
        {
            return Err(Problem::new(format!(
                "axis {axis} of input `{name}` has size {size} in `inputs(..)`, expected {found} as in the file"
            ))
            .help("export the model for other sizes; `inputs(..)` sets sizes that the file does not specify")
            .choice(name));
        }
    }
    Ok(())
}

/// Returns `true` if the file specifies a name; `?` and the empty name are any size.
pub(super) fn is_name(name: &str) -> bool {
    !matches!(name.trim(), "" | "?" | "-1" | "None")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prost::Message;

    use crate::options::{Options, Size};
    use crate::testing::check;

    #[test]
    fn sizes_without_a_name_get_that_of_the_axis() {
        check(
            r#"g (float[?, "?", "", -1, 3, "None"] x) => (float[a, b, c, d, e, f] y) { y = Relu (x) }"#,
            expect![[r#"
                g (float32[x_0, x_1, x_2, x_3, 3, x_5] x) => (float32[x_0, x_1, x_2, x_3, 3, x_5] y)
                {
                    float32[x_0, x_1, x_2, x_3, 3, x_5] y = Relu (x)
                }
            "#]],
        );
    }

    #[test]
    fn a_name_given_in_the_file_is_not_taken_again() {
        check(
            "g (float[?] x, float[x_0] z) => (float[a] y, float[b] w) { y = Relu (x) \
                 w = Relu (z) }",
            expect![[r#"
                g (float32[x_0_2] x, float32[x_0] z) => (float32[x_0_2] y, float32[x_0] w)
                {
                    float32[x_0_2] y = Relu (x)
                    float32[x_0] w = Relu (z)
                }
            "#]],
        );
    }

    #[test]
    fn numbers_of_the_caller_do_not_contradict_the_file() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (float[2, n] x) => (float[a, b] y) { y = Relu (x) }"#;
        let model = crate::text::model(text).unwrap().encode_to_vec();
        let refused = |sizes: Vec<Size>| {
            let options = Options { inputs: [("x".to_owned(), sizes)].into(), ..Options::default() };
            let result = crate::load_bytes(model.clone().into(), &options);
            result.err().map(|problems| problems.report("model"))
        };
        expect![[r#"
            Some(
                "cannot compile `model`\n\n  axis 0 of input `x` has size 3 in `inputs(..)`, expected 2 as in the file\n    help: export the model for other sizes; `inputs(..)` sets sizes that the file does not specify\n\n  model: IR version 10, ai.onnx 21",
            )
        "#]].assert_debug_eq(&refused(vec![Size::Fixed(3), Size::Fixed(5)]));
        assert_eq!(refused(vec![Size::Fixed(2), Size::Fixed(5)]), None);
        assert_eq!(refused(vec![Size::Named("rows".to_owned()), Size::Fixed(5)]), None);
    }

    #[test]
    fn an_input_of_no_rank_asks_for_one() {
        check(
            "g (float[] x) => (float[] y) { y = Relu (x) }",
            expect![[r#"
                cannot compile `model`

                  the file does not specify the rank of input `x`
                    help: set its shape with `#[onnx(inputs(x: [batch, 3]))]`, with names for dynamic sizes

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn an_input_has_only_so_many_axes() {
        let sizes = vec!["1"; 1025].join(", ");
        check(
            &format!("g (float[{sizes}] x) => (float[n] y) {{ y = Relu (x) }}"),
            expect![[r#"
                cannot compile `model`

                  input `x` has more than 1024 axes
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn inputs_that_no_rust_type_carries_are_refused() {
        check(
            "g (sparse_tensor(float[2]) x, opaque(a.b) z) => (float[2] y) { y = Relu (x) }",
            expect![[r#"
                cannot compile `model`: 2 problems

                  input `x` is a sparse tensor, expected a dense tensor
                    help: export the model with a dense tensor as its input

                  input `z` has an opaque type, which is not supported

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn a_size_is_not_negative() {
        check(
            "g (float[-9223372036854775808] x, float[-1] z) => (float[n] y, float[m] w) { y = Relu (x) w = Neg (z) }",
            expect![[r#"
                cannot compile `model`

                  input `x` has negative size -9223372036854775808
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn inputs_beyond_any_memory_are_refused() {
        check(
            "g (float[9223372036854775807, n] x) => (float[n] y) { y = Relu (x) }",
            expect![[r#"
                cannot compile `model`

                  input `x` is float32[9223372036854775807, n], which does not fit in memory
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn sequences_optionals_and_maps_are_types() {
        check(
            "g (seq(float[n]) s, optional(seq(int64[2])) o, map(int64, float) m) => \
                 (seq(float[n]) s, optional(seq(int64[2])) o, map(int64, float) m) { }",
            expect![[r#"
                g (seq(float32[?]) s, optional(seq(int64[2])) o, map(int64, float32[]) m) => (seq(float32[?]) s, optional(seq(int64[2])) o, map(int64, float32[]) m)
                {
                }
            "#]],
        );
    }
}
