//! Answers questions with a small language model.
//!
//! `generate "Why is the sky blue?"` prints the answer while the model writes it. Without a question, each line of the
//! input is a turn of a conversation.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;

mod chat;
mod model;
mod sampler;
mod stops;

use chat::{Chat, SYSTEM};
use sampler::Sampling;

#[derive(Parser)]
struct Arguments {
    /// Without a question, each line of the input is one
    question: Option<String>,
    /// System prompt
    #[arg(long, default_value = SYSTEM)]
    system: String,
    /// Largest number of tokens of an answer
    #[arg(long, default_value_t = 256)]
    tokens: usize,
    /// An answer ends before this text; may be repeated
    #[arg(long)]
    stop: Vec<String>,
    #[command(flatten)]
    sampling: Sampling,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut chat = Chat::new(&arguments.system, &arguments.sampling)?;
    match &arguments.question {
        Some(question) => answer(&mut chat, question, &arguments)?,
        None => {
            for question in std::io::stdin().lock().lines() {
                answer(&mut chat, &question?, &arguments)?;
            }
        }
    }
    Ok(())
}

/// Prints an answer piece by piece, and its speed to the standard error.
fn answer(chat: &mut Chat, question: &str, arguments: &Arguments) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let start = Instant::now();
    let prompt = chat.ask(question)?;
    let asked = start.elapsed();
    let start = Instant::now();
    let tokens = chat.answer(arguments.tokens, &arguments.stop, |text| {
        output.write_all(text.as_bytes())?;
        Ok(output.flush()?)
    })?;
    let answered = start.elapsed();
    writeln!(output)?;
    eprintln!("question: {}; answer: {}", speed(prompt, asked), speed(tokens, answered));
    Ok(())
}

fn speed(tokens: usize, time: Duration) -> String {
    format!("{tokens} tokens, {:.1} per second", tokens as f64 / time.as_secs_f64().max(1e-9))
}
