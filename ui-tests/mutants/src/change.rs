//! The changes of expressions, conditions and results.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    BinOp, Expr, ExprBinary, ImplItemFn, Item, ItemFn, ReturnType, Signature, Token, Type, UnOp, parse_quote,
};

/// Mutants so far, and where the visitor is.
#[derive(Default)]
pub struct Mutants {
    lines: Vec<String>,
    file: String,
    functions: Vec<String>,
    /// Numbers of mutants that do not compile.
    without: Vec<usize>,
}

impl Mutants {
    pub fn without(numbers: &str) -> Self {
        let without = numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        Self { without, ..Self::default() }
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    pub fn rewrite(&mut self, path: &str, file: &mut syn::File) {
        path.clone_into(&mut self.file);
        self.visit_file_mut(file);
    }

    /// Notes a mutant and returns the condition under which it is chosen. Returns `None` if it does not compile.
    fn add(&mut self, at: Span, change: &str) -> Option<Expr> {
        let number = self.lines.len() + 1;
        let (file, line, function) = (&self.file, at.start().line, self.functions.join("::"));
        let change = change.split_whitespace().collect::<Vec<_>>().join(" ");
        self.lines.push(format!("{number}\t{file}\t{line}\t{function}\t{change}"));
        let literal = u32::try_from(number).expect("fewer mutants");
        (!self.without.contains(&number)).then(|| parse_quote!(crate::mutant::is(#literal)))
    }

    fn function(&mut self, signature: &Signature, block: &mut syn::Block) {
        self.functions.push(signature.ident.to_string());
        // Constants are computed by the compiler, which has no environment.
        if signature.constness.is_none() {
            visit_mut::visit_block_mut(self, block);
            for (value, name) in results(&signature.output) {
                let Some(chosen) = self.add(signature.span(), &format!("returns {name}")) else { continue };
                block.stmts.insert(0, parse_quote!(if #chosen { return #value; }));
            }
        }
        self.functions.pop();
    }

    /// Replaces a condition by its opposite.
    fn negate(&mut self, condition: &mut Expr) {
        let is_changed =
            matches!(condition, Expr::Binary(_) | Expr::Unary(_) | Expr::Paren(_) | Expr::Lit(_));
        if is_changed || has_let(condition) {
            return;
        }
        if let Some(chosen) = self.add(condition.span(), &format!("not {}", condition.to_token_stream())) {
            *condition = parse_quote!(#chosen != #condition);
        }
    }
}

impl VisitMut for Mutants {
    fn visit_item_mut(&mut self, item: &mut Item) {
        match item {
            // Tests, and values of the compiler.
            Item::Mod(module) if is_test(&module.attrs) => {}
            Item::Const(_)
            | Item::Static(_)
            | Item::Macro(_)
            | Item::Enum(_)
            | Item::Struct(_)
            | Item::Type(_) => {}
            _ => visit_mut::visit_item_mut(self, item),
        }
    }

    fn visit_item_fn_mut(&mut self, item: &mut ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &mut item.block);
        }
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut ImplItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &mut item.block);
        }
    }

    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}

    fn visit_type_mut(&mut self, _: &mut Type) {}

    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}

    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        self.visit_expr_mut(&mut repeat.expr);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        if let Some((_, guard)) = &mut arm.guard {
            self.visit_expr_mut(guard);
            self.negate(guard);
        }
        self.visit_expr_mut(&mut arm.body);
    }

    fn visit_expr_if_mut(&mut self, choice: &mut syn::ExprIf) {
        visit_mut::visit_expr_if_mut(self, choice);
        self.negate(&mut choice.cond);
    }

    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        if matches!(expression, Expr::Const(_)) {
            return;
        }
        visit_mut::visit_expr_mut(self, expression);
        match expression {
            Expr::Binary(binary) if !has_let(&binary.left) && !has_let(&binary.right) => {
                let Some(other) = replaced(&binary.op) else { return };
                let change = format!("{} becomes {}", binary.op.to_token_stream(), other.to_token_stream());
                let Some(chosen) = self.add(binary.op.span(), &change) else { return };
                let changed = Expr::Binary(ExprBinary { op: other, ..binary.clone() });
                *expression = parse_quote!((if #chosen { #changed } else { #binary }));
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let Some(chosen) = self.add(unary.span(), "without !") else { return };
                let operand = &unary.expr;
                *expression = parse_quote!((if #chosen { #operand } else { #unary }));
            }
            _ => {}
        }
    }
}

/// Returns the operator of a mutant.
fn replaced(operator: &BinOp) -> Option<BinOp> {
    Some(match operator {
        BinOp::Eq(_) => BinOp::Ne(<Token![!=]>::default()),
        BinOp::Ne(_) => BinOp::Eq(<Token![==]>::default()),
        BinOp::Lt(_) => BinOp::Le(<Token![<=]>::default()),
        BinOp::Le(_) => BinOp::Lt(<Token![<]>::default()),
        BinOp::Gt(_) => BinOp::Ge(<Token![>=]>::default()),
        BinOp::Ge(_) => BinOp::Gt(<Token![>]>::default()),
        BinOp::And(_) => BinOp::Or(<Token![||]>::default()),
        BinOp::Or(_) => BinOp::And(<Token![&&]>::default()),
        BinOp::Add(_) => BinOp::Sub(<Token![-]>::default()),
        BinOp::Sub(_) => BinOp::Add(<Token![+]>::default()),
        BinOp::Mul(_) => BinOp::Add(<Token![+]>::default()),
        _ => return None,
    })
}

/// Returns the results that a function may return at once, by its type.
fn results(output: &ReturnType) -> Vec<(Expr, &'static str)> {
    let ReturnType::Type(_, kind) = output else { return Vec::new() };
    let text = kind.to_token_stream().to_string();
    if text == "bool" {
        vec![(parse_quote!(true), "true"), (parse_quote!(false), "false")]
    } else if text.starts_with("Option <") {
        vec![(parse_quote!(None), "None")]
    } else if text.starts_with("Vec <") {
        vec![(parse_quote!(Vec::new()), "no elements")]
    } else {
        Vec::new()
    }
}

/// Returns true if a condition binds names, which no closure or branch can give on.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(inner) => has_let(&inner.expr),
        _ => false,
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        text.contains("cfg (test)") || text == "# [test]"
    })
}
