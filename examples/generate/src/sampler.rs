//! Selection of the next token by its score.

use std::cmp::Ordering;
use std::collections::HashSet;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub struct Sampling {
    /// 0 selects the most likely token; larger values make others more likely
    #[arg(long, default_value_t = Self::DEFAULT.temperature, value_parser = not_negative)]
    temperature: f32,
    /// Number of tokens to draw from, 0 for all
    #[arg(long, default_value_t = Self::DEFAULT.top_k)]
    top_k: usize,
    /// Draws from the most likely tokens whose probabilities have at least this sum
    #[arg(long, default_value_t = Self::DEFAULT.top_p, value_parser = share)]
    top_p: f32,
    /// Factor by which the scores of tokens of the text are lowered, 1 for none
    #[arg(long, default_value_t = Self::DEFAULT.penalty, value_parser = positive)]
    penalty: f32,
    /// Equal seeds draw equal tokens
    #[arg(long, default_value_t = Self::DEFAULT.seed)]
    seed: u64,
}

impl Sampling {
    pub const DEFAULT: Self = Self { temperature: 0.0, top_k: 40, top_p: 0.95, penalty: 1.0, seed: 0 };
}

pub struct Sampler {
    sampling: Sampling,
    seen: HashSet<u32>,
    random: u64,
}

impl Sampler {
    pub fn new(sampling: &Sampling) -> Self {
        Self { sampling: sampling.clone(), seen: HashSet::new(), random: sampling.seed }
    }

    /// Counts tokens as part of the text.
    pub fn saw(&mut self, tokens: &[u32]) {
        self.seen.extend(tokens);
    }

    /// Returns the next token. There is a score for each, and some are changed.
    pub fn next(&mut self, scores: &mut [f32]) -> u32 {
        for &token in &self.seen {
            if let Some(score) = scores.get_mut(token as usize) {
                let lower = if *score > 0.0 { 1.0 / self.sampling.penalty } else { self.sampling.penalty };
                *score *= lower;
            }
        }
        if self.sampling.temperature == 0.0 {
            return best(scores);
        }
        let mut likely: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).collect();
        let count = self.sampling.top_k;
        if count > 0 && count < likely.len() {
            likely.select_nth_unstable_by(count, higher);
            likely.truncate(count);
        }
        likely.sort_unstable_by(higher);
        self.draw(&likely)
    }

    /// Draws from tokens whose scores fall.
    fn draw(&mut self, tokens: &[(u32, f32)]) -> u32 {
        let Some(&(first, highest)) = tokens.first() else { return 0 };
        let temperature = self.sampling.temperature;
        let weight = |score: f32| ((score - highest) / temperature).exp();
        let all: f32 = tokens.iter().map(|&(_, score)| weight(score)).sum();
        let (mut kept, mut sum) = (0, 0.0);
        for &(_, score) in tokens {
            kept += 1;
            sum += weight(score);
            if sum >= self.sampling.top_p * all {
                break;
            }
        }
        let mut rest = self.random() * sum;
        let drawn = tokens.iter().take(kept).find(|&&(_, score)| {
            rest -= weight(score);
            rest < 0.0
        });
        drawn.map_or(first, |&(token, _)| token)
    }

    /// Returns a number below 1, by SplitMix64.
    fn random(&mut self) -> f32 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        (bits >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// Orders tokens by falling scores, and equal scores by token.
fn higher(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

fn best(scores: &[f32]) -> u32 {
    (0..).zip(scores.iter().copied()).min_by(higher).map_or(0, |(token, _)| token)
}

fn not_negative(text: &str) -> Result<f32, String> {
    number(text, |value| value >= 0.0, "a number of at least 0")
}

fn positive(text: &str) -> Result<f32, String> {
    number(text, |value| value > 0.0, "a number above 0")
}

fn share(text: &str) -> Result<f32, String> {
    number(text, |value| value > 0.0 && value <= 1.0, "a number above 0, up to 1")
}

fn number(text: &str, fits: fn(f32) -> bool, expected: &str) -> Result<f32, String> {
    let value = text.parse().ok().filter(|value: &f32| value.is_finite() && fits(*value));
    value.ok_or_else(|| format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probabilities 0.1, 0.4, 0.3 and 0.2.
    fn scores() -> Vec<f32> {
        [0.1f32, 0.4, 0.3, 0.2].map(f32::ln).to_vec()
    }

    /// Returns how often each token is drawn in 10,000 draws.
    fn shares(sampling: Sampling) -> [f32; 4] {
        let mut sampler = Sampler::new(&sampling);
        let mut shares = [0.0; 4];
        for _ in 0..10_000 {
            shares[sampler.next(&mut scores()) as usize] += 1e-4;
        }
        shares
    }

    #[track_caller]
    fn near(found: [f32; 4], expected: [f32; 4]) {
        let far = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 0.02);
        assert!(!far, "{found:?}, expected {expected:?}");
    }

    fn all() -> Sampling {
        Sampling { temperature: 1.0, top_k: 0, top_p: 1.0, ..Sampling::DEFAULT }
    }

    #[test]
    fn without_a_temperature_the_best_is_selected() {
        assert_eq!(shares(Sampling::DEFAULT)[1].round(), 1.0);
        assert_eq!(Sampler::new(&Sampling::DEFAULT).next(&mut [1.0, 3.0, 3.0]), 1);
    }

    #[test]
    fn tokens_are_drawn_by_their_probabilities() {
        near(shares(all()), [0.1, 0.4, 0.3, 0.2]);
        // Probabilities are squared at temperature 0.5.
        near(shares(Sampling { temperature: 0.5, ..all() }), [1.0, 16.0, 9.0, 4.0].map(|share| share / 30.0));
    }

    #[test]
    fn only_likely_tokens_are_drawn() {
        near(shares(Sampling { top_k: 2, ..all() }), [0.0, 4.0 / 7.0, 3.0 / 7.0, 0.0]);
        near(shares(Sampling { top_p: 0.6, ..all() }), [0.0, 4.0 / 7.0, 3.0 / 7.0, 0.0]);
        near(shares(Sampling { top_p: 0.75, ..all() }), [0.0, 4.0 / 9.0, 3.0 / 9.0, 2.0 / 9.0]);
        near(shares(Sampling { top_p: 1e-6, ..all() }), [0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn seen_tokens_have_lower_scores() {
        let mut sampler = Sampler::new(&Sampling { penalty: 2.0, ..Sampling::DEFAULT });
        sampler.saw(&[0, 2, 2, 9]);
        let mut scores = [3.0, 2.0, -1.0];
        assert_eq!(sampler.next(&mut scores), 1);
        assert_eq!(scores, [1.5, 2.0, -2.0]);
    }

    #[test]
    fn equal_seeds_draw_equal_tokens() {
        let drawn = |seed| {
            let mut sampler = Sampler::new(&Sampling { seed, ..all() });
            (0..40).map(|_| sampler.next(&mut scores())).collect::<Vec<_>>()
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(not_negative("0"), Ok(0.0));
        assert_eq!(positive("0"), Err("expected a number above 0".into()));
        assert_eq!(share("1.5"), Err("expected a number above 0, up to 1".into()));
        assert!(not_negative("NaN").is_err() && positive("inf").is_err() && share("x").is_err());
    }
}
