//! 8- and 4-bit floats compared with the host's.

use burn::tensor::{DType, FloatDType, Tensor, TensorData};

use crate::quantize::small::{Small, Toward, rounded, to_small};
use crate::reader::{Blocking, now};
use crate::testing::{float, has, on_each, same};

const ALL: [Small; 8] = [
    Small::E4M3Fn,
    Small::E4M3Fnuz,
    Small::E5M2,
    Small::E5M2Fnuz,
    Small::E2M1,
    Small::E8M0(Toward::Up),
    Small::E8M0(Toward::Down),
    Small::E8M0(Toward::Nearest),
];

fn agree(x: &Tensor<1>) {
    for small in ALL {
        for saturate in [true, false] {
            let expected = now(rounded(x.clone(), small, saturate, Blocking)).into_data();
            same(to_small(x.clone(), small, saturate), expected);
        }
    }
}

/// Returns normal values of every exponent, with ties and their neighbors.
fn values() -> Vec<f32> {
    let mut values = vec![0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX];
    for exponent in 1..255u32 {
        for fraction in [0, 1, 0x08_0000, 0x10_0000, 0x18_0000, 0x20_0000, 0x40_0000, 0x60_0000] {
            for near in [fraction - fraction.min(1), fraction, fraction + 1, 0x7f_ffff] {
                let value = f32::from_bits(exponent << 23 | near);
                values.extend([value, -value]);
            }
        }
    }
    values
}

#[test]
fn every_exponent_and_tie() {
    on_each(|| {
        let values = values();
        let count = values.len();
        agree(&float(TensorData::new(values, [count])));
    });
}

#[test]
fn half_precision_and_views() {
    on_each(|| {
        let values: Vec<f32> = (0..600).map(|at| (at as f32 - 300.0) * 1.7).collect();
        let x = float::<2>(TensorData::new(values, [20, 30]));
        let (transposed, small) = (x.clone().transpose(), Small::E4M3Fn);
        let expected = now(rounded(transposed.clone(), small, true, Blocking)).into_data();
        same(to_small(transposed, small, true), expected);
        if has(DType::F16) {
            agree(&x.flatten(0, 1).cast(FloatDType::F16));
        }
    });
}
