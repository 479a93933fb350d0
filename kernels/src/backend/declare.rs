//! Macros that expand the lines of the [`table`](super::table).

/// Declares for each operation a module with a trait, and the enum [`Operation`](super::Operation) of all operations.
macro_rules! declare {
    ($(
        $(#[$doc:meta])*
        $name:ident($($operand:ident: $kind:tt),+ $(; $($option:ident: $type:ty),+)?) -> $result:tt
        $(, flex[$flex:path])? $(, cube[$cube:path => $of_cube:expr])? $(, wgpu[$wgpu:path => $of_wgpu:expr])?;
    )*) => {
        $(operation!(
            @operands [$($operand: $kind)+] [[] []] $name [$(#[$doc])*] [$($operand)+] [$($($option: $type,)+)?] $result
            [$($of_cube)?] [$($of_wgpu)?]
        );)*

        /// An operation of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types)]
        pub enum Operation {
            $($name,)*
        }

        impl Operation {
            /// Bit set of the operations that have kernels for the CPU.
            #[cfg(feature = "flex")]
            pub const ON_FLEX: u128 = 0 $($(| bit!($name $flex))?)*;
            /// Bit set of the operations that have kernels for every CubeCL device.
            #[cfg(feature = "cube")]
            pub const ON_CUBE: u128 = 0 $($(| bit!($name $cube))?)*;
            /// Bit set of the operations that have kernels for wgpu devices.
            #[cfg(feature = "cube")]
            pub const ON_WGPU: u128 = Self::ON_CUBE $($(| bit!($name $wgpu))?)*;

            /// Name of the operation in events.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            pub const fn bit(self) -> u128 {
                1 << self as u32
            }
        }
    };
}

#[cfg(any(feature = "cube", feature = "flex"))]
macro_rules! bit {
    ($name:ident $kernel:path) => {
        Operation::$name.bit()
    };
}

/// Declares the trait of an operation. Its operands and options become parameters, then its result the return type.
macro_rules! operation {
    (@operands [$x:ident: Float $($rest:tt)*] [[$($done:tt)*] [$($plain:tt)*]] $($tail:tt)*) => {
        operation!(@operands [$($rest)*] [[$($done)* $x: FloatTensor<Self>,] [$($plain)* $x: FloatTensor<Self>,]] $($tail)*);
    };
    (@operands [$x:ident: Int $($rest:tt)*] [[$($done:tt)*] [$($plain:tt)*]] $($tail:tt)*) => {
        operation!(@operands [$($rest)*] [[$($done)* $x: IntTensor<Self>,] [$($plain)* $x: IntTensor<Self>,]] $($tail)*);
    };
    (@operands [$x:ident: Bool $($rest:tt)*] [[$($done:tt)*] [$($plain:tt)*]] $($tail:tt)*) => {
        operation!(@operands [$($rest)*] [[$($done)* $x: BoolTensor<Self>,] [$($plain)* $x: BoolTensor<Self>,]] $($tail)*);
    };
    (@operands [$x:ident: [$type:ident] $($rest:tt)*] [[$($done:tt)*] [$($plain:tt)*]] $($tail:tt)*) => {
        operation!(@operands [$($rest)*] [[$($done)* #[extension_type] $x: $type<Self>,] [$($plain)* $x: $type<Self>,]] $($tail)*);
    };
    (@operands [$x:ident: Any $($rest:tt)*] [[$($done:tt)*] [$($plain:tt)*]] $($tail:tt)*) => {
        operation!(@operands [$($rest)*] [[$($done)* #[extension_type] $x: Any<Self>,] [$($plain)* $x: Any<Self>,]] $($tail)*);
    };
    (@operands [$x:ident: $maybe:ident $($rest:tt)*] [[$($done:tt)*] [$($plain:tt)*]] $($tail:tt)*) => {
        operation!(@operands [$($rest)*] [[$($done)* #[extension_type] $x: Given<Self>,] [$($plain)* $x: Given<Self>,]] $($tail)*);
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt Float $($tail:tt)*) => {
        operation!(@primitives $name $docs $params $operands $options [FloatTensor<Self>] $($tail)*);
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt Int $($tail:tt)*) => {
        operation!(@primitives $name $docs $params $operands $options [IntTensor<Self>] $($tail)*);
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt IndicesAndRanges $($tail:tt)*) => {
        operation!(@primitives $name $docs $params $operands $options [(IntTensor<Self>, Given<Self>)] $($tail)*);
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt MaybeTwo $($tail:tt)*) => {
        operation!(@declined $name $docs $params $operands $options [(Outcome<Self>, Outcome<Self>)] $($tail)*);
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt MaybeQuantized $($tail:tt)*) => {
        operation!(
            @declined $name $docs $params $operands $options [(Outcome<Self>, Outcome<Self>, Outcome<Self>)] $($tail)*
        );
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt MaybeStates $($tail:tt)*) => {
        operation!(
            @declined $name $docs $params $operands $options [(Outcome<Self>, Outcome<Self>, Given<Self>)] $($tail)*
        );
    };
    (@operands [] $params:tt $name:ident $docs:tt $operands:tt $options:tt $maybe:ident $($tail:tt)*) => {
        operation!(@declined $name $docs $params $operands $options [Outcome<Self>] $($tail)*);
    };
    (
        @primitives $name:ident $docs:tt $params:tt [$($operand:ident)+] [$($option:ident: $type:ty,)*] $result:tt $($tail:tt)*
    ) => {
        operation!(
            @fusion $name $docs $params [$($operand)+] [$($option: $type,)*] $result
            { primitives::$name::<Self>($($operand,)+ $($option),*) } $($tail)*
        );
    };
    (@declined $name:ident $docs:tt $params:tt $operands:tt $options:tt $result:tt $($tail:tt)*) => {
        operation!(@fusion $name $docs $params $operands $options $result { Declined::declined() } $($tail)*);
    };
    (@fusion $name:ident $docs:tt $params:tt $operands:tt $options:tt $result:tt $body:tt [] []) => {
        operation!(@trait $name $docs $params $operands $options $result $body [default]);
    };
    (
        @fusion $name:ident $docs:tt $params:tt [$($operand:ident)+] [$($option:ident: $type:ty,)*] $result:tt $body:tt
        [$($of_cube:expr)?] [$($of_wgpu:expr)?]
    ) => {
        operation!(
            @trait $name $docs $params [$($operand)+] [$($option: $type,)*] $result $body
            [meta = |$($operand,)+ $($option),*| $($of_cube)? $($of_wgpu)?]
        );
    };
    (
        @trait $name:ident [$($docs:tt)*] [[$($params:tt)*] [$($plain:tt)*]] [$($operand:ident)+] [$($option:ident: $type:ty,)*]
        [$($result:tt)*] $body:tt [$($fusion:tt)*]
    ) => {
        pub mod $name {
            use super::*;
            use super::burn;

            /// Default implementation by Burn's primitives, for any backend.
            pub trait Primitives: Backend {
                #[allow(unused_variables)]
                fn $name($($plain)* $($option: $type),*) -> $($result)* $body
            }

            impl<B: Backend> Primitives for B {}

            #[backend_extension(
                Flex: cfg(feature = "flex"),
                Cube: cfg(feature = "cube"),
                Fusion: cfg(feature = "cube"),
            )]
            pub trait Operation: Backend {
                $($docs)*
                #[allow(unused_variables)]
                #[fusion($($fusion)*)]
                fn $name($($params)* $($option: $type),*) -> $($result)* {
                    <Self as Primitives>::$name($($operand,)+ $($option),*)
                }
            }
        }
    };
}

/// Implements the trait of an operation for a backend, by its kernel if it has one.
#[cfg(any(feature = "cube", feature = "flex"))]
macro_rules! implement {
    (@operands [$x:ident: Float $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: FloatTensor<Self>,] [$($args)* $x,] $($tail)*);
    };
    (@operands [$x:ident: Int $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: IntTensor<Self>,] [$($args)* $x,] $($tail)*);
    };
    (@operands [$x:ident: Bool $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: BoolTensor<Self>,] [$($args)* $x,] $($tail)*);
    };
    (@operands [$x:ident: [$type:ident] $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: $type<Self>,] [$($args)* $x,] $($tail)*);
    };
    (@operands [$x:ident: Any $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: Any<Self>,] [$($args)* $x,] $($tail)*);
    };
    (@operands [$x:ident: MaybeFloat $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: Given<Self>,] [$($args)* $x.float(),] $($tail)*);
    };
    (@operands [$x:ident: MaybeInt $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: Given<Self>,] [$($args)* $x.int(),] $($tail)*);
    };
    (@operands [$x:ident: MaybeBool $($rest:tt)*] [$($params:tt)*] [$($args:tt)*] $($tail:tt)*) => {
        implement!(@operands [$($rest)*] [$($params)* $x: Given<Self>,] [$($args)* $x.bool(),] $($tail)*);
    };
    (
        @operands [] [$($params:tt)*] [$($args:tt)*] $backend:ty, $name:ident, $kernel:path,
        [$($option:ident: $type:ty,)*], $result:ident
    ) => {
        impl $crate::backend::operation::$name::Operation for $backend {
            fn $name($($params)* $($option: $type),*) -> implement!(@type $result) {
                implement!(@result $result $kernel($($args)* $($option),*))
            }
        }
    };
    (@for $backend:ty, $name:ident, [], $($tail:tt)*) => {
        impl $crate::backend::operation::$name::Operation for $backend {}
    };
    (@for $backend:ty, $name:ident, [$kernel:path], [$($operand:ident: $kind:tt),+], [$($option:ident: $type:ty,)*], $result:ident) => {
        implement!(
            @operands [$($operand: $kind)+] [] [] $backend, $name, $kernel, [$($option: $type,)*], $result
        );
    };
    (@type Float) => { FloatTensor<Self> };
    (@type Int) => { IntTensor<Self> };
    (@type IndicesAndRanges) => { (IntTensor<Self>, Given<Self>) };
    (@type MaybeTwo) => { (Outcome<Self>, Outcome<Self>) };
    (@type MaybeQuantized) => { (Outcome<Self>, Outcome<Self>, Outcome<Self>) };
    (@type MaybeStates) => { (Outcome<Self>, Outcome<Self>, Given<Self>) };
    (@type $maybe:ident) => { Outcome<Self> };
    (@result MaybeFloat $call:expr) => { Maybe::option($call).map_or(Outcome::Declined, Outcome::Float) };
    (@result MaybeInt $call:expr) => { Maybe::option($call).map_or(Outcome::Declined, Outcome::Int) };
    (@result $other:ident $call:expr) => { $call };
}

#[cfg(any(feature = "cube", feature = "flex"))]
pub(crate) use {bit, implement};
pub(crate) use {declare, operation};
