//! Updates weights at run time, and refuses files with other graphs.
//!
//! `update file.onnx ..` loads one file after the other, as a device receives them over the air. Without files, it
//! loads the three versions in its folder, and a truncated download.

use std::path::Path;
use std::sync::{Arc, RwLock};
use std::{env, fs};

use anyhow::Result;
use onnx_embed::{Device, Error, Tensor, TensorData};

onnx_embed::onnx_model! {
    /// A classifier of the state of a pump by six sensors.
    // The code is compiled from this file. Weights come from the files that the program opens.
    #[onnx(weights = "file")]
    pub struct Pump = "../pump_1.onnx";
}

const STATES: [&str; 3] = ["sound", "worn", "blocked"];
const SENSORS: usize = 6;

/// State that threads share. A request keeps the model with which it started; the next request uses the new model.
struct Service {
    model: RwLock<Arc<Pump>>,
}

fn main() -> Result<()> {
    let mut paths: Vec<String> = env::args().skip(1).collect();
    if paths.is_empty() {
        let folder = env!("CARGO_MANIFEST_DIR");
        paths = [1, 2, 3].map(|version| format!("{folder}/pump_{version}.onnx")).into();
        paths.push(broken_download(&paths[1])?);
    }
    let (readings, states) = readings();
    let (first, updates) = paths.split_first().expect("there is a file");
    let service = Service::start(Path::new(first))?;
    println!("{}", line(first, &service, &readings, &states));
    for path in updates {
        match service.update(Path::new(path)) {
            Ok(()) => println!("{}", line(path, &service, &readings, &states)),
            Err(error) => println!("{:<13} refused: {error}", name(path)),
        }
    }
    println!("{}", line("in service", &service, &readings, &states));
    Ok(())
}

impl Service {
    fn start(path: &Path) -> Result<Self, Error> {
        let model = Pump::from_file(path, &Device::flex())?;
        Ok(Self { model: RwLock::new(Arc::new(model)) })
    }

    /// Replaces the model if the file contains the compiled graph. Otherwise the old model stays.
    fn update(&self, path: &Path) -> Result<(), Error> {
        let model = Pump::from_file(path, &Device::flex())?;
        *self.model.write().unwrap_or_else(|lock| lock.into_inner()) = Arc::new(model);
        Ok(())
    }

    fn states(&self, readings: &[[f32; SENSORS]]) -> Vec<&'static str> {
        let model = Arc::clone(&self.model.read().unwrap_or_else(|lock| lock.into_inner()));
        let rows = TensorData::new(readings.concat(), [readings.len(), SENSORS]);
        let probabilities: Tensor<2> = model.forward(Tensor::from_data(rows, &Device::flex()));
        let likeliest = probabilities.argmax(1).into_data();
        let state = |index: i64| STATES[index as usize];
        likeliest.iter::<i64>().map(state).collect()
    }

    fn accuracy(&self, readings: &[[f32; SENSORS]], states: &[&str]) -> f32 {
        let found = self.states(readings);
        let right = found.iter().zip(states).filter(|(found, state)| found == state);
        right.count() as f32 / states.len() as f32
    }
}

fn line(path: &str, service: &Service, readings: &[[f32; SENSORS]], states: &[&str]) -> String {
    let percent = service.accuracy(readings, states) * 100.0;
    let count = states.len();
    format!("{:<13} {percent:.1} % of {count} readings right", name(path))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns readings of a hundred pumps on which no version was trained, with their states.
fn readings() -> (Vec<[f32; SENSORS]>, Vec<&'static str>) {
    let lines = include_str!("../readings.csv").lines().skip(1);
    let rows = lines.map(|line| {
        let (values, state) = line.rsplit_once(',').expect("a row ends with a state");
        let mut reading = [0.0; SENSORS];
        for (sensor, value) in reading.iter_mut().zip(values.split(',')) {
            *sensor = value.parse().expect("a number");
        }
        (reading, state)
    });
    rows.unzip()
}

fn broken_download(of: &str) -> Result<String> {
    let whole = fs::read(of)?;
    let path = env::temp_dir().join("pump_cut.onnx");
    fs::write(&path, &whole[..whole.len() / 2])?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8) -> String {
        format!("{}/pump_{version}.onnx", env!("CARGO_MANIFEST_DIR"))
    }

    fn service() -> Service {
        Service::start(Path::new(&file(1))).unwrap()
    }

    #[test]
    fn new_weights_are_used_from_the_next_request_on() {
        let (readings, states) = readings();
        let service = service();
        let before = service.accuracy(&readings, &states);
        service.update(Path::new(&file(2))).unwrap();
        let after = service.accuracy(&readings, &states);
        assert!(before < 0.87 && after > 0.92, "{before} and {after}");
    }

    #[test]
    fn a_file_of_another_graph_is_refused_and_the_old_weights_stay() {
        let (readings, _) = readings();
        let service = service();
        let before = service.states(&readings);
        assert!(service.update(Path::new(&file(3))).is_err());
        let broken = broken_download(&file(2)).unwrap();
        assert!(service.update(Path::new(&broken)).is_err());
        assert_eq!(service.states(&readings), before);
    }

    #[test]
    fn a_request_keeps_the_model_that_it_began_with() {
        let service = service();
        let old = Arc::clone(&service.model.read().unwrap());
        service.update(Path::new(&file(2))).unwrap();
        let row = || Tensor::from_data(TensorData::new(vec![5.0f32; 6], [1, 6]), &Device::flex());
        let [before, after] =
            [&*old, &service.model.read().unwrap()].map(|model| model.forward(row()).into_data());
        assert_ne!(before, after);
    }
}
