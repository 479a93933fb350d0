//! Draws a picture in a terminal, with bars on its right.

use std::io::{Result, Write};

use anstyle::{AnsiColor, RgbColor, Style};
use image::RgbImage;
use image::imageops::{self, FilterType};

/// Number of columns in the terminal, and twice the number of rows: a character shows two pixels, one above the
/// other.
const SIDE: u32 = 24;
const BAR_WIDTH: f32 = 30.0;
const BEST: Style = AnsiColor::Green.on_default().bold();

/// Draws the picture, and each label with its probability as a number and as a bar.
pub fn beside(output: &mut impl Write, picture: &RgbImage, answers: &[(&str, f32)]) -> Result<()> {
    let small = imageops::resize(picture, SIDE, SIDE, FilterType::Triangle);
    let top = (SIDE as usize / 2).saturating_sub(answers.len()) / 2;
    for row in 0..SIDE / 2 {
        for x in 0..SIDE {
            let [upper, lower] = [2 * row, 2 * row + 1].map(|y| color(&small, x, y));
            let style = upper.on(lower);
            write!(output, "{style}▀{style:#}")?;
        }
        if let Some(at) = (row as usize).checked_sub(top)
            && let Some((label, probability)) = answers.get(at)
        {
            let style = if at == 0 { BEST } else { Style::new() };
            let percent = probability * 100.0;
            let bar = bar(*probability);
            write!(output, "  {style}{label:<9}{percent:5.1} % {bar}{style:#}")?;
        }
        writeln!(output)?;
    }
    Ok(())
}

fn color(picture: &RgbImage, x: u32, y: u32) -> RgbColor {
    let [red, green, blue] = picture.get_pixel(x, y).0;
    RgbColor(red, green, blue)
}

/// Returns whole blocks, then a block of at most seven eighths.
fn bar(share: f32) -> String {
    let eighths = (share.clamp(0.0, 1.0) * BAR_WIDTH * 8.0).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stand_beside_the_middle_of_the_picture() {
        let mut output = Vec::new();
        let picture = RgbImage::from_pixel(64, 64, image::Rgb([255, 0, 0]));
        beside(&mut output, &picture, &[("star", 0.75), ("ring", 0.25)]).unwrap();
        let text = anstream::adapter::strip_bytes(&output).into_vec();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 12);
        let pixels = "▀".repeat(24);
        assert_eq!(lines[4], pixels);
        assert_eq!(lines[5], format!("{pixels}  star      75.0 % {}▌", "█".repeat(22)));
        assert_eq!(lines[6], format!("{pixels}  ring      25.0 % {}▌", "█".repeat(7)));
    }
}
