//! The `onnx_model!` macro: arguments, paths, errors at the right token.

#![forbid(unsafe_code)]

mod argument;
mod path;

use argument::Arguments;
use onnx_embed_ir::emit::Item;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

/// Compiles an ONNX model into a typed Burn module.
///
/// `onnx_model!("model.onnx")` makes the items `Model`, `ModelInput` and `ModelOutput`; the path is
/// relative to the calling file, then to the package's folder. The long form names the item and
/// sets options:
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
///   the file, which `from_file` opens.
/// - `dims(batch = 1)` fixes a size that the file names.
/// - `inputs(x: [batch, 3])` gives the shape of an input that the file leaves open.
/// - `crate = path` names the run-time crate where it is re-exported.
#[proc_macro]
pub fn onnx_model(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let arguments = match syn::parse::<Arguments>(input) {
        Ok(arguments) => arguments,
        Err(error) => return error.into_compile_error().into(),
    };
    expand(&arguments).into()
}

fn expand(arguments: &Arguments) -> TokenStream {
    let written = arguments.path.value();
    let file = match path::resolve(&written, arguments.path.span()) {
        Ok(file) => file,
        Err(message) => return failed(arguments, &message),
    };
    let attributes = &arguments.attributes;
    let item = Item {
        attributes: quote!(#(#attributes)*),
        visibility: arguments.visibility.to_token_stream(),
        name: arguments.name.clone(),
        runtime: arguments.runtime.to_token_stream(),
        file: onnx_embed_ir::read::display_name(&file),
    };
    match onnx_embed_ir::compile(&file, &item, &arguments.options) {
        Ok(tokens) => tokens,
        Err(diagnostics) => failed(arguments, &diagnostics.report(&written)),
    }
}

/// The error, and items of the expected names so that it stays the only one.
fn failed(arguments: &Arguments, message: &str) -> TokenStream {
    let span: Span = arguments.path.span();
    let error = quote_spanned!(span => ::core::compile_error! { #message });
    let (name, visibility, runtime) = (&arguments.name, &arguments.visibility, &arguments.runtime);
    let input = quote::format_ident!("{name}Input");
    let output = quote::format_ident!("{name}Output");
    quote! {
        #error

        #[derive(Clone, Debug)]
        #visibility struct #name;
        #[derive(Clone, Debug)]
        #visibility struct #input;
        #[derive(Clone, Debug)]
        #visibility struct #output;

        #[allow(unused_variables, dead_code)]
        impl #name {
            pub fn new(device: &#runtime::Device) -> Self {
                Self
            }

            pub fn from_file(
                path: impl ::core::convert::AsRef<::std::path::Path>,
                device: &#runtime::Device,
            ) -> ::core::result::Result<Self, #runtime::Error> {
                ::core::result::Result::Ok(Self)
            }

            pub fn from_bytes<T: ?Sized>(
                bytes: &T,
                device: &#runtime::Device,
            ) -> ::core::result::Result<Self, #runtime::Error> {
                ::core::result::Result::Ok(Self)
            }

            pub fn forward<I, O>(&self, input: I) -> O {
                ::core::panic!("the model did not compile")
            }
        }
    }
}
