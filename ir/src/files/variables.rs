//! Environment variables in the path of a model.

use crate::diagnostics::Problem;

/// Returns the environment variables in a path, written as `$NAME` or `${NAME}`.
pub fn variables(written: &str) -> Vec<String> {
    let pieces = pieces(written).into_iter();
    let names = pieces.filter_map(|piece| match piece {
        Piece::Variable(name) => Some(name.to_owned()),
        Piece::Text(_) => None,
    });
    names.collect()
}

/// Returns a path that contains `text` literally.
pub fn escaped(text: &str) -> String {
    text.replace('$', "$$")
}

enum Piece<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Returns the path with the values of its variables.
pub fn expanded(written: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, Problem> {
    let mut path = String::new();
    for piece in pieces(written) {
        match piece {
            Piece::Text(text) => path.push_str(text),
            Piece::Variable(name) => match value(name) {
                Some(value) => path.push_str(&value),
                None => return Err(unset(name)),
            },
        }
    }
    Ok(path)
}

fn unset(name: &str) -> Problem {
    let help = match name {
        "OUT_DIR" => "add build.rs: Cargo sets `OUT_DIR` only for packages with a build script".to_owned(),
        _ => format!(
            "set it in `[env]` in .cargo/config.toml, or print `cargo::rustc-env={name}=..` in build.rs; \
             write a literal `$` as `$$`"
        ),
    };
    Problem::new(format!("environment variable `{name}` is not set")).help(help)
}

/// Splits a path into pieces. `$$` is a dollar sign, and so is a `$` that no name follows.
fn pieces(written: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = written;
    while let Some((before, behind)) = rest.split_once('$') {
        pieces.push(Piece::Text(before));
        let braced = behind.strip_prefix('{').and_then(|name| name.split_once('}'));
        let end = behind.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let (name, after) = behind.split_at(end.unwrap_or(behind.len()));
        let (piece, after) = match (braced, behind.strip_prefix('$')) {
            (Some((name, after)), _) => (Piece::Variable(name), after),
            (None, Some(after)) => (Piece::Text("$"), after),
            (None, None) if name.is_empty() => (Piece::Text("$"), behind),
            (None, None) => (Piece::Variable(name), after),
        };
        pieces.push(piece);
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: &str) {
        let value = |name: &str| (name == "OUT_DIR").then(|| "/out".to_owned());
        let path = expanded(written, value).unwrap_or_else(|problem| problem.to_string());
        assert_eq!(path, expected);
    }

    #[test]
    fn variables_of_the_environment_have_their_values() {
        check("$OUT_DIR/m.onnx", "/out/m.onnx");
        check("a/${OUT_DIR}m.onnx", "a//outm.onnx");
        check("$OUT/m", "environment variable `OUT` is not set");
    }

    #[test]
    fn a_dollar_sign_may_be_part_of_a_name() {
        check("a$$OUT_DIR$/b$", "a$OUT_DIR$/b$");
        check(&escaped("$OUT_DIR"), "$OUT_DIR");
        assert_eq!(variables("$A/${B}$$C"), ["A", "B"]);
    }
}
