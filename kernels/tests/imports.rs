//! Checks the direction of imports, and modules with unsafe code.
//!
//! A room is a module of the crate's root. Each room belongs to a floor, and imports from its own floor and from lower ones.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Floors from the lowest one up, each with its rooms. All other rooms are those of operators, on the top floor.
const FLOORS: [&[&str]; 3] = [
    // Specifications, errors and limits, without computations.
    &["spec", "fault", "sizes", "memory_limit", "deterministic", "widen"],
    // Devices: dispatch, element types, observation, transfers to the host.
    &["backend", "dtype", "kind", "observe", "reader"],
    // Kernels.
    &["flex", "cube"],
];

/// Modules that have unsafe code, and the maximum number of their lines with `unsafe` outside tests.
const UNSAFE: ([&str; 5], usize) =
    (["flex/memory", "flex/simd", "flex/threads", "flex/tile", "cube/launch"], 120);

#[test]
fn imports_run_down() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    let mut files = 0;
    for path in rust_files(&source) {
        let name = name_in(&source, &path);
        let Some(room) = room(&name) else { continue };
        files += 1;
        let text = fs::read_to_string(&path).unwrap();
        for other in imported(&text, name.matches('/').count() + 1) {
            let exists = source.join(&other).with_extension("rs").exists();
            if exists && is_upward(&room, &other) {
                found.insert((name.clone(), other));
            }
        }
    }
    assert!(files > 200, "only {files} files were read");
    assert!(found.is_empty(), "files import a room of a higher floor: {found:#?}");
}

#[test]
fn unsafe_code_is_in_few_modules() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (modules, most) = UNSAFE;
    let (mut total, mut elsewhere) = (0, Vec::new());
    for path in rust_files(&source) {
        let name = name_in(&source, &path);
        let count = if is_test(&name) { 0 } else { unsafe_lines(&fs::read_to_string(&path).unwrap()) };
        total += count;
        if count > 0 && !modules.iter().any(|module| name.starts_with(module)) {
            elsewhere.push(name);
        }
    }
    assert!(elsewhere.is_empty(), "modules with unsafe code: {elsewhere:?}");
    assert!((1..=most).contains(&total), "{total} lines have unsafe code");
}

#[test]
fn unsafe_lines_are_counted_outside_of_tests_and_comments() {
    let text = "#![deny(unsafe_op_in_unsafe_fn)]\n// unsafe\nunsafe fn f() {}\nlet x = unsafe { f() }; // unsafe\n\
                #[cfg(test)]\nmod tests {\n    unsafe {}\n}\n";
    assert_eq!(unsafe_lines(text), 2);
}

#[test]
fn imports_of_all_forms_are_read() {
    let text = "use crate::{ensure, spec::{a, b}, flex::{copy, view::View}};\n// crate::cube\n\
                fn f() { crate::dtype::lowered(); super::super::quantize::g(); super::own(); }\n\
                #[cfg(test)]\nmod tests {\n    use crate::testing::near;\n}\n";
    let expected = ["dtype", "fault", "flex", "quantize", "spec"].map(str::to_owned);
    assert_eq!(imported(text, 2), BTreeSet::from(expected));
    assert!(is_upward("spec", "backend") && is_upward("backend", "pool"));
    assert!(is_upward("flex", "cube") && is_upward("cube", "flex"));
    assert!(!is_upward("pool", "flex") && !is_upward("pool", "product"));
}

/// Returns the floor of a room, counted from 0.
fn floor(room: &str) -> usize {
    FLOORS.iter().position(|rooms| rooms.contains(&room)).unwrap_or(FLOORS.len())
}

/// Returns `true` if an import is from a higher floor, or from kernels of the other device.
fn is_upward(room: &str, other: &str) -> bool {
    let both_kernels = floor(room) == 2 && floor(other) == 2;
    room != other && (floor(other) > floor(room) || both_kernels)
}

/// Returns the path of a file below a folder, with slashes.
fn name_in(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/")
}

/// Returns `true` for the files of tests.
fn is_test(name: &str) -> bool {
    name.split('/').any(|part| ["tests", "tests.rs"].contains(&part))
}

/// Returns the room of a source file; `None` for the root of the crate and for tests.
fn room(name: &str) -> Option<String> {
    let room = name.split('/').next()?.trim_end_matches(".rs");
    let is_tool = ["lib", "testing", "native", "operands"].contains(&room);
    (!is_test(name) && !is_tool).then(|| room.to_owned())
}

/// Returns the lines of a file without comments, except those of its tests.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().map(|line| line.split("//").next().unwrap_or_default())
}

/// Returns the number of lines with the word `unsafe`.
fn unsafe_lines(text: &str) -> usize {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    code_lines(text).filter(|line| line.split(|c| !is_in_word(c)).any(|word| word == "unsafe")).count()
}

/// Returns the rooms that a module imports at this depth, except in its tests.
fn imported(text: &str, depth: usize) -> BTreeSet<String> {
    let code: String = code_lines(text).collect::<Vec<_>>().join("\n");
    let mut rooms = BTreeSet::new();
    let root = "super::".repeat(depth);
    for prefix in ["crate::", root.as_str()] {
        for (at, _) in code.match_indices(prefix) {
            let is_whole = !code[..at].ends_with("super::") && !code[..at].ends_with('$');
            let rest = &code[at + prefix.len()..];
            if is_whole {
                rooms.extend(first_names(rest));
            }
        }
    }
    // A macro at the root of the crate, of the room `fault`; and helpers of tests.
    if rooms.remove("ensure") {
        rooms.insert("fault".to_owned());
    }
    rooms.remove("testing");
    rooms
}

/// Returns the first segments of paths: one, or those of a list in braces.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..end].to_owned()
    };
    let Some(list) = rest.strip_prefix('{') else {
        return vec![name(rest)];
    };
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&list[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
