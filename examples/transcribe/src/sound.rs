//! Sound: WAV files, rates, and parts between pauses.

use std::f64::consts::PI;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use hound::{SampleFormat, WavReader};

/// Samples per second that the model takes.
pub const RATE: u32 = 16_000;
/// Samples per second of files. Memory of the resampler depends on them.
const RATES: RangeInclusive<u32> = 4_000..=192_000;
/// Number of samples of a frame, which has one loudness: 20 ms.
const FRAME: usize = 320;
/// Loudness of a frame, as the root of the mean square, below which it counts as silent.
const SILENT: f32 = 1e-3;

/// Reads a file as one channel at [`RATE`].
pub fn read(path: &Path) -> Result<Vec<f32>> {
    let name = path.display();
    let mut file = WavReader::open(path).with_context(|| format!("cannot read `{name}`"))?;
    let form = file.spec();
    ensure!(form.channels > 0, "`{name}` has no channels");
    let rate = form.sample_rate;
    ensure!(RATES.contains(&rate), "`{name}` has {rate} samples per second, expected {RATES:?}");
    let samples: Vec<f32> = match form.sample_format {
        SampleFormat::Float => file.samples::<f32>().collect::<Result<_, _>>(),
        SampleFormat::Int => {
            let scale = 0.5f32.powi(i32::from(form.bits_per_sample) - 1);
            file.samples::<i32>().map(|sample| sample.map(|sample| sample as f32 * scale)).collect()
        }
    }
    .with_context(|| format!("cannot read the samples of `{name}`"))?;
    let channels = usize::from(form.channels);
    let mixed = samples.chunks_exact(channels).map(|frame| frame.iter().sum::<f32>() / channels as f32);
    Ok(resample(&mixed.collect::<Vec<f32>>(), rate))
}

/// Changes the rate of samples to [`RATE`], without the frequencies that it cannot represent.
fn resample(samples: &[f32], rate: u32) -> Vec<f32> {
    if rate == RATE {
        return samples.to_vec();
    }
    // Of `up` results, each has another distance from the sample before it. Then the distances repeat, `down` samples later.
    let common = common_divisor(rate, RATE);
    let (up, down) = ((RATE / common) as usize, (rate / common) as usize);
    let filters: Vec<Filter> =
        (0..up).map(|phase| Filter::new((phase * down) as f64 / up as f64, up, down)).collect();
    let length = samples.len() * up / down;
    let result = |at: usize| filters[at % up].apply(samples, at / up * down);
    (0..length).map(result).collect()
}

/// Weights of the samples around a result.
struct Filter {
    /// Index of the sample with the first weight, relative to a multiple of the period.
    first: isize,
    weights: Vec<f32>,
}

impl Filter {
    fn new(center: f64, up: usize, down: usize) -> Self {
        /// Zero crossings of the sinc function on each side of a sample.
        const CROSSINGS: f64 = 16.0;
        // A lower rate passes fewer frequencies.
        let band = (up as f64 / down as f64).min(1.0);
        let reach = CROSSINGS / band;
        let first = (center - reach).ceil() as isize;
        let last = (center + reach).floor() as isize;
        let weight = |index: isize| {
            let distance = index as f64 - center;
            let window = (distance / reach * PI / 2.0).cos().powi(2);
            (sinc(distance * band) * band * window) as f32
        };
        Self { first, weights: (first..=last).map(weight).collect() }
    }

    fn apply(&self, samples: &[f32], start: usize) -> f32 {
        let first = self.first + start as isize;
        // There is silence before the first sample and after the last one.
        let outside = (-first).max(0) as usize;
        let weights = self.weights.iter().skip(outside);
        let samples = samples.iter().skip(first.max(0) as usize);
        weights.zip(samples).map(|(weight, sample)| weight * sample).sum()
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// Divides sound at its pauses into parts of at most 16 seconds. Parts without any sound are left out.
pub fn parts(samples: &[f32]) -> Vec<Range<usize>> {
    /// Frames of the shortest and of the longest part that is cut, and of a pause: 6 s, 16 s and 0.3 s.
    const LEAST: usize = 300;
    const MOST: usize = 800;
    const PAUSE: usize = 15;
    let loudness: Vec<f32> = samples.chunks(FRAME).map(loudness).collect();
    let mut parts = Vec::new();
    let mut start = 0;
    while start < loudness.len() {
        let rest = &loudness[start..];
        let frames = if rest.len() <= MOST {
            rest.len()
        } else {
            // The middle of the quietest pause.
            let sums = rest[LEAST..MOST].windows(PAUSE).map(|frames| frames.iter().sum::<f32>());
            let quietest = sums.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
            LEAST + quietest.map_or(0, |(at, _)| at) + PAUSE / 2
        };
        if rest[..frames].iter().any(|loudness| *loudness > SILENT) {
            parts.push(start * FRAME..((start + frames) * FRAME).min(samples.len()));
        }
        start += frames;
    }
    parts
}

fn loudness(samples: &[f32]) -> f32 {
    let squares: f32 = samples.iter().map(|sample| sample * sample).sum();
    (squares / samples.len() as f32).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tone(frequency: f64, rate: u32, count: usize) -> Vec<f32> {
        let angle = |at: usize| 2.0 * PI * frequency * at as f64 / f64::from(rate);
        (0..count).map(|at| angle(at).sin() as f32 * 0.5).collect()
    }

    #[test]
    fn another_rate_keeps_a_tone_and_drops_what_is_too_high() {
        for rate in [8_000, 22_050, 48_000] {
            let found = resample(&tone(440.0, rate, rate as usize), rate);
            assert_eq!(found.len(), RATE as usize);
            let wanted = tone(440.0, RATE, RATE as usize);
            // The ends lack samples on one side.
            for (at, (a, b)) in found.iter().zip(&wanted).enumerate().skip(400).take(15_000) {
                assert!((a - b).abs() < 2e-3, "sample {at} of {rate} Hz: {a}, expected {b}");
            }
        }
        let found = resample(&tone(12_000.0, 48_000, 48_000), 48_000);
        assert!(loudness(&found[400..15_400]) < 1e-3);
    }

    #[test]
    fn sound_is_cut_at_its_pauses() {
        // 12 s of sound, half a second of silence, and 10 s of sound.
        let second = RATE as usize;
        let mut samples = tone(300.0, RATE, 12 * second);
        samples.extend(vec![0.0; second / 2]);
        samples.extend(tone(300.0, RATE, 10 * second));
        let found = parts(&samples);
        let [first, last] = found.as_slice() else { panic!("{found:?}") };
        assert!((12 * second..12 * second + second / 2).contains(&first.end), "{found:?}");
        assert_eq!((first.start, last.clone()), (0, first.end..samples.len()));
        assert!(parts(&vec![0.0; 20 * second]).is_empty());
        assert!(parts(&[]).is_empty());
        assert_eq!(parts(&samples[..100]), [0..100]);
    }
}
