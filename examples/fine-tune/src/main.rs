//! Fine-tunes a classifier of colored shapes on sketches.
//!
//! Training starts from the parameters in the ONNX file.
//!
//! `fine-tune` trains the head alone, then all parameters. It writes the loss to `loss.png` and the model as a
//! record, which it loads again.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use onnx_embed::burn::module::{Module, ParamGroup};
use onnx_embed::burn::optim::{AdamConfig, GradientsParams};
use onnx_embed::burn::store::ModuleRecord;
use onnx_embed::{Device, Int, Tensor};

mod chart;
mod sketches;

use sketches::Sketches;

// The feature `optim` enables `autodiff`, so the model is compiled for training: its parameters are those of the
// file, and nothing is computed from them before a call.
onnx_embed::onnx_model! {
    /// The classifier of the example `classify`.
    pub struct Shapes = "../../classify/shapes.onnx";
}

const BATCH: usize = 40;
/// Steps and learning rate, first for the head and then for all parameters.
const HEAD: (usize, f64) = (60, 1e-2);
const ALL: (usize, f64) = (240, 2e-3);

fn main() -> Result<()> {
    let device = Device::flex();
    let train = Sketches::decode(include_bytes!("../train.png"), &device.clone().autodiff())?;
    let test = Sketches::decode(include_bytes!("../test.png"), &device)?;

    // The device computes gradients. `valid` returns the same model without them.
    let model = Shapes::new(&device.clone().autodiff());
    println!("as it comes      {}", report(&model.valid(), &test));

    // Only the head is trained: all other parameters are frozen.
    let body = ParamGroup::all().exclude(ParamGroup::from_predicate("head"));
    let (model, mut losses) = fit(model.freeze_group(body), &train, HEAD);
    println!("head trained     {}", report(&model.valid(), &test));

    let (model, more) = fit(model.unfreeze(), &train, ALL);
    println!("all trained      {}", report(&model.valid(), &test));
    losses.extend(more);

    chart::write("loss.png", &losses)?;
    model.valid().into_record().save("sketches.bpk")?;
    let loaded = Shapes::new(&device).load_record(ModuleRecord::load("sketches.bpk")?);
    println!("saved and loaded {}", report(&loaded, &test));
    Ok(())
}

/// Trains with Adam and a learning rate that falls to 0. Returns the trained model and the loss of each step.
fn fit(mut model: Shapes, data: &Sketches, (steps, rate): (usize, f64)) -> (Shapes, Vec<f32>) {
    let style = ProgressStyle::with_template("{bar:40} step {pos} of {len}, loss {msg}")
        .expect("the template is valid");
    let progress = ProgressBar::new(steps as u64).with_style(style);
    let mut optimizer = AdamConfig::new().init();
    let mut losses = Vec::new();
    for step in 0..steps {
        let (images, labels) = data.batch(step, BATCH);
        let loss = cross_entropy(model.forward(images), labels);
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let rate = rate * (1.0 - step as f64 / steps as f64);
        model = optimizer.step(rate, model, gradients);

        let value = loss.into_scalar::<f32>();
        losses.push(value);
        progress.set_message(format!("{value:.3}"));
        progress.inc(1);
    }
    progress.finish_and_clear();
    (model, losses)
}

/// Returns the mean cross-entropy of the true labels. The graph of the file ends with a softmax.
fn cross_entropy(probabilities: Tensor<2>, labels: Tensor<1, Int>) -> Tensor<1> {
    let chosen = probabilities.gather(1, labels.unsqueeze_dim(1));
    -chosen.clamp_min(1e-7).log().mean()
}

fn accuracy(model: &Shapes, data: &Sketches) -> f32 {
    let (images, labels) = data.all();
    let found = model.forward(images).argmax(1).squeeze_dim::<1>(1);
    found.equal(labels).float().mean().into_scalar::<f32>()
}

fn report(model: &Shapes, data: &Sketches) -> String {
    let percent = accuracy(model, data) * 100.0;
    format!("{percent:5.1} % of {} unseen sketches right", data.count())
}

#[cfg(test)]
mod tests {
    use onnx_embed::OnnxModel;

    use super::*;

    fn model() -> Shapes {
        Shapes::new(&Device::flex().autodiff())
    }

    fn training() -> Sketches {
        Sketches::decode(include_bytes!("../train.png"), &Device::flex().autodiff()).unwrap()
    }

    fn unseen() -> Sketches {
        Sketches::decode(include_bytes!("../test.png"), &Device::flex()).unwrap()
    }

    #[test]
    fn the_parameters_are_those_of_the_file() {
        // Five convolutions, five normalizations with scale, bias, mean and variance, and the head.
        assert_eq!(Shapes::PARAMETERS.len(), 5 + 5 * 4 + 2);
        let in_file = Shapes::PARAMETERS.iter().map(|parameter| parameter.shape.iter().product::<usize>());
        assert_eq!(model().num_params(), in_file.sum::<usize>());
        let head = Shapes::PARAMETERS.iter().find(|parameter| parameter.name == "head.weight").unwrap();
        assert_eq!(head.path, "head.weight");
    }

    #[test]
    fn training_halves_the_errors_on_unseen_sketches() {
        let before = accuracy(&model().valid(), &unseen());
        let (trained, losses) = fit(model(), &training(), (60, 2e-3));
        let after = accuracy(&trained.valid(), &unseen());
        assert!(losses[59] < losses[0] / 4.0, "{losses:?}");
        assert!(1.0 - after < (1.0 - before) / 2.0, "{before} and {after}");
    }

    #[test]
    fn a_frozen_body_stays_as_it_is_while_the_head_learns() {
        let head = || ParamGroup::from_predicate("head");
        let body = || ParamGroup::all().exclude(head());
        let before = model();
        let (after, _) = fit(before.clone().freeze_group(body()), &training(), (3, 1e-2));
        let bytes = |model: &Shapes, group| {
            let record = model.valid().into_record_group(group);
            record.into_bytes().unwrap().to_vec()
        };
        assert!(bytes(&before, body()) == bytes(&after, body()));
        assert!(bytes(&before, head()) != bytes(&after, head()));
    }

    #[test]
    fn a_record_that_is_loaded_gives_what_was_saved() {
        let (trained, _) = fit(model(), &training(), (3, 1e-2));
        let trained = trained.valid();
        let bytes = trained.clone().into_record().into_bytes().unwrap();
        let device = Device::flex();
        let loaded = Shapes::new(&device).load_record(ModuleRecord::from_bytes(bytes).unwrap());
        let (images, _) = unseen().batch(0, 4);
        let [saved, loaded] = [trained, loaded].map(|model| model.forward(images.clone()).into_data());
        assert_eq!(saved, loaded);
    }
}
