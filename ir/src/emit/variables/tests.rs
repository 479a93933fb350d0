//! Tests of the names of variables.

use super::*;

const INPUT: Variable = Variable(0);
const A: Variable = Variable(1);
const B: Variable = Variable(2);
const C: Variable = Variable(3);
const D: Variable = Variable(4);
const OTHER: Variable = Variable(5);

fn check(code: Code, expected: Code) {
    let hints = (1..9).map(|number| {
        let hint = Hint { name: "value".to_owned(), chains: number < 5, ..Hint::default() };
        (Variable(number), hint)
    });
    let hints = hints.collect();
    check_hints(code, hints, expected);
}

fn check_hints(code: Code, hints: BTreeMap<Variable, Hint>, expected: Code) {
    let parameters = [(INPUT, "input".to_owned())];
    let mut namer = Namer::new(&code, &parameters, &[], &hints);
    let renamed = namer.rename(&code).tokens().to_string();
    assert_eq!(renamed, expected.tokens().to_string());
}

#[test]
fn a_chain_keeps_its_name() {
    check(
        code!(let #A = f(#INPUT); let #B = g(#A, #INPUT); h(#B)),
        code!(let x = f(input); let x = g(x, input); h(x)),
    );
}

#[test]
fn what_is_needed_later_keeps_its_name() {
    check(
        code!(let #A = f(#INPUT); let #B = g(#A); h(#A, #B)),
        code!(let x = f(input); let y = g(x); h(x, y)),
    );
}

#[test]
fn results_of_one_call_take_over_names() {
    check(
        code!(let #A = f(#INPUT); let #B = g(#INPUT); let (#C, #D) = h(#A, #B); k(#C, #D)),
        code!(let x = f(input); let y = g(input); let (x, y) = h(x, y); k(x, y)),
    );
}

#[test]
fn the_last_value_needs_no_name() {
    check(code!(let #A = f(#INPUT); let #B = g(#A); #B), code!(let x = f(input); g(x)));
}

fn hint(word: &str, maker: &str, keeps: usize) -> Hint {
    let some = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    Hint { name: "value".to_owned(), chains: true, word: some(word), maker: some(maker), keeps }
}

#[test]
fn what_several_layers_read_has_results_of_their_names() {
    let hints = [(A, hint("", "gate", 0)), (B, hint("", "up", 0)), (C, hint("", "down", 0))];
    check_hints(
        code!(let #A = f(#INPUT.clone()); let #B = g(#INPUT); let #C = h(#A * #B); k(#C, #C)),
        hints.into(),
        code!(let gate = f(input.clone()); let up = g(input); let down = h(gate * up); k(down, down)),
    );
}

#[test]
fn another_form_keeps_the_name() {
    let hints = [(A, hint("query", "", 0)), (B, hint("", "rows", 1)), (C, hint("", "scores", 0))];
    check_hints(
        code!(let #A = f(#INPUT); let #B = g(#A); let #C = h(#B); k(#C, #C)),
        hints.into(),
        code!(let query = f(input); let query = g(query); let scores = h(query); k(scores, scores)),
    );
}

#[test]
fn a_chain_of_short_names_goes_on_through_layers() {
    let hints = [(A, hint("", "", 0)), (B, hint("", "dense", 0))];
    check_hints(
        code!(let #A = f(#INPUT); let #B = g(#A); k(#B, #B)),
        hints.into(),
        code!(let x = f(input); let x = g(x); k(x, x)),
    );
}

#[test]
fn a_word_in_use_is_not_numbered() {
    let hints = [(A, hint("query", "", 0)), (B, hint("query", "", 0)), (C, hint("input", "", 0))];
    check_hints(
        code!(let #A = f(#INPUT); let #B = g(#INPUT); let #C = h(#INPUT, #A); k(#B, #C, #INPUT)),
        hints.into(),
        code!(let query = f(input); let x = g(input); let y = h(input, query); k(x, y, input)),
    );
}

#[test]
fn names_of_braces_end_with_them() {
    check(
        code! {
            let #A = f(#INPUT);
            let #OTHER = if c { let #B = g(#A); h(#B, 1) } else { #INPUT };
            k(#OTHER, #A)
        },
        code! {
            let x = f(input);
            let value = if c { let y = g(x); h(y, 1) } else { input };
            k(value, x)
        },
    );
}

#[test]
fn a_loop_leaves_the_names_of_its_state() {
    check(
        code! {
            let mut #A = #INPUT;
            for i in 0..3 { let #B = f(#A); let #C = g(#B); #A = h(#C); }
            #A
        },
        code! {
            let mut x = input;
            for i in 0..3 { let y = f(x); let y = g(y); x = h(y); }
            x
        },
    );
}
