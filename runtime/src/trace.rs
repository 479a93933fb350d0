//! Every value of a run, as it comes.

mod given;

use core::cell::Cell;
use std::collections::HashMap;

use burn::module::Module;

use crate::{Error, Kind, OnnxModel, Port, Value, Values};
pub use given::Given;
use given::kind_of;

/// A model that was compiled with `#[onnx(trace)]`, of which every value of a run can be seen.
///
/// ```
/// use onnx_embed::{Error, TracedModel, Values};
///
/// fn show(model: &impl TracedModel, inputs: Values) -> Result<Values, Error> {
///     model.trace(inputs, |value| {
///         let (name, node) = (value.name(), value.node());
///         println!("{name} {:?} of {node} ({})", value.shape(), value.operator());
///     })
/// }
/// ```
pub trait TracedModel: OnnxModel {
    /// [`run`](OnnxModel::run), which shows `visit` each value as soon as the node that gives it has run.
    ///
    /// The nodes are those of the simplified graph; with `simplify = false` they are those of the file. In
    /// branches and loops each value is shown as often as it is computed. Inputs, and what is known before a
    /// run, are not shown. Where a node fails, everything before it has been.
    ///
    /// A panic of `visit` ends the run with an error that has its text.
    fn trace(&self, inputs: Values, mut visit: impl FnMut(&Traced<'_>)) -> Result<Values, Error> {
        during(&mut visit, || self.run(inputs))
    }

    /// All values of a run by name, in order, which takes the memory of all of them at once.
    ///
    /// What a loop gives for the second time is called `name#2`, and so on.
    fn trace_all(&self, inputs: Values) -> Result<Values, Error> {
        let (mut all, mut counts) = (Values::new(), HashMap::new());
        let mut failed = None;
        self.trace(inputs, |value| {
            let count = counts.entry(value.name()).and_modify(|count| *count += 1);
            let name = match count.or_insert(1usize) {
                1 => value.name().to_owned(),
                count => format!("{}#{count}", value.name()),
            };
            match value.read() {
                Ok(value) => _ = all.insert(name, value),
                Err(error) => _ = failed.get_or_insert(error),
            }
        })?;
        failed.map_or(Ok(all), Err)
    }
}

/// A value that a node of the model has just given.
pub struct Traced<'r> {
    step: &'static Step,
    port: &'static Port,
    value: &'r dyn Given,
}

impl Traced<'_> {
    /// The name of the value in the file.
    pub fn name(&self) -> &'static str {
        self.port.name
    }

    /// The type of the value.
    pub fn kind(&self) -> &'static Kind {
        &self.port.kind
    }

    /// The node that gave it, or the first value that it gives where it has no name.
    pub fn node(&self) -> &'static str {
        self.step.node
    }

    /// The operator of the node.
    pub fn operator(&self) -> &'static str {
        self.step.operator
    }

    /// Whether it is the last value that the node gives.
    pub fn is_last(&self) -> bool {
        let last = self.step.values.last();
        last.is_none_or(|last| core::ptr::eq(last, self.port))
    }

    /// The sizes of a tensor, which are known without waiting for the device.
    pub fn shape(&self) -> Option<Vec<usize>> {
        match kind_of(self.value, &self.port.kind) {
            // The device has no tensors without axes.
            Kind::Tensor { sizes: [], .. } => Some(Vec::new()),
            _ => self.value.shape(),
        }
    }

    /// The value itself, which has to be copied from the device.
    pub fn read(&self) -> Result<Value, Error> {
        let read = self.value.read(&self.port.kind);
        read.map_err(|reason| Error::Output { name: self.port.name, reason })
    }
}

/// What the file says of a node that runs.
#[derive(Debug)]
pub struct Step {
    /// Its name.
    pub node: &'static str,
    /// Its operator, with the domain where that is not `ai.onnx`.
    pub operator: &'static str,
    /// The values that it gives.
    pub values: &'static [Port],
}

/// The steps of a function.
#[derive(Module, Debug)]
pub struct Steps {
    #[module(skip)]
    all: &'static [Step],
}

impl Steps {
    /// Those of a function, in their order.
    pub fn new(all: &'static [Step]) -> Self {
        Steps { all }
    }

    /// Shows what a step has given to whoever traces the run.
    pub fn show(&self, at: usize, values: &[&dyn Given]) {
        let Some(step) = self.all.get(at) else {
            return;
        };
        for (port, value) in step.values.iter().zip(values) {
            show(&Traced { step, port, value: *value });
        }
    }
}

type Visit = dyn FnMut(&Traced<'_>);

thread_local! {
    /// Who traces the run of this thread.
    static VISITOR: Cell<Option<*mut Visit>> = const { Cell::new(None) };
}

/// What `run` gives, of which `visit` sees the values.
#[allow(unsafe_code)]
fn during<T>(visit: &mut (dyn FnMut(&Traced<'_>) + '_), run: impl FnOnce() -> T) -> T {
    let visit: *mut (dyn FnMut(&Traced<'_>) + '_) = visit;
    // Safety: only the lifetime changes. `show` alone uses the pointer, on this thread and while `run` is
    // running, as `_outer` takes it away before `visit` ends.
    let visit = unsafe { core::mem::transmute::<*mut (dyn FnMut(&Traced<'_>) + '_), *mut Visit>(visit) };
    let _outer = Restore(VISITOR.replace(Some(visit)));
    run()
}

#[allow(unsafe_code)]
fn show(value: &Traced<'_>) {
    let Some(visit) = VISITOR.take() else {
        return;
    };
    let _again = Restore(Some(visit));
    // Safety: `during` has borrowed it for as long as the pointer can be found, and it was taken out, so that
    // nothing that it calls finds it again.
    unsafe { (*visit)(value) }
}

/// Puts a visitor back in its place.
struct Restore(Option<*mut Visit>);

impl Drop for Restore {
    fn drop(&mut self) {
        VISITOR.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor, TensorData};

    use super::*;
    use crate::{ElementType, Size};

    const fn port(name: &'static str, sizes: &'static [Size]) -> Port {
        let dtype = ElementType::Float32;
        Port { name, kind: Kind::Tensor { dtype, sizes } }
    }

    const STEPS: &[Step] = &[Step {
        node: "/split",
        operator: "Split",
        values: &[port("a", &[Size::Fixed(2)]), port("b", &[])],
    }];

    fn step() {
        let a = Tensor::<1>::from_floats([1.0, 2.0], &Device::flex());
        let b = Tensor::<1>::from_floats([3.0], &Device::flex());
        Steps::new(STEPS).show(0, &[&a, &b]);
    }

    #[test]
    fn whoever_traces_sees_each_value_with_its_node() {
        let mut seen = Vec::new();
        let visit = &mut |value: &Traced<'_>| {
            let numbers = value.read().unwrap().tensor().unwrap().to_string();
            let (name, node, last) = (value.name(), value.node(), value.is_last());
            seen.push(format!("{name} {node} {last} {:?} {numbers}", value.shape().unwrap()));
        };
        during(visit, step);
        step();
        assert_eq!(seen, ["a /split false [2] [1.0, 2.0]", "b /split true [] [3.0]"]);
    }

    #[test]
    fn data_that_contradict_the_type_are_shown_as_they_are() {
        let empty = Tensor::<1>::from_data(TensorData::new(Vec::<f32>::new(), [0]), &Device::flex());
        let mut seen = Vec::new();
        let visit = &mut |value: &Traced<'_>| {
            let read = value.read().unwrap();
            seen.push((value.shape(), read.tensor().map(|data| data.shape().to_vec())));
        };
        during(visit, || Steps::new(STEPS).show(0, &[&empty, &empty]));
        assert_eq!(seen, [(Some(vec![0]), Some(vec![0])), (Some(vec![0]), Some(vec![0]))]);
    }

    #[test]
    fn traces_inside_of_traces_see_their_own_runs() {
        let (mut outer, mut inner) = (0, 0);
        during(
            &mut |_| {
                outer += 1;
                step();
                during(&mut |_| inner += 1, step);
            },
            step,
        );
        assert_eq!((outer, inner), (2, 4));
    }

    #[test]
    fn a_panic_ends_the_trace() {
        let mut count = 0;
        let run = std::panic::AssertUnwindSafe(|| {
            during(&mut |_| count += 1, || std::panic::resume_unwind(Box::new(())))
        });
        assert!(std::panic::catch_unwind(run).is_err());
        step();
        assert_eq!(count, 0);
    }
}
