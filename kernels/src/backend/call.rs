//! How operators call the trait.

/// Calls a method of [`Kernels`](super::Kernels) with tensors, and options after a semicolon; gives what the method gives, as tensors
/// of Burn's dispatch.
macro_rules! call {
    ($method:ident($($operand:ident),+ $(; $($option:expr),+)?)) => {{
        use $crate::backend::{Kernels, Operand, Routed, primitives, switches};
        use burn::backend::Dispatch;

        $(let $operand = $operand.into_primitive();)+
        if !switches::is_plain() && $(Routed::has_body(&$operand, stringify!($method)))&&+ {
            $crate::observe::note($crate::observe::Event::Kernel(stringify!($method)));
            <Dispatch as Kernels>::$method($($operand),+ $(, $($option),+)?)
        } else {
            primitives::$method::<Dispatch>($($operand),+ $(, $($option),+)?)
        }
    }};
}

pub(crate) use call;
