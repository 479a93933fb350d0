//! Inputs of all kinds for a signature.

use half::{bf16, f16};
use onnx_embed::{DType, ElementType, Port, Size, TensorData, Value, ValueType, Values};
use onnx_embed_property_graphs::Random;

/// Kind of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Every dynamic size is 3, and floats are between -3 and 3.
    Plain,
    /// Every dynamic size is 1, and floats are whole numbers and halves.
    Ones,
    /// Every dynamic size is 2. Floats include NaN, infinities, zeros of both signs, subnormal and large numbers.
    Special,
    /// Sizes with different names may differ, and may be 0.
    Uneven,
}

pub const MOODS: [Mood; 4] = [Mood::Plain, Mood::Ones, Mood::Special, Mood::Uneven];

const SPECIAL: [f64; 12] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-40, -3e-39, 1e4, -1e4, 1e12, -50.0, 90.0];

/// Returns values for the ports. For each kind they depend on the name of the port alone, so that a smaller graph
/// gets the same values. Returns `None` if a port has an unsupported type.
pub fn inputs(ports: &[Port], steering: &[&str], mood: Mood) -> Option<Values> {
    let mut values = Values::new();
    for port in ports {
        let ValueType::Tensor { dtype, sizes } = port.kind else {
            return None;
        };
        let sizes: Vec<usize> = sizes.iter().map(|size| self::size(size, mood)).collect();
        let mut random = Random::new(hash(port.name) ^ mood as u64);
        let count = sizes.iter().product();
        let steers = steering.contains(&port.name);
        let numbers = (0..count).map(|_| number(&mut random, dtype, mood, steers));
        values.insert(port.name, tensor(&numbers.collect::<Vec<_>>(), sizes, dtype)?);
    }
    Some(values)
}

/// Returns the values with each float changed by about one rounding.
pub fn nudged(values: &Values, seed: u64) -> Values {
    let mut random = Random::new(seed);
    let mut nudged = Values::new();
    for (name, value) in values.iter() {
        let value = match value {
            Value::Tensor(data) => Value::Tensor(nudge(data, &mut random)),
            other => other.clone(),
        };
        nudged.insert(name, value);
    }
    nudged
}

fn nudge(data: &TensorData, random: &mut Random) -> TensorData {
    let step = match data.dtype() {
        DType::F64 => 2f64.powi(-51),
        DType::F32 => 2f64.powi(-22),
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => return data.clone(),
    };
    let moved = data
        .iter::<f64>()
        .map(|number| if number.is_finite() { number * (1.0 + step * random.unit()) } else { number });
    let moved: Vec<f64> = moved.collect();
    TensorData::new(moved, data.shape()).convert_dtype(data.dtype())
}

fn size(size: &Size, mood: Mood) -> usize {
    match (size, mood) {
        (Size::Fixed(size), _) => *size,
        (_, Mood::Plain) => 3,
        (_, Mood::Ones) => 1,
        (_, Mood::Special) => 2,
        (Size::Named(name), Mood::Uneven) => [5, 0, 1, 7, 4][(hash(name) % 5) as usize],
        (Size::Unknown, Mood::Uneven) => 5,
    }
}

fn number(random: &mut Random, dtype: ElementType, mood: Mood, steers: bool) -> f64 {
    let float = matches!(
        dtype,
        ElementType::Float16 | ElementType::Float32 | ElementType::Float64 | ElementType::BFloat16
    );
    match (float, mood) {
        _ if steers => (1 + random.below(3)) as f64,
        (false, Mood::Special) if random.chance(20) => *random.pick(&[-100.0, 100.0, 7.0]),
        (false, _) => random.below(5) as f64 - 2.0,
        (true, Mood::Ones) => (random.below(9) as f64 - 4.0) / 2.0,
        (true, Mood::Special) if random.chance(60) => *random.pick(&SPECIAL),
        (true, _) => random.unit() * 3.0,
    }
}

fn tensor(numbers: &[f64], sizes: Vec<usize>, dtype: ElementType) -> Option<TensorData> {
    let numbers = numbers.iter().copied();
    Some(match dtype {
        ElementType::Float64 => TensorData::new(numbers.collect::<Vec<f64>>(), sizes),
        ElementType::Float32 => TensorData::new(numbers.map(|n| n as f32).collect::<Vec<_>>(), sizes),
        ElementType::Float16 => TensorData::new(numbers.map(f16::from_f64).collect::<Vec<_>>(), sizes),
        ElementType::BFloat16 => TensorData::new(numbers.map(bf16::from_f64).collect::<Vec<_>>(), sizes),
        ElementType::Int64 => TensorData::new(numbers.map(|n| n as i64).collect::<Vec<_>>(), sizes),
        ElementType::Int32 => TensorData::new(numbers.map(|n| n as i32).collect::<Vec<_>>(), sizes),
        ElementType::Int16 => TensorData::new(numbers.map(|n| n as i16).collect::<Vec<_>>(), sizes),
        ElementType::Int8 => TensorData::new(numbers.map(|n| n as i8).collect::<Vec<_>>(), sizes),
        ElementType::UInt8 => TensorData::new(numbers.map(|n| n as u8).collect::<Vec<_>>(), sizes),
        ElementType::Bool => TensorData::new(numbers.map(|n| n > 0.0).collect::<Vec<_>>(), sizes),
        _ => return None,
    })
}

fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
