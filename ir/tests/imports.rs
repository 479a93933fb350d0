//! Checks that files of the compiler and of the command line import each other in small circles only.
//!
//! A file imports another one if it names an item of that file. A re-exported item belongs to the file that defines it.

mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use syn::{
    Item, ItemUse, UseTree,
    visit::{self, Visit},
};

use source::is_test;

/// Maximum number of files of a circle.
const LARGEST: usize = 10;

/// Path of a module, from the root of the crate.
type Module = Vec<String>;

/// Paths that a file names.
#[derive(Debug, Default)]
struct Names {
    /// Paths in `use` items of the module itself. The last segment is the name of the item.
    uses: Vec<Vec<String>>,
    /// Paths in code, and in `use` items within functions.
    others: Vec<Vec<String>>,
}

#[test]
fn circles_of_imports_are_small() {
    for (folder, least) in [("src", 300), ("cli/src", 20), ("cli/harness/src", 30)] {
        let mut files = BTreeMap::new();
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &Module::new(), &mut files);
        assert!(files.len() > least, "only {} files of {folder} were read", files.len());
        let large: Vec<_> = circles(&imports(&files)).into_iter().filter(|all| all.len() > LARGEST).collect();
        assert!(large.is_empty(), "{folder} has circles of more than {LARGEST} files: {large:#?}");
    }
}

#[test]
fn circles_are_found() {
    let files = [
        ("", "mod a; mod b; mod c; mod d; use d::Later;"),
        ("a", "use crate::b::{self, X as Y}; #[cfg(test)] mod tests { use crate::d::Test; }"),
        ("b", "pub use self::inner::X; mod inner; fn f() -> super::c::Z { }"),
        ("b::inner", "pub struct X;"),
        ("c", "use crate::Later; fn g() { a::h() } fn h() { let x = crate::a::W::new(); }"),
        ("d", "pub struct Later;"),
    ];
    let module = |name: &str| name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let files = files.map(|(name, text)| (module(name), names(text)));
    let imports = imports(&BTreeMap::from(files));
    let of = |name: &str| -> Vec<String> { imports[&module(name)].iter().map(|to| to.join("::")).collect() };
    assert_eq!(of("a"), ["b", "b::inner"]);
    assert_eq!(of("b"), ["b::inner", "c"]);
    assert_eq!(of("c"), ["a", "d"]);
    let circle = BTreeSet::from([module("a"), module("b"), module("c")]);
    assert_eq!(circles(&imports), [circle]);
}

/// Reads the files of a folder, except tests.
fn read(folder: &Path, module: &Module, files: &mut BTreeMap<Module, Names>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mut inner = module.clone();
        match path.file_stem().unwrap().to_str().unwrap() {
            "tests" => continue,
            "lib" | "main" if module.is_empty() => {}
            name => inner.push(name.to_owned()),
        }
        if path.is_dir() {
            read(&path, &inner, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.insert(inner, names(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Returns the paths that a file names outside its tests.
fn names(text: &str) -> Names {
    let mut names = Names::default();
    for item in syn::parse_file(text).unwrap().items {
        match item {
            Item::Use(item) => {
                if !is_test(&item.attrs) {
                    names.uses.extend(leaves(&item.tree));
                }
            }
            item => names.visit_item(&item),
        }
    }
    names
}

impl Visit<'_> for Names {
    fn visit_item(&mut self, item: &Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        self.others.extend(leaves(&item.tree));
    }

    /// A module in which an item is visible is not imported.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}

    fn visit_path(&mut self, path: &syn::Path) {
        if path.segments.len() > 1 {
            self.others.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

/// Returns the paths of a `use` item.
fn leaves(tree: &UseTree) -> Vec<Vec<String>> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let inner = leaves(&path.tree).into_iter();
            inner.map(|rest| [first.clone()].into_iter().chain(rest).collect()).collect()
        }
        UseTree::Name(name) if name.ident == "self" => vec![Vec::new()],
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(name) => vec![vec![name.ident.to_string()]],
        UseTree::Glob(_) => vec![vec!["*".to_owned()]],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// Returns the module of a path's item and the rest of the path, or `None` for other crates.
fn resolve(
    files: &BTreeMap<Module, Names>,
    module: &Module,
    path: &[String],
) -> Option<(Module, Option<String>)> {
    let mut found = module.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => {
            found.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while let Some(("super", after)) =
                rest.split_first().map(|(first, after)| (first.as_str(), after))
            {
                found.pop();
                rest = after;
            }
        }
        first => {
            let child = [module.as_slice(), &[first.to_owned()]].concat();
            files.contains_key(&child).then_some(())?;
        }
    }
    while let Some(next) = rest.first() {
        let child = [found.as_slice(), std::slice::from_ref(next)].concat();
        if !files.contains_key(&child) {
            break;
        }
        found = child;
        rest = &rest[1..];
    }
    Some((found, rest.first().cloned()))
}

/// Returns the files that each file imports.
fn imports(files: &BTreeMap<Module, Names>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut exported = BTreeMap::new();
    for (module, names) in files {
        for path in &names.uses {
            if let (Some(name), Some((from, _))) = (path.last(), resolve(files, module, path))
                && from != *module
            {
                exported.insert((module.clone(), name.clone()), from);
            }
        }
    }
    let imported = |(module, names): (&Module, &Names)| {
        let mut all = BTreeSet::new();
        for path in names.uses.iter().chain(&names.others) {
            let Some((mut from, name)) = resolve(files, module, path) else { continue };
            // A file may re-export an item that another one re-exports. The number of steps is limited, as names of modules
            // and of functions are not told apart here.
            for _ in 0..8 {
                let next = name.as_ref().and_then(|name| exported.get(&(from.clone(), name.clone())));
                from = next.cloned().unwrap_or(from);
            }
            all.insert(from);
        }
        all.remove(module);
        (module.clone(), all)
    };
    files.iter().map(imported).collect()
}

/// Returns the largest sets of files of which each imports all others, directly or through other files.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached = |from: &Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(imports[module].iter().filter(|to| reached.insert((*to).clone())));
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|from| (from, reached(from))).collect();
    let circle = |from: &Module| -> BTreeSet<Module> {
        let others = reached[from].iter().filter(|to| reached[to].contains(from));
        others.cloned().collect()
    };
    let circles: BTreeSet<BTreeSet<Module>> = imports.keys().map(circle).collect();
    circles.into_iter().filter(|circle| circle.len() > 1).collect()
}
