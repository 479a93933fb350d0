//! Compares sentences by their meaning.
//!
//! `embeddings` draws the similarity of the sentences in `sentences.txt`. `embeddings "a question"` sorts them by
//! their similarity to the question.

use std::io::Write;

use anstyle::{Color, RgbColor, Style};
use anyhow::Result;

mod encoder;

use encoder::{Encoder, similarity};

const SENTENCES: &str = include_str!("../sentences.txt");

fn main() -> Result<()> {
    let encoder = Encoder::new()?;
    let sentences: Vec<&str> = SENTENCES.lines().collect();
    let vectors = encoder.vectors(&sentences)?;
    let mut output = anstream::stdout().lock();
    match std::env::args().nth(1) {
        Some(question) => {
            let asked = encoder.vectors(&[&question])?.remove(0);
            for (share, sentence) in nearest(&asked, &vectors, &sentences) {
                writeln!(output, "{share:5.2}  {sentence}")?;
            }
        }
        None => draw(&mut output, &sentences, &vectors)?,
    }
    Ok(())
}

/// Returns the sentences with their similarity to the question, the most similar first.
fn nearest<'a>(asked: &[f32], vectors: &[Vec<f32>], sentences: &[&'a str]) -> Vec<(f32, &'a str)> {
    let shares = vectors.iter().map(|vector| similarity(asked, vector));
    let mut found: Vec<_> = shares.zip(sentences.iter().copied()).collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found
}

/// Draws a row and a column for each sentence. A cell is brighter if its sentences are more similar.
fn draw(output: &mut impl Write, sentences: &[&str], vectors: &[Vec<f32>]) -> Result<()> {
    let width = sentences.iter().map(|sentence| sentence.len()).max();
    let width = width.unwrap_or(0);
    for (sentence, row) in sentences.iter().zip(vectors) {
        write!(output, "{sentence:>width$}  ")?;
        for column in vectors {
            let share = similarity(row, column);
            let style = Style::new().bg_color(Some(shade(share)));
            write!(output, "{style}    {style:#}")?;
        }
        writeln!(output)?;
    }
    Ok(())
}

/// Returns a color, from dark blue for unrelated sentences to yellow for equal ones.
fn shade(share: f32) -> Color {
    const SHADES: [[f32; 3]; 5] = [
        [27.0, 24.0, 62.0],
        [59.0, 62.0, 128.0],
        [33.0, 131.0, 134.0],
        [103.0, 190.0, 96.0],
        [247.0, 223.0, 72.0],
    ];
    let place = share.clamp(0.0, 1.0) * (SHADES.len() - 1) as f32;
    let below = (place as usize).min(SHADES.len() - 2);
    let part = place - below as f32;
    let mix = |channel: usize| {
        let (a, b) = (SHADES[below][channel], SHADES[below + 1][channel]);
        (a + (b - a) * part).round() as u8
    };
    Color::Rgb(RgbColor(mix(0), mix(1), mix(2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_nearest() -> Result<()> {
        let encoder = Encoder::new()?;
        let sentences: Vec<&str> = SENTENCES.lines().collect();
        let vectors = encoder.vectors(&sentences)?;
        for (question, expected) in [
            ("a trip by rail to the ocean", "Our railway journey ends by the sea."),
            ("wire funds to somebody", "How do I send money to another account?"),
            ("a loaf in the oven", "Bake the bread until its crust is brown."),
        ] {
            let asked = encoder.vectors(&[question])?.remove(0);
            assert_eq!(nearest(&asked, &vectors, &sentences)[0].1, expected);
        }
        Ok(())
    }

    #[test]
    fn a_sentence_has_the_same_vector_beside_longer_ones() -> Result<()> {
        let encoder = Encoder::new()?;
        let alone = encoder.vectors(&["Astronomers have seen a new comet."])?;
        let sentences: Vec<&str> = SENTENCES.lines().collect();
        let beside = encoder.vectors(&sentences)?;
        let at = sentences.iter().position(|sentence| sentence.contains("comet"));
        // 8-bit products are rounded relative to the largest value of all sentences of a call.
        assert!(similarity(&alone[0], &beside[at.unwrap()]) > 0.98);
        Ok(())
    }

    #[test]
    fn shades_begin_dark_and_end_bright() {
        assert_eq!(shade(-0.2), Color::Rgb(RgbColor(27, 24, 62)));
        assert_eq!(shade(0.25), Color::Rgb(RgbColor(59, 62, 128)));
        assert_eq!(shade(1.0), Color::Rgb(RgbColor(247, 223, 72)));
    }
}
