//! Reads handwritten digits from PNG files.
//!
//! `mnist digit.png` draws the digit and the probability of each of 0 to 9. Without a file, it reads the samples.

use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anstream::ColorChoice;
use anyhow::{Context, Result};
use image::ImageFormat;

mod classify;
mod digit;
mod draw;

struct Picture {
    name: String,
    png: Vec<u8>,
}

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let (pictures, drawn) = if paths.is_empty() { (samples(), 1) } else { (read(&paths)?, paths.len()) };
    let digits = pictures.iter().map(decode).collect::<Result<Vec<_>>>()?;
    let probabilities = classify::classify(&digits);

    let mut output = anstream::stdout().lock();
    let colored = output.current_choice() != ColorChoice::Never;
    for (at, picture) in pictures.iter().enumerate() {
        draw::summary(&mut output, &picture.name, &probabilities[at])?;
        if at < drawn {
            draw::picture(&mut output, &digits[at], colored)?;
            draw::bars(&mut output, &probabilities[at])?;
            writeln!(output)?;
        }
    }
    Ok(())
}

fn read(paths: &[PathBuf]) -> Result<Vec<Picture>> {
    let open = |path: &PathBuf| {
        let name = path.display().to_string();
        let png = fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
        Ok(Picture { name, png })
    };
    paths.iter().map(open).collect()
}

fn samples() -> Vec<Picture> {
    let files: [&[u8]; 10] = [
        include_bytes!("../digits/0.png"),
        include_bytes!("../digits/1.png"),
        include_bytes!("../digits/2.png"),
        include_bytes!("../digits/3.png"),
        include_bytes!("../digits/4.png"),
        include_bytes!("../digits/5.png"),
        include_bytes!("../digits/6.png"),
        include_bytes!("../digits/7.png"),
        include_bytes!("../digits/8.png"),
        include_bytes!("../digits/9.png"),
    ];
    let named = |(digit, png): (usize, &&[u8])| Picture { name: format!("{digit}.png"), png: png.to_vec() };
    files.iter().enumerate().map(named).collect()
}

fn decode(picture: &Picture) -> Result<digit::Pixels> {
    let name = &picture.name;
    let image = image::load_from_memory_with_format(&picture.png, ImageFormat::Png)
        .with_context(|| format!("`{name}` is not a readable PNG file"))?;
    digit::normalize(&image).with_context(|| format!("no digit in `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_read_right() {
        let digits: Vec<_> = samples().iter().map(|sample| decode(sample).unwrap()).collect();
        let read: Vec<_> = classify::classify(&digits)
            .iter()
            .map(|probabilities| draw::likeliest(probabilities).0)
            .collect();
        assert_eq!(read, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(&["no/such.png".into()]).err().unwrap();
        assert_eq!(error.to_string(), "cannot read `no/such.png`");
    }

    #[test]
    fn a_file_that_is_no_png_is_named() {
        let text = Picture { name: "notes.txt".to_owned(), png: b"seven".to_vec() };
        let error = decode(&text).unwrap_err();
        assert_eq!(error.to_string(), "`notes.txt` is not a readable PNG file");
    }
}
