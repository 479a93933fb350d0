//! The launch of a kernel, with its checks on the host.
//!
//! Kernels run without bounds checks. Two sides keep their indices within the operands:
//!
//! - [`launch!`] checks that the buffer of each operand holds its layout, that the layout is row-major unless the
//!   kernel reads it by strides ([`Strided`]), that addresses reach all elements and units, and that the numbers of
//!   cubes and units and the shared memory are within the device's limits.
//! - The kernel ends its units and cubes beyond the count that it is given, and computes indices from the sizes and
//!   strides of its operands alone, as its documentation states. A value of a tensor becomes an index only if it
//!   was checked or clamped before.
//!
//! CubeCL 0.11.3 has a `launch` with bounds checks, besides `launch_unchecked`. Its shaders have none: the pass
//! that adds them looks for arrays, and operands are pointers to arrays.

mod limits;

use burn::backend::TensorMetadata;
use burn_cubecl::tensor::CubeTensor;
use cubecl::{client::Client, prelude::*, std::tensor::layout::linear::LinearViewLaunch};

use super::narrow;
use crate::{ensure, fault::fail};
use limits::{Demand, Limits, extent};

/// Launches a kernel: `launch!(grid => kernel(operands; options))`.
///
/// Operands are tensors by value or by reference, [`Strided`] ones, options of these, and other types that
/// implement [`LaunchOperand`]. They are the first parameters of the kernel. Vector sizes follow its name in
/// brackets. An empty grid launches nothing.
macro_rules! launch {
    ($grid:expr => $($kernel:ident)::+ $([$($lanes:expr),+])? ($($operand:expr),+; $($option:expr),* $(,)?)) => {{
        let mut request = $crate::cube::launch::Request::new(stringify!($($kernel)::+), $grid);
        $crate::cube::launch::launch!(
            @take request, [$($kernel)::+], [$($($lanes),+)?], [], [$($operand),+], [$($option),*]
        )
    }};
    // Binds the arguments one by one: each expansion has an identifier of its own.
    (@take $request:ident, $kernel:tt, $lanes:tt, [$($taken:ident)*], [$operand:expr $(, $rest:expr)*], $options:tt) => {{
        let operand = $request.take($operand);
        $crate::cube::launch::launch!(
            @take $request, $kernel, $lanes, [$($taken)* operand], [$($rest),*], $options
        )
    }};
    (@take $request:ident, [$($kernel:ident)::+], [$($lanes:expr),*], [$($taken:ident)*], [], [$($option:expr),*]) => {
        if let Some(launch) = $request.grant() {
            let $crate::cube::launch::Launch { client, cubes, units, address } = launch;
            // SAFETY: `Request` checked the operands and the grid. Within these the kernel keeps to the
            // bounds that its documentation states: units beyond the count end, and indices are below the
            // sizes of the operands.
            unsafe {
                $($kernel)::+::launch_unchecked(
                    &client, cubes, units, address, $($lanes,)* $($taken.into(),)* $($option),*
                );
            }
        }
    };
}
pub(super) use launch;

/// Cubes of a launch, and the shared memory of each.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    work: Work,
    shared: usize,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    /// Minimum number of units, in cubes of a size that suits the device.
    Units(usize),
    Cubes {
        count: usize,
        units: usize,
    },
}

impl Grid {
    /// A grid of at least `count` units. The kernel distinguishes them by `ABSOLUTE_POS`, and ends those beyond `count`.
    pub fn units(count: usize) -> Self {
        let work = Work::Units(count);
        Self { work, shared: 0 }
    }

    /// A grid of at least `count` cubes of `units` units. The kernel distinguishes cubes by `CUBE_POS`, and
    /// ends those beyond `count`.
    pub fn cubes(count: usize, units: usize) -> Self {
        let work = Work::Cubes { count, units };
        Self { work, shared: 0 }
    }

    /// The same with the bytes of shared memory that a cube takes.
    pub fn shared(self, bytes: usize) -> Self {
        Self { shared: bytes, ..self }
    }
}

/// Operand that a kernel reads or writes by strides, or in an order of its own, and not as row-major elements.
pub struct Strided<T>(pub T);

/// Operand that a kernel reads or writes by a linear view of the shape of another tensor.
pub struct Linear<'a>(pub CubeTensor, pub &'a CubeTensor);

/// Operand of a kernel: one or several tensors.
pub trait LaunchOperand {
    /// Argument of the launch.
    type Argument;

    /// Gives the tensors to the request and returns their argument.
    fn enter(self, request: &mut Request) -> Self::Argument;
}

impl LaunchOperand for CubeTensor {
    type Argument = TensorArg;

    fn enter(self, request: &mut Request) -> TensorArg {
        request.admit(&self, Order::RowMajor);
        self.into_tensor_arg()
    }
}

impl LaunchOperand for &CubeTensor {
    type Argument = TensorArg;

    fn enter(self, request: &mut Request) -> TensorArg {
        self.clone().enter(request)
    }
}

impl LaunchOperand for Strided<CubeTensor> {
    type Argument = TensorArg;

    fn enter(self, request: &mut Request) -> TensorArg {
        request.admit(&self.0, Order::Any);
        self.0.into_tensor_arg()
    }
}

impl LaunchOperand for Strided<&CubeTensor> {
    type Argument = TensorArg;

    fn enter(self, request: &mut Request) -> TensorArg {
        Strided(self.0.clone()).enter(request)
    }
}

impl LaunchOperand for Linear<'_> {
    type Argument = LinearViewLaunch;

    fn enter(self, request: &mut Request) -> LinearViewLaunch {
        request.admit(&self.0, Order::Any);
        self.0.into_linear_view_like(self.1)
    }
}

impl<T: LaunchOperand<Argument = TensorArg>> LaunchOperand for Option<T> {
    type Argument = Option<BufferArg>;

    fn enter(self, request: &mut Request) -> Option<BufferArg> {
        self.map(|operand| operand.enter(request).into_buffer_arg())
    }
}

/// Order of the elements that a kernel relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    RowMajor,
    Any,
}

/// A launch whose operands are being taken.
pub struct Request {
    kernel: &'static str,
    grid: Grid,
    client: Option<Client>,
    /// Elements of the largest buffer.
    elements: usize,
}

/// A launch that was checked.
pub struct Launch {
    pub client: Client,
    pub cubes: CubeCount,
    pub units: CubeDim,
    pub address: AddressType,
}

impl Request {
    pub fn new(kernel: &'static str, grid: Grid) -> Self {
        Self { kernel, grid, client: None, elements: 0 }
    }

    /// Checks an operand and returns its argument.
    pub fn take<T: LaunchOperand>(&mut self, operand: T) -> T::Argument {
        operand.enter(self)
    }

    fn admit(&mut self, tensor: &CubeTensor, order: Order) {
        let kernel = self.kernel;
        let (shape, strides) = (tensor.shape(), tensor.meta.strides());
        ensure!(
            order == Order::Any || tensor.is_contiguous(),
            "{kernel}: expected a row-major operand, found shape {shape:?} with strides {strides:?}"
        );
        let held = tensor.handle.size_in_used() as usize / tensor.dtype.size();
        ensure!(
            extent(&shape, strides).is_some_and(|extent| extent <= held),
            "{kernel}: shape {shape:?} with strides {strides:?} exceeds a buffer of {held} elements"
        );
        self.elements = self.elements.max(held);
        if self.client.is_none() {
            self.client = Some(tensor.client.clone());
        }
    }

    /// Checks the grid against the device. `None` if there is nothing to launch.
    pub fn grant(self) -> Option<Launch> {
        let client = self.client?;
        let (cubes, units, numbers_units) = match self.grid.work {
            Work::Units(count) => {
                // Cubes of more units than this have the largest size.
                let units = CubeDim::new(&client, count.min(1 << 31));
                (count.div_ceil(units.num_elems() as usize), units, true)
            }
            Work::Cubes { count, units } => (count, CubeDim::new_1d(narrow(units)), false),
        };
        if cubes == 0 {
            return None;
        }
        let demand = Demand {
            cubes: cubes as u64,
            units: u64::from(units.num_elems()),
            numbers_units,
            shared: self.grid.shared,
            elements: self.elements,
        };
        match Limits::of(&client).grant(&demand) {
            Ok(([x, y, z], address)) => {
                let cubes = CubeCount::Static(x, y, z);
                Some(Launch { client, cubes, units, address })
            }
            Err(problem) => fail(format_args!("{}: {problem}", self.kernel)),
        }
    }
}

#[cfg(all(test, feature = "wgpu"))]
mod tests;
