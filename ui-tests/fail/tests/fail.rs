//! Checks that every mistake is one error with a suggestion.

#[test]
fn every_mistake_is_one_error() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
