//! Problems of missing files.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::diagnostics::Problem;

/// Maximum number of file names that are listed.
const MAX_LISTED_FILES: usize = 5;

/// Reports a model file that is at none of these paths.
pub fn no_file(paths: &[PathBuf]) -> Problem {
    let Some(first) = paths.first() else {
        return Problem::new("the path of the model is empty");
    };
    if let Some(folder) = paths.iter().find(|path| path.is_dir()) {
        return Problem::expected(shown(folder), "a folder", "a file").help(near_names(paths));
    }
    let paths_shown: Vec<String> = paths.iter().map(|path| shown(path)).collect();
    let message = if first.exists() {
        format!("{} is not a regular file", shown(first))
    } else {
        format!("cannot find the file {}", paths_shown.join(" or "))
    };
    Problem::new(message).help(near_names(paths))
}

/// Returns the edit distance of two names.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row, vec![i + 1]).into_iter();
        let mut corner = diagonal.next().unwrap_or(i);
        for (above, right) in diagonal.zip(&b) {
            let beside = row.last().copied().unwrap_or(i + 1);
            let change = corner + usize::from(left != *right);
            row.push(change.min(above + 1).min(beside + 1));
            corner = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Lists the model files in the folders of the paths: those with similar names, else the first few.
fn near_names(paths: &[PathBuf]) -> String {
    let folders = paths.iter().map(|path| if path.is_dir() { path.as_path() } else { folder(path) });
    let folders: Vec<&Path> = folders.filter(|folder| folder.is_dir()).collect();
    let found: BTreeSet<String> = folders.iter().flat_map(|folder| models(folder)).collect();
    let wanted = paths.first().and_then(|path| path.file_name());
    let wanted = wanted.unwrap_or_default().to_string_lossy().to_lowercase();
    let far = |name: &String| distance(&name.to_lowercase(), &wanted);
    let limit = (wanted.chars().count() / 4).max(2);
    let near = found.iter().filter(|name| far(name) <= limit);
    if let Some(near) = near.min_by_key(|name| far(name)) {
        return format!("did you mean `{near}`?");
    }
    let listed: Vec<String> = found.iter().take(MAX_LISTED_FILES).map(|n| format!("`{n}`")).collect();
    let more = match found.len().saturating_sub(MAX_LISTED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if listed.is_empty() {
        match folders.first() {
            Some(folder) => format!("correct the path; {} contains no .onnx files", shown(folder)),
            // The macro looks in several folders.
            None if paths.len() > 1 => {
                "correct the path; it is relative to the folder of the source file, or to \
                                        that of the package"
                    .to_owned()
            }
            None => "correct the path; its folder does not exist".to_owned(),
        }
    } else {
        format!("choose an existing file: {}{more}", listed.join(", "))
    }
}

fn models(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".onnx")).collect()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Formats a path in backticks, without `..` and relative to the current folder if it is inside.
pub fn shown(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let normal = matches!(plain.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::ParentDir if normal => _ = plain.pop(),
            Component::CurDir => {}
            _ => plain.push(part),
        }
    }
    let here = std::env::current_dir().unwrap_or_default();
    format!("`{}`", plain.strip_prefix(here).unwrap_or(&plain).display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_changes() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
    }

    #[test]
    fn shown_paths_do_not_lead_back() {
        assert_eq!(shown(Path::new("/a/./b/../../c/x.onnx")), "`/c/x.onnx`");
        assert_eq!(shown(Path::new("../../x.onnx")), "`../../x.onnx`");
    }

    #[test]
    fn a_misspelled_name_is_put_right() {
        let path = PathBuf::from("../examples/mnist/Mnits.onnx");
        assert_eq!(near_names(&[path]), "did you mean `mnist.onnx`?");
    }

    #[test]
    fn other_names_are_listed() {
        let path = PathBuf::from("../examples/mnist/resnet50.onnx");
        assert_eq!(near_names(&[path]), "choose an existing file: `mnist.onnx`");
    }
}
