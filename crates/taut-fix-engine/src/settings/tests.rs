use super::{SAMPLE, Settings, import_quickfix};
use crate::schedule::Days;
use jiff::civil::Weekday;
use std::path::Path;
use taut_fix::{BeginString, Precision, Role, Rules};
use taut_types::Nanos;

fn parse(text: &str, role: Role) -> Result<Settings, String> {
    Settings::parse(text, Path::new(""), role).map_err(|error| error.to_string())
}

fn failure(text: &str) -> String {
    parse(text, Role::Acceptor).expect_err(text)
}

const ONE: &str = "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"ME\"\n\
                   target_comp_id = \"VENUE\"\n";

#[test]
fn defaults_hold_for_every_session_and_their_own_keys_win() {
    let text = format!(
        "[defaults]\nheartbeat_seconds = 7\nreset_on_logon = true\n\
         schedule = {{ start = \"08:00:00\", end = \"17:00:00\", zone = \"+02:00\" }}\n\
         {ONE}heartbeat_seconds = 9\ntimestamps = \"picos\"\n\
         [sessions.schedule]\nend = \"18:00:00\"\n{}",
        ONE.replace("VENUE", "OTHER")
    );
    let settings = parse(&text, Role::Initiator).expect("settings");
    let [one, other] = &settings.sessions[..] else { panic!("two sessions") };
    assert_eq!(one.config.heartbeat_interval, Nanos::from_secs(9));
    assert_eq!(other.config.heartbeat_interval, Nanos::from_secs(7));
    assert_eq!(one.config.precision, Precision::Picos);
    assert!(one.config.reset_on_logon && other.config.reset_on_logon);
    let [one_hours, other_hours] = [one, other].map(|it| it.schedule.clone().expect("hours"));
    assert_eq!((one_hours.end.hour(), other_hours.end.hour()), (18, 17));
    assert_eq!(one_hours.zone, other_hours.zone);
    assert_eq!(one.file_name(), "FIX.4.4-ME-VENUE");
}

#[test]
fn each_check_has_a_key_of_its_own() {
    let all = Rules::ALL;
    for (key, rules) in [
        ("field_order", Rules { field_order: false, ..all }),
        ("values_present", Rules { values_present: false, ..all }),
        ("user_defined", Rules { user_defined: false, ..all }),
        ("allow_unknown_fields", Rules { allow_unknown_fields: true, ..all }),
        ("required", Rules { required: false, ..all }),
        ("formats", Rules { formats: false, ..all }),
        ("ranges", Rules { ranges: false, ..all }),
        ("group_counts", Rules { group_counts: false, ..all }),
        ("group_starts", Rules { group_starts: false, ..all }),
        ("data_lengths", Rules { data_lengths: false, ..all }),
    ] {
        let value = key == "allow_unknown_fields";
        let text = format!("{ONE}dictionary = \"FIX.4.4\"\n[sessions.validate]\n{key} = {value}\n");
        let settings =
            parse(&text, Role::Acceptor).unwrap_or_else(|error| panic!("{key}: {error}"));
        assert_eq!(settings.sessions[0].config.rules, rules, "{key}");
    }
    let text = format!("{ONE}quickfix_compatible = true\n");
    let settings = parse(&text, Role::Acceptor).expect("settings");
    assert!(settings.sessions[0].config.quickfix_compatible);
}

#[test]
fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
    let text = failure(&format!("{ONE}hearbeat_seconds = 30\n"));
    assert!(text.contains("session 1 (ME -> VENUE)"), "{text}");
    assert!(text.ends_with("did you mean `heartbeat_seconds`?"), "{text}");
    let text = failure(&format!("{ONE}[sessions.schedule]\nstrat = \"08:00:00\"\n"));
    assert!(text.ends_with("did you mean `start`?"), "{text}");
    let text = failure(&ONE.replace("sessions", "session"));
    assert!(text.ends_with("did you mean `sessions`?"), "{text}");
    let text = failure(&format!("{ONE}zzzzzzzz = 1\n"));
    assert!(!text.contains("did you mean"), "{text}");
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_without_all_the_others() {
    let two = format!("{ONE}hartbeat_seconds = 1\n{ONE}store = \"x\"\nhartbeat_seconds = 2\n");
    let meant = "unknown key `hartbeat_seconds`; did you mean `heartbeat_seconds`?";
    assert_eq!(failure(&two), format!("session 1 (ME -> VENUE): line 5: {meant}"));
    let second = two.replacen("hartbeat_seconds = 1\n", "", 1);
    assert_eq!(failure(&second), format!("session 2 (ME -> VENUE): line 10: {meant}"));
    let words = failure(&format!("{ONE}zzzzzzzzzz = 1\n"));
    assert!(
        words.contains("line 5: unknown key `zzzzzzzzzz`; known are begin_string, "),
        "{words}"
    );
    let words = failure(&format!("colour = 1\n{ONE}"));
    assert!(words.starts_with("line 1: unknown key `colour`; known are "), "{words}");
}

#[test]
fn the_dictionary_of_fix_44_needs_no_file_and_another_that_is_absent_is_told_so() {
    let of = |name: &str| {
        let text = format!("{ONE}dictionary = \"{name}\"\n");
        Settings::parse(&text, Path::new("/nowhere"), Role::Acceptor)
    };
    let settings = of("FIX.4.4").unwrap_or_else(|error| panic!("{error}"));
    assert!(settings.sessions[0].config.dictionaries.is_some());
    let words = of("FIX44.xml").expect_err("no such file").to_string();
    assert!(words.contains("/nowhere/FIX44.xml: "), "{words}");
    assert!(words.contains("built in as \"FIX.4.4\""), "{words}");
}

#[test]
fn what_is_wrong_is_named_with_its_value() {
    for (line, words) in [
        ("timestamps = \"hours\"", "timestamps \"hours\" is none of"),
        ("sync = \"often\"", "sync \"often\" is none of"),
        ("dictionary = \"/nowhere/x.xml\"", "/nowhere/x.xml"),
        ("transport_dictionary = \"/nowhere/x.xml\"", "/nowhere/x.xml"),
        ("addresses = [\"host\"]", "\"host\" is no HOST:PORT"),
        ("reconnect_seconds = -1", "reconnect_seconds -1 is not between 0.001 and 86400"),
        ("reconnect_seconds_max = nan", "reconnect_seconds_max NaN is not between"),
        ("message_bytes_max = 5", "message_bytes_max"),
        ("heartbeat_seconds = -1", "invalid value"),
        ("logon_fields = { x = \"1\" }", "\"x\" is no tag"),
        ("schedule = { start = \"25:00\", end = \"01:00:00\" }", "schedule.start \"25:00\""),
        ("schedule = { start = \"01:00\", end = \"02:00\", zone = \"Mars\" }", "\"Mars\""),
        ("schedule = { start = \"01:00\", end = \"02:00\", days = [\"x\"] }", "\"x\" is no day"),
        ("schedule = { start = \"01:00\", end = \"02:00\", start_day = \"mon\" }", "end_day"),
        ("credentials = { kind = \"deribit\", username = \"me\" }", "secret_file"),
        ("credentials = { kind = \"x\", username = \"me\", secret = \"s\" }", "\"x\" is none"),
        ("credentials = { kind = \"binance\", username = \"me\", secret = \"s\" }", "initiators"),
    ] {
        let text = failure(&format!("{ONE}{line}\n"));
        assert!(text.contains(words), "{line}: {text}");
    }
    assert!(failure("").contains("no [[sessions]]"));
    assert!(failure("x = [").contains("TOML"), "{}", failure("x = ["));
    assert!(failure(&format!("{ONE}{ONE}")).contains("same identity"));
    assert!(failure(&ONE.replace("FIX.4.4", "FIX.9")).contains("FIX.9"));
    assert!(failure(&ONE.replace("FIX.4.4", "FIXT.1.1")).contains("default_appl_ver_id"));
    let star = ONE.replace("VENUE", "*");
    assert!(parse(&star, Role::Initiator).is_err());
    assert!(parse(&star, Role::Acceptor).expect("a dynamic one").sessions[0].is_dynamic);
}

#[test]
fn no_two_sessions_share_a_file() {
    let name = |us: &str, them: &str| {
        let text = format!(
            "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"{us}\"\n\
             target_comp_id = \"{them}\"\n"
        );
        let settings = parse(&text, Role::Acceptor).unwrap_or_else(|error| panic!("{error}"));
        settings.sessions[0].file_name()
    };
    let names = [
        name("A", "B"),
        name("A", "B-C"),
        name("A-B", "C"),
        name("A", "B_C"),
        name("A", "B/C"),
        name("A", "B C"),
        name("A", "B%2FC"),
    ];
    for (at, one) in names.iter().enumerate() {
        let is_safe = |c: char| c.is_ascii_alphanumeric() || ".-_%".contains(c);
        assert!(one.chars().all(is_safe), "{one}");
        assert!(!names[..at].contains(one), "{one}");
    }
}

#[test]
fn the_sample_has_every_key_and_its_defaults_are_the_defaults() {
    let bare = parse(ONE, Role::Initiator).expect("settings");
    let sample = parse(SAMPLE, Role::Initiator).expect("the sample");
    assert_eq!(format!("{:?}", bare.sessions[0].config), {
        format!("{:?}", sample.sessions[0].config)
    });
    // All keys that need no file, and no other key, with the values that they show.
    let needs = ["dictionary", "transport_dictionary", "default_appl_ver_id", "days"];
    let keys = SAMPLE.split("#[sessions.credentials]").next().unwrap_or_default().lines();
    let keys = keys.filter(|line| !needs.iter().any(|key| line.starts_with(&format!("#{key} "))));
    let is_key =
        |line: &str| line.as_bytes().get(1).is_some_and(|byte| !byte.is_ascii_whitespace());
    let all: Vec<_> = keys
        .map(|line| line.strip_prefix('#').filter(|_| is_key(line)).unwrap_or(line))
        .filter(|line| !line.starts_with("# "))
        .collect();
    let full = parse(&all.join("\n"), Role::Initiator).expect("the sample with every key");
    assert_eq!(format!("{:?}", bare.sessions[0].config), {
        format!("{:?}", full.sessions[0].config)
    });
    let limits = |of: &Settings| {
        let it = &of.sessions[0];
        let times = [it.reconnect_min, it.reconnect_max, it.connect_timeout];
        (times, it.retention, it.rotation, it.sync, it.waiting_bytes_max, it.msg_type_anywhere)
    };
    assert_eq!(limits(&bare), limits(&full));
    let of_acceptor = |of: &Settings| (of.failed_logons_per_minute, of.dynamic_sessions_max);
    assert_eq!(of_acceptor(&bare), of_acceptor(&full));
    // A key that the reader knows and the sample lacks is forgotten documentation.
    for table in ["", "[sessions.validate]\n", "[sessions.schedule]\n", "[sessions.tls]\n"] {
        let known = failure(&format!("{ONE}{table}zzzzzzzz = 1\n"));
        let known = known.split_once("; known are ").map_or("", |(_, known)| known);
        let known: Vec<_> = known.split(", ").collect();
        assert!(known.len() > 3, "{known:?}");
        for key in known {
            let is_there = |prefix: &str| SAMPLE.contains(&format!("\n{prefix}{key}"));
            assert!(is_there("") || is_there("#") || is_there("#[sessions."), "{key}");
        }
    }
}

#[test]
fn secrets_do_not_show() {
    let text = format!(
        "{ONE}credentials = {{ kind = \"password\", username = \"me\", secret = \"hush\" }}\n"
    );
    let settings = parse(&text, Role::Initiator).expect("settings");
    assert!(!format!("{settings:?}").contains("hush"));
    assert!(!format!("{:?}", settings.sessions[0].credentials).contains("hush"));
}

#[test]
fn a_quickfix_file_becomes_ours() {
    let theirs = "\u{feff}# a client\n[default]\nConnectionType=initiator\nReconnectInterval=5\n\
        FileStorePath=store\nFileStoreSync=Y\nStartTime=17:00:00\nEndTime=17:00:00\n\
        StartDay=Sunday\nEndDay=Friday\nTimeZone=America/New_York\nMaxLatency=60\n\
        ScreenLogShowEvents=Y\n\n[SESSION]\nBeginString=FIX.4.2\nSenderCompID=ME\n\
        TargetCompID=VENUE\nHeartBtInt=20\nSocketConnectHost=a.example\nSocketConnectPort=9880\n\
        SocketConnectHost1=b.example\nSocketConnectPort1=9881\nResetOnLogon=Y\n\
        ValidateUserDefinedFields=N\nMillisecondsInTimeStamp=N\n\n[SESSION]\n\
        BeginString=FIXT.1.1\nDefaultApplVerID=FIX.5.0SP2\nSenderCompID=ME\nTargetCompID=OTHER\n\
        HeartBtInt=30\nNonStopSession=Y\nSocketConnectHost=c.example\nSocketConnectPort=1\n\
        CheckLatency=N\n";
    let ours = import_quickfix(theirs).expect("ours");
    assert!(ours.contains("# not carried over: ScreenLogShowEvents=Y"), "{ours}");
    let settings = parse(&ours, Role::Initiator).unwrap_or_else(|error| panic!("{error}\n{ours}"));
    let [first, second] = &settings.sessions[..] else { panic!("two sessions") };
    assert_eq!(first.config.begin, BeginString::Fix42);
    assert_eq!(first.config.heartbeat_interval, Nanos::from_secs(20));
    assert_eq!(first.config.sending_time_tolerance, Nanos::from_secs(60));
    assert_eq!(first.config.precision, Precision::Seconds);
    assert!(first.config.reset_on_logon && !first.config.rules.user_defined);
    assert_eq!(first.addresses, ["a.example:9880", "b.example:9881"]);
    assert_eq!(first.reconnect_min, Nanos::from_secs(5));
    let hours = first.schedule.as_ref().expect("hours");
    let week = Days::Weekly { start: Weekday::Sunday, end: Weekday::Friday };
    assert_eq!(hours.days, week);
    assert_eq!(second.config.default_application_version, Some(b'9'));
    assert_eq!(second.config.sending_time_tolerance, Nanos::ZERO);
    assert!(second.schedule.is_none());
}

#[test]
fn a_broken_quickfix_file_is_refused_by_line() {
    for (theirs, words) in [
        ("[SESSION]\nnonsense\n", "line 2"),
        ("[SESSIONS]\n", "line 1"),
        ("[DEFAULT]\n", "no [SESSION]"),
        ("[SESSION]\nHeartBtInt=soon\n", "HeartBtInt=soon"),
        ("[SESSION]\nResetOnLogon=maybe\n", "ResetOnLogon=maybe"),
    ] {
        let text = import_quickfix(theirs).expect_err(theirs).to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn tls_of_a_quickfix_file_is_carried_over_or_explained() {
    let with = |more: &str| {
        let text = format!(
            "[SESSION]\nBeginString=FIX.4.4\nSenderCompID=ME\nTargetCompID=VENUE\n\
             SocketConnectHost=fix.example.com\nSocketConnectPort=9880\n{more}"
        );
        import_quickfix(&text).expect("settings")
    };
    assert!(!with("").contains("tls"));
    assert!(with("SocketUseSSL=Y\n").contains("\ntls = true\n"));
    let off = with("SocketUseSSL=N\nSocketCAFile=ca.pem\n");
    assert!(!off.contains("[sessions.tls]") && off.contains("# not carried over: SocketCAFile"));
    let go = with(
        "SocketUseSSL=Y\nSocketCertificateFile=c.pem\nSocketPrivateKeyFile=k.pem\n\
         SocketCAFile=ca.pem\nSocketServerName=venue\nSocketInsecureSkipVerify=Y\n",
    );
    for line in ["certificate = \"c.pem\"", "key = \"k.pem\"", "ca = \"ca.pem\"", "\"venue\""] {
        assert!(go.split("[sessions.tls]").nth(1).is_some_and(|tls| tls.contains(line)), "{go}");
    }
    assert!(go.contains("SocketInsecureSkipVerify=Y (the acceptor's certificate is always"));
    let cpp = with("ClientCertificateFile=c.pem\nCertificationAuthoritiesFile=ca.pem\n");
    assert!(cpp.contains("[sessions.tls]") && cpp.contains("ca = \"ca.pem\""), "{cpp}");
    let java = with("SocketUseSSL=Y\nSocketKeyStore=x.jks\nSocketKeyStorePassword=hush\n");
    assert!(java.contains("SocketKeyStore=x.jks (export") && !java.contains("hush"), "{java}");
}

#[test]
fn tls_that_does_not_hold_together_is_named() {
    let tls = |tls: &str, role| {
        let parsed = parse(&format!("{ONE}addresses = [\"a:1\"]\n{tls}\n"), role);
        parsed.expect_err(tls)
    };
    for (text, role, words) in [
        ("tls = 7", Role::Initiator, "invalid type"),
        ("tls = { cert = \"x\" }", Role::Initiator, "did you mean"),
        ("tls = { ca = \"/nowhere/ca.pem\" }", Role::Initiator, "tls.ca: /nowhere/ca.pem"),
        ("tls = { ca = \"/dev/null\" }", Role::Initiator, "ca (/dev/null) is no PEM file"),
        ("tls = { key = \"x\", ca = \"/dev/null\" }", Role::Initiator, "certificate and key"),
        ("tls = true", Role::Acceptor, "an acceptor needs certificate and key"),
        ("tls = { server_name = \"x\" }", Role::Acceptor, "server_name is for initiators"),
    ] {
        let told = tls(text, role);
        assert!(told.contains(words), "{text}: {told}");
    }
    let other = ONE.replace("VENUE", "OTHER");
    let mixed = format!("{ONE}tls = true\n{other}");
    assert!(failure(&mixed).contains("put it into [defaults]"), "{}", failure(&mixed));
    assert!(parse(&format!("{ONE}tls = false\n"), Role::Acceptor).expect("none").tls.is_none());
}
