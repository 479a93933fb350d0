//! Draws a page in a terminal, with the recognized text.

use std::io::{Result, Write};

use anstyle::{AnsiColor, RgbColor};
use image::GrayImage;
use image::imageops::{self, FilterType};

use crate::decode::Text;
use crate::page::Line;

/// Number of columns of the page in the terminal. A character shows two pixels, one above the other.
const WIDTH: u32 = 56;
/// Confidence below which text is yellow.
const SURE: f32 = 0.9;

/// Draws the page, and next to each line its text and the confidence of its least certain character.
pub fn beside(output: &mut impl Write, page: &GrayImage, read: &[(Line, Text)]) -> Result<()> {
    let height = (page.height() * WIDTH / page.width().max(1)).next_multiple_of(2).max(2);
    let small = imageops::resize(page, WIDTH, height, FilterType::Triangle);
    let row_of = |line: &Line| {
        let middle = line.top + line.height / 2;
        middle * height / page.height() / 2
    };
    let mut rest = read.iter().peekable();
    for row in 0..height / 2 {
        for x in 0..WIDTH {
            let [upper, lower] = [2 * row, 2 * row + 1].map(|y| gray(&small, x, y));
            let style = upper.on(lower);
            write!(output, "{style}▀{style:#}")?;
        }
        // If two lines are in one row, the text of the second one is in the next row.
        if let Some((_, text)) = rest.next_if(|(line, _)| row_of(line) <= row) {
            let style = match text.confidence > SURE {
                true => AnsiColor::Green.on_default(),
                false => AnsiColor::Yellow.on_default(),
            };
            let percent = 100.0 * text.confidence;
            write!(output, "  {percent:3.0} %  {style}{}{style:#}", text.text)?;
        }
        writeln!(output)?;
    }
    Ok(())
}

fn gray(picture: &GrayImage, x: u32, y: u32) -> RgbColor {
    let [value] = picture.get_pixel(x, y).0;
    RgbColor(value, value, value)
}
