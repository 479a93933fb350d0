//! Arguments of a test program, compatible with libtest.

use std::num::NonZero;

/// Selection of the cases to run, and options.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Names, or parts of names. An empty list selects every case.
    filters: Vec<String>,
    skipped: Vec<String>,
    /// `true` if a filter must equal the whole name.
    exact: bool,
    /// `true` if names are printed and no case runs.
    pub list: bool,
    /// Number of cases that run at a time, if specified.
    pub threads: Option<NonZero<usize>>,
    /// Slice of the chosen cases to run, counted from 1, and number of slices.
    slice: Option<(usize, NonZero<usize>)>,
    /// `true` if the time of each case is printed when it ends.
    pub times: bool,
    /// `true` if the names of cases are read from standard input, as in the processes that this program starts.
    pub serve: bool,
    /// `true` if only ignored cases are to run. No case is ignored.
    ignored: bool,
}

impl Arguments {
    /// Reads the arguments of this process.
    ///
    /// # Errors
    ///
    /// If an argument is unknown or has no value.
    pub fn of_process() -> Result<Self, String> {
        Self::parse(std::env::args().skip(1))
    }

    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut all = Self::default();
        // `--name=value` is equivalent to `--name value`.
        let mut words = arguments.flat_map(|word| match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => vec![name.into(), value.into()],
            _ => vec![word],
        });
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` has no value"));
            match word.as_str() {
                "--exact" => all.exact = true,
                "--list" => all.list = true,
                "--skip" => all.skipped.push(value()?),
                "--test-threads" => {
                    let count = value()?;
                    let count = count.parse().map_err(|error| format!("{count}: {error}"))?;
                    all.threads = Some(count);
                }
                "--slice" => {
                    let slice = value()?;
                    all.slice = Some(part(&slice).ok_or(format!("`{slice}` is not `2/100`"))?);
                }
                "--times" => all.times = true,
                "--serve" => all.serve = true,
                // Only one output format exists. No case is captured, ignored or a benchmark.
                "--format" | "--color" => drop(value()?),
                "--nocapture" | "--no-capture" | "--show-output" | "--quiet" | "-q" => {}
                "--ignored" => all.ignored = true,
                "--include-ignored" => {}
                name if name.starts_with('-') => return Err(format!("unknown argument `{name}`")),
                filter => all.filters.push(filter.into()),
            }
        }
        Ok(all)
    }

    /// Returns `true` if the filters select a case.
    pub fn includes(&self, name: &str) -> bool {
        let fits = |filter: &String| {
            if self.exact { name == filter } else { name.to_lowercase().contains(&filter.to_lowercase()) }
        };
        !self.ignored
            && (self.filters.is_empty() || self.filters.iter().any(fits))
            && !self.skipped.iter().any(fits)
    }

    /// Returns `true` if the slice contains the case at this index among the selected cases.
    pub fn is_in_slice(&self, index: usize) -> bool {
        self.slice.is_none_or(|(slice, count)| index % count == slice - 1)
    }

    /// Returns `true` if cases are selected by their names.
    pub fn has_filters(&self) -> bool {
        !self.filters.is_empty()
    }

    /// Returns `true` if every case is to run.
    pub fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.skipped.is_empty() && self.slice.is_none() && !self.ignored
    }
}

/// Parses a slice such as `2/100`.
fn part(text: &str) -> Option<(usize, NonZero<usize>)> {
    let (slice, count) = text.split_once('/')?;
    let (slice, count): (usize, NonZero<usize>) = (slice.parse().ok()?, count.parse().ok()?);
    (1..=count.get()).contains(&slice).then_some((slice, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, String> {
        Arguments::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn parts_of_names_choose_cases() {
        let some = parse("resize own_Conv --skip cubic").unwrap();
        assert!(some.includes("test_resize_linear") && some.includes("own_Conv_1"));
        assert!(!some.includes("test_resize_cubic") && !some.includes("test_relu"));
        assert!(!some.is_everything());
    }

    #[test]
    fn an_exact_filter_is_a_whole_name() {
        let exact = parse("test_relu --exact").unwrap();
        assert!(exact.includes("test_relu") && !exact.includes("test_relu_expanded"));
    }

    #[test]
    fn what_only_concerns_output_changes_nothing() {
        assert!(parse("--nocapture --format=pretty").unwrap().is_everything());
        assert!(!parse("--ignored").unwrap().includes("test_relu"));
    }

    #[test]
    fn slices_have_every_case_once() {
        let slices = ["--slice 1/3", "--slice 2/3", "--slice 3/3"].map(|text| parse(text).unwrap());
        for index in 0..7 {
            let count = slices.iter().filter(|slice| slice.is_in_slice(index));
            assert_eq!(count.count(), 1);
        }
        assert!(slices[1].is_in_slice(4) && !slices[1].is_everything());
    }

    #[test]
    fn wrong_arguments_are_errors() {
        assert_eq!(parse("--test-threads=2").unwrap().threads, NonZero::new(2));
        for wrong in ["--test-threads 0", "--skip", "--bench", "--slice 0/2", "--slice 3/2"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
