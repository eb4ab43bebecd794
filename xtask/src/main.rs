//! The project's own tools, run as `cargo xtask <tool>`.
#![forbid(unsafe_code)]

mod api;
mod clients;
mod faults;
mod fix_suites;
mod fuzz;
mod hostile;
mod instructions;
mod orderings;
mod replays;
mod sbe_corpus;
mod soak;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
The project's own tools.

  cargo xtask tidy          check the laws of the house on this tree
  cargo xtask tidy --list   list the laws, each with its reason
  cargo xtask orderings [--if-changed | PART]
                            weaken every atomic ordering of the lock-free code, one by one, and
                            run the loom models, of which one must fail; PART of a file's path
                            runs that file's only, --if-changed nothing when all is as it passed
                            (xtask/orderings.passed, to be committed)
  cargo xtask instructions [--bless] [PART]
                            hold the hot paths' cost in instructions against instructions.txt, or
                            write it there; PART of a name measures these only (needs valgrind)
  cargo xtask api [--bless] hold the facade's public items against crates/taut/api, or write them
                            there
  cargo xtask clients       have strangers' clients trade against the venues that we play: a table
                            of client, step and verdict (fetches them once, into target/clients)
  cargo xtask faults        run the tests of what bites in production at Deribit, Binance and OKX:
                            a table of fault, adapter and verdict
  cargo xtask fix-suites [DEFINITIONS DICTIONARIES]
                            play the acceptance scripts of QuickFIX/Go and QuickFIX/J (needs Go and
                            Maven), or those of a folder SUITE/VERSION/*.def, against `taut fix
                            echo`
  cargo xtask sbe-corpus [FOLDER]
                            have the reference tool read the messages of every schema at hand and
                            in the folder, versions crossed (needs Java and Maven)
  cargo xtask fuzz [--seconds N] [--keep] [PART]
                            run every target of fuzz/, or those with PART in their names, for 10 or
                            N seconds; --keep writes the inputs that reach most into fuzz/seeds
                            (needs a C++ compiler)
  cargo xtask hostile [--long | --seconds N] [PART]
                            play strangers, slow peers, floods and garbage against every listener,
                            2 or N seconds each, 60 with --long, which also plays those over TLS and
                            holds the times in which a good peer is served; PART of a name runs
                            these stages only
  cargo xtask soak gateway [--kills N] [--seed N] [--rate N] [--instruments N] [--flow N]
                           [--steady N] [--release]
                            kill venue, gateway and strategies 20 or N times while they trade: no
                            order is lost or doubled, positions agree, nothing is left behind; two
                            strategies send 500 or N orders per second each, in 2 or N instruments,
                            beside a market of 1,000 or N commands per second; --steady lets all
                            trade for N seconds before the first kill, in which no packet and no
                            event may be lost
  cargo xtask soak schedules [N]
                            run 100,000 or N seeded schedules of gateway and venue in a simulated
                            network, from seed 0 on
  cargo xtask soak fail-over [N]
                            run 100,000 or N seeded schedules of a venue and its standby on two
                            machines, with clients whose histories are checked, from seed 0 on
  cargo xtask soak venues [N]
                            run the fault tests of two gateways at the simulated Deribit and
                            Binance with 100 or N seeds: lost, doubled and late messages, ended
                            connections, refused requests
  cargo xtask soak desk [MINUTES]
                            have the page of `taut desk` open in Chromium for 30 or so many minutes:
                            neither it nor the desk may grow
  cargo xtask soak observers
                            make a gateway suffer (a busy loop on its CPU, a slow subscriber, a
                            quota, a cut connection): desk, top, doctor, metrics and the worst
                            orders name each cause within two seconds, and attached
                            all at once they change no stage of an order
  cargo xtask soak replays [N]
                            record 1,000 or N demos of half a second, split and fused, with packets
                            lost on purpose, and replay each: none may differ
  cargo xtask help          this text

Exit status: 0 when all is well, 1 on violations, 2 on bad usage.";

/// Whether cargo sets this variable to say what it runs.
fn is_about_this_program(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// `cargo`, as from a shell: the build scripts of some crates look at what cargo tells this program
/// about itself, and would compile anew what is compiled.
fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_str().is_some_and(is_about_this_program)) {
        cargo.env_remove(name);
    }
    cargo
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let count =
        |part, bless| report("instructions", instructions::run(&root, &target(&root), part, bless));
    let weaken = |part, if_changed| {
        report("orderings", orderings::run(&root, &target(&root), part, if_changed))
    };
    match words[..] {
        [] | ["help" | "--help" | "-h"] => report("help", Ok(HELP.to_owned())),
        ["tidy"] => report("tidy", tidy::run(&root)),
        ["tidy", "--list"] => report("tidy", Ok(tidy::list())),
        ["tidy", word, ..] => refuse(word, "`tidy` takes `--list`"),
        ["orderings"] => weaken("", false),
        ["orderings", "--if-changed"] => weaken("", true),
        ["orderings", part] if !part.starts_with('-') => weaken(part, false),
        ["orderings", .., word] => refuse(word, "`orderings` takes `--if-changed` or a part"),
        ["instructions"] => count("", false),
        ["instructions", "--bless"] => count("", true),
        ["instructions", "--bless", part] => count(part, true),
        ["instructions", part] if !part.starts_with('-') => count(part, false),
        ["instructions", .., word] => refuse(word, "`instructions` takes `--bless` and a part"),
        ["api"] => report("api", api::run(&root, false)),
        ["api", "--bless"] => report("api", api::run(&root, true)),
        ["api", word, ..] => refuse(word, "`api` takes `--bless`"),
        ["clients"] => report("clients", clients::run(&root)),
        ["clients", word, ..] => refuse(word, "`clients` takes nothing"),
        ["faults"] => report("faults", faults::run(&root)),
        ["faults", word, ..] => refuse(word, "`faults` takes nothing"),
        ["sbe-corpus"] => report("sbe-corpus", sbe_corpus::run(&root, None)),
        ["sbe-corpus", folder] => report("sbe-corpus", sbe_corpus::run(&root, Some(folder))),
        ["sbe-corpus", _, word, ..] => refuse(word, "`sbe-corpus` takes a folder, or nothing"),
        ["fix-suites"] => report("fix-suites", fix_suites::run(&root, None)),
        ["fix-suites", scripts, dictionaries] => {
            report("fix-suites", fix_suites::run(&root, Some([scripts, dictionaries])))
        }
        ["fix-suites", word, ..] => refuse(word, "`fix-suites` takes two folders, or none"),
        ["fuzz", ref words @ ..] => match fuzz::Fuzz::parse(words) {
            Ok(asked) => report("fuzz", asked.run(&root, &target(&root))),
            Err(why) => refuse(&words.join(" "), &why),
        },
        ["hostile", ref words @ ..] => match hostile::Hostile::parse(words) {
            Ok(hostile) => report("hostile", hostile.run(&root, &target(&root))),
            Err(word) => refuse(&word, "`hostile` takes `--long`, `--seconds N` and a stage"),
        },
        ["soak", "schedules"] => report("soak", soak::schedules(&root, 100_000)),
        ["soak", "schedules", count] => match count.parse() {
            Ok(count @ 1..) => report("soak", soak::schedules(&root, count)),
            _ => refuse(count, "`soak schedules` takes a number above zero"),
        },
        ["soak", "fail-over"] => report("soak", soak::fail_over(&root, 100_000)),
        ["soak", "fail-over", count] => match count.parse() {
            Ok(count @ 1..) => report("soak", soak::fail_over(&root, count)),
            _ => refuse(count, "`soak fail-over` takes a number above zero"),
        },
        ["soak", "venues"] => report("soak", soak::venues(&root, 100)),
        ["soak", "venues", count] => match count.parse() {
            Ok(count @ 1..) => report("soak", soak::venues(&root, count)),
            _ => refuse(count, "`soak venues` takes a number above zero"),
        },
        ["soak", "desk"] => report("soak", soak::desk(&root, 30)),
        ["soak", "desk", minutes] => match minutes.parse() {
            Ok(minutes @ 1..) => report("soak", soak::desk(&root, minutes)),
            _ => refuse(minutes, "`soak desk` takes a number of minutes above zero"),
        },
        ["soak", "observers"] => report("soak", soak::observers(&root)),
        ["soak", "gateway", ref words @ ..] => match soak::Gateway::parse(words) {
            Ok(soak) => report("soak", soak.run(&root, &target(&root))),
            Err(word) => refuse(
                &word,
                "`soak gateway` takes --release, and --kills, --seed, --rate, --instruments, \
                 --flow and --steady with a number",
            ),
        },
        ["soak", "replays"] => report("soak", replays::run(&root, &target(&root), 1_000)),
        ["soak", "replays", count] => match count.parse() {
            Ok(count @ 1..) => report("soak", replays::run(&root, &target(&root), count)),
            _ => refuse(count, "`soak replays` takes a number above zero"),
        },
        ["soak", word, ..] => refuse(
            word,
            "`soak` takes `schedules`, `fail-over`, `venues`, `gateway`, `desk`, `observers` or \
             `replays`",
        ),
        [word, ..] => refuse(word, "see the list of tools"),
    }
}

/// What a tool has to say: on stdout when all is well, line by line on stderr when it is not.
fn report(tool: &str, result: Result<String, String>) -> ExitCode {
    match result {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("{wrong}\n{tool}: not as it should be");
            ExitCode::from(1)
        }
    }
}

/// Where cargo builds.
fn target(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => std::env::current_dir().unwrap_or_default().join(directory),
        None => root.join("target"),
    }
}

fn refuse(word: &str, remedy: &str) -> ExitCode {
    eprintln!("xtask: unknown word `{word}`: {remedy}; see `cargo xtask help`");
    ExitCode::from(2)
}
