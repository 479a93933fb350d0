//! Types of operands, parsed from a line of the table.

use std::fmt;

use crate::attributes::any_of;
use crate::dtype::DType;
use crate::types::Type;

/// Operands of a version of an operator.
#[derive(Debug, Default)]
pub struct Signature {
    pub inputs: Vec<Operand>,
    pub outputs: Vec<Operand>,
}

/// An input or output, or any number of them.
#[derive(Debug)]
pub struct Operand {
    pub name: &'static str,
    types: Vec<Group>,
    is_variadic: bool,
    /// The type variable, if all operands with it have the same type.
    pub variable: Option<&'static str>,
}

/// Types in containers of one kind.
#[derive(Clone, Debug)]
struct Group {
    /// Empty for tensors, or as in [`ElementKind`].
    container: &'static str,
    elements: Vec<DType>,
}

/// A type without sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementKind {
    /// Kinds of the containers of the tensor, outermost first: `optional:seq:`.
    container: String,
    element: DType,
}

/// Groups of element types in the table.
const GROUPS: [(&str, &[DType]); 5] = {
    use DType::*;
    [
        ("floats", &[F16, F32, F64]),
        ("ints", &[I8, I16, I32, I64]),
        ("uints", &[U8, U16, U32, U64]),
        ("float8", &[F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz]),
        ("complex", &[C64, C128]),
    ]
};

impl Signature {
    /// Parses the operands of a line.
    pub fn parse(line: &'static str) -> Signature {
        let (operands, variables) = line.split_once(" | ").unwrap_or((line, ""));
        let (inputs, outputs) = operands.split_once('>').unwrap_or((operands, ""));
        let variables = variables.split(' ').filter_map(|word| word.split_once('='));
        let variables: Vec<_> = variables.map(|(name, types)| (name, groups(types))).collect();
        let list = |words: &'static str| words.split_whitespace().map(|word| operand(word, &variables));
        Signature { inputs: list(inputs).collect(), outputs: list(outputs).collect() }
    }
}

fn operand(word: &'static str, variables: &[(&'static str, Vec<Group>)]) -> Operand {
    let single = word.trim_end_matches(['*', '~']);
    let is_variadic = single != word;
    match single.split_once(':').filter(|(name, _)| !name.contains('=')) {
        Some((name, variable)) => {
            let types = variables.iter().find(|(other, _)| *other == variable);
            let types = types.map(|(_, types)| types.clone()).unwrap_or_default();
            Operand { name, types, is_variadic, variable: (!word.ends_with('~')).then_some(variable) }
        }
        None => {
            let (name, types) = single.split_once('=').unwrap_or((single, ""));
            Operand { name, types: groups(types), is_variadic, variable: None }
        }
    }
}

/// Parses types such as `floats+int64,seq:floats`.
fn groups(text: &'static str) -> Vec<Group> {
    text.split(',')
        .map(|types| {
            let (container, names) = types.split_at(types.rfind(':').map_or(0, |at| at + 1));
            let mut elements = Vec::new();
            for name in names.split('+') {
                match GROUPS.iter().find(|(group, _)| *group == name) {
                    Some((_, members)) => elements.extend_from_slice(members),
                    None => elements.extend(DType::named(name)),
                }
            }
            elements.sort();
            Group { container, elements }
        })
        .collect()
}

/// Returns the operand at an index.
pub fn at(operands: &[Operand], index: usize) -> Option<&Operand> {
    operands.get(index).or_else(|| operands.last().filter(|last| last.is_variadic))
}

impl Operand {
    pub fn allows(&self, kind: &ElementKind) -> bool {
        let mut groups = self.types.iter().filter(|group| group.container == kind.container);
        groups.any(|group| group.elements.contains(&kind.element))
    }

    /// Describes the types of the operand that are in the same container, or all if there is none.
    pub fn expected(&self, kind: &ElementKind) -> String {
        let alike = self.types.iter().filter(|group| group.container == kind.container);
        let alike: Vec<String> = alike.map(Group::to_string).collect();
        if alike.is_empty() {
            self.types.iter().map(Group::to_string).collect::<Vec<_>>().join("; or ")
        } else {
            alike.join("; or ")
        }
    }
}

impl ElementKind {
    pub fn of(ty: &Type) -> ElementKind {
        let inner = |outer: &str, item: &Type| {
            let ElementKind { container, element } = ElementKind::of(item);
            ElementKind { container: format!("{outer}:{container}"), element }
        };
        match ty {
            Type::Tensor(tensor) => ElementKind { container: String::new(), element: tensor.dtype },
            Type::Unranked(element) | Type::Nothing(element) => {
                ElementKind { container: String::new(), element: *element }
            }
            Type::Sequence(item) => inner("seq", item),
            Type::Optional(item) => inner("optional", item),
            Type::Map(key, item) => inner(&format!("map:{key}"), item),
        }
    }
}

/// Formats as in messages: `sequence(int64)`.
impl fmt::Display for ElementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        contained(&self.container, &self.element.to_string(), f)
    }
}

/// Formats as in messages: `float32 or int64`, `optional(sequence(bool))`.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = any_of(&self.elements.iter().map(|element| element.name()).collect::<Vec<_>>());
        contained(self.container, &names, f)
    }
}

fn contained(container: &str, element: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match container.split_once(':') {
        None => f.write_str(element),
        Some(("map", rest)) => {
            let (key, rest) = rest.split_once(':').unwrap_or((rest, ""));
            write!(f, "map({key}, ")?;
            contained(rest, element, f)?;
            f.write_str(")")
        }
        Some((kind, rest)) => {
            f.write_str(if kind == "seq" { "sequence(" } else { "optional(" })?;
            contained(rest, element, f)?;
            f.write_str(")")
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_line_lists_the_types_of_each_operand() {
        let signature = Signature::parse(
            "S:S position:I like=string v:V~ > many:T* | S=seq:floats+bool I=int64 V=int4,map:int64:string,optional:seq:int4 T=uints+complex",
        );
        let list = signature.inputs.iter().chain(&signature.outputs);
        let shown = list.map(|operand| {
            let none = ElementKind { container: "none:".to_owned(), element: DType::F32 };
            let many = if operand.is_variadic { ", any number" } else { "" };
            let variable = operand.variable.unwrap_or("no variable");
            format!("{}: {}, {variable}{many}\n", operand.name, operand.expected(&none))
        });
        expect![[r#"
            S: sequence(float32, bool, float16 or float64), S
            position: int64, I
            like: string, no variable
            v: int4; or map(int64, string); or optional(sequence(int4)), no variable, any number
            many: uint8, uint16, uint32, uint64, complex64 or complex128, T, any number
        "#]]
        .assert_eq(&shown.collect::<String>());
    }
}
