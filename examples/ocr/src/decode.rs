//! Greedy decoding of connectionist temporal classification (CTC).

/// Recognized text, and the confidence of its least certain character.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    pub text: String,
    pub confidence: f32,
}

/// Returns the text of the likeliest class of each step. The first class is the blank, the others are `characters`.
/// Equal adjacent classes are one character, unless a blank is between them.
pub fn greedy(probabilities: &[f32], characters: &[char]) -> Text {
    let mut read: Vec<(char, f32)> = Vec::new();
    let mut last = None;
    for step in probabilities.chunks_exact(1 + characters.len()) {
        let best = (0..step.len()).max_by(|a, b| step[*a].total_cmp(&step[*b]));
        let class = best.filter(|class| *class > 0);
        if let Some(class) = class {
            let probability = step[class];
            match read.last_mut() {
                // The confidence of a character is that of its most certain step.
                Some((_, sure)) if last == Some(class) => *sure = sure.max(probability),
                _ => read.push((characters[class - 1], probability)),
            }
        }
        last = class;
    }
    // A wide gap may be several spaces.
    read.dedup_by(|a, b| a.0 == ' ' && b.0 == ' ');
    let text: String = read.iter().map(|(character, _)| character).collect();
    let sure = read.iter().map(|(_, probability)| *probability);
    Text { text: text.trim().to_owned(), confidence: sure.reduce(f32::min).unwrap_or(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a step for each class, with its probability.
    fn read(steps: &[(usize, f32)]) -> Text {
        let step = |(class, probability): &(usize, f32)| {
            let mut step = [(1.0 - probability) / 3.0; 4];
            step[*class] = *probability;
            step
        };
        let probabilities: Vec<f32> = steps.iter().flat_map(step).collect();
        greedy(&probabilities, &['a', 'b', ' '])
    }

    #[test]
    fn what_follows_itself_is_one_character_and_two_around_a_blank() {
        let text = read(&[(1, 0.9), (1, 0.8), (0, 0.9), (1, 0.9), (2, 0.9)]).text;
        assert_eq!(text, "aab");
    }

    #[test]
    fn the_least_sure_character_is_the_confidence() {
        let read = read(&[(1, 0.9), (2, 0.6), (2, 0.7), (0, 0.5)]);
        assert_eq!(read.text, "ab");
        assert!((read.confidence - 0.7).abs() < 1e-6, "{read:?}");
    }

    #[test]
    fn spaces_are_one_and_blanks_are_no_text() {
        let spaces = [(3, 0.9), (1, 0.9), (3, 0.9), (0, 0.9), (3, 0.9), (2, 0.9), (3, 0.9)];
        assert_eq!(read(&spaces).text, "a b");
        let nothing = read(&[(0, 0.9), (0, 0.9)]);
        assert_eq!((nothing.text.as_str(), nothing.confidence), ("", 0.0));
    }
}
