//! Suggestions for misspelled names.

use alloc::vec::Vec;

/// Returns the candidate with the smallest edit distance from `name`, if that is at most a third of its letters.
///
/// Upper and lower case are equal here, and so are `-`, `.` and `_`.
pub fn near<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let folded = folded(name);
    let most = (folded.len() / 3).clamp(1, 4).min(folded.len().saturating_sub(1));
    let distances = candidates.iter().map(|&candidate| {
        let distance = distance(&folded, &self::folded(candidate));
        (distance, candidate)
    });
    let nearest = distances.min_by_key(|(distance, _)| *distance);
    let (distance, nearest) = nearest?;
    (distance <= most && nearest != name).then_some(nearest)
}

fn folded(name: &str) -> Vec<char> {
    let plain = |letter: char| match letter {
        '-' | '.' => '_',
        letter => letter,
    };
    name.chars().flat_map(char::to_lowercase).map(plain).collect()
}

/// Returns the number of letters to change, insert or delete.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let change = corner + usize::from(left != right);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["input_ids", "attention_mask", "x"];
        assert_eq!(near("input_id", &names), Some("input_ids"));
        assert_eq!(near("Input-IDs", &names), Some("input_ids"));
        assert_eq!(near("attenion_msk", &names), Some("attention_mask"));
        assert_eq!(near("y", &["x", "k"]), None);
        assert_eq!(near("tokens", &names), None);
        assert_eq!(near("x", &[]), None);
    }
}
