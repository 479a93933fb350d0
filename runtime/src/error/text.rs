//! Texts of errors about shapes and files.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
#[cfg(feature = "std")]
use std::path::Path;

use onnx_embed_kernels::sizes::Bytes;

#[cfg(feature = "std")]
use super::Error;
use crate::Size;

/// Sizes that a model expects.
pub struct Sizes(pub &'static [Size]);

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<_> = self.0.iter().map(Size::to_string).collect();
        write!(f, "[{}]", sizes.join(", "))
    }
}

/// Writes the text for a tensor that exceeds the memory limit.
pub fn too_large(f: &mut fmt::Formatter<'_>, name: &str, found: &[usize], limit: usize) -> fmt::Result {
    write!(f, "`{name}` has shape {found:?}, which exceeds the memory limit of {}", Bytes(limit))?;
    if found.contains(&0) {
        f.write_str(" (sizes of 0 count as 1)")?;
    }
    Ok(())
}

/// Writes the text for a tensor of a wrong shape, with the permutation that corrects its layout, if any.
pub fn wrong_shape(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    found: &[usize],
    expected: &'static [Size],
) -> fmt::Result {
    write!(f, "`{name}` has shape {found:?}, expected ")?;
    if expected.is_empty() {
        return f.write_str("a scalar or a tensor of one element");
    }
    write!(f, "{}", Sizes(expected))?;
    match layout(found, expected) {
        Some((layout, axes)) => write!(f, " ({layout}: `{name}.permute({axes:?})`)"),
        None => Ok(()),
    }
}

/// Returns the order of axes with which a tensor fits, if only its layout is wrong, and the name of the layout.
fn layout(found: &[usize], expected: &[Size]) -> Option<(&'static str, Vec<usize>)> {
    let rank = found.len();
    let last = rank.checked_sub(1)?;
    let orders = [
        ("channels first", 3, [0, last].into_iter().chain(1..last).collect()),
        ("channels last", 3, [0].into_iter().chain(2..rank).chain([1]).collect()),
        ("channels first", 3, [last].into_iter().chain(0..last).collect()),
        ("channels last", 3, (1..rank).chain([0]).collect()),
        ("transposed", 2, (0..rank).rev().collect()),
    ];
    let fits = |axes: &Vec<usize>| {
        let sizes = axes.iter().filter_map(|&axis| found.get(axis));
        let fit = |(found, size): (&usize, &Size)| match size {
            Size::Fixed(size) => found == size,
            Size::Named(_) | Size::Unknown => true,
        };
        axes.len() == expected.len() && sizes.zip(expected).all(fit)
    };
    let mut orders = orders.into_iter();
    let order = orders.find(|(_, least, axes): &(_, usize, Vec<usize>)| rank >= *least && fits(axes));
    order.map(|(layout, _, axes)| (layout, axes))
}

/// Writes the text for a file that differs from the compiled one, read from a path or from memory.
pub fn other_file(
    f: &mut fmt::Formatter<'_>,
    path: Option<&dyn fmt::Display>,
    file: &str,
    difference: &str,
) -> fmt::Result {
    let what = if file.ends_with(".onnx") { "model" } else { "file" };
    match path {
        Some(path) => write!(f, "`{path}` differs from the compiled {what} `{file}`")?,
        None => write!(f, "the bytes of `{file}` differ from the compiled {what}")?,
    }
    write!(f, ": {difference}; export with the same exporter and opset, or compile again")
}

/// Describes where a file differs from the compiled one.
pub fn location(before: Option<&str>) -> String {
    match before {
        Some(name) => format!("it differs just before weight `{name}`"),
        None => "it differs after its last weight".to_owned(),
    }
}

/// Writes the text for an error of the files at a path.
#[cfg(feature = "std")]
pub fn at_path(f: &mut fmt::Formatter<'_>, path: &Path, error: &Error) -> fmt::Result {
    let shown = path.display();
    match error {
        Error::FileLength { file, expected, found } => {
            other_file(f, Some(&shown), file, &format!("its size in bytes is {found}, expected {expected}"))
        }
        Error::FileDiffers { file, before } => other_file(f, Some(&shown), file, &location(*before)),
        other => write!(f, "cannot load `{}`: {other}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(found: &[usize], expected: &'static [Size], message: &str) {
        let error = Error::WrongShape { name: "image", expected, found: found.to_vec() };
        assert_eq!(error.to_string(), message);
    }

    const IMAGES: &[Size] = &[Size::Named("batch"), Size::Fixed(1), Size::Fixed(28), Size::Fixed(28)];
    const LAST: &[Size] = &[Size::Unknown, Size::Fixed(8), Size::Fixed(8), Size::Fixed(3)];

    #[test]
    fn a_wrong_shape_is_shown_beside_the_right_one() {
        check(&[1, 1, 28, 27], IMAGES, "`image` has shape [1, 1, 28, 27], expected [batch, 1, 28, 28]");
        check(&[28, 28], IMAGES, "`image` has shape [28, 28], expected [batch, 1, 28, 28]");
    }

    #[test]
    fn another_layout_is_recognized() {
        check(
            &[2, 28, 28, 1],
            IMAGES,
            "`image` has shape [2, 28, 28, 1], expected [batch, 1, 28, 28] \
             (channels first: `image.permute([0, 3, 1, 2])`)",
        );
        check(
            &[2, 3, 8, 8],
            LAST,
            "`image` has shape [2, 3, 8, 8], expected [?, 8, 8, 3] \
             (channels last: `image.permute([0, 2, 3, 1])`)",
        );
        check(
            &[4, 5],
            &[Size::Fixed(5), Size::Named("n")],
            "`image` has shape [4, 5], expected [5, n] (transposed: `image.permute([1, 0])`)",
        );
    }
}
