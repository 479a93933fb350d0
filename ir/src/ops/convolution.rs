//! Convolution, and its inverse forms.

pub mod window;

super::families![
    causal_conv,
    col2im,
    conv,
    conv_transpose,
    deform_conv,
];
