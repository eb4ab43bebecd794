//! Commands that a page names: each is a verb of the `taut` command.

use super::finding::Finding;
use super::house::House;
use super::law::Law;

/// The law.
pub const LAW: Law = Law {
    name: "commands",
    reason: "a reader can run every command of `taut` that a page names",
    check,
};

/// Where the command's verbs are declared: those of every build, and those of the full one.
const CLI: &str = "crates/taut-cli/src/lib.rs";
const FULL: &str = "crates/taut-cli/src/full.rs";
/// Beside it, one file for each verb: where that one's own verbs are.
const VERBS: &str = "crates/taut-cli/src";
/// What is told of older versions stays.
const HISTORY: &str = "CHANGELOG.md";

/// A verb, as it is typed, and what may follow it; nothing where it has no verbs of its own.
struct Verb {
    name: String,
    verbs: Vec<String>,
}

fn check(house: &House<'_>) -> Vec<Finding> {
    let verbs = verbs(house);
    let mut findings = Vec::new();
    let is_page = |path: &str| path.ends_with(".md") && path != HISTORY;
    for (path, text) in house.tree.texts().filter(|(path, _)| is_page(path)) {
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            for (word, next) in named(line, is_code) {
                let verb = verbs.iter().find(|verb| verb.name == word);
                let (what, remedy) = match (verb, next) {
                    (None, _) => {
                        (format!("`taut {word}`"), format!("one that `enum Verb` of {CLI} has"))
                    }
                    (Some(Verb { verbs, .. }), Some(next))
                        if !verbs.is_empty() && verbs.iter().all(|verb| verb != next) =>
                    {
                        (format!("`taut {word} {next}`"), format!("one of {}", verbs.join(", ")))
                    }
                    _ => continue,
                };
                let what = format!("{what} is no command");
                findings.push(Finding::new(path, number, what, format!("name {remedy}")));
            }
        }
    }
    findings
}

/// The verbs of `taut`, and theirs.
fn verbs(house: &House<'_>) -> Vec<Verb> {
    let sources = [CLI, FULL].map(|path| house.tree.text(path).unwrap_or_default());
    let help = || "help".to_owned();
    let declared = sources.into_iter().flat_map(|source| variants(source, "Verb"));
    let all = declared.filter(|variant| !variant.is_flat).map(|variant| Verb {
        name: typed(variant.name()),
        verbs: own_verbs(house, &variant).map_or_else(Vec::new, |own| [own, vec![help()]].concat()),
    });
    all.chain([Verb { name: help(), verbs: Vec::new() }]).collect()
}

/// The verbs of the module that a variant names: `Book(book::Book)`,
/// `Gateway(Box<gateway::Gateway>)`. They are an enum of that name, or one called `Verb`.
fn own_verbs(house: &House<'_>, of: &Variant<'_>) -> Option<Vec<String>> {
    let (module, kind) = of.payload()?.split_once("::")?;
    let module = format!("{VERBS}/{module}");
    let is_of_module = |path: &str| path.starts_with(&module);
    let own = [kind, "Verb"].into_iter().find_map(|name| {
        let mut texts = house.tree.texts().filter(|(path, _)| is_of_module(path));
        texts.find_map(|(_, text)| variants(text, name).next().map(|_| variants(text, name)))
    })?;
    let typed_of = |variant: Variant<'_>| match variant.payload().filter(|_| variant.is_flat) {
        None => vec![typed(variant.name())],
        // What it has is told as if it stood here.
        Some(kind) => {
            let texts = house.tree.texts().filter(|(path, _)| path.starts_with(VERBS));
            let inner = texts.flat_map(|(_, text)| variants(text, kind));
            inner.map(|variant| typed(variant.name())).collect()
        }
    };
    Some(own.flat_map(typed_of).collect())
}

/// The line of an enum that begins a variant.
struct Variant<'s> {
    line: &'s str,
    /// Its own variants stand for it.
    is_flat: bool,
}

impl<'s> Variant<'s> {
    fn name(&self) -> &'s str {
        self.line.split(['(', '{', ',']).next().unwrap_or_default().trim()
    }

    /// The type that it holds, if it is one alone.
    fn payload(&self) -> Option<&'s str> {
        let held = self.line.split_once('(')?.1.trim_start_matches("Box<");
        held.split([')', '>', ',']).next()
    }
}

/// The variants of an enum.
fn variants<'s>(source: &'s str, name: &str) -> impl Iterator<Item = Variant<'s>> {
    let begin = format!("enum {name} {{");
    let lines = source.lines().skip_while(move |line| line.trim_start_matches("pub ") != begin);
    let lines = lines.skip(1).take_while(|line| *line != "}");
    let mut is_flat = false;
    lines.filter_map(|line| line.strip_prefix("    ")).filter_map(move |line| {
        if line.starts_with("#[") {
            is_flat = line == "#[command(flatten)]";
            return None;
        }
        let is_one = line.starts_with(|letter: char| letter.is_ascii_uppercase());
        is_one.then(|| Variant { line, is_flat: std::mem::take(&mut is_flat) })
    })
}

/// `IpcKill` is typed `ipc-kill`.
fn typed(variant: &str) -> String {
    let mut verb = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !verb.is_empty() {
            verb.push('-');
        }
        verb.push(letter.to_ascii_lowercase());
    }
    verb
}

/// The two words behind `taut` where it begins a code span, or a line of code; a flag is no verb,
/// nor is a word that stands for one, or the name of a file.
fn named(line: &str, is_code: bool) -> impl Iterator<Item = (&str, Option<&str>)> {
    let spans = line.match_indices("`taut ").map(|(at, begin)| &line[at + begin.len()..]);
    let code = line.trim_start();
    let command = code.strip_prefix("$ ").unwrap_or(code).strip_prefix("taut ");
    let places = spans.chain(command.filter(|_| is_code));
    places.filter_map(|rest| {
        let (first, rest) = word(rest)?;
        let next = rest.strip_prefix(' ').and_then(word);
        // `messages.xml`, `a/b`, `key=value`
        let is_whole = |rest: &str| !rest.starts_with(['.', '/', '=', ':', '_']);
        Some((first, next.filter(|(_, rest)| is_whole(rest)).map(|(next, _)| next)))
    })
}

/// The word in lower case that a text begins with, and the rest.
fn word(text: &str) -> Option<(&str, &str)> {
    let is_end = |letter: char| !letter.is_ascii_lowercase() && letter != '-';
    let (word, rest) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    word.starts_with(|letter: char| letter.is_ascii_lowercase()).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const CLI: &str = "//! It.\n#![forbid(unsafe_code)]\nenum Verb {\n    /// Books.\n    \
        #[command(subcommand)]\n    Book(book::Book),\n    Gate(Box<gate::Gate>),\n    \
        IpcKill {\n        rate: u32,\n    },\n    #[command(flatten)]\n    \
        Full(full::Verb),\n}\nenum Other {\n    Dance,\n}\n";
    const FULL: &str = "//! It.\npub enum Verb {\n    Send(send::Arguments),\n}\n";
    const BOOK: &str = "//! It.\npub enum Book {\n    /// It.\n    Verify(Verify),\n}\n";
    const GATE: &str = "//! It.\npub struct Gate;\nenum Verb {\n    #[command(flatten)]\n    \
        File(FileVerb),\n    CancelAll {\n    },\n}\n";
    const FILE: &str = "//! It.\npub enum FileVerb {\n    Sample,\n}\n";

    #[test]
    fn a_page_names_verbs_that_exist() {
        let (cli, full) = ((super::CLI, CLI), (super::FULL, FULL));
        let book = ("crates/taut-cli/src/book.rs", BOOK);
        let gate = ("crates/taut-cli/src/gate.rs", GATE);
        let file = ("crates/taut-cli/src/config_file.rs", FILE);
        let tree = |page| [cli, full, book, gate, file, ("docs/a.md", page)];
        for page in [
            "`taut book verify`, `taut ipc-kill`, `taut --help`, `taut VERB`\n",
            "taut dance is prose, and `taut\nbook` goes on\n",
            "```\n$ taut book verify\n  taut ipc-kill --rate 1\n```\ntaut dances\n",
            "`taut gate cancel-all`, `taut gate sample`, `taut gate a.toml`, `taut send here`\n",
        ] {
            assert_kept(&LAW, &tree(page));
        }
        for (page, line, word) in [
            ("a\nRun `taut dance` now.\n", 2, "`taut dance`"),
            ("`taut book`, then `taut bock`\n", 1, "`taut bock`"),
            ("```sh\n$ taut ipckill\n```\n", 2, "`taut ipckill`"),
            ("`taut rate`\n", 1, "`taut rate`"),
            ("`taut full`\n", 1, "`taut full`"),
            ("`taut book bind`\n", 1, "`taut book bind`"),
            ("```\n$ taut gate cancel\n```\n", 2, "`taut gate cancel`"),
        ] {
            assert_broken(&LAW, &tree(page), &format!("docs/a.md:{line}"), word);
        }
        assert_kept(&LAW, &[cli, ("CHANGELOG.md", "`taut dance` is gone\n")]);
    }
}
