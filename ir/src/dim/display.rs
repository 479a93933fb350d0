//! Sizes as text.

use std::fmt;

use super::{Atom, Dim};

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.len() == 0 {
            return f.write_str("0");
        }
        for (at, (atoms, factor)) in self.terms.iter().rev().enumerate() {
            let sign = match (at, factor.is_negative()) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            f.write_str(sign)?;
            let factor = factor.unsigned_abs();
            if factor != 1 || atoms.is_empty() {
                write!(f, "{factor}")?;
            }
            for (at, atom) in atoms.iter().enumerate() {
                if at > 0 || factor != 1 {
                    f.write_str("*")?;
                }
                match atom {
                    Atom::Name(name) => f.write_str(name)?,
                    Atom::Quotient(a, b) => write!(f, "floor(({a}) / ({b}))")?,
                    Atom::Min(a, b) => write!(f, "min({a}, {b})")?,
                    Atom::Max(a, b) => write!(f, "max({a}, {b})")?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
