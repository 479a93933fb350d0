//! TfIdfVectorizer: counts of n-grams.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("TfIdfVectorizer", &[9], tf_idf)];

/// Counts of the n-grams in a pool, scaled by weights.
#[derive(Debug)]
struct TfIdf {
    pool: Pool,
    /// Number of elements that a row of the result has.
    size: usize,
    shortest: usize,
    longest: usize,
    skips: usize,
    once: bool,
}

attributes!(struct TfIdf { pool, size, shortest, longest, skips, once });

/// Sorted n-grams, their indices in the result and their weights.
#[derive(Debug)]
enum Pool {
    Ints(Vec<Gram<i64>>),
    Strings(Vec<Gram<String>>),
}

attributes!(
    enum Pool {
        Ints(inner),
        Strings(inner),
    }
);

type Gram<T> = (Vec<T>, usize, f32);

fn tf_idf(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let required = |name: &str| {
        let value = a.required(name, Attributes::int)?;
        usize::try_from(value)
            .map_err(|_| Problem::expected(format_args!("`{name}`"), value, "a non-negative integer"))
    };
    let (shortest, longest) = (required("min_gram_length")?, required("max_gram_length")?);
    let skips = required("max_skip_count")?;
    a.required("mode", Attributes::string)?;
    let modes = [("TF", (false, false)), ("IDF", (true, true)), ("TFIDF", (true, false))];
    let (weighted, once) = a.choice("mode", "", &modes)?;
    let weights = a.floats("weights")?.filter(|_| weighted);
    let starts = sizes(a, "ngram_counts")?;
    let indices = sizes(a, "ngram_indexes")?;
    let size = indices.iter().max().map_or(0, |index| index.saturating_add(1));
    if size > MAX_ROW_LEN {
        return Err(Problem::expected(
            "the size of an output row",
            size,
            format_args!("at most {MAX_ROW_LEN}"),
        ));
    }
    let grams = Grams { starts, indices, weights, lengths: shortest..=longest };
    let pool = match (a.ints("pool_int64s")?, a.strings("pool_strings")?) {
        (Some(pool), None) => Pool::Ints(grams.of(&pool)?),
        (None, Some(pool)) => Pool::Strings(grams.of(&pool)?),
        (pool, _) => {
            let found = if pool.is_some() { "both" } else { "neither" };
            let message = format!("expected either `pool_int64s` or `pool_strings`, found {found}");
            return Err(Problem::new(message));
        }
    };
    Ok(Rc::new(TfIdf { pool, size, shortest, longest, skips, once }))
}

/// Maximum number of elements in a row, far more than the words of any language.
const MAX_ROW_LEN: usize = 1 << 28;

fn sizes(a: &Attributes<'_>, name: &str) -> Result<Vec<usize>, Problem> {
    let size = |size: i64| {
        usize::try_from(size)
            .map_err(|_| Problem::new(format!("`{name}` contains {size}, expected non-negative integers")))
    };
    a.required(name, Attributes::ints)?.into_iter().map(size).collect()
}

/// Layout of a pool: n-grams of equal length are contiguous.
struct Grams {
    /// Index of the first element for each length.
    starts: Vec<usize>,
    indices: Vec<usize>,
    weights: Option<Vec<f32>>,
    lengths: std::ops::RangeInclusive<usize>,
}

impl Grams {
    fn of<T: Ord + Clone>(&self, pool: &[T]) -> Result<Vec<Gram<T>>, Problem> {
        let mut grams = Vec::new();
        let mut number = 0;
        for (length, &start) in (1..).zip(&self.starts) {
            let end = self.starts.get(length).copied().unwrap_or(pool.len());
            let items = pool.get(start..end).ok_or_else(|| {
                let (found, most) = if start > end { (start, end) } else { (end, pool.len()) };
                Problem::new(format!("`ngram_counts` contains {found}, expected at most {most}"))
            })?;
            for gram in items.chunks_exact(length) {
                if self.lengths.contains(&length) {
                    grams.push((gram.to_vec(), self.index(number)?, self.weight(number)?));
                }
                number += 1;
            }
        }
        grams.sort_by(|a, b| a.0.cmp(&b.0));
        if grams.windows(2).any(|pair| matches!(pair, [a, b] if a.0 == b.0)) {
            return Err(Problem::new("the pool contains an n-gram twice"));
        }
        Ok(grams)
    }

    fn index(&self, number: usize) -> Result<usize, Problem> {
        self.indices.get(number).copied().ok_or_else(|| few("ngram_indexes", self.indices.len()))
    }

    fn weight(&self, number: usize) -> Result<f32, Problem> {
        match &self.weights {
            None => Ok(1.0),
            Some(weights) => weights.get(number).copied().ok_or_else(|| few("weights", weights.len())),
        }
    }
}

fn few(name: &str, count: usize) -> Problem {
    let what = format_args!("the number of elements of `{name}`");
    Problem::expected(what, count, "at least the number of n-grams in the pool")
}

impl Operator for TfIdf {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let fits = match self.pool {
            Pool::Ints(_) => matches!(x.dtype, DType::I32 | DType::I64),
            Pool::Strings(_) => x.dtype == DType::String,
        };
        let size = Dim::from(i64::try_from(self.size).unwrap_or(i64::MAX));
        let shape = match x.shape.as_slice() {
            [_] if fits => vec![size],
            [rows, _] if fits => vec![rows.clone(), size],
            _ => {
                let things = match self.pool {
                    Pool::Ints(_) => "int32 or int64",
                    Pool::Strings(_) => "strings",
                };
                return Err(Problem::expected("the input", x, format_args!("{things} of rank 1 or 2")));
            }
        };
        cx.output(0, DType::F32, shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let dtype = cx.tensor_type(0)?.dtype;
        let x = cx.host(0)?;
        let x = match dtype {
            DType::String => code!(&host::texts(#x)),
            DType::I64 => x,
            _ => code!(&host::cast::<_, i64>(#x)),
        };
        let pool: Vec<Code> = match &self.pool {
            Pool::Ints(pool) => {
                let literal = |item: &i64| Literal::i64_unsuffixed(*item);
                pool.iter().map(|gram| entry(gram, literal)).collect()
            }
            Pool::Strings(pool) => {
                let literal = |item: &String| Literal::string(item);
                pool.iter().map(|gram| entry(gram, literal)).collect()
            }
        };
        let numbers = [self.size, self.shortest, self.longest, self.skips];
        let [size, shortest, longest, skips] = numbers.map(Literal::usize_unsuffixed);
        let once = self.once;
        Ok(code! {
            host::tf_idf(#x, &[#(#pool),*], host::Grams {
                size: #size, shortest: #shortest, longest: #longest, skips: #skips, once: #once
            })
        })
    }

    fn makes_host(&self) -> bool {
        true
    }

    fn runs_on_host(&self) -> bool {
        true
    }
}

/// Generates `(&["a", "b"], 3, 1.0)`.
fn entry<T>((items, index, weight): &Gram<T>, literal: impl Fn(&T) -> Literal) -> Code {
    let items = items.iter().map(literal);
    let index = Literal::usize_unsuffixed(*index);
    let weight = float_literal(f64::from(*weight), DType::F32);
    code!((&[#(#items),*], #index, #weight))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn n_grams_have_indices() {
        check(
            r#"g (int64[n, 4] x, string[m] w) => (float[a, b] y, float[c] z) {
                y = TfIdfVectorizer<mode: string = "TF", min_gram_length: int = 1,
                    max_gram_length: int = 2, max_skip_count: int = 1, ngram_counts: ints = [0, 2],
                    ngram_indexes: ints = [3, 0, 1], pool_int64s: ints = [7, 5, 5, 7]>(x)
                z = TfIdfVectorizer<mode: string = "IDF", min_gram_length: int = 2,
                    max_gram_length: int = 2, max_skip_count: int = 0, ngram_counts: ints = [0, 1],
                    ngram_indexes: ints = [0, 1], weights: floats = [0.5, 2.0],
                    pool_strings: strings = ["a", "a", "b"]>(w)
            }"#,
            expect![[r#"
                g (host int64[n, 4] x, host string[m] w) => (host float32[n, 4] y, host float32[2] z)
                {
                    host float32[n, 4] y = TfIdfVectorizer <pool: {[{[5], 0, 1.0}, {[5, 7], 1, 1.0}, {[7], 3, 1.0}]}, size: 4, shortest: 1, longest: 2, skips: 1> (x)
                    host float32[2] z = TfIdfVectorizer <pool: {[{["a", "b"], 1, 2.0}]}, size: 2, shortest: 2, longest: 2, skips: 0, once: true> (w)
                }
            "#]],
        );
    }
}
