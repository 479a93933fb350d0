//! Sessions.

use std::path::Path;
use std::sync::Arc;

use onnx_embed::{DynModel, ElementType, Metadata, Port, Size, Value, ValueType, Values, with_threads};
use ort_sys::OrtSession;

use crate::elements::element_of_number;
use crate::handle::Handle;
use crate::options::{Environment, RunSettings, SessionOptions, Settings};
use crate::registry;
use crate::status::Failure;
use crate::types::TypeInfo;
use crate::value::Stored;

/// A session. Runs on other threads share it.
#[derive(Clone)]
pub(crate) struct SessionHandle(pub Arc<Session>);

impl Handle for SessionHandle {
    type Raw = OrtSession;
    const NAME: &'static str = "session";
}

/// A loaded model and the options that it runs with.
pub(crate) struct Session {
    model: Model,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub metadata: Metadata,
    /// Values of named sizes that the options set.
    sizes: Vec<(String, i64)>,
    /// Number of threads of a run, 0 for the default.
    threads: usize,
}

/// Model of a session.
enum Model {
    Compiled(Box<dyn DynModel>),
    /// The model by which `ort` copies tensors.
    Identity,
}

/// Inputs of a run as copies, and the names of its outputs.
pub(crate) struct Request {
    inputs: Values,
    outputs: Vec<String>,
}

impl Session {
    /// Creates a session of a file.
    ///
    /// # Errors
    ///
    /// If the file is none of the registered models.
    pub(crate) fn of_file(path: &Path, env: &Environment, options: &SessionOptions) -> Result<Self, Failure> {
        let settings = options.snapshot();
        options.check_cancelled()?;
        let model = registry::load_file(path, &settings)?;
        options.check_cancelled()?;
        Ok(Self::new(model, env, settings))
    }

    /// Creates a session of a file in memory.
    ///
    /// # Errors
    ///
    /// If the file is none of the registered models.
    pub(crate) fn of_bytes(
        bytes: &[u8],
        env: &Environment,
        options: &SessionOptions,
    ) -> Result<Self, Failure> {
        let settings = options.snapshot();
        options.check_cancelled()?;
        if let Some(element) = identity(bytes) {
            return Ok(Self::identity(element));
        }
        let model = registry::load_bytes(bytes, &settings)?;
        options.check_cancelled()?;
        Ok(Self::new(model, env, settings))
    }

    fn new(model: Box<dyn DynModel>, env: &Environment, settings: Settings) -> Self {
        let signature = model.signature();
        Self {
            inputs: signature.inputs.to_vec(),
            outputs: signature.outputs.to_vec(),
            metadata: model.metadata(),
            model: Model::Compiled(model),
            sizes: settings.sizes,
            threads: if settings.shared_threads { env.threads } else { settings.threads },
        }
    }

    fn identity(element: ElementType) -> Self {
        let kind = ValueType::Unranked(element);
        Self {
            model: Model::Identity,
            inputs: vec![Port { name: "input", kind }],
            outputs: vec![Port { name: "output", kind }],
            metadata: Metadata::EMPTY,
            sizes: Vec::new(),
            threads: 0,
        }
    }

    /// Returns the type of an input or output.
    ///
    /// # Errors
    ///
    /// If the C API lacks an element type.
    pub(crate) fn type_of(&self, port: &Port) -> Result<TypeInfo, Failure> {
        TypeInfo::of_port(&port.kind, &|name| self.size(name))
    }

    /// Returns the size that the options set for a name.
    fn size(&self, name: &str) -> Option<i64> {
        self.sizes.iter().find(|(known, _)| known == name).map(|(_, size)| *size)
    }

    /// Copies a value for the input called `name`.
    ///
    /// # Errors
    ///
    /// If there is no such input, or if a size differs from that of the options.
    pub(crate) fn input(&self, name: &str, value: &Stored) -> Result<Value, Failure> {
        let port = find(&self.inputs, "input", name)?;
        if let (ValueType::Tensor { sizes, .. }, Some(shape)) = (&port.kind, value.shape()) {
            for (size, found) in sizes.iter().zip(shape) {
                if let Size::Named(size) = size
                    && let Some(expected) = self.size(size)
                    && expected != *found
                {
                    let message =
                        format!("size `{size}` of `{name}` is {found}, the session options set {expected}");
                    return Err(Failure::argument(message));
                }
            }
        }
        let value = value.to_input(&port.kind);
        value.map_err(|failure| Failure::argument(format!("input `{name}`: {}", failure.message())))
    }

    /// Copies the inputs of a run.
    ///
    /// # Errors
    ///
    /// If a name is that of no input or output, or is given twice.
    pub(crate) fn request(
        &self,
        names: &[&str],
        values: &[&Stored],
        outputs: &[&str],
    ) -> Result<Request, Failure> {
        let mut inputs = Values::new();
        for (name, value) in names.iter().zip(values) {
            if inputs.insert(*name, self.input(name, value)?).is_some() {
                return Err(Failure::argument(format!("two values for input `{name}`")));
            }
        }
        self.request_of(inputs, outputs)
    }

    /// Returns the run of inputs that are copied already.
    ///
    /// # Errors
    ///
    /// If a name is that of no output.
    pub(crate) fn request_of(&self, inputs: Values, outputs: &[&str]) -> Result<Request, Failure> {
        for name in outputs {
            find(&self.outputs, "output", name)?;
        }
        Ok(Request { inputs, outputs: outputs.iter().map(ToString::to_string).collect() })
    }

    /// Runs the model and returns the outputs that the request names.
    ///
    /// # Errors
    ///
    /// If the model cannot compute them, or if the run was terminated.
    pub(crate) fn run(
        &self,
        request: Request,
        options: Option<&RunSettings>,
    ) -> Result<Vec<Stored>, Failure> {
        let check = || options.map_or(Ok(()), RunSettings::check);
        check()?;
        let Request { inputs, outputs } = request;
        let mut answers = match self.threads {
            0 => self.compute(inputs)?,
            threads => with_threads(threads, || self.compute(inputs))?,
        };
        check()?;
        let mut results = Vec::with_capacity(outputs.len());
        for (index, name) in outputs.iter().enumerate() {
            let again = outputs[index + 1..].contains(name);
            let value = if again { answers.get(name).cloned() } else { answers.remove(name) };
            let value = value.ok_or_else(|| Failure::argument(format!("no output `{name}`")))?;
            let result = Stored::of_output(value, &find(&self.outputs, "output", name)?.kind);
            let context =
                |failure: Failure| Failure::argument(format!("output `{name}`: {}", failure.message()));
            results.push(result.map_err(context)?);
        }
        Ok(results)
    }

    fn compute(&self, mut inputs: Values) -> Result<Values, Failure> {
        match &self.model {
            Model::Compiled(model) => Ok(model.run(inputs)?),
            Model::Identity => {
                let input =
                    inputs.remove("input").ok_or_else(|| Failure::argument("missing input `input`"))?;
                Ok(Values::new().with("output", input))
            }
        }
    }
}

/// Returns the input or output called `name`.
fn find<'a>(ports: &'a [Port], kind: &str, name: &str) -> Result<&'a Port, Failure> {
    ports.iter().find(|port| port.name == name).ok_or_else(|| {
        let names: Vec<String> = ports.iter().map(|port| format!("`{}`", port.name)).collect();
        Failure::argument(format!("no {kind} `{name}` ({kind}s are: {})", names.join(", ")))
    })
}

/// Returns the element type of the identity model by which `ort` clones tensors and copies them between devices.
///
/// `ort` embeds this model in ONNX Runtime's own format and writes the element type to two bytes of it, see
/// `src/value/impl_tensor/copy.rs` of `ort` 2.0.0-rc.12. Models in this format cannot be compiled, and no other has this
/// length, operator and these bytes.
fn identity(bytes: &[u8]) -> Option<ElementType> {
    const LENGTH: usize = 1032;
    const OPERATOR: &[u8] = b":Identity:12";
    let is_identity =
        bytes.len() == LENGTH && bytes[4..8] == *b"ORTM" && bytes[0x4c..][..OPERATOR.len()] == *OPERATOR;
    let (input, output) = (*bytes.get(544)?, *bytes.get(604)?);
    if is_identity && input == output { element_of_number(input) } else { None }
}
