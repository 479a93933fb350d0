//! Sizes and values of the inputs of compiled models.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use arbitrary::{Result, Unstructured};
use half::{bf16, f16};
use onnx_embed::{
    Array, DType, Device, DynModel, ElementType, Size, TensorData, Value, ValueType, Values,
    with_memory_limit,
};
use onnx_embed_fuzz_targets::memory::within;
use onnx_embed_sizes::MODELS;

/// Maximum number of bytes of a tensor whose sizes the inputs choose.
const TENSOR: usize = 8 << 20;
/// Memory of a call: some tensors, and what threads and models keep.
const LIMIT: usize = 512 << 20;
/// Sizes of axes without a name.
const SIZES: [usize; 12] = [1, 2, 3, 0, 4, 5, 7, 8, 9, 16, 17, 33];
/// Operators whose results differ from call to call.
const VARY: [&str; 4] = ["random", "bernoulli", "multinomial", "dropout"];

/// Texts of Rust's own panics. A call may end with an error, but with one that says what is wrong with its inputs. The check of
/// integer arithmetic is not among them: Burn's does not wrap in a debug build (SECURITY.md).
const PANICS: [&str; 7] = [
    "index out of bounds: the len",
    "by zero",
    "out of range for slice",
    "assertion",
    "unwrap()",
    "capacity overflow",
    "unreachable",
];

thread_local! {
    /// Models by their index.
    static LOADED: RefCell<BTreeMap<usize, Box<dyn DynModel>>> = RefCell::default();
}

/// Runs the model that the bytes choose on the sizes and values that they choose, twice: the results must be equal, as
/// they may contain nothing that another call has left.
pub fn run(bytes: &[u8]) {
    quiet();
    let mut choices = Unstructured::new(bytes);
    let Ok(at) = choices.choose_index(MODELS.len()) else {
        return;
    };
    LOADED.with_borrow_mut(|loaded| {
        let model = loaded.entry(at).or_insert_with(|| (MODELS[at].load)(&Device::flex()));
        let Ok(inputs) = inputs(&**model, &mut choices) else {
            return;
        };
        let call = || within(LIMIT, || with_memory_limit(TENSOR, || model.run(inputs.clone())));
        let name = MODELS[at].name;
        let Ok(outcomes) = catch_unwind(AssertUnwindSafe(|| [call(), call()])) else {
            wrong(&format!("{name} of {inputs:?} panics"));
        };
        let [first, second] = outcomes.map(|outcome| match outcome {
            Ok(values) => format!("{values:?}"),
            Err(error) => error.to_string(),
        });
        if PANICS.iter().any(|text| first.contains(text)) {
            wrong(&format!("{name} of {inputs:?}: {first}"));
        }
        let lower = name.to_lowercase();
        if !VARY.iter().any(|varying| lower.contains(varying)) && first != second {
            wrong(&format!("{name} of {inputs:?} is\n{first}\nthen\n{second}"));
        }
    });
}

/// Prints no text for the panics of nodes, which calls turn into errors. libFuzzer's hook would end the process.
pub fn quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
}

/// Ends the test of these bytes with a panic, and prints the reason.
fn wrong(reason: &str) -> ! {
    eprintln!("{reason}");
    panic!("{reason}")
}

fn inputs(model: &dyn DynModel, choices: &mut Unstructured) -> Result<Values> {
    let mut values = Values::new();
    let mut named = BTreeMap::new();
    for port in model.signature().inputs {
        if let Some(value) = value(&port.kind, &mut named, choices)? {
            values.insert(port.name, value);
        }
    }
    Ok(values)
}

/// Chooses a value. Kinds other than tensors are left out, which is an error of the call.
fn value(
    kind: &ValueType,
    named: &mut BTreeMap<&'static str, usize>,
    choices: &mut Unstructured,
) -> Result<Option<Value>> {
    let ValueType::Tensor { dtype, sizes } = kind else {
        return Ok(None);
    };
    let mut shape = Vec::new();
    for size in *sizes {
        let chosen = *choices.choose(&SIZES)?;
        // A few sizes contradict the signature.
        let is_loose = choices.ratio(1, 20)?;
        shape.push(match size {
            _ if is_loose => chosen,
            Size::Fixed(size) => *size,
            Size::Named(name) => *named.entry(name).or_insert(chosen),
            Size::Unknown => chosen,
        });
    }
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    let Some(count) = count.filter(|&count| count <= 1 << 16) else {
        return Ok(None);
    };
    tensor(*dtype, shape, count, choices).map(Some)
}

/// Chooses elements: most are small, some are at the limits of the type.
fn tensor(dtype: ElementType, shape: Vec<usize>, count: usize, choices: &mut Unstructured) -> Result<Value> {
    const INTS: [i64; 12] = [0, 1, 2, 3, -1, 4, -2, 7, i64::MAX, i64::MIN, i32::MAX as i64, 100];
    const FLOATS: [f64; 12] =
        [0.5, 1.0, -1.0, 2.0, 0.0, -0.5, 3.7, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30];
    let mut indices = Vec::with_capacity(count);
    // A few choices are repeated: most inputs are shorter than the tensors.
    for _ in 0..count.min(64) {
        indices.push(choices.int_in_range(0..=11usize)?);
    }
    let at = |element: usize| indices[element % indices.len()];
    let int = |element| INTS[at(element)];
    let float = |element| FLOATS[at(element)];
    macro_rules! elements {
        ($element:expr) => {
            TensorData::new((0..count).map($element).collect::<Vec<_>>(), shape)
        };
    }
    let data = match dtype.carrier() {
        None => {
            let texts = ["", "a", "B c", "\u{e9}\u{1f600}", "1", "-1e5", "nan", "\0"];
            let texts = (0..count).map(|element| texts[at(element) % texts.len()].to_owned());
            return Ok(Value::Strings(Array::new(shape, texts.collect())));
        }
        Some(DType::F32) => elements!(|element| float(element) as f32),
        Some(DType::F64) => elements!(float),
        Some(DType::F16) => elements!(|element| f16::from_f64(float(element))),
        Some(DType::BF16) => elements!(|element| bf16::from_f64(float(element))),
        Some(DType::I64) => elements!(int),
        Some(DType::I32) => elements!(|element| int(element) as i32),
        Some(DType::I16) => elements!(|element| int(element) as i16),
        Some(DType::I8) => elements!(|element| int(element) as i8),
        Some(DType::U64) => elements!(|element| int(element) as u64),
        Some(DType::U32) => elements!(|element| int(element) as u32),
        Some(DType::U16) => elements!(|element| int(element) as u16),
        Some(DType::U8) => elements!(|element| int(element) as u8),
        Some(_) => elements!(|element| int(element) & 1 == 1),
    };
    Ok(Value::Tensor(data))
}
