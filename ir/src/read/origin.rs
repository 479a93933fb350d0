//! The module of the exported program that contains a node.

use crate::proto::NodeProto;

/// Maximum length of paths: further names are not useful.
const MAX_PATH_LEN: usize = 32;

/// Returns the path of the module, outermost first: `["encoder", "layer", "0"]`.
pub fn origin(node: &NodeProto) -> Vec<String> {
    let entry = |key: &str| {
        let found = node.metadata_props.iter().find(|entry| entry.key == key);
        found.map(|entry| entry.value.as_str())
    };
    match entry("pkg.torch.onnx.name_scopes").and_then(last_scope) {
        Some(scope) => parts(&scope),
        None => from_name(&node.name),
    }
}

/// Returns the scope before the last one, which is the operator: `['', 'layer.0', 'add']`.
fn last_scope(list: &str) -> Option<String> {
    let list = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let scopes: Vec<&str> = list.split(',').map(str::trim).collect();
    let scope = scopes.iter().rev().nth(1)?;
    Some(scope.trim_matches(['\'', '"']).to_owned())
}

/// Splits `/features/features.1/conv/conv.0/Conv`. A segment that begins with the previous one continues it, so this is
/// `features.1.conv.0`.
fn from_name(name: &str) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    let mut before: Vec<String> = Vec::new();
    let Some((scopes, _)) = name.rsplit_once('/') else {
        return path;
    };
    for segment in scopes.split('/').filter(|segment| !segment.is_empty()) {
        if path.len() >= MAX_PATH_LEN {
            break;
        }
        let parts = parts(segment);
        match parts.strip_prefix(before.as_slice()) {
            Some(rest) if !before.is_empty() => path.extend(rest.iter().cloned()),
            _ => path.extend(parts.iter().cloned()),
        }
        before = parts;
    }
    path.truncate(MAX_PATH_LEN);
    path
}

fn parts(scope: &str) -> Vec<String> {
    let parts = scope.split('.').filter(|part| !part.is_empty());
    parts.take(MAX_PATH_LEN).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, path: &[&str]) {
        assert_eq!(from_name(name), path);
    }

    #[test]
    fn segments_that_repeat_the_one_before_go_on_from_it() {
        check("/features/features.1/conv/conv.0/Conv", &["features", "1", "conv", "0"]);
        check("/encoder/layer.0/attention/self/Add", &["encoder", "layer", "0", "attention", "self"]);
        check("/layer1/layer1.0/conv1/Conv", &["layer1", "0", "conv1"]);
    }

    #[test]
    fn long_paths_end() {
        let (deep, wide) = ("a/b/".repeat(1000), "a.b.".repeat(1000));
        assert_eq!(from_name(&format!("{deep}Add")).len(), MAX_PATH_LEN);
        assert_eq!(from_name(&format!("a/{wide}/Add")).len(), MAX_PATH_LEN);
    }

    #[test]
    fn a_name_without_scopes_has_no_path() {
        check("Conv_12", &[]);
        check("/Add", &[]);
    }

    #[test]
    fn scopes_in_the_metadata_come_first() {
        assert_eq!(last_scope("['', 'layer.0', 'add_1']").as_deref(), Some("layer.0"));
        assert_eq!(last_scope("['add']"), None);
    }
}
