//! Functions that the caller binds to operators.

use std::collections::{BTreeMap, HashMap};

use quote::format_ident;

use super::item::Item;
use super::name::{self, Unique};
use crate::diagnostics::Problem;
use crate::options::Options;
use crate::rust::{Code, code};

/// Functions that the caller binds to operators.
#[derive(Debug, Default)]
pub struct Functions {
    paths: BTreeMap<String, Code>,
    names: Unique,
    /// Names of the constants that contain them, by operator and type.
    by_type: HashMap<(String, Code), String>,
    items: Code,
}

impl Functions {
    pub fn new(options: &Options, item: &Item) -> Self {
        let mut names = Unique::default();
        names.reserve("WEIGHTS");
        let paths = options.operators.iter();
        let paths = paths.map(|(kind, binding)| {
            let written = item.functions.get(kind).cloned();
            let path = written.unwrap_or_else(|| binding.function.parse().unwrap_or_default());
            (kind.clone(), Code::foreign(path))
        });
        Functions { paths: paths.collect(), names, ..Functions::default() }
    }

    /// Returns the constants that contain the functions with their types. rustc reports other types there.
    pub fn items(&self) -> &Code {
        &self.items
    }

    /// Returns the constant that contains the function of an operator.
    pub fn constant(&mut self, kind: &str, ty: Code) -> Result<String, Problem> {
        let path = self.paths.get(kind).cloned();
        let path = path.ok_or_else(|| Problem::defect("the operator is not bound to a function"))?;
        let key = (kind.to_owned(), ty);
        if let Some(name) = self.by_type.get(&key) {
            return Ok(name.clone());
        }
        let mut wanted = name::snake(name::operator(kind)).to_uppercase();
        // Names of variables have no capitals. A constant needs one, so that they differ.
        if !wanted.contains(char::is_uppercase) {
            wanted.push_str("_FUNCTION");
        }
        let name = self.names.name(&wanted);
        let (ident, ty) = (format_ident!("{name}"), &key.1);
        self.items.extend(code!(const #ident: #ty = #path;));
        self.by_type.insert(key, name.clone());
        Ok(name)
    }
}
