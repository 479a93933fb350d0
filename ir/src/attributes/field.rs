//! Checks that the fields of attributes match their types.

use super::NamedAttribute;
use crate::diagnostics::Problem;
use crate::proto::{AttributeProto, AttributeType, Elements};

/// Fails unless an attribute has the field of its type. Files of IR version 1 do not specify types.
pub fn has_its_type(name: &str, entry: &AttributeProto) -> Result<(), Problem> {
    let named = entry.r#type.and_then(|named| AttributeType::try_from(named).ok());
    let Some(named) = named.filter(|&named| named != AttributeType::Undefined) else {
        return Ok(());
    };
    let list = entry.list.as_ref().map(|list| &list.elements);
    let fields = [
        (AttributeType::Float, entry.f.is_some()),
        (AttributeType::Int, entry.i.is_some()),
        (AttributeType::String, entry.s.is_some()),
        (AttributeType::Tensor, entry.t.is_some()),
        (AttributeType::Graph, entry.g.is_some()),
        (AttributeType::SparseTensor, entry.sparse_tensor.is_some()),
        (AttributeType::TypeProto, entry.tp.is_some()),
        (AttributeType::Floats, matches!(list, Some(Elements::Floats(_)))),
        (AttributeType::Ints, matches!(list, Some(Elements::Ints(_)))),
        (AttributeType::Strings, matches!(list, Some(Elements::Strings(_)))),
    ];
    let mut other = fields.iter().filter(|(of, there)| *there && *of != named);
    match other.next() {
        None => Ok(()),
        Some((other, _)) => {
            let [named, other] = [named, *other].map(|of| format!("{of:?}").to_lowercase());
            let message =
                format!("attribute `{name}` is declared as {named}, but contains a value of type {other}");
            Err(Problem::new(message).inconsistent())
        }
    }
}

/// Fails unless each attribute specifies its type.
pub fn have_types(list: &[NamedAttribute<'_>]) -> Result<(), Problem> {
    let is_untyped =
        |attribute: &AttributeProto| attribute.r#type.unwrap_or_default() == AttributeType::Undefined as i32;
    match list.iter().find(|(_, attribute)| is_untyped(attribute)) {
        None => Ok(()),
        Some((name, _)) => Err(Problem::new(format!("attribute `{name}` has no type")).inconsistent()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn an_attribute_holds_what_its_type_says() {
        let entry = AttributeProto {
            r#type: Some(AttributeType::Int as i32),
            i: Some(0),
            ..AttributeProto::default()
        };
        assert_eq!(has_its_type("axis", &entry), Ok(()));
        let untyped = AttributeProto { r#type: None, ..entry.clone() };
        assert_eq!(has_its_type("axis", &untyped), Ok(()));
        let absent = AttributeProto { i: None, ..entry.clone() };
        assert_eq!(has_its_type("axis", &absent), Ok(()));
        let other = AttributeProto { f: Some(2.0), ..entry };
        let problem = has_its_type("axis", &other).unwrap_err().to_string();
        expect!["attribute `axis` is declared as int, but contains a value of type float"]
            .assert_eq(&problem);
    }
}
