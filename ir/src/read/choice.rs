//! Checks that the caller's options fit the model.

use std::collections::BTreeSet;

use super::Reader;
use super::input::is_name;
use crate::attributes::any_of;
use crate::diagnostics::{Diagnostics, Problem};
use crate::files::distance;
use crate::options::{Options, Size};
use crate::proto::{DimensionValue, GraphProto, TypeValue, ValueInfoProto};

impl Reader<'_> {
    /// Reports inputs of the options that the model does not have.
    pub(super) fn check_inputs(&mut self, graph: &GraphProto, options: &Options) {
        let names: Vec<String> = graph.input.iter().map(|input| input.name.clone()).collect();
        for name in options.inputs.keys().filter(|name| !names.contains(name)) {
            self.diagnostics.push(not_found("input", name, &names, "it has no inputs"));
        }
    }
}

/// Reports sizes of the options that no input has.
pub(super) fn check_dims(inputs: &[ValueInfoProto], options: &Options, diagnostics: &mut Diagnostics) {
    if options.dims.is_empty() {
        return;
    }
    let chosen = options.inputs.values().flatten();
    let chosen = chosen.filter_map(|size| match size {
        Size::Named(name) => Some(name.clone()),
        Size::Fixed(_) => None,
    });
    let sizes: BTreeSet<String> = inputs.iter().flat_map(size_names).chain(chosen).collect();
    let sizes: Vec<String> = sizes.into_iter().collect();
    for name in options.dims.keys().filter(|name| !sizes.contains(name)) {
        diagnostics.push(not_found("size", name, &sizes, "its inputs have no named sizes"));
    }
}

/// Returns the problem of a name in the options that is not one of the model's names. `none` applies if it has none.
pub(super) fn not_found(what: &str, wanted: &str, names: &[String], none: &str) -> Problem {
    let far = |name: &&String| distance(&name.to_lowercase(), &wanted.to_lowercase());
    let near = names.iter().min_by_key(far);
    let length = wanted.chars().count();
    let message = format!("the model has no {what} `{wanted}`");
    let problem = match near.filter(|near| far(near) <= 2.min(length.saturating_sub(1))) {
        Some(near) => Problem::new(message).help(format!("did you mean `{near}`?")),
        None if names.is_empty() => Problem::new(format!("{message}: {none}")),
        None => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            Problem::new(format!("{message}, expected {}", any_of(&names)))
        }
    };
    problem.choice(wanted)
}

fn size_names(input: &ValueInfoProto) -> Vec<String> {
    let Some(TypeValue::Tensor(tensor)) = input.r#type.as_ref().and_then(|ty| ty.value.as_ref()) else {
        return Vec::new();
    };
    let dims = tensor.shape.iter().flat_map(|shape| &shape.dim).enumerate();
    dims.filter_map(|(axis, dim)| match &dim.value {
        Some(DimensionValue::Value(size)) if *size >= 0 => None,
        Some(DimensionValue::Name(name)) if is_name(name) => Some(name.clone()),
        _ => Some(format!("{}_{axis}", input.name)),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prost::Message;

    use crate::options::{Options, Size};
    use crate::print;

    #[test]
    fn a_constant_that_is_listed_becomes_an_input_where_its_shape_is_given() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }";
        let model = crate::text::model(text).unwrap().encode_to_vec();
        let mut options = Options::default();
        options.inputs.insert("w".to_owned(), vec![Size::Fixed(2)]);
        let model = crate::load_bytes(model.into(), &options).unwrap();
        expect![[r#"
            g (float32[2] x, float32[2] w%2) => (float32[2] y)
            {
                float32[2] y = Add (x, w%2)
            }
        "#]]
        .assert_eq(&print::graph(&model.graph));
    }
}
