//! Operators on words.

pub mod word_conv;
