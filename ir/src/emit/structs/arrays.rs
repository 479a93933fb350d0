//! Loading functions of arrays.

use std::collections::HashSet;
use std::rc::Rc;

use quote::format_ident;

use super::alike::{self, Alike};
use super::{Load, Structs};
use crate::emit::snake;
use crate::rust::{Code, CodeNode, code};

impl Structs {
    /// Returns the expression that loads an array whose elements these expressions load. One function loads all of them
    /// if they differ only in names of weights and nodes.
    pub fn array(&mut self, list: &str, loads: &[&Code]) -> Code {
        let key: Vec<Code> = loads.iter().map(|&load| load.clone()).collect();
        let load = match self.arrays.get(&key) {
            Some(load) => Some(load.clone()),
            None => self.joined(list, loads),
        };
        match load {
            Some(load) => {
                self.arrays.insert(key, load.clone());
                load
            }
            None => code!([#(#loads),*]),
        }
    }

    fn joined(&mut self, list: &str, loads: &[&Code]) -> Option<Code> {
        let called = loads.iter().map(|load| match load.parts() {
            [CodeNode::Name(ty), CodeNode::Sign("::"), CodeNode::Name(load), CodeNode::Group(..)] => {
                Some((ty, load))
            }
            _ => None,
        });
        let called: Vec<(&Rc<str>, &Rc<str>)> = called.collect::<Option<_>>()?;
        let (ty, _) = called.first()?;
        let bodies = called.iter().map(|(ty, load)| Some(&self.load(ty, load)?.body));
        let bodies: Vec<&Code> = bodies.collect::<Option<_>>()?;
        let (alike, inner) = alike::unified(&bodies, self)?;
        for (ty, name, alike) in inner {
            self.add(&ty, name, &alike);
        }
        let name = snake(&format!("load_{list}"));
        let name = self.same(ty, &alike).unwrap_or_else(|| self.unused(ty, &name, &[]));
        self.add(ty, name.clone(), &alike);
        let (ty, load) = (format_ident!("{}", &***ty), format_ident!("{}", &*name));
        let names: Vec<Rc<str>> = alike.rows.iter().flatten().filter_map(weight).collect();
        let distinct: HashSet<&Rc<str>> = names.iter().collect();
        let count = alike.rows.iter().map(Vec::len).sum::<usize>();
        let is_fresh = distinct.len() == count && !names.iter().any(|name| self.in_rows.contains(name));
        if let Some(first) = names.first().filter(|_| is_fresh) {
            let first = Code::weight(first);
            self.in_rows.extend(names.iter().cloned());
            self.rows.push(names);
            return Some(code!(weights.each(#first, #ty::#load)));
        }
        let rows = alike.rows.into_iter().map(|row| code!([#(#row),*]));
        let rows: Vec<Code> = rows.collect();
        Some(code!([#(#rows),*].map(|names| #ty::#load(weights, names))))
    }

    /// Returns the existing function with this body.
    pub(super) fn same(&self, ty: &str, alike: &Alike) -> Option<Rc<str>> {
        let structure = self.all.get(*self.by_name.get(ty)?)?;
        let same = |load: &&Load| load.body == alike.body && load.texts == alike.texts;
        structure.loads.iter().find(same).map(|load| load.name.to_string().into())
    }

    /// Returns the name for a loading function, with a number if the struct has it already or it is in `taken`.
    pub(super) fn unused(&self, ty: &str, wanted: &str, taken: &[Rc<str>]) -> Rc<str> {
        let is_taken =
            |name: &str| self.load(ty, name).is_some() || taken.iter().any(|taken| **taken == *name);
        let mut name = wanted.to_owned();
        let mut number = 2;
        while is_taken(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        name.into()
    }

    /// Adds a loading function, unless it exists.
    fn add(&mut self, ty: &str, name: Rc<str>, alike: &Alike) {
        if self.load(ty, &name).is_some() {
            return;
        }
        let Some(structure) = self.by_name.get(ty).and_then(|at| self.all.get_mut(*at)) else {
            return;
        };
        structure.load_names.reserve(&name);
        structure.by_load_name.insert(name.to_string(), structure.loads.len());
        let weights = if alike.body.uses_weights() { code!(weights) } else { code!(_weights) };
        let name = format_ident!("{}", &*name);
        structure.loads.push(Load { name, weights, texts: alike.texts.clone(), body: alike.body.clone() });
    }
}

/// Returns the name of a weight, if the part is one.
fn weight(part: &CodeNode) -> Option<Rc<str>> {
    match part {
        CodeNode::Weight(name) => Some(name.clone()),
        _ => None,
    }
}
