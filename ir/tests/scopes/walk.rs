//! Walks Rust code with its scopes.

use std::collections::{BTreeMap, BTreeSet};

use syn::parse::Parser;
use syn::visit::{self, Visit};

/// Returns variables that are used before they are bound, fields that a struct does not have, and unknown macros.
pub fn problems(file: &syn::File) -> Vec<String> {
    let mut walk = Walk::default();
    walk.visit_file(file);
    walk.problems
}

/// Returns the depth of nested expressions, which rustc processes by recursion.
pub fn depth(file: &syn::File) -> usize {
    let mut depth = Depth::default();
    depth.visit_file(file);
    depth.deepest
}

#[derive(Default)]
struct Depth {
    now: usize,
    deepest: usize,
}

impl<'ast> Visit<'ast> for Depth {
    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        self.now += 1;
        self.deepest = self.deepest.max(self.now);
        visit::visit_expr(self, expression);
        self.now -= 1;
    }
}

#[derive(Default)]
struct Walk {
    /// Names by scope, the innermost last. A function does not see those of enclosing scopes.
    scopes: Vec<BTreeSet<String>>,
    /// Functions and imported names.
    items: BTreeSet<String>,
    /// Fields of each struct.
    fields: BTreeMap<String, BTreeSet<String>>,
    /// The struct whose functions are walked.
    owner: String,
    problems: Vec<String>,
}

impl Walk {
    fn scoped(&mut self, inside: impl FnOnce(&mut Self)) {
        self.scopes.push(BTreeSet::new());
        inside(self);
        self.scopes.pop();
    }

    fn bind(&mut self, pattern: &syn::Pat) {
        let mut names = Names::default();
        names.visit_pat(pattern);
        for name in names.0 {
            self.bind_name(name);
        }
    }

    fn bind_name(&mut self, name: String) -> bool {
        self.scopes.last_mut().is_some_and(|scope| scope.insert(name))
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let around = std::mem::take(&mut self.scopes);
        self.scoped(|walk| {
            for input in &signature.inputs {
                match input {
                    syn::FnArg::Receiver(_) => drop(walk.bind_name("self".to_owned())),
                    syn::FnArg::Typed(typed) => {
                        let mut names = Names::default();
                        names.visit_pat(&typed.pat);
                        for name in names.0 {
                            if !walk.bind_name(name.clone()) {
                                walk.problems.push(format!("`{name}` is two parameters"));
                            }
                        }
                    }
                }
            }
            walk.visit_block(block);
        });
        self.scopes = around;
    }

    fn condition(&mut self, condition: &syn::Expr, then: &syn::Block) {
        self.scoped(|walk| {
            walk.visit_expr(condition);
            walk.visit_block(then);
        });
    }

    /// Checks that each field of a struct is named once.
    fn fields_of(&mut self, literal: &syn::ExprStruct) {
        let mut name = literal.path.segments.last().unwrap().ident.to_string();
        if name == "Self" {
            name.clone_from(&self.owner);
        }
        if let (Some(fields), None) = (self.fields.get(&name), &literal.rest) {
            let names: BTreeSet<String> = literal.fields.iter().map(|field| member(&field.member)).collect();
            if names != *fields || names.len() != literal.fields.len() {
                self.problems.push(format!("`{name}` is made of {names:?}, not of {fields:?}"));
            }
        }
    }

    /// Returns the parts of a macro's input that are separated by commas and semicolons.
    fn arguments(&mut self, call: &syn::Macro) {
        let parser = |input: syn::parse::ParseStream<'_>| {
            let mut all = Vec::new();
            while !input.is_empty() {
                all.push(input.parse::<syn::Expr>()?);
                if input.peek(syn::Token![;]) {
                    input.parse::<syn::Token![;]>()?;
                } else if !input.is_empty() {
                    input.parse::<syn::Token![,]>()?;
                }
            }
            Ok(all)
        };
        match parser.parse2(call.tokens.clone()) {
            Ok(all) => all.iter().for_each(|one| self.visit_expr(one)),
            Err(error) => self.problems.push(format!("a macro: {error}")),
        }
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_file(&mut self, file: &'ast syn::File) {
        Items(self).visit_file(file);
        visit::visit_file(self, file);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let syn::Type::Path(path) = &*item.self_ty {
            self.owner = path.path.segments.last().unwrap().ident.to_string();
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.scoped(|walk| visit::visit_block(walk, block));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let Some(value) = &local.init {
            self.visit_expr(&value.expr);
        }
        self.bind(&local.pat);
    }

    fn visit_expr_let(&mut self, condition: &'ast syn::ExprLet) {
        self.visit_expr(&condition.expr);
        self.bind(&condition.pat);
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.condition(&branch.cond, &branch.then_branch);
        if let Some((_, otherwise)) = &branch.else_branch {
            self.visit_expr(otherwise);
        }
    }

    fn visit_expr_while(&mut self, repeated: &'ast syn::ExprWhile) {
        self.condition(&repeated.cond, &repeated.body);
    }

    fn visit_expr_for_loop(&mut self, repeated: &'ast syn::ExprForLoop) {
        self.visit_expr(&repeated.expr);
        self.scoped(|walk| {
            walk.bind(&repeated.pat);
            walk.visit_block(&repeated.body);
        });
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.scoped(|walk| {
            walk.bind(&arm.pat);
            if let Some((_, condition)) = &arm.guard {
                walk.visit_expr(condition);
            }
            walk.visit_expr(&arm.body);
        });
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.scoped(|walk| {
            closure.inputs.iter().for_each(|input| walk.bind(input));
            walk.visit_expr(&closure.body);
        });
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let Some(ident) = path.path.get_ident().filter(|_| path.qself.is_none()) else {
            return;
        };
        let name = ident.to_string();
        let bound = self.scopes.iter().any(|scope| scope.contains(&name));
        if !bound && !self.items.contains(&name) && !is_constant(&name) {
            self.problems.push(format!("`{name}` is not bound where it is used"));
        }
    }

    fn visit_expr_field(&mut self, access: &'ast syn::ExprField) {
        if let (syn::Expr::Path(base), syn::Member::Named(field)) = (&*access.base, &access.member)
            && base.path.is_ident("self")
            && let Some(fields) = self.fields.get(&self.owner)
            && !fields.contains(&field.to_string())
        {
            self.problems.push(format!("`{}` has no field `{field}`", self.owner));
        }
        visit::visit_expr_field(self, access);
    }

    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        self.fields_of(literal);
        visit::visit_expr_struct(self, literal);
    }

    /// `printed!(Output { a, b });` names the fields of a struct.
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match syn::parse2(item.mac.tokens.clone()) {
            Ok(literal) => self.fields_of(&literal),
            Err(error) => self.problems.push(format!("a macro: {error}")),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.arguments(call);
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

/// Collects the declarations of a file before it is walked.
struct Items<'w>(&'w mut Walk);

impl<'ast> Visit<'ast> for Items<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.0.items.insert(item.sig.ident.to_string());
        visit::visit_item_fn(self, item);
    }

    fn visit_use_name(&mut self, name: &'ast syn::UseName) {
        self.0.items.insert(name.ident.to_string());
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let fields = item.fields.iter().flat_map(|field| &field.ident);
        let fields = fields.map(ToString::to_string).collect();
        self.0.fields.insert(item.ident.to_string(), fields);
    }
}

/// Names that a pattern binds.
#[derive(Default)]
struct Names(Vec<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.push(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}

fn member(member: &syn::Member) -> String {
    match member {
        syn::Member::Named(name) => name.to_string(),
        syn::Member::Unnamed(index) => index.index.to_string(),
    }
}

/// Returns `true` for variants, statics and other names that are not variables.
fn is_constant(name: &str) -> bool {
    name.starts_with(|first: char| first.is_uppercase())
}
