//! Runs a classifier on a device and measures the calls.
//!
//! `gpu --device list` lists the devices; `cpu`, `gpu` and `gpu:1` select one, `auto` selects a GPU if one is
//! available.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use onnx_embed::{Device, OnnxModel, Tensor, TensorData};

mod device;
mod picture;

use device::{Choice, Named};

onnx_embed::onnx_model! {
    /// The classifier of the example `classify`.
    pub struct Shapes = "../../classify/shapes.onnx";
}

const LATER_CALLS: usize = 20;

#[derive(Parser)]
struct Arguments {
    /// auto, list, cpu, gpu or gpu:NUMBER
    #[arg(long, default_value = "auto")]
    device: Choice,
    /// Pictures of a call
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: u16,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.device == Choice::List {
        for device in [Named::cpu()].iter().chain(&device::gpus()) {
            println!("{device}");
        }
        return Ok(());
    }
    let batch = arguments.batch.into();
    let named = Named::open(arguments.device)?;
    let device = &named.device;
    println!("device       {named}");

    let (model, time) = timed(|| Shapes::new(device));
    show("load", time, "weights go to the device");
    // Kernels depend on sizes, here those of the requests that follow.
    let (warm, time) = timed(|| model.warm_up(&[("batch", batch)]));
    warm?;
    show("warm-up", time, "GPUs compile kernels");
    let (answers, time) = timed(|| classify(&model, batch, device));
    show("first call", time, &format!("{batch} pictures"));
    let times = (0..LATER_CALLS).map(|_| timed(|| classify(&model, batch, device)).1);
    show("later calls", median(times), &format!("median of {LATER_CALLS}"));

    let cpu = Device::flex();
    let expected = classify(&Shapes::new(&cpu), batch, &cpu);
    let right = (answers.chunks(Shapes::LABELS.len()).zip(picture::kinds()))
        .filter(|(row, kind)| label(row) == *kind)
        .count();
    println!("right        {right} of {batch}");
    println!("difference   {:.1e} from the CPU", difference(&answers, &expected));
    Ok(())
}

/// Returns the probabilities of each label, a row for each picture.
fn classify(model: &Shapes, batch: usize, device: &Device) -> Vec<f32> {
    let pixels: Vec<f32> = picture::kinds().take(batch).flat_map(picture::draw).collect();
    let shape = [batch, 3, picture::SIDE, picture::SIDE];
    // Inputs are created on the device of the model.
    let images: Tensor<4> = Tensor::from_data(TensorData::new(pixels, shape), device);
    let probabilities = model.forward(images);
    // The call returns before a GPU has finished. Reading waits for it.
    probabilities.into_data().iter().collect()
}

fn label(row: &[f32]) -> &'static str {
    let best = (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b]));
    best.map_or("", |at| Shapes::LABELS[at])
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    let each = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    each.fold(0.0, f32::max)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn show(step: &str, time: Duration, what: &str) {
    println!("{step:<11} {:9.2} ms  {what}", time.as_secs_f64() * 1e3);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: usize = 8;

    fn answers(device: &Device) -> Vec<f32> {
        classify(&Shapes::new(device), BATCH, device)
    }

    #[test]
    fn the_cpu_names_what_is_drawn() {
        let answers = answers(&Device::flex());
        let found: Vec<_> = answers.chunks(Shapes::LABELS.len()).map(label).collect();
        let drawn: Vec<_> = picture::kinds().take(BATCH).collect();
        assert_eq!(found, drawn);
    }

    #[test]
    fn every_gpu_answers_as_the_cpu() {
        let expected = answers(&Device::flex());
        let gpus = device::gpus();
        if gpus.is_empty() {
            eprintln!("no device is compared: there is no GPU, or no feature `wgpu`");
        }
        for gpu in gpus {
            let difference = difference(&answers(&gpu.device), &expected);
            assert!(difference < 1e-4, "{gpu}: {difference}");
        }
    }
}
