//! The public functions with several tensors, parsed from the sources.

use std::{collections::BTreeSet, fs, path::Path};

use super::table;

/// Folders and files of kernels, checks and tests.
const INNER: [&str; 8] = ["backend", "cube", "fault", "flex", "native", "operands", "spec", "testing"];

/// Functions that do not check operands, with the reason. Async versions are not listed separately.
const WITHOUT_ROWS: &[(&str, &str)] = &[
    ("attention/dot_product/masks AttentionMasks::new", "called by attention, which checks"),
    ("attention/dot_product/masks AttentionMasks::applied_to", "called by attention, which checks"),
    ("attention/dot_product/masks AttentionMasks::without_hidden", "called by attention, which checks"),
    ("attention/group_query/angles Angles::at", "called by rotated, whose checks it has"),
    ("attention/group_query/angles Angles::rotated", "called by rotated; rotate checks"),
    (
        "attention/group_query/positions CachePositions::filled",
        "called by group_query_attention, which checks",
    ),
    (
        "attention/group_query/positions CachePositions::visible_keys",
        "called by group_query_attention, which checks",
    ),
    ("image/resize/taps Taps::apply", "the taps are those of the operation's own axis"),
    ("image/sample read", "indices are those of the operation's own points"),
    ("image/sample combine_axes", "indices are those of the operation's own points"),
    ("index/gather along", "the indices are data"),
    ("image/roi/weighted_pixels WeightedPixels::push", "has no tensors: it takes weights"),
    ("index/nonzero coordinates", "the values are those at the indices"),
    ("quantize/bits matmul_coded", "checks as matmul_bits does, and needs a device of CubeCL"),
    ("quantize/passes quantize", "called by quantize, which checks"),
    ("quantize/passes dequantize", "called by dequantize, which checks"),
    ("recurrent/operands Operands::of", "only holds them"),
    ("recurrent/operands zero_if_empty", "called by the operators, which check"),
    ("recurrent/sequence Sequence::walk", "called by the operators, which check"),
    ("shape/stack bounded", "stack_or and concat compare the items"),
    ("shape/stack push", "stack_or and concat compare the items"),
    ("shape/stack stack", "concat compares the items"),
    ("signal/dft Plan::dft", "has one operand"),
    ("signal/dft/matrix windowed", "called by stft, which checks"),
    ("stored rows", "called by gather, which checks"),
];

#[test]
fn each_function_with_several_tensors_has_a_row() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut texts = Vec::new();
    read(&source, &source, &mut texts);
    let types = holders(&texts);
    let mut found = BTreeSet::new();
    for (file, text) in &texts {
        found.extend(functions(file, text, &types));
    }
    let rows: BTreeSet<String> = table().into_iter().flatten().map(|row| row.name.to_owned()).collect();
    let others: BTreeSet<String> = WITHOUT_ROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let known: BTreeSet<String> = rows.union(&others).cloned().collect();
    let missing: Vec<&String> = found.difference(&known).collect();
    assert!(missing.is_empty(), "no row of the table calls {missing:#?}");
    let gone: Vec<&String> = known.difference(&found).collect();
    assert!(gone.is_empty(), "the sources have no such functions of several tensors: {gone:#?}");
}

/// Reads the files of a folder without their tests, with their paths without extensions.
fn read(root: &Path, folder: &Path, texts: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in Unicode");
        if folder == root && INNER.contains(&name) || ["cases", "checks", "tests"].contains(&name) {
            continue;
        }
        if path.is_dir() {
            read(root, &path, texts);
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let file = path.strip_prefix(root).expect("a file of the root").with_extension("");
        texts.push((file.to_str().expect("a path in Unicode").replace('\\', "/"), text.to_owned()));
    }
}

/// Returns the names of the types that contain tensors.
fn holders(texts: &[(String, String)]) -> BTreeSet<String> {
    let mut bodies = Vec::new();
    for (_, text) in texts {
        for keyword in ["struct ", "enum ", "type "] {
            for (at, _) in text.match_indices(keyword) {
                let rest = &text[at + keyword.len()..];
                let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
                let body: &str = match rest.find([';', '{', '(']) {
                    Some(end) if keyword != "type " && !rest[end..].starts_with(';') => {
                        bracketed(&rest[end..])
                    }
                    _ => rest.split(';').next().unwrap_or_default(),
                };
                let code = body.lines().filter(|line| !line.trim_start().starts_with("//"));
                let mut code: String = code.collect();
                if keyword == "enum " {
                    // Variants may be named like types; their fields are in brackets.
                    let inside = code.get(1..).unwrap_or_default();
                    let parts = inside.match_indices(['(', '{']).map(|(at, _)| bracketed(&inside[at..]));
                    code = parts.collect();
                }
                if name.starts_with(char::is_uppercase) {
                    bodies.push((name, code));
                }
            }
        }
    }
    let mut found = BTreeSet::from(["Tensor".to_owned()]);
    loop {
        let before = found.len();
        for (name, body) in &bodies {
            if holds(body, &found) {
                found.insert(name.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Returns the text from an opening bracket to the closing one.
fn bracketed(text: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..=at];
        }
    }
    text
}

/// Returns `true` if a text names one of the types.
fn holds(text: &str, types: &BTreeSet<String>) -> bool {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.into_iter().any(|word| types.contains(word))
}

/// Returns the functions of a file that have several tensors.
fn functions(file: &str, text: &str, types: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut owner = String::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("impl") {
            owner = implemented(line);
        } else if line.starts_with('}') {
            owner.clear();
        }
        if let Some(begin) = line.find("pub fn ") {
            let signature = &text[at + begin + "pub fn ".len()..];
            let name: String = signature
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || "_$".contains(*letter))
                .collect();
            if tensors(arguments(&signature[name.len()..]), &owner, types) > 1 {
                let of_type = if owner.is_empty() { String::new() } else { format!("{owner}::") };
                found.push(format!("{file} {of_type}{name}"));
            }
        }
        at += line.len();
    }
    found
}

/// Returns the type of an `impl`.
fn implemented(line: &str) -> String {
    let line = line.trim_end().trim_end_matches('{').trim_end();
    let line = line.rsplit(" for ").next().unwrap_or(line);
    let line = match line.strip_prefix("impl<") {
        Some(rest) => rest.split_once("> ").map_or(rest, |(_, rest)| rest),
        None => line.trim_start_matches("impl "),
    };
    line.chars().take_while(|letter| letter.is_alphanumeric()).collect()
}

/// Returns the parameters of a function, whose text begins with its generics.
fn arguments(text: &str) -> &str {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => return bracketed(&text[at..]),
            _ => {}
        }
        before = letter;
    }
    ""
}

/// Returns the number of tensors in the parameters, 2 for several.
fn tensors(arguments: &str, owner: &str, types: &BTreeSet<String>) -> usize {
    let mut count = 0;
    let mut depth = 0;
    let mut argument = String::new();
    for letter in arguments.chars().skip(1) {
        match letter {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                count += in_argument(&argument, owner, types);
                argument.clear();
                continue;
            }
            _ => {}
        }
        argument.push(letter);
    }
    count
}

fn in_argument(argument: &str, owner: &str, types: &BTreeSet<String>) -> usize {
    let is_function = argument.contains("Fn") || argument.contains("fn(");
    let ty = match argument.split_once(": ") {
        Some((_, ty)) => ty,
        None if argument.contains("self") => owner,
        None => argument,
    };
    if is_function || !holds(ty, types) {
        return 0;
    }
    let inputs = ["Vec<", "[", "GroupQueryInputs", "Weights", "Past"];
    if inputs.iter().any(|several| ty.contains(several)) { 2 } else { 1 }
}
