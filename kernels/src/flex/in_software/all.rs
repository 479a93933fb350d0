//! Functions of all elements of a tensor.

use burn::backend::{Flex, TensorMetadata, flex::FlexTensor, ops::FloatTensorOps};
use burn::tensor::{DType, Shape, TensorData};

use crate::{
    flex::{rows::in_place, view::Dense},
    spec::function::Function,
};

pub fn function(x: FlexTensor, function: Function) -> FlexTensor {
    if x.dtype() == DType::F64 {
        return of_doubles(x, of_f64(function));
    }
    let run = of_f32(function);
    in_place(x, 1, |_, elements| {
        for x in elements {
            *x = run(*x);
        }
    })
}

pub fn power(base: FlexTensor, exponent: FlexTensor) -> FlexTensor {
    let dtype = base.dtype();
    let shapes = [base.shape(), exponent.shape()];
    let sizes = shapes[0].iter().zip(shapes[1].iter()).map(|(a, b)| if *a == 1 { *b } else { *a });
    let shape = Shape::from(sizes.collect::<Vec<usize>>());
    let [base, exponent] = [base, exponent].map(|x| Flex::float_expand(x, shape.clone()));
    if dtype == DType::F64 {
        let (base, exponent) = (base.into_data(), exponent.into_data());
        let pairs = base.iter::<f64>().zip(exponent.iter::<f64>());
        let y: Vec<f64> = pairs.map(|(base, exponent)| libm::pow(base, exponent)).collect();
        return FlexTensor::from_data(TensorData::new(y, shape));
    }
    let exponent = Dense::new(&exponent);
    in_place(base, 1, |at, elements| {
        for (x, exponent) in elements.iter_mut().zip(&exponent.values()[at..]) {
            *x = libm::powf(*x, *exponent);
        }
    })
}

pub fn power_by(x: FlexTensor, exponent: f64) -> FlexTensor {
    if x.dtype() == DType::F64 {
        return of_doubles(x, |x| libm::pow(x, exponent));
    }
    let exponent = exponent as f32;
    in_place(x, 1, |_, elements| {
        for x in elements {
            *x = libm::powf(*x, exponent);
        }
    })
}

fn of_doubles(x: FlexTensor, run: impl Fn(f64) -> f64) -> FlexTensor {
    let shape = x.shape();
    let y: Vec<f64> = x.into_data().iter::<f64>().map(run).collect();
    FlexTensor::from_data(TensorData::new(y, shape))
}

fn of_f32(function: Function) -> fn(f32) -> f32 {
    match function {
        Function::Log => libm::logf,
        Function::Log1p => libm::log1pf,
        Function::Sin => libm::sinf,
        Function::Cos => libm::cosf,
        Function::Tan => libm::tanf,
        Function::Asin => libm::asinf,
        Function::Acos => libm::acosf,
        Function::Atan => libm::atanf,
        Function::Sinh => libm::sinhf,
        Function::Cosh => libm::coshf,
        Function::Asinh => libm::asinhf,
        Function::Acosh => libm::acoshf,
        Function::Atanh => libm::atanhf,
    }
}

fn of_f64(function: Function) -> fn(f64) -> f64 {
    match function {
        Function::Log => libm::log,
        Function::Log1p => libm::log1p,
        Function::Sin => libm::sin,
        Function::Cos => libm::cos,
        Function::Tan => libm::tan,
        Function::Asin => libm::asin,
        Function::Acos => libm::acos,
        Function::Atan => libm::atan,
        Function::Sinh => libm::sinh,
        Function::Cosh => libm::cosh,
        Function::Asinh => libm::asinh,
        Function::Acosh => libm::acosh,
        Function::Atanh => libm::atanh,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Tensor};

    use crate::deterministic::deterministic;
    use crate::elementwise::elementary::{asinh, cos, log, log1p, power, power_by, sin, tan};
    use crate::testing::{near, noise};

    #[test]
    fn functions_are_near_those_of_the_system() {
        let x = noise::<2>([9, 21], 1).abs() + 0.1;
        for dtype in [DType::F32, DType::F64, DType::F16] {
            let tolerance = if dtype == DType::F16 { 1e-3 } else { 1e-6 };
            let x = x.clone().cast(dtype).transpose();
            for run in [log, log1p, sin, cos, tan, asinh] {
                let y: Tensor<2> = deterministic(|| run(x.clone()));
                near(y, run(x.clone()).into_data(), tolerance);
            }
            for exponent in [-2.0, 0.5, 3.0, 1.7] {
                let y = deterministic(|| power_by(x.clone(), exponent));
                near(y, power_by(x.clone(), exponent).into_data(), 20.0 * tolerance);
            }
            let exponent = noise::<2>([1, 9], 2).cast(dtype);
            let y = deterministic(|| power(x.clone(), exponent.clone()));
            near(y, power(x.clone(), exponent).into_data(), tolerance);
        }
    }
}
