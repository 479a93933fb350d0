//! Colors, and quantities in readable units.

use anstyle::{AnsiColor, Style};

pub const GOOD: Style = AnsiColor::Green.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub const HEADING: Style = AnsiColor::Cyan.on_default().bold();
pub const DIM: Style = Style::new().dimmed();

/// Formats bytes in a unit that needs few digits.
pub fn bytes(count: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && size < 9.95);
    format!("{size:.digits$} {}", units[unit])
}

/// Formats a number with few digits, as in `25.6 million`.
pub fn number(count: u64) -> String {
    let units = ["", " thousand", " million", " billion", " trillion"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    let digits = match size {
        _ if unit == 0 => 0,
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{size:.digits$}{}", units[unit])
}

/// Formats seconds in a unit that needs few digits.
pub fn seconds(time: f64) -> String {
    match time {
        time if time < 0.0995 => format!("{:.1} ms", time * 1e3),
        time if time < 9.95 => format!("{time:.2} s"),
        time => format!("{time:.0} s"),
    }
}

/// Formats seconds with three digits, for times that are compared.
pub fn seconds_precisely(time: f64) -> String {
    let (scaled, unit) = match time {
        time if time < 0.9995e-3 => (time * 1e6, "µs"),
        time if time < 0.9995 => (time * 1e3, "ms"),
        time => (time, "s"),
    };
    let digits = match scaled {
        scaled if scaled < 9.995 => 2,
        scaled if scaled < 99.95 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {unit}")
}

/// Formats a rate per second with three digits.
pub fn rate(number: f64) -> String {
    match number {
        number if number < 9.995 => format!("{number:.2}"),
        number if number < 99.95 => format!("{number:.1}"),
        number if number < 9_999.5 => format!("{number:.0}"),
        number if number < 999_500.0 => format!("{:.0} k", number / 1e3),
        number => format!("{:.1} M", number / 1e6),
    }
}

/// Formats a count, as in `1 model` or `2 models`.
pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ if thing.ends_with("ch") => format!("{number} {thing}es"),
        _ => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_few_digits() {
        let texts = [999, 1000, 9_960, 999_600, 3_000_000_000].map(bytes);
        assert_eq!(texts, ["999 B", "1.0 kB", "10 kB", "1.0 MB", "3.0 GB"]);
    }

    #[test]
    fn times_and_rates_have_three_digits() {
        let times = [3.21e-6, 0.9996e-3, 0.01234, 1.5].map(seconds_precisely);
        assert_eq!(times, ["3.21 µs", "1.00 ms", "12.3 ms", "1.50 s"]);
        let rates = [1.234, 81.2, 812.4, 25_000.0, 2_500_000.0].map(rate);
        assert_eq!(rates, ["1.23", "81.2", "812", "25 k", "2.5 M"]);
    }

    #[test]
    fn numbers_have_three_digits() {
        let texts = [999, 1000, 25_557_032, 4_089_184_256].map(number);
        assert_eq!(texts, ["999", "1.00 thousand", "25.6 million", "4.09 billion"]);
    }

    #[test]
    fn short_times_are_milliseconds() {
        assert_eq!([0.0012, 1.5, 75.0].map(seconds), ["1.2 ms", "1.50 s", "75 s"]);
    }
}
