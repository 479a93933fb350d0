//! Limits of a device, and their check for a launch.

use cubecl::{client::Client, prelude::AddressType};

/// Limits of a device.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of cubes along each axis.
    cubes: [u32; 3],
    /// Number of units of a cube.
    units: u32,
    /// Shared memory of a cube, in bytes.
    shared: usize,
    /// True if kernels can compute addresses of 64 bits.
    has_wide_addresses: bool,
}

/// Resources that a launch requires.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Minimum number of cubes.
    pub cubes: u64,
    /// Number of units of a cube.
    pub units: u64,
    /// True if the kernel numbers its units, and not its cubes alone.
    pub numbers_units: bool,
    /// Shared memory of a cube, in bytes.
    pub shared: usize,
    /// Number of elements of the largest operand.
    pub elements: usize,
}

impl Limits {
    pub fn of(client: &Client) -> Self {
        let properties = client.properties();
        let hardware = &properties.hardware;
        let (x, y, z) = hardware.max_cube_count;
        Self {
            cubes: [x, y, z],
            units: hardware.max_units_per_cube.min(hardware.max_cube_dim.0),
            shared: hardware.max_shared_memory_size,
            has_wide_addresses: properties.supports_address(AddressType::U64),
        }
    }

    /// Returns the number of cubes along each axis, at least as many as asked for, and the type of addresses.
    pub fn grant(&self, demand: &Demand) -> Result<([u32; 3], AddressType), String> {
        let Demand { cubes, units, shared, elements, .. } = *demand;
        if units > u64::from(self.units) {
            return Err(format!("expected at most {} units per cube, found {units}", self.units));
        }
        if shared > self.shared {
            return Err(format!("expected at most {} bytes of shared memory, found {shared}", self.shared));
        }
        let Some(spread) = spread(cubes, self.cubes) else {
            return Err(format!("expected at most {:?} cubes, found {cubes}", self.cubes));
        };
        let launched = spread.iter().try_fold(1u64, |product, &count| product.checked_mul(u64::from(count)));
        let numbers = match demand.numbers_units {
            true => launched.and_then(|cubes| cubes.checked_mul(units)),
            false => launched,
        };
        let largest = numbers.map_or(u64::MAX, |numbers| numbers.max(elements as u64));
        if u32::try_from(largest).is_ok() {
            Ok((spread, AddressType::U32))
        } else if self.has_wide_addresses {
            Ok((spread, AddressType::U64))
        } else {
            Err(format!("expected 32-bit addresses, found {largest} elements or units"))
        }
    }
}

/// Returns the number of cubes along each axis: at least `count` in all. `None` if these are too many.
fn spread(count: u64, most: [u32; 3]) -> Option<[u32; 3]> {
    let [width, height, depth] = most.map(|most| u64::from(most.max(1)));
    let rows = count.div_ceil(width);
    let layers = rows.div_ceil(height);
    // The rows of all layers, and the cubes of all rows, are alike: few cubes beyond the count are launched.
    let rows = rows.div_ceil(layers.max(1));
    let columns = count.div_ceil((rows * layers).max(1));
    let fits = layers <= depth;
    fits.then_some([columns, rows, layers].map(|count| count as u32))
}

/// Returns the number of elements that a layout spans in its buffer. `None` if it cannot be addressed.
pub fn extent(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let mut axes = shape.iter().zip(strides);
    axes.try_fold(1usize, |extent, (&size, &stride)| extent.checked_add((size - 1).checked_mul(stride)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits that WebGPU guarantees.
    const LEAST: Limits =
        Limits { cubes: [65_535; 3], units: 256, shared: 16_384, has_wide_addresses: false };
    const WIDE: Limits = Limits { has_wide_addresses: true, ..LEAST };

    fn cubes(cubes: u64, elements: usize) -> Demand {
        Demand { cubes, units: 32, numbers_units: false, shared: 0, elements }
    }

    #[test]
    fn cubes_are_spread_over_the_axes() {
        let most = [65_535; 3];
        assert_eq!(spread(0, most), Some([0, 0, 0]));
        assert_eq!(spread(65_535, most), Some([65_535, 1, 1]));
        assert_eq!(spread(65_536, most), Some([32_768, 2, 1]));
        for count in [1 << 31, (1 << 32) - 1, 1 << 32, (1 << 33) + 5, 65_535u64.pow(3)] {
            let spread = spread(count, most).expect("they fit");
            assert!(spread.iter().all(|&along| along <= 65_535), "{spread:?}");
            let launched: u64 = spread.iter().map(|&along| u64::from(along)).product();
            assert!(launched >= count && launched - count <= 1 << 18, "{count}: {spread:?}");
        }
        assert_eq!(spread(65_535u64.pow(3) + 1, most), None);
        assert_eq!(spread(7, [2, 2, 1]), None);
    }

    #[test]
    fn addresses_reach_all_elements_and_units() {
        let address = |limits: Limits, demand: Demand| limits.grant(&demand).map(|(_, address)| address).ok();
        for elements in [1 << 31, u32::MAX as usize] {
            assert_eq!(address(LEAST, cubes(1, elements)), Some(AddressType::U32));
        }
        for elements in [1 << 32, 1 << 33] {
            assert_eq!(address(WIDE, cubes(1, elements)), Some(AddressType::U64));
            assert_eq!(address(LEAST, cubes(1, elements)), None);
        }
        // 2^28 cubes have numbers of 32 bits, their 2^33 units have not.
        let units = Demand { numbers_units: true, ..cubes(1 << 28, 1) };
        assert_eq!(address(LEAST, cubes(1 << 28, 1)), Some(AddressType::U32));
        assert_eq!(address(WIDE, units), Some(AddressType::U64));
        assert_eq!(address(LEAST, units), None);
    }

    #[test]
    fn what_a_device_lacks_is_refused_with_its_limit() {
        let refused = |demand| LEAST.grant(&demand).unwrap_err();
        let large = Demand { units: 512, ..cubes(1, 1) };
        assert_eq!(refused(large), "expected at most 256 units per cube, found 512");
        let shared = Demand { shared: 18_432, ..cubes(1, 1) };
        assert_eq!(refused(shared), "expected at most 16384 bytes of shared memory, found 18432");
        let many = refused(cubes(1 << 50, 1));
        assert_eq!(many, "expected at most [65535, 65535, 65535] cubes, found 1125899906842624");
        let wide = refused(cubes(1, 1 << 33));
        assert_eq!(wide, "expected 32-bit addresses, found 8589934592 elements or units");
    }

    #[test]
    fn layouts_span_what_their_last_element_needs() {
        assert_eq!(extent(&[], &[]), Some(1));
        assert_eq!(extent(&[2, 3], &[3, 1]), Some(6));
        assert_eq!(extent(&[3, 2], &[1, 3]), Some(6));
        assert_eq!(extent(&[4, 5], &[8, 1]), Some(29));
        assert_eq!(extent(&[1 << 40, 7], &[0, 1]), Some(7));
        assert_eq!(extent(&[0, 1 << 40], &[1 << 40, 1]), Some(0));
        assert_eq!(extent(&[1 << 16, 1 << 17], &[1 << 17, 1]), Some(1 << 33));
        assert_eq!(extent(&[1 << 32, 1 << 32], &[1 << 32, 1]), None);
    }
}
