//! The functions that run a model by the names of its values.

use proc_macro2::{Ident, Literal};

use super::signature::Port;
use crate::rust::{Code, code};

/// `run` and `run_async`; `device` is the device of the model, `structure` the struct of several inputs.
pub fn functions(inputs: &[Port], outputs: &[Port], structure: &Ident, device: &Code) -> Code {
    let input = input(inputs, structure);
    let device = (!inputs.is_empty()).then(|| code!(let device = #device;));
    let mutable = (!inputs.is_empty()).then(|| code!(mut));
    let puts = puts(outputs, &code!(put), &code!(?));
    let puts_async = self::puts(outputs, &code!(put_async), &code!(.await?));
    code! {
        fn run(&self, #mutable inputs: Values) -> Result<Values, Error> {
            Self::SIGNATURE.check(&inputs)?;
            #device
            attempt(|| {
                let output = self.forward(#input);
                let mut outputs = Values::new();
                #puts
                Ok(outputs)
            })
        }

        async fn run_async(&self, #mutable inputs: Values) -> Result<Values, Error> {
            Self::SIGNATURE.check(&inputs)?;
            #device
            attempt_async(async {
                let output = self.forward_async(#input).await;
                let mut outputs = Values::new();
                #puts_async
                Ok(outputs)
            }).await
        }
    }
}

/// What `forward` takes.
fn input(inputs: &[Port], structure: &Ident) -> Code {
    let taken = (0..inputs.len()).map(|at| {
        let at = Literal::usize_unsuffixed(at);
        code!(take(&mut inputs, &Self::SIGNATURE.inputs[#at], &device)?)
    });
    let taken: Vec<Code> = taken.collect();
    match taken.as_slice() {
        [] => Code::default(),
        [only] => only.clone(),
        _ => {
            let idents = inputs.iter().map(|port| &port.ident);
            let fields = idents
                .zip(&taken)
                .map(|(ident, value)| code!(#ident: #value));
            code!(#structure { #(#fields),* })
        }
    }
}

/// The outputs put under their names.
fn puts(outputs: &[Port], put: &Code, end: &Code) -> Code {
    let puts = outputs.iter().enumerate().map(|(at, port)| {
        let at = Literal::usize_unsuffixed(at);
        let value = match outputs.len() {
            1 => code!(output),
            _ => {
                let ident = &port.ident;
                code!(output.#ident)
            }
        };
        code!(#put(&mut outputs, &Self::SIGNATURE.outputs[#at], #value)#end;)
    });
    puts.collect()
}
