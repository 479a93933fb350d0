//! Axes and directions of the inputs and outputs of Scan.

use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::ops::sizes;

/// Reads a list with an axis or a direction for each input or output, or an empty one.
pub fn read(a: &Attributes<'_>, name: &str, expected: usize) -> Result<Vec<i64>, Problem> {
    let list = a.ints(name)?.unwrap_or_default();
    if !list.is_empty() {
        sizes::length(&format!("`{name}`"), list.len(), expected)?;
    }
    match list.iter().find(|way| name.ends_with("directions") && !matches!(way, 0 | 1)) {
        Some(way) => Err(Problem::new(format!("`{name}` contains {way}, expected 0 or 1"))),
        None => Ok(list),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn each_input_and_output_has_one_axis_and_direction() {
        let scan = |lists: &str| {
            format!(
                "(float[2] s, float[4, 2] x) => (float[2] t, float[4, 2] y) {{ t, y = Scan (s, x) <num_scan_inputs = 1, {lists},
                    body = b (float[2] a, float[2] e) => (float[2] z, float[2] o) {{ z = Add (a, e) o = Neg (e) }}> }}"
            )
        };
        let models = [
            scan("scan_input_axes = [0], scan_output_axes = [0], scan_output_directions = [1]"),
            scan("scan_input_axes = [0, 1]"),
            scan("scan_output_axes = [1, 2]"),
            scan("scan_input_directions = [2]"),
        ];
        problems(
            &models.each_ref().map(String::as_str),
            expect![[r#"
            fine
            `scan_input_axes` has 2 elements, expected 1
            `scan_output_axes` has 2 elements, expected 1
            `scan_input_directions` contains 2, expected 0 or 1
        "#]],
        );
    }
}
