//! Predicts which customers leave, with a scikit-learn pipeline.
//!
//! The inputs of the pipeline are columns of text and of numbers.
//!
//! `trees [customers.csv]` prints a line for each customer.

use std::fs;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, bail};
use onnx_embed::{Array, Device, Tensor, TensorData};

onnx_embed::onnx_model! {
    /// One-hot encoding of text, scaling of numbers, and 60 boosted trees.
    // In the file each column has its own number of rows. With one name for all, the numbers are compared.
    #[onnx(inputs(
        contract: [customers, 1],
        payment: [customers, 1],
        months: [customers, 1],
        price: [customers, 1],
        calls: [customers, 1]
    ))]
    pub struct Churn = "../churn.onnx";
}

const HEADER: &str = "contract,payment,months,price,calls";

/// Columns of a file. The model does not use the columns after these.
#[derive(Default)]
struct Customers {
    contract: Vec<String>,
    payment: Vec<String>,
    months: Vec<f32>,
    price: Vec<f32>,
    calls: Vec<f32>,
}

/// Prediction for a customer.
struct Prediction {
    label: String,
    /// The probability that the customer leaves.
    leaves: f32,
}

fn main() -> Result<()> {
    let csv = match std::env::args_os().nth(1) {
        Some(path) => {
            fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?
        }
        None => include_str!("../customers.csv").lines().take(13).collect::<Vec<_>>().join("\n"),
    };
    let customers = parse(&csv)?;
    let predictions = predict(&Churn::new(&Device::flex()), &customers);
    show(&mut anstream::stdout().lock(), &customers, &predictions)?;
    Ok(())
}

fn parse(csv: &str) -> Result<Customers> {
    let mut lines = csv.lines();
    if !lines.next().unwrap_or_default().starts_with(HEADER) {
        bail!("the first line is not `{HEADER}`");
    }
    let mut customers = Customers::default();
    for (line, number) in lines.zip(2..) {
        let cells: Vec<&str> = line.split(',').collect();
        let [contract, payment, months, price, calls, ..] = cells[..] else {
            bail!("line {number} has {} columns", cells.len());
        };
        let parsed = |cell: &str| {
            cell.parse::<f32>().with_context(|| format!("line {number}: `{cell}` is not a number"))
        };
        customers.contract.push(contract.to_owned());
        customers.payment.push(payment.to_owned());
        customers.months.push(parsed(months)?);
        customers.price.push(parsed(price)?);
        customers.calls.push(parsed(calls)?);
    }
    Ok(customers)
}

fn predict(model: &Churn, customers: &Customers) -> Vec<Prediction> {
    let rows = customers.contract.len();
    let device = Device::flex();
    // Text is in arrays in host memory, numbers are in tensors on the device.
    let texts = |column: &[String]| Array::new([rows, 1], column.to_vec());
    let numbers = |column: &[f32]| -> Tensor<2> {
        Tensor::from_data(TensorData::new(column.to_vec(), [rows, 1]), &device)
    };
    let output = model.forward(ChurnInput {
        contract: texts(&customers.contract),
        payment: texts(&customers.payment),
        months: numbers(&customers.months),
        price: numbers(&customers.price),
        calls: numbers(&customers.calls),
    });
    // Columns of probabilities are in the order of the labels: `leaves`, `stays`.
    let probabilities: Vec<f32> = output.probabilities.into_data().iter().collect();
    let leaves = probabilities.iter().step_by(2);
    let labels = output.label.into_data().into_iter();
    labels.zip(leaves).map(|(label, &leaves)| Prediction { label, leaves }).collect()
}

fn show(output: &mut impl Write, customers: &Customers, predictions: &[Prediction]) -> Result<()> {
    writeln!(output, "contract   payment   months  price  calls")?;
    for (at, Prediction { label, leaves }) in predictions.iter().enumerate() {
        let Customers { contract, payment, months, price, calls } = customers;
        let style: Style = match label.as_str() {
            "leaves" => AnsiColor::Red.on_default(),
            _ => AnsiColor::Green.on_default(),
        };
        let bar = "█".repeat((leaves * 20.0).round() as usize);
        write!(output, "{:<10} {:<9} ", contract[at], payment[at])?;
        write!(output, "{:>6} {:>6.2} {:>6}  ", months[at], price[at], calls[at])?;
        let percent = leaves * 100.0;
        writeln!(output, "{style}{label:<6} {percent:5.1} % {bar}{style:#}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = include_str!("../customers.csv");

    /// Returns the last columns of the file: the customer's true label, and scikit-learn's probability that the
    /// customer leaves.
    fn recorded() -> Vec<(&'static str, f32)> {
        let cells = CSV.lines().skip(1).map(|line| {
            let mut cells = line.rsplit(',');
            let probability = cells.next().unwrap().parse().unwrap();
            (cells.next().unwrap(), probability)
        });
        cells.collect()
    }

    fn predictions(csv: &str) -> Vec<Prediction> {
        predict(&Churn::new(&Device::flex()), &parse(csv).unwrap())
    }

    #[test]
    fn probabilities_are_those_of_scikit_learn() {
        for (at, (prediction, (_, expected))) in predictions(CSV).iter().zip(recorded()).enumerate() {
            let found = prediction.leaves;
            assert!((found - expected).abs() < 1e-5, "customer {at}: {found}, not {expected}");
            let label = if found > 0.5 { "leaves" } else { "stays" };
            assert_eq!(prediction.label, label, "customer {at}");
        }
    }

    #[test]
    fn nine_of_ten_answers_are_right() {
        let pairs = predictions(CSV).into_iter().zip(recorded());
        let right = pairs.filter(|(prediction, (answer, _))| prediction.label == *answer);
        assert_eq!(right.count(), 180);
    }

    #[test]
    fn a_payment_that_was_never_seen_is_none_of_the_known_ones() {
        let rows = format!("{HEADER}\nmonthly,shells,3,80,4\ntwo years,shells,60,20,0");
        let labels: Vec<_> = predictions(&rows).into_iter().map(|row| row.label).collect();
        assert_eq!(labels, ["leaves", "stays"]);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let fails = |row: &str| {
            let csv = format!("{HEADER}\nmonthly,card,3,80,4\n{row}");
            parse(&csv).err().unwrap().to_string()
        };
        assert_eq!(fails("monthly,card,3"), "line 3 has 3 columns");
        assert_eq!(fails("monthly,card,soon,80,4"), "line 3: `soon` is not a number");
    }
}
