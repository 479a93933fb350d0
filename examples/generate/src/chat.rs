//! Conversations in the format that the model was trained with.

use anyhow::{Result, anyhow, bail};
use tokenizers::Tokenizer;

use crate::model::Text;
use crate::sampler::{Sampler, Sampling};
use crate::stops::Stops;

pub const SYSTEM: &str = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
/// Token at the end of a message.
const END: &str = "<|im_end|>";

pub struct Chat {
    tokenizer: Tokenizer,
    end: u32,
    text: Text,
    sampler: Sampler,
    /// Text before the next question that the model has not read yet.
    before: String,
    /// Scores of the next token.
    scores: Vec<f32>,
}

impl Chat {
    pub fn new(system: &str, sampling: &Sampling) -> Result<Self> {
        let tokenizer = Tokenizer::from_bytes(include_bytes!("../model/tokenizer.json")).map_err(readable)?;
        let Some(end) = tokenizer.token_to_id(END) else { bail!("the tokenizer has no {END}") };
        Ok(Self {
            tokenizer,
            end,
            text: Text::new(),
            sampler: Sampler::new(sampling),
            before: said("system", system),
            scores: Vec::new(),
        })
    }

    /// Appends a question, and returns its number of tokens with the marks around it.
    pub fn ask(&mut self, question: &str) -> Result<usize> {
        let marked = format!("{}{}<|im_start|>assistant\n", self.before, said("user", question));
        let tokens = self.tokenizer.encode(marked, false).map_err(readable)?;
        let tokens = tokens.get_ids();
        self.scores = self.text.push(tokens)?;
        self.sampler.saw(tokens);
        Ok(tokens.len())
    }

    /// Passes pieces of the answer to `print`, and returns their number of tokens.
    ///
    /// The answer ends with its end mark, before a text of `stops`, after `most` tokens, or when the context is full.
    pub fn answer(
        &mut self,
        most: usize,
        stops: &[String],
        mut print: impl FnMut(&str) -> Result<()>,
    ) -> Result<usize> {
        let mut pieces = self.tokenizer.decode_stream(true);
        let mut stops = Stops::new(stops);
        let mut count = 0;
        let most = most.min(self.text.room());
        while count < most {
            let token = self.sampler.next(&mut self.scores);
            if token == self.end {
                break;
            }
            count += 1;
            self.sampler.saw(&[token]);
            self.scores = self.text.push(&[token])?;
            // A character may take several tokens.
            if let Some(piece) = pieces.step(token).map_err(readable)? {
                print(&stops.push(&piece))?;
            }
            if stops.found() {
                break;
            }
        }
        print(stops.rest())?;
        self.before = format!("{END}\n");
        Ok(count)
    }
}

fn said(who: &str, text: &str) -> String {
    format!("<|im_start|>{who}\n{text}{END}\n")
}

fn readable(error: tokenizers::Error) -> anyhow::Error {
    anyhow!("{error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat() -> Result<Chat> {
        Chat::new(SYSTEM, &Sampling::DEFAULT)
    }

    fn answer(chat: &mut Chat, most: usize, stops: &[String]) -> Result<(String, usize)> {
        let mut answer = String::new();
        let count = chat.answer(most, stops, |piece| {
            answer += piece;
            Ok(())
        })?;
        Ok((answer, count))
    }

    #[test]
    fn the_answer_is_that_of_onnx_runtime() -> Result<()> {
        let (question, expected) = include_str!("../expected.txt").split_once('\n').unwrap_or_default();
        let mut chat = chat()?;
        chat.ask(question)?;
        let (found, _) = answer(&mut chat, 96, &[])?;
        assert_eq!(found + "\n", expected);
        Ok(())
    }

    #[test]
    fn a_second_question_refers_to_the_first() -> Result<()> {
        let mut chat = chat()?;
        chat.ask("What is the capital of France?")?;
        let (first, _) = answer(&mut chat, 64, &[])?;
        assert!(first.contains("Paris"), "{first}");
        chat.ask("In which country is that city?")?;
        let (second, _) = answer(&mut chat, 64, &[])?;
        assert!(second.contains("France"), "{second}");
        Ok(())
    }

    #[test]
    fn an_answer_ends_before_a_text_and_after_a_number_of_tokens() -> Result<()> {
        let mut chat = chat()?;
        chat.ask("What is the capital of France?")?;
        let (whole, _) = answer(&mut chat, 8, &[])?;
        let mut chat = self::chat()?;
        chat.ask("What is the capital of France?")?;
        let (part, count) = answer(&mut chat, 3, &[])?;
        assert_eq!(count, 3);
        assert!(whole.starts_with(&part), "{part}, {whole}");
        let mut chat = self::chat()?;
        chat.ask("What is the capital of France?")?;
        let (before, _) = answer(&mut chat, 8, &["Paris".into()])?;
        assert_eq!(whole.split_once("Paris").map(|(before, _)| before), Some(before.as_str()));
        Ok(())
    }
}
