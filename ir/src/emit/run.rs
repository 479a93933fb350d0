//! Functions that run a model on named values.

use proc_macro2::{Ident, Literal};

use super::signature::Port;
use crate::rust::{Code, code};

/// Returns `start`, and `run_async` if the model reads from the device during a run (`is_async`). `device` is the device
/// of the model, `structure` the struct of several inputs.
pub fn functions(
    inputs: &[Port],
    outputs: &[Port],
    structure: &Ident,
    device: &Code,
    is_async: bool,
) -> Code {
    let input = input(inputs, structure);
    let device = (!inputs.is_empty()).then(|| code!(let device = #device;));
    let [name, mutable, borrow] = match inputs {
        [] => [code!(_), code!(), code!()],
        _ => [code!(inputs), code!(mut), code!(let inputs = &mut inputs;)],
    };
    let outputs = self::outputs(outputs);
    let async_body = is_async.then(|| {
        code! {
            async fn run_async(&self, #mutable inputs: Values) -> Result<Values, Error> {
                Self::SIGNATURE.check(&inputs)?;
                #borrow
                #device
                attempt_async(async {
                    let output = self.forward_async(#input).await;
                    #outputs.values_async().await
                }).await
            }
        }
    });
    code! {
        fn start(&self, #name: &mut Values) -> Result<Outputs, Error> {
            #device
            let output = self.forward(#input);
            Ok(#outputs)
        }

        #async_body
    }
}

/// Returns the argument of `forward`.
fn input(inputs: &[Port], structure: &Ident) -> Code {
    let taken = (0..inputs.len()).map(|at| {
        let at = Literal::usize_unsuffixed(at);
        code!(take(inputs, &Self::SIGNATURE.inputs[#at], &device)?)
    });
    let taken: Vec<Code> = taken.collect();
    match taken.as_slice() {
        [] => Code::default(),
        [only] => only.clone(),
        _ => {
            let idents = inputs.iter().map(|port| &port.ident);
            let fields = idents.zip(&taken).map(|(ident, value)| code!(#ident: #value));
            code!(#structure { #(#fields),* })
        }
    }
}

/// Returns the outputs with their names.
fn outputs(outputs: &[Port]) -> Code {
    let outputs = outputs.iter().enumerate().map(|(at, port)| {
        let at = Literal::usize_unsuffixed(at);
        let value = match outputs.len() {
            1 => code!(output),
            _ => {
                let ident = &port.ident;
                code!(output.#ident)
            }
        };
        code!(.with(&Self::SIGNATURE.outputs[#at], #value))
    });
    let outputs: Code = outputs.collect();
    code!(Outputs::new()#outputs)
}
