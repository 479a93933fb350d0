//! Every mistake is one error, which says what to do.

#[test]
fn every_mistake_is_one_error() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
