//! Checks that an operator has one meaning.
//!
//! Results must be the same if it is folded at compile time, computed on the host, or on a device.

use onnx_embed::__private::host;
use onnx_embed::{Array, Device, TensorData, Value, Values};
use onnx_embed_expressions::OPERATORS;
use onnx_embed_ir::options::Options;
use onnx_embed_ir::types::Known;
use onnx_embed_property_graphs::expressions::encoded;
use onnx_embed_property_graphs::expressions::operators::{LINES, Line, Numbers, inputs, is_scalar, text};

/// An element of any type.
#[derive(Clone, Copy, Debug)]
enum Element {
    Int(i64),
    Float(f64),
}

/// NaN equals NaN, and zeros with different signs differ.
impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            _ => false,
        }
    }
}

/// Converts an array of the host.
macro_rules! elements {
    ($array:expr, $variant:ident) => {
        $array.data().iter().map(|&element| Element::$variant(element.into())).collect()
    };
}

#[test]
fn the_host_computes_as_a_device_does() {
    let found = on_device();
    let mut compared = 0;
    for (line, found) in LINES.iter().zip(&found) {
        if let Some(expected) = on_host(line) {
            compared += 1;
            same(line, found, &expected);
        }
    }
    assert!(compared > 40, "only {compared} operators run on the host");
}

#[test]
fn what_is_folded_is_as_a_device_computes_it() {
    let found = on_device();
    let model = onnx_embed_ir::load_bytes(encoded(&text(true)).into(), &Options::default());
    let model = model.unwrap_or_else(|problems| panic!("{}", problems.report("model")));
    let mut compared = 0;
    for ((line, found), &id) in LINES.iter().zip(&found).zip(&model.graph.body.outputs) {
        let expected: Vec<Element> = match model.graph.values[id].known.peek() {
            Some(Known::Ints(dims)) => {
                let numbers = dims.iter().map(|dim| dim.number().expect("a number"));
                numbers.map(Element::Int).collect()
            }
            Some(Known::Floats(values)) => values.iter().copied().map(Element::Float).collect(),
            Some(Known::Bools(values)) => {
                let truths = values.iter().map(|&value| Element::Int(value.into()));
                truths.collect()
            }
            _ => continue,
        };
        compared += 1;
        same(line, found, &expected);
    }
    assert!(compared > 40, "only {compared} operators are folded");
}

#[track_caller]
fn same(line: &Line, found: &[Element], expected: &[Element]) {
    assert_eq!(found.len(), expected.len(), "{line:?}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let operands: Vec<String> = line.inputs.iter().map(|name| shown(name, at)).collect();
        // A bound may return either of two zeros.
        let is_zero = |element: &Element| matches!(element, Element::Float(0.0));
        let is_bound = matches!(line.operator, "Max" | "Min" | "Relu" | "Sign");
        let zeros = is_bound && is_zero(found) && is_zero(expected);
        // The host and the device compute powers with different functions, which round differently.
        let near = match (line.operator, found, expected) {
            ("Pow", Element::Float(a), Element::Float(b)) => (a - b).abs() <= 1e-6 * b.abs(),
            _ => false,
        };
        assert!(
            found == expected || zeros || near,
            "{line:?} of {operands:?}: {found:?} on a device, not {expected:?}"
        );
    }
}

fn on_device() -> Vec<Vec<Element>> {
    let mut values = Values::new();
    for (name, numbers) in inputs() {
        let data = match numbers {
            Numbers::Floats(numbers) => tensor(name, numbers),
            Numbers::Doubles(numbers) => tensor(name, numbers),
            Numbers::Int32(numbers) => tensor(name, numbers),
            Numbers::Int64(numbers) => tensor(name, numbers),
        };
        values.insert(name, Value::Tensor(data));
    }
    let results = OPERATORS(&Device::flex(), values).expect("operators run");
    let result = |at: usize| match results.get(&format!("y{at}")) {
        Some(Value::Tensor(data)) if data.dtype().is_float() => {
            data.iter::<f64>().map(Element::Float).collect()
        }
        Some(Value::Tensor(data)) => data.iter::<i64>().map(Element::Int).collect(),
        other => panic!("output {at} is {other:?}"),
    };
    (0..LINES.len()).map(result).collect()
}

fn tensor<E: host::Scalar>(name: &str, numbers: Vec<E>) -> TensorData {
    let sizes = match is_scalar(name) {
        true => Vec::new(),
        false => vec![numbers.len()],
    };
    TensorData::new(numbers, sizes)
}

fn numbers(name: &str) -> Numbers {
    let found = inputs().into_iter().find(|(other, _)| *other == name);
    found.expect("the input is there").1
}

fn shown(name: &str, at: usize) -> String {
    let at = if is_scalar(name) { 0 } else { at };
    match numbers(name) {
        Numbers::Floats(numbers) => format!("{:?}", numbers[at]),
        Numbers::Doubles(numbers) => format!("{:?}", numbers[at]),
        Numbers::Int32(numbers) => format!("{:?}", numbers[at]),
        Numbers::Int64(numbers) => format!("{:?}", numbers[at]),
    }
}

/// Returns the result of the host, or `None` if it is not compared.
fn on_host(line: &Line) -> Option<Vec<Element>> {
    match line.operator {
        "CumSum" => return Some(cumulative(line)),
        "Range" => return Some(range(line)),
        "NonZero" => {
            let places = match numbers(line.inputs[0]) {
                Numbers::Floats(a) => host::nonzero(&Array::vector(a)),
                Numbers::Int32(a) => host::nonzero(&Array::vector(a)),
                _ => return None,
            };
            return Some(elements!(places, Int));
        }
        "Clip" => return None,
        _ => {}
    }
    let second = line.inputs.get(1).map(|name| numbers(name));
    match (numbers(line.inputs[0]), second) {
        (Numbers::Floats(a), None) => of_floats(line, &Array::vector(a)),
        (Numbers::Floats(a), Some(Numbers::Floats(b))) => {
            let (a, b) = (Array::vector(a), Array::vector(b));
            match compared(line.operator, &a, &b) {
                Some(truths) => Some(elements!(truths, Int)),
                None => Some(elements!(pair(line, &a, &b)?, Float)),
            }
        }
        (Numbers::Floats(a), Some(Numbers::Doubles(b))) => {
            let powers = host::pow(&Array::vector(a), &Array::vector(b));
            Some(elements!(powers, Float))
        }
        (Numbers::Int32(a), None) => match line.operator {
            "Sign" => Some(elements!(host::sign(&Array::vector(a)), Int)),
            _ => Some(elements!(host::cast::<_, u8>(&Array::vector(a)), Int)),
        },
        (Numbers::Int32(a), Some(Numbers::Int32(b))) => {
            let found = pair(line, &Array::vector(a), &Array::vector(b))?;
            Some(elements!(found, Int))
        }
        (Numbers::Int32(a), Some(Numbers::Int64(b))) => {
            let powers = host::pow(&Array::vector(a), &Array::vector(b));
            Some(elements!(powers, Int))
        }
        (Numbers::Int32(a), Some(Numbers::Floats(b))) => {
            let powers = host::pow(&Array::vector(a), &Array::vector(b));
            Some(elements!(powers, Int))
        }
        (Numbers::Int64(a), None) => {
            let a = Array::vector(a);
            Some(match (line.operator, line.dtype) {
                ("Sign", _) => elements!(host::sign(&a), Int),
                (_, "int32") => elements!(host::cast::<_, i32>(&a), Int),
                _ => elements!(host::cast::<_, f32>(&a), Float),
            })
        }
        (Numbers::Int64(a), Some(Numbers::Int64(b))) => {
            let (a, b) = (Array::vector(a), Array::vector(b));
            match compared(line.operator, &a, &b) {
                Some(truths) => Some(elements!(truths, Int)),
                None => Some(elements!(pair(line, &a, &b)?, Int)),
            }
        }
        _ => None,
    }
}

fn cumulative(line: &Line) -> Vec<Element> {
    let [exclusive, reverse] = ["exclusive", "reverse"].map(|attribute| line.attributes.contains(attribute));
    match numbers(line.inputs[0]) {
        Numbers::Floats(a) => {
            elements!(host::cumsum(&Array::vector(a), 0, exclusive, reverse), Float)
        }
        Numbers::Int64(a) => {
            elements!(host::cumsum(&Array::vector(a), 0, exclusive, reverse), Int)
        }
        other => panic!("no sums of {other:?}"),
    }
}

fn range(line: &Line) -> Vec<Element> {
    match line.dtype {
        "float" => {
            let [start, limit, delta] = [0, 1, 2].map(|at| match numbers(line.inputs[at]) {
                Numbers::Floats(of_one) => Array::scalar(of_one[0]),
                other => panic!("no range of {other:?}"),
            });
            elements!(host::range(&start, &limit, &delta), Float)
        }
        _ => {
            let [start, limit, delta] = [0, 1, 2].map(|at| match numbers(line.inputs[at]) {
                Numbers::Int64(of_one) => Array::scalar(of_one[0]),
                other => panic!("no range of {other:?}"),
            });
            elements!(host::range(&start, &limit, &delta), Int)
        }
    }
}

fn of_floats(line: &Line, a: &Array<f32>) -> Option<Vec<Element>> {
    let floats = match line.operator {
        "Neg" => host::neg(a),
        "Abs" => host::abs(a),
        "Sign" => host::sign(a),
        "Floor" => host::floor(a),
        "Ceil" => host::ceil(a),
        "Round" => host::round(a),
        "Sqrt" => host::sqrt(a),
        "Cast" => {
            return Some(match line.dtype {
                "bool" => elements!(host::cast::<_, bool>(a), Int),
                "uint8" => elements!(host::cast::<_, u8>(a), Int),
                "int8" => elements!(host::cast::<_, i8>(a), Int),
                "uint16" => elements!(host::cast::<_, u16>(a), Int),
                "int16" => elements!(host::cast::<_, i16>(a), Int),
                "int32" => elements!(host::cast::<_, i32>(a), Int),
                "uint32" => elements!(host::cast::<_, u32>(a), Int),
                _ => elements!(host::cast::<_, i64>(a), Int),
            });
        }
        _ => return None,
    };
    Some(elements!(floats, Float))
}

fn pair<T: host::Number>(line: &Line, a: &Array<T>, b: &Array<T>) -> Option<Array<T>> {
    Some(match (line.operator, line.attributes) {
        ("Add", _) => host::add(a, b),
        ("Sub", _) => host::sub(a, b),
        ("Mul", _) => host::mul(a, b),
        ("Div", _) => host::div(a, b),
        ("Mod", "") => host::modulo(a, b),
        ("Mod", _) => host::remainder(a, b),
        ("Max", _) => host::max(a, b),
        ("Min", _) => host::min(a, b),
        ("Pow", _) => host::pow(a, b),
        _ => return None,
    })
}

fn compared<T: PartialOrd>(operator: &str, a: &Array<T>, b: &Array<T>) -> Option<Array<bool>> {
    Some(match operator {
        "Equal" => host::equal(a, b),
        "Less" => host::less(a, b),
        "LessOrEqual" => host::less_or_equal(a, b),
        "Greater" => host::greater(a, b),
        "GreaterOrEqual" => host::greater_or_equal(a, b),
        _ => return None,
    })
}
