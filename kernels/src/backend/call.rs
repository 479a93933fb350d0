//! Calls of the operations of the table.

/// Calls an operation of the table with tensors, and options after a semicolon; returns its result as tensors
/// of Burn's dispatch.
///
/// The device of the tensors computes it if it has a kernel, otherwise Burn's primitives do. The device is checked first, because
/// Burn's routing panics for backends that the attribute of the trait omits, and features of other crates can enable these.
///
/// The call is an event, see [`observe`](crate::observe), unless it copies or packs elements: `call!(@copy contiguous(x))`.
macro_rules! call {
    ($operation:ident($($operands:tt)*)) => {
        $crate::backend::call!(@observed true $operation($($operands)*))
    };
    (@copy $operation:ident($($operands:tt)*)) => {
        $crate::backend::call!(@observed false $operation($($operands)*))
    };
    (@observed $observed:literal $operation:ident($($operand:ident),+ $(; $($option:expr),+)?)) => {{
        use $crate::backend::{self, Operand, Routed, switches};
        use burn::backend::Dispatch;

        const OPERATION: backend::Operation = backend::Operation::$operation;
        $(let $operand = $operand.into_primitive();)+
        let kernels = if switches::is_plain() { 0 } else { u128::MAX $(& Routed::kernels(&$operand))+ };
        if $observed && kernels != 0 {
            $crate::observe::note($crate::observe::Event::Kernel(OPERATION.name()));
        }
        if kernels & OPERATION.bit() != 0 {
            <Dispatch as backend::operation::$operation::Operation>::$operation($($operand),+ $(, $($option),+)?)
        } else {
            <Dispatch as backend::operation::$operation::Primitives>::$operation($($operand),+ $(, $($option),+)?)
        }
    }};
}

pub(crate) use call;
