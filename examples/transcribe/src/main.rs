//! Writes what is said in a recording.
//!
//! `transcribe sound.wav` prints the words while the model recognizes them, part by part between pauses.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;

mod model;
mod sound;
mod vocabulary;

use model::Speech;
use sound::RATE;

#[derive(Parser)]
struct Arguments {
    /// WAV file of 4,000 to 192,000 samples per second
    sound: PathBuf,
    /// Prints the time of each part before its text
    #[arg(long)]
    times: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let samples = sound::read(&arguments.sound)?;
    let speech = Speech::new();
    let mut output = std::io::stdout().lock();
    let start = Instant::now();
    let mut tokens = 0;
    for part in sound::parts(&samples) {
        if arguments.times {
            write!(output, "{} ", time(part.start))?;
        }
        let mut is_first = true;
        tokens += speech.transcribe(&samples[part], |text| {
            let text = if is_first { text.trim_start() } else { text };
            is_first &= text.is_empty();
            output.write_all(text.as_bytes())?;
            Ok(output.flush()?)
        })?;
        writeln!(output)?;
    }
    let (length, took) = (samples.len() as f64 / f64::from(RATE), start.elapsed().as_secs_f64());
    eprintln!("{length:.1} s of sound, {tokens} tokens, in {took:.1} s");
    Ok(())
}

/// Returns minutes and seconds.
fn time(sample: usize) -> String {
    let tenths = sample * 10 / RATE as usize;
    format!("{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}
