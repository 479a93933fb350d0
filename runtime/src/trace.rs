//! Values of a run as they are computed.

mod given;

use core::cell::Cell;
use std::collections::HashMap;

use burn::module::Module;

use crate::{Error, OnnxModel, Port, Value, ValueType, Values};
pub use given::Given;
use given::kind_of;

/// A model that was compiled with `#[onnx(trace)]`, whose values can be observed during a run.
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
    /// Runs the model as [`run`](OnnxModel::run) does, and passes each value to `visit` as soon as its node has run.
    ///
    /// The nodes are those of the simplified graph; with `simplify = false`, those of the file. In branches and loops,
    /// each value is shown every time it is computed. Inputs and values known before a run are not shown. If a node
    /// fails, all previous values have been shown.
    ///
    /// # Errors
    ///
    /// As [`run`](OnnxModel::run). If `visit` panics, the run ends with an error that has the text of the panic.
    fn trace(&self, inputs: Values, mut visit: impl FnMut(&Traced<'_>)) -> Result<Values, Error> {
        during(&mut visit, || self.run(inputs))
    }

    /// Returns all values of a run by name, in the order of computation. They are in memory at the same time.
    ///
    /// The second value of a name, which a loop computes, is called `name#2`, and so on.
    ///
    /// # Errors
    ///
    /// As [`trace`](Self::trace), or if a value cannot be read from the device.
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

/// A value that a node of the model has just computed.
pub struct Traced<'r> {
    step: &'static TracedNode,
    port: &'static Port,
    value: &'r dyn Given,
}

impl Traced<'_> {
    /// Returns the name of the value in the file.
    pub fn name(&self) -> &'static str {
        self.port.name
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> &'static ValueType {
        &self.port.kind
    }

    /// Returns the name of the node that computed it or, if the node has none, of the first value that it computes.
    pub fn node(&self) -> &'static str {
        self.step.node
    }

    /// Returns the operator of the node.
    pub fn operator(&self) -> &'static str {
        self.step.operator
    }

    /// Returns `true` if it is the last value of the node.
    pub fn is_last(&self) -> bool {
        let last = self.step.values.last();
        last.is_none_or(|last| core::ptr::eq(last, self.port))
    }

    /// Returns the sizes of a tensor, without waiting for the device. `None` for other values.
    pub fn shape(&self) -> Option<Vec<usize>> {
        match kind_of(self.value, &self.port.kind) {
            // The device has no tensors of rank 0.
            ValueType::Tensor { sizes: [], .. } => Some(Vec::new()),
            _ => self.value.shape(),
        }
    }

    /// Copies the value from the device.
    ///
    /// # Errors
    ///
    /// If the device cannot be read.
    pub fn read(&self) -> Result<Value, Error> {
        let read = self.value.read(&self.port.kind);
        read.map_err(|reason| Error::Output { name: self.port.name, reason })
    }
}

/// Description of a node that runs.
#[derive(Debug)]
pub struct TracedNode {
    /// Name of the node.
    pub node: &'static str,
    /// Operator of the node, with its domain if that is not `ai.onnx`.
    pub operator: &'static str,
    /// Values that the node computes.
    pub values: &'static [Port],
}

/// Nodes of a function.
#[derive(Module, Debug)]
pub struct TracedNodes {
    #[module(skip)]
    all: &'static [TracedNode],
}

impl TracedNodes {
    /// Creates the list of a function's nodes, in their order.
    pub fn new(all: &'static [TracedNode]) -> Self {
        TracedNodes { all }
    }

    /// Shows the values of a node to the visitor of this thread, if any.
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
    /// Visitor of the run on this thread.
    static VISITOR: Cell<Option<*mut Visit>> = const { Cell::new(None) };
}

/// Returns the result of `run`, whose values are shown to `visit`.
#[allow(unsafe_code)]
fn during<T>(visit: &mut (dyn FnMut(&Traced<'_>) + '_), run: impl FnOnce() -> T) -> T {
    let visit: *mut (dyn FnMut(&Traced<'_>) + '_) = visit;
    // SAFETY: only the lifetime changes. The pointer is used only by `show`, on this thread and during `run`, because
    // `_outer` removes it before the borrow of `visit` ends.
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
    // SAFETY: `during` borrows the visitor for as long as the pointer is in `VISITOR`. It was taken out, so no call
    // inside the visitor finds it again.
    unsafe { (*visit)(value) }
}

/// Guard that restores the previous visitor.
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
        Port { name, kind: ValueType::Tensor { dtype, sizes } }
    }

    const STEPS: &[TracedNode] = &[TracedNode {
        node: "/split",
        operator: "Split",
        values: &[port("a", &[Size::Fixed(2)]), port("b", &[])],
    }];

    fn step() {
        let a = Tensor::<1>::from_floats([1.0, 2.0], &Device::flex());
        let b = Tensor::<1>::from_floats([3.0], &Device::flex());
        TracedNodes::new(STEPS).show(0, &[&a, &b]);
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
        during(visit, || TracedNodes::new(STEPS).show(0, &[&empty, &empty]));
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
