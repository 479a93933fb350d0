//! The `onnx_model!` macro: arguments, paths, errors at the right token.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod argument;
mod dependency;
mod path;
mod twice;

use argument::Arguments;
use onnx_embed_ir::diagnostics::Diagnostics;
use onnx_embed_ir::emit::Item;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};

/// Compiles an ONNX model into a typed Burn module.
///
/// `onnx_model!("model.onnx")` makes the item `Model`, `ModelInput` where the model takes several values and
/// `ModelOutput` where it gives several. Their documentation has the names, element types and sizes of the
/// file. The path is relative to the calling file, then to the package's folder. It may begin with a variable
/// of the environment, as in `"$OUT_DIR/model.onnx"` for a file that a build script fetches, or
/// `"${CARGO_MANIFEST_DIR}/../model.onnx"`; `concat!(env!("OUT_DIR"), "/model.onnx")` is the same. The long
/// form names the item, whose inputs and outputs are `MiniLmInput` and `MiniLmOutput`, and sets options:
///
/// ```text
/// onnx_model! {
///     /// Sentence embeddings.
///     #[onnx(weights = "file", dims(batch = 1), inputs(ids: [batch, 128]))]
///     pub struct MiniLm = "minilm.onnx";
/// }
/// ```
///
/// - `weights = "embed"` (the default) puts the weights into the binary, `"file"` leaves them in
///   the file, which `from_file` opens. `from_file` and `from_bytes` take other files of the same
///   graph too. With `"file"`, initializers of floats of rank 1 and more are parameters: the code
///   depends on none of their values, and files may have others. (Not those that shapes are computed
///   from, as scales of `Resize`.) With `"embed"` the graph is simplified by the values of constants of
///   at most 2,048 elements. Values on which the code depends are fixed in either case, also integers
///   and scalars that it was simplified by or has as numbers: a file with others is refused, and the
///   error names the weight.
/// - `dims(batch = 1)` fixes a size that the file names.
/// - `inputs(x: [batch, 3])` gives the shape of an input that the file leaves open, other names where
///   two sizes of one name are not equal, or makes an input of a constant that the file lists as one.
/// - `ops("my.company.BiasSwish" = crate::bias_swish)` has a function compute an operator that is not compiled. It
///   takes the node's inputs in their order and then its attributes in the order of their names: tensors, `i64`, `f32`,
///   `&str`, and slices of these. What some node leaves out is an `Option` in all. It returns a tensor of the
///   shape and type of the first input, unless `-> int64[batch, 10]`, `-> like(1)`, `-> [_, _, 10]` or several of
///   such in brackets stand behind it; a name that no input has is a size that only the function knows. A path
///   without `crate` starts in the module of the call. Equal nodes may be run once.
/// - `outputs("/conv2/Conv_output_0", ..)` has the model give values inside of it: the outputs are those
///   named, in this order, and `..` as the last entry keeps the outputs of the file behind them. A name is
///   that of a value of the model's graph, none of a value inside of a branch or a loop; `cargo onnx-embed
///   inspect --values` lists them. Without `..` the nodes that no output needs are cut, and with them the
///   inputs that only they read: a program that wants the embedding of an encoder does not have to make up
///   inputs of the decoder. Their weights stay in the file, which is embedded as it is.
/// - `trace` adds the trait `TracedModel`, whose `trace` shows each value of a run by its name in the file,
///   with the node that gives it, as soon as the node has run. What simplification takes out of the graph
///   is no value of the run; with `simplify = false` there are nearly all.
/// - `memory_limit = "512 MiB"` is how many bytes a tensor may take whose sizes come from inputs or data, as those of
///   `Expand`, `Range` or `Resize`: what exceeds it is an error of `run` and `try_forward`, before memory is asked for. By
///   default it is half of what the process may use; the program may set another one with `with_memory_limit`.
/// - `simplify = false` leaves the operators as the file has them.
/// - `precision = "f16"`, or `"bf16"`, has weights and computation be of 16 bits, with sums and norms of single
///   precision; the default is `"as-is"`. Only floats of single precision change, and neither inputs nor outputs.
///   Products, convolutions and rows of tables take 16 bits, what follows them does too where it is elementwise,
///   moves elements or sums in single precision, and all else keeps single precision. Weights are converted
///   when they are loaded. Devices without such floats, CPUs among them, compute in single precision, with weights
///   rounded. Where the model is trained, parameters stay of single precision and are converted at each call.
/// - `train = true` compiles the model for training, `false` for inference alone; the default is
///   whether the feature `autodiff` of onnx-embed is on. A model for training has the parameters of
///   the file, each once: the float initializers of rank 1 and more that its outputs depend on, under
///   the paths that `OnnxModel::PARAMETERS` lists with their names in the file. Nothing is computed
///   from them before a call, and no simplification looks at their values or takes them into others.
///   The mean and variance of batch normalizations are among them, without gradients. Scalars and
///   what nodes of kind `Constant` make are constants of the code.
/// - `crate = path` names the run-time crate where it is re-exported. A name that Cargo.toml gives it is found.
#[proc_macro]
pub fn onnx_model(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = TokenStream::from(input);
    let expanded = match syn::parse2::<Arguments>(input.clone()) {
        Ok(arguments) => expand(&arguments),
        Err(error) => {
            let name = argument::name(input);
            failed(&quote!(pub), &name, error.span(), &error.to_string())
        }
    };
    expanded.into()
}

fn expand(arguments: &Arguments) -> TokenStream {
    let written = arguments.path.value();
    let span = arguments.path.span();
    if arguments.short
        && let Some(complaint) = twice::complaint(span, &written)
    {
        return quote_spanned!(span => ::core::compile_error! { #complaint });
    }
    let variables = path::variables(&written).into_iter();
    // rustc compiles the crate again where their values have changed.
    let watched: TokenStream = variables
        .map(|name| {
            quote!(
                const _: ::core::option::Option<&str> = ::core::option_env!(#name);
            )
        })
        .collect();
    let compiled = compile(arguments, &written).unwrap_or_else(|diagnostics| {
        let visibility = arguments.visibility.to_token_stream();
        let choice = diagnostics.choice().and_then(|name| arguments.keys.get(name));
        let span = choice.copied().unwrap_or_else(|| arguments.path.span());
        failed(&visibility, &arguments.name, span, &diagnostics.report(&written))
    });
    quote!(#compiled #watched)
}

/// The path of the run-time crate.
fn runtime(arguments: &Arguments) -> TokenStream {
    match (&arguments.runtime, dependency::renamed()) {
        (Some(path), _) => path.to_token_stream(),
        (None, Some(name)) => quote!(::#name),
        (None, None) => quote!(::onnx_embed),
    }
}

fn compile(arguments: &Arguments, written: &str) -> Result<TokenStream, Diagnostics> {
    let file = path::resolve(written, arguments.path.span())?;
    let attributes = &arguments.attributes;
    let item = Item {
        attributes: quote!(#(#attributes)*),
        visibility: arguments.visibility.to_token_stream(),
        name: arguments.name.clone(),
        runtime: runtime(arguments),
        file: onnx_embed_ir::model::display_name(&file),
        functions: arguments.functions.clone(),
    };
    onnx_embed_ir::compile(&file, &item, &arguments.options)
}

/// The error as the only one: rustc says nothing about what is done with the names.
fn failed(visibility: &TokenStream, name: &Ident, span: Span, message: &str) -> TokenStream {
    let input = format_ident!("{name}Input");
    let output = format_ident!("{name}Output");
    // An array whose length is an error, as a trait's associated type, is a type of which rustc knows nothing
    // but that the error was reported.
    let error = quote_spanned!(span => ::core::compile_error! { #message });
    quote! {
        #[allow(dead_code, missing_docs)]
        #visibility type #name = <[(); #error] as ::core::ops::Deref>::Target;
        #[allow(dead_code, missing_docs)]
        #visibility type #input = #name;
        #[allow(dead_code, missing_docs)]
        #visibility type #output = #name;
    }
}
