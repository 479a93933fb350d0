//! Draws digits and probabilities in a terminal.

use std::io::{Result, Write};

use anstyle::{Ansi256Color, AnsiColor, Style};

use crate::digit::{Pixels, SIDE};

const BAR_WIDTH: usize = 40;
const DARKEST_GRAY: u8 = 232;
const GRAYS: u8 = 24;
const BEST: Style = AnsiColor::Green.on_default().bold();

/// Draws a picture. A character shows two pixels, one above the other, in grays or, without colors, in black and
/// white.
pub fn picture(output: &mut impl Write, pixels: &Pixels, colored: bool) -> Result<()> {
    let (rows, _) = pixels.as_chunks::<SIDE>();
    let (pairs, _) = rows.as_chunks::<2>();
    for [upper, lower] in pairs {
        let mut line = String::new();
        for (upper, lower) in upper.iter().zip(lower) {
            if colored {
                let style = gray(*upper).on(gray(*lower));
                line.push_str(&format!("{style}▀{style:#}"));
            } else {
                line.push(half_block(*upper > 0.5, *lower > 0.5));
            }
        }
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Writes a line for each digit: its probability as a number and as a bar. The likeliest digit is highlighted.
pub fn bars(output: &mut impl Write, probabilities: &[f32; 10]) -> Result<()> {
    let (best, _) = likeliest(probabilities);
    for (digit, probability) in probabilities.iter().enumerate() {
        let style = if digit == best { BEST } else { Style::new() };
        let percent = probability * 100.0;
        let line = format!("{digit} {percent:5.1} % {}", bar(*probability));
        writeln!(output, "{style}{}{style:#}", line.trim_end())?;
    }
    Ok(())
}

/// Writes a line for a picture: its name, the digit and the probability.
pub fn summary(output: &mut impl Write, name: &str, probabilities: &[f32; 10]) -> Result<()> {
    let (digit, probability) = likeliest(probabilities);
    let percent = probability * 100.0;
    writeln!(output, "{name}: {BEST}{digit}{BEST:#} {percent:5.1} %")
}

pub fn likeliest(probabilities: &[f32; 10]) -> (usize, f32) {
    let by_probability = |a: &(usize, f32), b: &(usize, f32)| a.1.total_cmp(&b.1);
    let pairs = probabilities.iter().copied().enumerate();
    pairs.max_by(by_probability).unwrap_or((0, 0.0))
}

fn gray(ink: f32) -> Ansi256Color {
    let step = ink.clamp(0.0, 1.0) * f32::from(GRAYS - 1);
    Ansi256Color(DARKEST_GRAY + step.round() as u8)
}

fn half_block(upper: bool, lower: bool) -> char {
    match (upper, lower) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    }
}

/// Returns whole blocks, then a block of at most seven eighths.
fn bar(share: f32) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (BAR_WIDTH * 8) as f32).round() as usize;
    let rest = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8];
    "█".repeat(eighths / 8) + rest.to_string().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(draw: impl Fn(&mut Vec<u8>) -> Result<()>) -> String {
        let mut output = Vec::new();
        draw(&mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_plain_character_shows_two_pixels() {
        let mut pixels = [0.0; SIDE * SIDE];
        (pixels[0], pixels[1], pixels[2], pixels[SIDE + 2], pixels[SIDE + 3]) = (1.0, 0.4, 0.9, 0.6, 1.0);
        let text = text(|output| picture(output, &pixels, false));
        assert_eq!(text, "▀ █▄\n".to_owned() + &"\n".repeat(13));
    }

    #[test]
    fn a_colored_character_has_the_grays_of_two_pixels() {
        let mut pixels = [0.0; SIDE * SIDE];
        pixels[SIDE] = 1.0;
        let text = text(|output| picture(output, &pixels, true));
        assert!(text.starts_with("\u{1b}[38;5;232m\u{1b}[48;5;255m▀\u{1b}[0m"), "{text:?}");
        assert_eq!(text.lines().count(), SIDE / 2);
        assert!(text.lines().all(|line| line.matches('▀').count() == SIDE));
    }

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(1.0), "█".repeat(BAR_WIDTH));
        assert_eq!(bar(1.0 / 320.0), "▏");
        assert_eq!(bar(12.0 / 320.0), "█▌");
        assert_eq!(bar(f32::NAN), "");
    }

    #[test]
    fn the_likeliest_bar_is_highlighted() {
        let mut probabilities = [0.0; 10];
        (probabilities[3], probabilities[8]) = (0.95, 0.05);
        let text = text(|output| bars(output, &probabilities));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "0   0.0 %");
        assert_eq!(lines[3], format!("{BEST}3  95.0 % {}{BEST:#}", "█".repeat(38)));
        assert_eq!(lines[8], "8   5.0 % ██");
    }

    #[test]
    fn a_summary_names_the_likeliest_digit() {
        let mut probabilities = [0.0; 10];
        probabilities[7] = 0.5;
        let text = text(|output| summary(output, "seven.png", &probabilities));
        assert_eq!(text, format!("seven.png: {BEST}7{BEST:#}  50.0 %\n"));
    }
}
