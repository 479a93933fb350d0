//! Times and values of the nodes of a model.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use onnx_embed::{Device, Traced, Values};

use crate::message::{NodeTime, Profiled, Traced as TracedRun, TracedValue, ValueShape};
use crate::{FEWEST, LoadedTraced, Subject, wire};

/// Measures the time of each node, in runs that take at least `seconds` together. Waits for the device after each
/// value.
pub fn times(subject: &Subject, device: &Device, inputs: &Path, seconds: f64) -> Result<Profiled, String> {
    let (model, inputs) = open(subject, device, inputs)?;
    let wait = || {
        if *device != Device::flex() {
            // An error is reported again when the outputs are read.
            let _ = device.sync();
        }
    };
    // The first run is not measured: it prepares state that later runs reuse.
    let run = |steps: &mut NodeTimings| -> Result<Duration, String> {
        let inputs = inputs.clone();
        let start = Instant::now();
        steps.begin();
        let visit = &mut |value: &Traced<'_>| {
            wait();
            steps.add(value);
        };
        model(inputs, visit).map_err(|error| error.to_string())?;
        Ok(start.elapsed())
    };
    run(&mut NodeTimings::default())?;
    let mut steps = NodeTimings::default();
    let (mut runs, mut total) = (0usize, Duration::ZERO);
    let start = Instant::now();
    while runs < FEWEST || start.elapsed().as_secs_f64() < seconds {
        total += run(&mut steps)?;
        runs += 1;
    }
    let mean = |time: Duration| time.as_secs_f64() * 1e3 / runs as f64;
    let nodes = steps.all.into_iter().map(|step| NodeTime {
        node: step.node.to_owned(),
        operator: step.operator.to_owned(),
        values: step.values,
        ms: mean(step.time),
        count: step.count as f64 / runs as f64,
    });
    Ok(Profiled { nodes: nodes.collect(), runs, ms: mean(total) })
}

/// Writes every value of a run to the file `outputs`, in order. Further values of the same name, as in a loop, are
/// numbered.
pub fn values(
    subject: &Subject,
    device: &Device,
    inputs: &Path,
    outputs: &Path,
) -> Result<TracedRun, String> {
    let (model, inputs) = open(subject, device, inputs)?;
    let (mut all, mut steps) = (Vec::new(), Vec::new());
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut failed = None;
    let ran = model(inputs, &mut |value| {
        let count = counts.entry(value.name()).or_default();
        *count += 1;
        let name = match count {
            1 => value.name().to_owned(),
            count => format!("{}#{count}", value.name()),
        };
        steps.push(TracedValue {
            name: name.clone(),
            node: value.node().to_owned(),
            operator: value.operator().to_owned(),
        });
        match value.read() {
            Ok(read) => all.push((name, read)),
            Err(error) => _ = failed.get_or_insert(error.to_string()),
        }
    });
    if let Some(reason) = failed {
        return Err(reason);
    }
    wire::write(outputs, &all.into_iter().collect())?;
    // If a node fails, the values before it are still returned.
    Ok(TracedRun { values: steps, problem: ran.err().map(|error| error.to_string()) })
}

fn open(subject: &Subject, device: &Device, inputs: &Path) -> Result<(LoadedTraced, Values), String> {
    let load = subject.traced.as_ref();
    let load = load.ok_or("the model was compiled without `trace`")?;
    let inputs = wire::read(inputs)?.shared();
    let model = load(device).map_err(|error| error.to_string())?;
    Ok((model, inputs))
}

/// Nodes of all runs so far.
#[derive(Default)]
struct NodeTimings {
    all: Vec<NodeTiming>,
    /// Indices of the nodes, by node and first value.
    indices: HashMap<(&'static str, &'static str), usize>,
    /// Index of the node whose further values follow, if any.
    open: Option<usize>,
    /// Time at which the current node started.
    since: Option<Instant>,
}

struct NodeTiming {
    node: &'static str,
    operator: &'static str,
    values: Vec<ValueShape>,
    time: Duration,
    count: usize,
}

impl NodeTimings {
    fn begin(&mut self) {
        self.open = None;
        self.since = Some(Instant::now());
    }

    fn add(&mut self, value: &Traced<'_>) {
        let took = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        let next = self.all.len();
        let key = (value.node(), value.name());
        let at = self.open.unwrap_or_else(|| *self.indices.entry(key).or_insert(next));
        if at == next {
            self.all.push(NodeTiming {
                node: value.node(),
                operator: value.operator(),
                values: Vec::new(),
                time: Duration::ZERO,
                count: 0,
            });
        }
        if let Some(step) = self.all.get_mut(at) {
            step.time += took;
            step.count += usize::from(value.is_last());
            if step.values.iter().all(|known| known.name != value.name()) {
                step.values.push(ValueShape { name: value.name().to_owned(), shape: value.shape() });
            }
        }
        self.open = (!value.is_last()).then_some(at);
        // The time of this bookkeeping does not count for the next value.
        self.since = Some(Instant::now());
    }
}
