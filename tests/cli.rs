//! The command line as transcripts. `TRYCMD=overwrite cargo test --test cli` writes them; a person reads the
//! difference.

#[test]
fn transcripts() {
    let cases = trycmd::TestCases::new();
    cases.case("../tests/cli/*.trycmd");
}
