use super::*;

fn axes(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let table: Table = toml::from_str(text).expect("TOML");
    let of = |axis: &values::Axis| {
        (axis.key(), axis.values.iter().map(|it| SweepValue::of(it).to_string()).collect())
    };
    values::axes(&table).map(|all| all.iter().map(of).collect())
}

#[test]
fn lists_and_ranges_are_values() {
    let text = "[parameters]\nrate = { from = 10, to = 30, step = 10 }\nskew = [0.5, 1]\n\
                part = { from = 0.1, to = 0.3, step = 0.1 }\n\
                [latency]\nentry_ns = { from = 100, to = 200, count = 3 }\n\
                [instruments.X]\nmaker_fee = [\"0.0001\"]\n";
    let expected = [
        ("instruments.X.maker_fee", &["0.0001"][..]),
        ("latency.entry_ns", &["100", "150", "200"]),
        ("parameters.part", &["0.1", "0.2", "0.3"]),
        ("parameters.rate", &["10", "20", "30"]),
        ("parameters.skew", &["0.5", "1"]),
    ];
    let found = axes(text).expect("axes");
    let found: Vec<_> = found
        .iter()
        .map(|(key, all)| (key.as_str(), all.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let expected: Vec<_> = expected.iter().map(|(key, all)| (*key, all.to_vec())).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_list_and_no_range_is_named() {
    for (text, what) in [
        ("rate = 5", "rate = 5: it must be a list"),
        ("rate = []", "rate: its list must have values"),
        ("rate = [1, 1]", "rate: 1 stands in its list twice"),
        ("rate = [[1]]", "rate: its list"),
        ("rate = { from = 1, to = 5 }", "rate: it must have a step above 0"),
        ("rate = { from = 1, to = 5, step = 0 }", "rate: it must have a step"),
        ("rate = { from = 5, to = 1, step = 1 }", "rate: its `to`"),
        ("rate = { from = 1, to = 5, stop = 1 }", "and no stop"),
        ("rate = { from = 1, to = \"5\", step = 1 }", "must be a number"),
        ("rate = { from = 0, to = 1e9, step = 1 }", "10000 at most"),
    ] {
        let told = axes(text).expect_err(text);
        assert!(told.contains(what), "{told}");
    }
}

const CONFIG: &str = "[[instruments]]\nsymbol = \"X\"\ntick = \"0.5\"\nlot = \"0.1\"\n\
                      [data]\nX = [\"x.npz\"]\n[parameters]\nrate = 1\nrest = 2\n";

fn sweep(over: &str) -> Result<Sweep<Table>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let [config, swept] = ["bt.toml", "sweep.toml"].map(|name| folder.path().join(name));
    std::fs::write(&config, CONFIG).expect("a file");
    std::fs::write(&swept, over).expect("a file");
    Sweep::read(&config, Some(&swept)).map_err(|error| error.to_string())
}

#[test]
fn every_value_meets_every_other_one_and_the_rest_stays() {
    let over = "parameters.rate = [1, 2]\nlatency.entry_ns = [100, 200, 300]\n\
                instruments.X.maker_fee = [\"0.001\"]";
    let sweep = sweep(over).expect("a sweep");
    assert_eq!(sweep.keys, ["instruments.X.maker_fee", "latency.entry_ns", "parameters.rate"]);
    let points: Vec<_> = sweep
        .points
        .iter()
        .map(|it| (it.file.latency.entry_ns, it.file.parameters["rate"].as_integer()))
        .collect();
    let expected = [100, 200, 300]
        .into_iter()
        .flat_map(|entry| [1, 2].into_iter().map(move |rate| (Some(entry), Some(rate))));
    assert_eq!(points, expected.collect::<Vec<_>>());
    for (at, point) in sweep.points.iter().enumerate() {
        assert_eq!(point.number, at);
        assert_eq!(point.file.parameters["rest"].as_integer(), Some(2));
        assert_eq!(point.file.instruments[0].maker_fee.as_deref(), Some("0.001"));
        assert_eq!(point.file.data, sweep.file.data);
    }
    assert!(sweep.text.contains("entry_ns") && !sweep.text.contains("x.npz"), "{}", sweep.text);
}

#[test]
fn what_cannot_be_gone_through_is_named() {
    for (over, what) in [
        ("", "nothing is gone through"),
        ("instruments.X.tick = [\"0.5\", \"1\"]", "recordings are read once"),
        ("instruments.Y.maker_fee = [\"0\"]", "instruments has none that is called Y"),
        ("latency.entry = [1]", "did you mean `entry_ns`"),
        ("timer_ms = [1, 0]", "timer_ms = 0"),
        (
            "orders = { from = 1, to = 9999, step = 1 }\n\
             sample_ms = { from = 1, to = 99, step = 1 }",
            "100000 at most",
        ),
    ] {
        let told = sweep(over).expect_err(over);
        assert!(told.contains(what), "{over}: {told}");
    }
}

#[test]
fn a_file_may_have_its_own_sweep_and_runs_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bt.toml");
    let text = format!("{CONFIG}[sweep.parameters]\nrate = [1, 2, 3]\n");
    std::fs::write(&path, text).expect("a file");
    let sweep = Sweep::<Table>::read(&path, None).expect("a sweep");
    assert_eq!((sweep.keys, sweep.points.len()), (vec!["parameters.rate".to_owned()], 3));
    let alone = BacktestFile::<Table>::read(&path).expect("a file");
    assert_eq!(alone.parameters["rate"].as_integer(), Some(1));
}

#[test]
fn the_sample_is_a_sweep() {
    let over: Table = toml::from_str(SWEEP_SAMPLE).expect("TOML");
    let counts: Vec<_> =
        values::axes(&over).expect("axes").iter().map(|it| it.values.len()).collect();
    assert_eq!(counts, [2, 2, 3]);
}
