//! Reads ten digits, on a microcontroller or a computer.

#![cfg_attr(target_os = "none", no_std, no_main)]

use core::fmt::{Error, Write};

use no_std::{Reader, SAMPLES, draw};

#[cfg(target_os = "none")]
mod board;

#[cfg(not(target_os = "none"))]
fn main() {
    let mut output = String::new();
    let right = read_all(&mut output);
    print!("{output}");
    assert_eq!(right, Ok(10));
}

/// Writes the answers and returns the number of right ones.
fn read_all(output: &mut impl Write) -> Result<usize, Error> {
    let reader = Reader::new();
    draw(output, &SAMPLES[7])?;
    let mut right = 0;
    for (digit, picture) in SAMPLES.iter().enumerate() {
        let answer = reader.read(picture);
        let percent = 100.0 * answer.probability;
        writeln!(output, "a {digit} is read as {}, {percent:.1} %", answer.digit)?;
        right += usize::from(answer.digit == digit);
    }
    Ok(right)
}
