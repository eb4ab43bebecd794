use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::service::file::GATEWAY_SAMPLE;
use crate::service::reload::Differences;
use taut_oms::SelfMatch;

/// A gateway of four instruments, and what a test adds.
fn text(more: &str) -> String {
    let instruments: String = ["BTC-PERP", "BTC-SPOT", "ETH-PERP", "TAUT"]
        .map(|symbol| format!("[[instruments]]\nsymbol = \"{symbol}\"\n"))
        .concat();
    let addresses = [("orders", 1), ("incremental", 2), ("snapshot", 3)]
        .map(|(key, port)| format!("{key} = \"127.0.0.1:{port}\"\n"))
        .concat();
    let strategy = "[[strategies]]\nname = \"touch\"\nnumber = 1\n";
    format!(
        "name = \"own\"\n[venue]\ntarget_comp_id = \"VENUE\"\n{addresses}{instruments}{strategy}\
         {more}"
    )
}

fn read(more: &str) -> Result<GatewayFile, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    std::fs::write(&path, text(more)).expect("a file");
    GatewayFile::read(&path).map_err(|error| error.to_string())
}

#[track_caller]
fn file(more: &str) -> GatewayFile {
    read(more).unwrap_or_else(|error| panic!("{error}"))
}

fn limits(file: &GatewayFile) -> RiskLimits {
    Rules::build(file).expect("rules").risk.limits
}

const BTC_PERP: InstrumentId = InstrumentId(0);
const BTC_SPOT: InstrumentId = InstrumentId(1);
const TAUT: InstrumentId = InstrumentId(3);

const ACCOUNTS: &str = "[[accounts]]\nname = \"MM1\"\nid = 1\n\
                        [[accounts]]\nname = \"HEDGE\"\nid = 2\nlimits = { loss_max = \"10.5\" }\n\
                        throttle = { orders_per_second = 5 }\n";

#[test]
fn the_sample_and_every_key_of_it_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    std::fs::write(&path, GATEWAY_SAMPLE).expect("a file");
    let sample = GatewayFile::read(&path).expect("the sample");
    assert_eq!(sample.risk, GatewayRisk::default());
    // What stands behind a `#` is right too.
    let secret = folder.path().join("venue.password");
    std::fs::write(&secret, "hunter2\n").expect("a secret");
    let owner_alone = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&secret, owner_alone).expect("its mode");
    let is_key = |line: &str| line.starts_with('[') || line.split(' ').nth(1) == Some("=");
    let lines = GATEWAY_SAMPLE.lines();
    let lines = lines.map(|line| line.strip_prefix("# ").filter(|it| is_key(it)).unwrap_or(line));
    let whole: String = lines.map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, &whole).expect("a file");
    let file = GatewayFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((file.users.len(), file.accounts.len(), file.symbols.len()), (1, 1, 1));
    assert_eq!(file.session.store, Some(folder.path().join("session.numbers")));
    let said = file.explain().expect("right").join("\n");
    assert!(said.contains("venue.password") && !said.contains("hunter2"), "{said}");
    assert!(!format!("{file:?}").contains("hunter2"));
}

#[test]
fn relative_paths_start_at_the_folder_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let head = format!("control = \"here/control\"\n{}", text("[session]\nstore = \"numbers\"\n"));
    std::fs::write(&path, head).expect("a file");
    let file = GatewayFile::read(&path).expect("right");
    assert_eq!(file.control_path(), folder.path().join("here/control"));
    assert_eq!(file.session.store.as_deref(), Some(&*folder.path().join("numbers")));
    let absolute = text("[session]\nstore = \"/run/numbers\"\n");
    std::fs::write(&path, absolute).expect("a file");
    let file = GatewayFile::read(&path).expect("right");
    assert_eq!(file.session.store.as_deref(), Some(Path::new("/run/numbers")));
}

#[test]
fn without_users_and_accounts_everybody_trades_everything_within_the_limits_of_all() {
    let limits =
        limits(&file("[risk]\nlots_max = 7\nnotional_max = \"99.5\"\nshort_lots_max = 3\n"));
    let own = limits.orders_of(TAUT, AccountId(0)).expect("limits");
    assert_eq!(
        (own.lots_max, own.long_lots_max, own.short_lots_max),
        (Lots(7), Lots(1_000), Lots(3))
    );
    assert_eq!(own.notional_max.to_string(), "99.5");
    assert_eq!(own.last_trade_collar_ppm, OrderLimits::NO_COLLAR);
    assert!(limits.permits(UserId(200), AccountId(0), 0));
    assert_eq!(limits.venue.cancels, Rate::UNLIMITED);
    assert_eq!(limits.account(AccountId(0)).expect("an account").gross_max, Amount::MAX);
}

#[test]
fn every_limit_of_the_gateway_is_taken() {
    let limits = limits(&file(
        "[risk]\ncollar_ppm = 1\nlast_trade_collar_ppm = 2\nposition_lots_max = 5\n\
         open_orders_max = 6\ngross_max = 7\nnet_max = 8\nloss_max = 9\norders_per_second = 10\n\
         orders_burst = 11\ncancels_per_second = 12\ncancels_burst = 13\nduplicate_window_ms = 14\n\
         self_match = \"cancel-both\"\nrestricted = [\"BTC-.*\", \"GONE\"]\n",
    ));
    let own = limits.orders_of(TAUT, AccountId(0)).expect("limits");
    assert_eq!((own.collar_ppm, own.last_trade_collar_ppm), (1, 2));
    assert_eq!((own.long_lots_max, own.short_lots_max), (Lots(5), Lots(5)));
    let account = limits.account(AccountId(0)).expect("an account");
    assert_eq!(account.open_orders_max, 6);
    let worth = [account.gross_max, account.net_max, account.loss_max];
    assert_eq!(worth, [7, 8, 9].map(Amount::whole));
    assert_eq!(limits.user(UserId(3)), Some(&UserLimits::UNLIMITED));
    assert_eq!(limits.strategy(StrategyId(1)), 6);
    assert_eq!(limits.venue.orders, Rate { per_second: 10, burst: 11 });
    assert_eq!(limits.venue.cancels, Rate { per_second: 12, burst: 13 });
    assert_eq!(limits.duplicate_window, Nanos::from_millis(14));
    assert_eq!(limits.self_match, SelfMatch::CancelBoth);
    let restricted = [BTC_PERP, BTC_SPOT, InstrumentId(2), TAUT];
    assert_eq!(restricted.map(|it| limits.is_restricted(it)), [true, true, false, false]);
}

#[test]
fn the_first_rule_that_matches_an_instrument_and_an_account_decides() {
    let file = file(&format!(
        "{ACCOUNTS}[[symbols]]\npattern = \"BTC-.*\"\naccount = \"HEDGE\"\nlots_max = 1\n\
         [[symbols]]\npattern = \"BTC-.*\"\nlots_max = 2\nposition_lots_max = 4\n\
         [[symbols]]\npattern = \".*-PERP\"\nlots_max = 3\n"
    ));
    let rules = Rules::build(&file).expect("rules");
    let of = |instrument, account| {
        let own = rules.risk.limits.orders_of(instrument, AccountId(account)).expect("limits");
        (own.lots_max.0, own.long_lots_max.0)
    };
    assert_eq!([of(BTC_PERP, 1), of(BTC_PERP, 2)], [(2, 4), (1, 1_000)]);
    assert_eq!([of(InstrumentId(2), 1), of(TAUT, 1)], [(3, 1_000), (1_000, 1_000)]);
    let decided: Vec<Vec<usize>> =
        rules.decides.iter().map(|decided| decided.iter().copied().collect()).collect();
    assert_eq!(decided, [vec![0, 1], vec![0, 1], vec![2]]);
    // A name is a pattern over the whole name.
    assert!(Pattern::new("", "BTC").expect("a name").means("BTC"));
    assert!(!Pattern::new("", "BTC").expect("a name").means("BTC-PERP"));
}

#[test]
fn users_trade_what_they_may_for_the_accounts_that_they_have() {
    let file = file(&format!(
        "user = 1\n{ACCOUNTS}[[users]]\nname = \"alice\"\nid = 1\naccounts = [\"MM1\"]\n\
         symbols = [\"BTC-.*\"]\n\
         limits = {{ lots_max = 5, notional_max = 6, open_orders_max = 7 }}\n\
         throttle = {{ orders_per_second = 8, orders_burst = 2, cancels_per_second = 9 }}\n\
         [[users]]\nname = \"bob\"\nid = 2\n[[users]]\nname = \"watcher\"\nid = 3\nsymbols = []\n"
    ));
    let rules = Rules::build(&file).expect("rules");
    let RiskRules { limits, groups } = &rules.risk;
    let may = |user, account, instrument: InstrumentId| {
        limits.permits(UserId(user), AccountId(account), groups[instrument.0 as usize])
    };
    assert!(may(1, 1, BTC_PERP) && may(1, 1, BTC_SPOT));
    assert!(!may(1, 1, TAUT) && !may(1, 2, BTC_PERP));
    assert!(may(2, 1, TAUT) && may(2, 2, BTC_PERP));
    assert!(!may(3, 1, TAUT) && !may(9, 1, TAUT));
    // A number between the accounts is nobody's.
    assert!(!may(2, 0, TAUT));
    let alice = limits.user(UserId(1)).expect("alice");
    assert_eq!((alice.lots_max, alice.notional_max), (Lots(5), Amount::whole(6)));
    assert_eq!(alice.open_orders_max, 7);
    assert_eq!(alice.rates.orders, Rate { per_second: 8, burst: 2 });
    assert_eq!(alice.rates.cancels, Rate { per_second: 9, burst: 9 });
    let hedge = limits.account(AccountId(2)).expect("HEDGE");
    assert_eq!(hedge.loss_max.to_string(), "10.5");
    assert_eq!(hedge.rates.orders, Rate { per_second: 5, burst: 5 });
    assert_eq!(accounts(&file).named(b"HEDGE"), Some(AccountId(2)));
    let said = file.explain().expect("right").join("\n");
    for words in [
        "alice may trade BTC-PERP, BTC-SPOT for MM1",
        "bob may trade BTC-PERP, BTC-SPOT, ETH-PERP, TAUT for MM1, HEDGE",
        "watcher may trade nothing",
        "touch, number 1, of user alice",
        "10.5 lost in a day",
    ] {
        assert!(said.contains(words), "'{words}' is missing in {said}");
    }
}

#[test]
fn every_mistake_of_the_limits_is_named_with_its_line() {
    let said = read(
        "user = 7\n[[users]]\nname = \"alice\"\nid = 1\naccounts = [\"MM2\"]\nsymbols = [\"(\"]\n\
         throttle = { orders_burst = 3 }\nlimits = { lots_max = -1 }\n\
         [[users]]\nname = \"alice\"\nid = 1\n[[accounts]]\nname = \"MM1\"\nid = 1\n\
         [[symbols]]\npattern = \"*\"\nlot_max = 4\n[risk]\nlots_max = -2\nnet_max = 1.5\n",
    )
    .expect_err("mistakes");
    for (line, words) in [
        ("strategies[0].user = 7", "the id of one of [[users]]: 1"),
        ("users[0].accounts[0] = MM2", "did you mean `MM1`?"),
        ("users[0].symbols[0] = (", "a regular expression"),
        ("users[0].throttle.orders_burst = 3", "beside a orders_per_second"),
        ("users[0].limits.lots_max = -1", "from 0 on"),
        ("users[1].name = alice", "no other user has"),
        ("users[1].id = 1", "no other user has"),
        ("symbols[0].pattern = *", "a regular expression"),
        ("unknown field `lot_max`", "did you mean `lots_max`?"),
        ("risk.lots_max = -2", "from 0 on"),
        ("decimal in quotes", ""),
    ] {
        let told = said.lines().find(|told| told.contains(line));
        let told = told.unwrap_or_else(|| panic!("'{line}' is missing in\n{said}"));
        assert!(told.contains(words), "{told}");
        let place = told.split_once("gateway.toml:").map(|(_, rest)| rest.split_once(':'));
        let number = place.flatten().and_then(|(number, _)| number.parse::<usize>().ok());
        assert!(number.is_some(), "no line: {told}");
    }
    assert_eq!(said.lines().count(), 11, "{said}");
}

#[test]
fn what_differs_is_told_and_what_cannot_change_is_named() {
    let old = file(ACCOUNTS);
    let between = |new: &GatewayFile| Differences::between(&old, new);
    assert_eq!(between(&old), Differences::default());
    let mut new = old.clone();
    new.risk.lots_max = 5;
    new.accounts[1].limits.loss_max = None;
    new.symbols.push(SymbolRule { pattern: "BTC".to_owned(), ..SymbolRule::default() });
    new.users.push(UserSettings { name: "alice".to_owned(), ..UserSettings::default() });
    let differences = between(&new);
    assert_eq!(differences.fixed, Vec::<String>::new());
    for words in [
        "risk.lots_max: 1000 -> 5",
        "accounts[HEDGE].limits.loss_max: \"10.5\" -> not set",
        "symbols[0].pattern: not set -> \"BTC\"",
        "users[alice].id: not set -> 0",
    ] {
        assert!(differences.free.iter().any(|it| it == words), "{words}: {differences:?}");
    }
    new.venue.as_mut().expect("the sample's").heartbeat_seconds += 1;
    new.instruments.pop();
    new.strategies[0].number = 9;
    new.accounts[0].id = 7;
    let fixed = between(&new).fixed;
    for key in ["venue.heartbeat_seconds", "accounts[MM1].id", "strategies[touch].number"] {
        assert!(fixed.iter().any(|it| it == key), "{key}: {fixed:?}");
    }
    assert!(fixed.iter().any(|key| key.starts_with("instruments[3]")), "{fixed:?}");
}
