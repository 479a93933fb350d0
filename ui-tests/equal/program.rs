//! Prints a hash of each output of deterministic models, and with `time` how long they take beside plain ones.
//!
//! `equal.py` adds the models.

#![allow(non_snake_case)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use onnx_embed::{DType, Device, OnnxModel, TensorData, Value, Values, with_threads};

/// A model with its cases.
struct Subject {
    name: &'static str,
    load: fn(&Device) -> Run,
    plain: Option<fn(&Device) -> Run>,
    cases: &'static [Case],
}

type Run = Box<dyn Fn(Values) -> Values>;

struct Case {
    name: &'static str,
    inputs: &'static [Input],
    /// Row of the outputs that is hashed, among this many.
    row: Option<[usize; 2]>,
}

struct Input {
    name: &'static str,
    dtype: DType,
    sizes: &'static [usize],
    bytes: &'static [u8],
}

fn boxed<M: OnnxModel + 'static>(model: M) -> Run {
    Box::new(move |inputs| model.run(inputs).expect("the model runs"))
}

impl Case {
    fn inputs(&self) -> Values {
        let mut values = Values::new();
        for Input { name, dtype, sizes, bytes } in self.inputs {
            let data = TensorData::from_bytes_vec(bytes.to_vec(), sizes.to_vec(), *dtype);
            values.insert(*name, Value::Tensor(data));
        }
        values
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [word, seconds] if word == "time" => time(seconds.parse().expect("a number of seconds")),
        counts => {
            for count in counts {
                let count: usize = count.parse().expect("a number of threads");
                with_threads(count, || hashes(count));
            }
        }
    }
}

fn hashes(threads: usize) {
    for subject in SUBJECTS {
        let model = (subject.load)(&Device::default());
        for case in subject.cases {
            for (name, value) in model(case.inputs()).iter() {
                let Value::Tensor(data) = value else { continue };
                println!("{} {} {} {threads} {:016x}", subject.name, case.name, name, hash(data, case.row));
            }
        }
    }
}

/// FNV-1a of the bits; all NaN are one.
fn hash(data: &TensorData, row: Option<[usize; 2]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let bytes = data.as_bytes();
    let bytes = match row {
        Some([row, of]) => &bytes[bytes.len() / of * row..][..bytes.len() / of],
        None => bytes,
    };
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    match data.dtype() {
        DType::F32 => {
            for x in bytes.as_chunks::<4>().0 {
                let x = f32::from_le_bytes(*x);
                add(&if x.is_nan() { f32::NAN } else { x }.to_le_bytes());
            }
        }
        DType::F64 => {
            for x in bytes.as_chunks::<8>().0 {
                let x = f64::from_le_bytes(*x);
                add(&if x.is_nan() { f64::NAN } else { x }.to_le_bytes());
            }
        }
        _ => add(bytes),
    }
    hash
}

/// Prints the median times of the plain and the deterministic model, which take turns.
fn time(seconds: f64) {
    for subject in SUBJECTS {
        let (Some(plain), Some(case)) = (subject.plain, subject.cases.first()) else { continue };
        let models = [plain, subject.load].map(|load| load(&Device::default()));
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..7 {
            for (model, times) in models.iter().zip(&mut times) {
                let end = Instant::now() + Duration::from_secs_f64(seconds);
                let mut count = 0;
                while count < 2 || Instant::now() < end {
                    let inputs = case.inputs();
                    let start = Instant::now();
                    black_box(model(inputs));
                    times.push(start.elapsed());
                    count += 1;
                }
            }
        }
        let [plain, deterministic] = times.map(|mut times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        });
        println!("{} {plain:.3} {deterministic:.3} {:.3}", subject.name, deterministic / plain);
    }
}
