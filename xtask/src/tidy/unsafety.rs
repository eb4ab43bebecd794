//! Unsafe code: in four crates at most, and every block with its proof.

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::package::Package;
use super::source::{Source, Token, comments_above, text_at};

/// The law.
pub const LAW: Law = Law {
    name: "unsafe",
    reason: "unsafe code lives in four crates, every block with its proof; the rest has none",
    check,
};

const UNSAFE_CRATES: &[&str] = &["taut-sync", "taut-simd", "taut-sys", "taut-ipc"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &house.packages {
        let allowed = package.may_be_unsafe == Some(true);
        if allowed && !UNSAFE_CRATES.contains(&&*package.name) {
            let line = package.manifest.line(&["package", "metadata", "taut", "unsafe"]);
            let what = format!("`{}` declares unsafe = true", package.name);
            let remedy = format!("only {} may", UNSAFE_CRATES.join(", "));
            findings.push(Finding::new(package.path(), line, what, remedy));
        }
        if !allowed {
            forbids(house, package, &mut findings);
        }
        for (path, source) in house.sources_of(package) {
            let all = &source.tokens;
            for at in (0..all.len()).filter(|&at| all[at].text == "unsafe") {
                let wrong = if allowed {
                    unproved(source, at)
                } else {
                    Some(("unsafe code in a crate that declares none", "move it into one that may"))
                };
                let finding = |(what, remedy)| Finding::new(path, all[at].line, what, remedy);
                findings.extend(wrong.map(finding));
            }
        }
    }
    findings
}

/// Every root of a crate without unsafe code says so to the compiler.
fn forbids(house: &House<'_>, package: &Package<'_>, findings: &mut Vec<Finding>) {
    for root in ["src/lib.rs", "src/main.rs"].map(|name| package.file(name)) {
        let Some(source) = house.source(&root) else { continue };
        // A pure crate's is asked for by its own law.
        if package.pure != Some(true) && !source.has_lint(&["forbid"], "unsafe_code") {
            let what = "`#![forbid(unsafe_code)]` is missing";
            findings.push(Finding::new(&root, 1, what, "add it below the documentation"));
        }
    }
}

/// What the `unsafe` at `at` lacks, and what to do.
fn unproved(source: &Source, at: usize) -> Option<(&'static str, &'static str)> {
    let all = &source.tokens;
    let (needed, what, remedy) = match declared(all, at) {
        Declared::Pointer => return None,
        Declared::Contract => {
            ("# Safety", "no `# Safety` section", "document what the caller must uphold")
        }
        Declared::Proof => {
            ("SAFETY:", "no `// SAFETY:` comment above", "prove there why it is sound")
        }
    };
    let starts = [all[at].line, statement_line(all, at, true), statement_line(all, at, false)];
    let proved = starts.iter().any(|&line| comments_above(&source.lines, line, needed))
        || source.lines[starts[2] - 1..all[at].line].iter().any(|line| line.contains(needed));
    (!proved).then_some((what, remedy))
}

/// What kind of promise an `unsafe` asks for.
enum Declared {
    /// The type of a function pointer promises nothing.
    Pointer,
    /// A function or a trait tells its users what to uphold.
    Contract,
    /// A block or an implementation shows that it upholds it.
    Proof,
}

fn declared(all: &[Token], at: usize) -> Declared {
    // `extern` may stand between; its "C" is a literal and no token.
    let next = at + 1 + usize::from(text_at(all, at + 1) == "extern");
    match text_at(all, next) {
        "fn" if text_at(all, next + 1) == "(" => Declared::Pointer,
        "fn" | "trait" => Declared::Contract,
        _ => Declared::Proof,
    }
}

/// The line where the statement around the token at `at` begins; with `part`, where its part (an
/// arm, an argument) does.
fn statement_line(all: &[Token], at: usize, part: bool) -> usize {
    let ends = |token: &Token| {
        matches!(&*token.text, ";" | "{" | "}") || part && matches!(&*token.text, "," | ">" | "(")
    };
    let before = all[..at].iter().rposition(ends);
    all[before.map_or(0, |end| end + 1)].line
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept, check, manifest, with};

    const RING: &str = "crates/taut-simd/src/lib.rs";

    #[test]
    fn a_safe_crate_has_no_unsafe_code_in_tests_either() {
        let test = [("crates/taut-fix/tests/a.rs", "fn f() {\n    unsafe { g() }\n}\n")];
        assert_broken(&LAW, &test, "crates/taut-fix/tests/a.rs:2", "declares none");
        let words = "//! unsafe\n#![forbid(unsafe_code)]\nconst A: &str = \"unsafe\";\n";
        assert_kept(&LAW, &[("xtask/src/main.rs", words)]);
    }

    #[test]
    fn every_safe_crate_forbids_it() {
        let tools = [("xtask/src/main.rs", "#![deny(unsafe_code)]\nfn main() {}\n")];
        assert_broken(&LAW, &tools, "xtask/src/main.rs:1", "forbid(unsafe_code)");
    }

    #[test]
    fn only_five_crates_may_declare_it() {
        let path = "xtask/Cargo.toml";
        let text = manifest("xtask", 9, false, true, "");
        assert_broken(&LAW, &[(path, &text)], "xtask/Cargo.toml:10", "declares unsafe = true");
    }

    #[test]
    fn a_block_or_an_implementation_needs_its_proof() {
        for text in [
            "unsafe impl Send for A {}\n",
            "fn f() { unsafe { g() } }\n",
            "// SAFETY: far.\n\nunsafe impl Send for A {}\n",
            "// SAFETY: of another.\nfn g() {}\nunsafe impl Send for A {}\n",
            "// safe\nunsafe extern \"C\" { fn f(); }\n",
        ] {
            let violations = check(&LAW, &with(&[(RING, text)]));
            assert_eq!(violations.len(), 1, "{text}");
            assert!(violations[0].starts_with("crates/taut-simd/src/lib.rs:"), "{violations:?}");
            assert!(violations[0].contains(": unsafe: no `// SAFETY:`"), "{violations:?}");
        }
    }

    #[test]
    fn a_proof_stands_above_the_block_or_its_statement() {
        for text in [
            "// SAFETY: always.\nunsafe impl Send for A {}\n",
            "// SAFETY: always.\n#[inline]\nunsafe impl Send for A {}\n",
            "fn f() {\n// SAFETY: long,\n// as long as that.\nlet a =\n    unsafe { g() };\n}\n",
            "fn f() {\nlet a =\n    // SAFETY: always.\n    unsafe { g() };\n}\n",
            "fn f() {\nmatch a {\n    // SAFETY: always.\n    1 => unsafe { g() },\n}\n}\n",
            "fn f() { /* SAFETY: always. */ unsafe { g() } }\n",
            "struct A(unsafe fn(u8), unsafe extern \"C\" fn());\n",
        ] {
            assert_kept(&LAW, &[(RING, text)]);
        }
    }

    #[test]
    fn an_unsafe_function_documents_its_contract() {
        let text = "/// Reads.\n// SAFETY: no contract.\npub unsafe fn f() {}\n";
        assert_broken(&LAW, &[(RING, text)], "crates/taut-simd/src/lib.rs:3", "`# Safety`");
        assert_kept(&LAW, &[(RING, "/// # Safety\n/// None.\n#[inline]\npub unsafe fn f() {}\n")]);
    }
}
