//! Weight files that a program loads.

use arbitrary::{Result, Unstructured};
use onnx_embed::{Device, OnnxModel, Tensor, onnx_model};
use onnx_embed_fuzz_targets::memory::within;

onnx_model! {
    #[onnx(weights = "file")]
    struct One = "../../../models/other_weights.onnx";
}

onnx_model! {
    #[onnx(weights = "file")]
    struct Two = "../../../models/other_weights_external.onnx";
}

const ONE: &[u8] = include_bytes!("../../../models/other_weights.onnx");
const TWO: [&[u8]; 2] = [
    include_bytes!("../../../models/other_weights_external.onnx"),
    include_bytes!("../../../models/weights/other_weights.bin"),
];

/// Memory for the model, and for threads and tables that are made once.
const LIMIT: usize = 64 << 20;

/// Loads the files that the bytes choose, and runs the models that load.
pub fn run(bytes: &[u8]) {
    crate::run::quiet();
    within(LIMIT + 10 * bytes.len(), || {
        // Bytes that end early chose less.
        let _ = load(&mut Unstructured::new(bytes));
    });
}

fn load(choices: &mut Unstructured) -> Result<()> {
    let device = Device::flex();
    let x = || Tensor::<2>::ones([2, 4], &device);
    if choices.ratio(1, 3)? {
        let files = [changed(TWO[0], choices)?, changed(TWO[1], choices)?];
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        if let Ok(model) = Two::from_bytes(&files, &device) {
            let _ = model.try_forward(x());
        }
    } else {
        let file = changed(ONE, choices)?;
        if let Ok(model) = One::from_bytes(&file, &device) {
            let _ = model.try_forward(x());
        }
    }
    let files = match choices.int_in_range(0..=3)? {
        3 => vec![choices.bytes(choices.len())?],
        count => vec![ONE; count],
    };
    let _ = <One as OnnxModel>::from_bytes(&files, &device);
    Ok(())
}

/// Returns the file with a few changes.
fn changed(file: &[u8], choices: &mut Unstructured) -> Result<Vec<u8>> {
    let mut file = file.to_vec();
    for _ in 0..choices.int_in_range(0..=4)? {
        let at = choices.choose_index(file.len().max(1))?;
        match choices.int_in_range(0..=4)? {
            0 => file.truncate(at),
            1 => file.insert(at.min(file.len()), choices.arbitrary()?),
            _ => {
                let byte = choices.arbitrary()?;
                file.get_mut(at).into_iter().for_each(|old| *old = byte);
            }
        }
    }
    Ok(file)
}
