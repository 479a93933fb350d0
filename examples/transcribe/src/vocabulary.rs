//! Text of tokens.

/// The bytes of each token.
pub struct Vocabulary {
    tokens: Vec<Vec<u8>>,
}

/// The character in place of a space in tokens.
const SPACE: &str = "\u{2581}";

impl Vocabulary {
    /// Reads a list of tokens: for each its length, as one byte or as two with the lower 7 bits first, and its bytes.
    pub fn read(mut bytes: &[u8]) -> Self {
        let mut tokens = Vec::new();
        while let Some((token, rest)) = token(bytes) {
            tokens.push(token.to_vec());
            bytes = rest;
        }
        Self { tokens }
    }

    /// Returns text that is the next part of an answer.
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces { vocabulary: self, held: Vec::new() }
    }
}

/// Returns the first token of a list, and the list after it.
fn token(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first < 128 {
        return rest.split_at_checked(first.into());
    }
    let (&second, rest) = rest.split_first()?;
    rest.split_at_checked(usize::from(first - 128) + usize::from(second) * 128)
}

/// Text of tokens that arrive one by one.
pub struct Pieces<'a> {
    vocabulary: &'a Vocabulary,
    /// Bytes of a character that is not complete.
    held: Vec<u8>,
}

impl Pieces<'_> {
    /// Appends a token, and returns the characters that are complete.
    pub fn push(&mut self, token: usize) -> String {
        self.held.extend(self.vocabulary.tokens.get(token).into_iter().flatten());
        let complete = match std::str::from_utf8(&self.held) {
            Ok(text) => text.len(),
            // Invalid bytes are replaced. An incomplete character waits for its other bytes.
            Err(error) if error.error_len().is_some() => self.held.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.held.drain(..complete).collect();
        String::from_utf8_lossy(&text).replace(SPACE, " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_several_tokens_appear_when_they_are_complete() {
        let mut list = vec![4, 0xE2, 0x96, 0x81, b'a', 1, 0xC3, 1, 0xA9, 0];
        list.extend([128 + 72, 1]);
        list.extend([b'x'; 200]);
        let vocabulary = Vocabulary::read(&list);
        assert_eq!(vocabulary.tokens.len(), 5);
        let mut pieces = vocabulary.pieces();
        let texts: Vec<String> = (0..4).map(|token| pieces.push(token)).collect();
        assert_eq!(texts, [" a", "", "é", ""]);
        assert_eq!(pieces.push(4).len(), 200);
        assert_eq!(pieces.push(1_000), "");
        assert_eq!((pieces.push(1), pieces.push(0)), (String::new(), "\u{FFFD} a".into()));
    }
}
