//! The `onnx_model!` macro: arguments, paths, spans of errors.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod argument;
mod dependency;
mod path;
mod twice;

use std::sync::Arc;

use argument::Arguments;
use onnx_embed_ir::diagnostics::Diagnostics;
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::files::signed::{self, Key};
use onnx_embed_ir::files::variables::variables;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};

/// Compiles an ONNX model into a typed Burn module.
///
/// `onnx_model!("model.onnx")` generates the struct `Model`. If the model has several inputs, it also generates the
/// struct `ModelInput`; if it has several outputs, the struct `ModelOutput`. Their documentation lists the names,
/// element types and sizes of the file.
///
/// A relative path is looked up in the folder of the calling file, then in the folder of the package. The path may
/// contain environment variables, as in `"$OUT_DIR/model.onnx"` for a file that a build script downloads, or
/// `"${CARGO_MANIFEST_DIR}/../model.onnx"`. `concat!(env!("OUT_DIR"), "/model.onnx")` is equivalent.
///
/// The long form names the struct, here with `MiniLmInput` and `MiniLmOutput`, and accepts options:
///
/// ```text
/// onnx_model! {
///     /// Sentence embeddings.
///     #[onnx(weights = "file", dims(batch = 1), inputs(ids: [batch, 128]))]
///     pub struct MiniLm = "minilm.onnx";
/// }
/// ```
///
/// # Options
///
/// - `weights = "embed"` (the default) embeds the weights in the binary. `weights = "file"` leaves them in the file,
///   which `from_file` opens. In both cases `from_file` and `from_bytes` also accept another file with the same graph.
///   With `"file"`, float initializers of rank 1 or more are parameters: the generated code does not depend on their
///   values, so other files may contain different ones. Exceptions are initializers from which shapes are computed,
///   such as the scales of `Resize`, and those of one element that multiply both operands of a matrix product. With `"embed"`, simplification uses the values of constants of at most 2,048
///   elements. Values that the code depends on are fixed in both cases, including integers and scalars that
///   simplification used or that are literals in the code: a file with other values is refused, and the error names
///   the weight.
/// - `dims(batch = 1)` fixes a size that has a name in the file.
/// - `inputs(x: [batch, 3])` sets the shape of an input that the file leaves unspecified, renames sizes that share a
///   name but may differ, or turns a constant that the file lists as an input into an input.
/// - `ops("my.company.BiasSwish" = crate::bias_swish)` binds an unsupported operator to a function. The parameters of
///   the function are the inputs of the node in their order, then its attributes in alphabetical order: tensors,
///   `i64`, `f32`, `&str`, and slices of the latter three. If only some nodes have an input or attribute, it is an
///   `Option`. The result is a tensor with the shape and type of the first input, unless the path is followed by
///   `-> int64[batch, 10]`, `-> like(1)`, `-> [_, _, 10]`, or several of these in parentheses. A size name that no
///   input has is determined by the function. A path that does not start with `crate` is relative to the calling
///   module. Equal nodes may be computed once.
/// - `outputs("/conv2/Conv_output_0", ..)` returns intermediate values, in this order; `..` as the last entry appends
///   the outputs of the file. Each name must be a value of the main graph, not of a branch or a loop;
///   `cargo onnx-embed inspect --values` lists them. Without `..`, nodes that no listed value depends on are removed,
///   and so are inputs that only these nodes read: to compute the embedding of an encoder, no inputs of the decoder
///   are necessary. The weights of removed nodes remain in the file, which is embedded unchanged.
/// - `trace` implements the trait `TracedModel`, whose method `trace` shows each value of a run with its name in the
///   file and its node, as soon as the node has run. Values that simplification removes are not shown; with
///   `simplify = false`, nearly all values are.
/// - `memory_limit = "512 MiB"` limits the bytes of each tensor whose sizes come from inputs or data, as those of
///   `Expand`, `Range` or `Resize` do. If a tensor exceeds the limit, `run` and `try_forward` return an error before
///   they allocate it. The default is half of the memory that the process may use. `with_memory_limit` overrides the
///   limit in the program.
/// - `deterministic` computes the same bits on every CPU, with any number of threads, and for each row of a batch whatever
///   the other rows are. It needs the feature `deterministic` of onnx-embed. Results on GPUs are not affected.
/// - `simplify = false` keeps the operators of the file.
/// - `precision = "f16"` or `"bf16"` selects weights and computation in 16 bits; sums and norms remain in single
///   precision. The default is `"as-is"`. Only single-precision floats change, but not inputs and outputs. Matrix
///   products, convolutions and lookups in tables of weights accept 16 bits. Operators that follow them compute in
///   16 bits if they are elementwise, move elements, or accumulate in single precision; all others keep single
///   precision. Weights are converted when they are loaded. Devices without such floats, including CPUs, compute in
///   single precision with rounded weights. If the model is trained, parameters remain in single precision and are
///   converted at each call.
/// - `train = true` compiles the model for training, `train = false` only for inference. The default is `true` if the
///   feature `autodiff` of onnx-embed is enabled. A model for training has each parameter of the file once: the float
///   initializers of rank 1 or more that its outputs depend on. `OnnxModel::PARAMETERS` lists their paths in the module
///   and their names in the file. Nothing is computed from parameters before a call, and simplification neither reads
///   their values nor merges them. Mean and variance of batch normalizations are parameters without gradients. Scalars
///   and values of `Constant` nodes are constants in the code.
/// - `signature = "key.pub"` requires a signature of the model and of each file of its external data: `model.onnx.minisig`
///   next to `model.onnx`, as `minisign -Sm model.onnx` writes it. The path of the public key is relative to the same
///   folders as that of the model. `from_file` and `from_bytes` require signatures, too.
/// - `match = "structure"`, with `weights = "file"`, makes `from_file` and `from_bytes` also load files of other exporters
///   whose simplified graph is equal. It needs the feature `structure` of onnx-embed. The default is `"bytes"`: files differ
///   from the compiled one only in the values of weights.
/// - `licenses("MIT", "Apache-2.0")` requires that the metadata of the file declares one of these licenses, in the
///   property `model_license`, `license` or a similar one. A file that declares no license is refused.
/// - `crate = path` sets the path of the run-time crate if another crate re-exports it. A name that Cargo.toml sets is
///   found without this option.
///
/// # Errors
///
/// If the model cannot be compiled, the compile error lists the problems and their nodes.
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
    let variables = variables(&written).into_iter();
    // The compiler expands the macro again if the value of a variable changes.
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

/// Returns the path of the run-time crate.
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
        origin: path::origin(&file),
        functions: arguments.functions.clone(),
    };
    let mut options = arguments.options.clone();
    if let Some(key) = &arguments.key {
        let help = "the path of the public key is relative to the folder of the source file, or to that of the package";
        let path = path::resolve(&key.value(), key.span());
        let path = path.map_err(|problem| problem.help(help).choice(signed::OPTION))?;
        options.signature = Some(Arc::new(Key::read(&path)?));
    }
    onnx_embed_ir::compile(&file, &item, &options)
}

/// Returns the error, and types with the names of the item, so that rustc reports no further errors about their uses.
fn failed(visibility: &TokenStream, name: &Ident, span: Span, message: &str) -> TokenStream {
    let input = format_ident!("{name}Input");
    let output = format_ident!("{name}Output");
    // The associated type of an array whose length is an error is a type about which rustc reports nothing else.
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
