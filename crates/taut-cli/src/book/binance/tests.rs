use super::*;

fn compared(text: impl AsRef<[u8]>) -> Result<Verdict, Failure> {
    compare(&Capture::of("f", text.as_ref()), None)
}

const SPOT: &str = r#"1 {"stream":"x@depth@100ms","data":{"U":8,"u":9,"b":[["10.1","5"]],"a":[]}}
2 {"stream":"x@depth@100ms","data":{"U":10,"u":12,"b":[["10.0","2"],["9.0","0"]],"a":[["11","1"]]}}
3 {"stream":"x@bookTicker","data":{"u":12,"s":"X","b":"10.00","B":"2.0","a":"11.00","A":"1.0"}}
4 {"lastUpdateId":10,"bids":[["10","1"],["9","4"]],"asks":[["11.00000000","0.5"]]}
5 {"stream":"x@trade","data":{"p":"10"}}
6 {"result":null,"id":1}
7 {"stream":"x@depth@100ms","data":{"U":13,"u":13,"b":[["10","0"],["8","7"]],"a":[]}}
8 {"stream":"x@bookTicker","data":{"u":13,"s":"X","b":"8","B":"7","a":"11.00","A":"1.0"}}
9 {"stream":"x@depth@100ms","data":{"U":14,"u":15,"b":[["7","1"]],"a":[]}}
"#;

#[test]
fn updates_from_before_the_snapshot_are_joined_and_tickers_may_come_late() {
    let verdict = compared(SPOT.as_bytes()).unwrap();
    assert_eq!((verdict.states, verdict.equal, verdict.first_mismatch), (3, 3, None));
    assert_eq!(verdict.within_update, Some(Within { states: 2, equal: 2 }));
}

#[test]
fn an_altered_ticker_is_a_mismatch_of_the_frame_before_it() {
    let altered = SPOT.replace(r#""u":13,"s":"X","b":"8""#, r#""u":13,"b":"8.1""#);
    let verdict = compared(altered.as_bytes()).unwrap();
    assert_eq!((verdict.equal, verdict.first_mismatch), (1, Some(7)));
    assert_eq!(verdict.reasons.get(UNEXPLAINED), Some(&2));
    assert_eq!(verdict.mismatches[0].book, "7.00000000@8 / 1.00000000@11");
}

#[test]
fn a_lost_frame_is_named_as_the_reason() {
    let lines: Vec<_> = SPOT.lines().filter(|line| !line.starts_with('7')).collect();
    let verdict = compared(lines.join("\n").as_bytes()).unwrap();
    assert_eq!(verdict.reasons.get(GAP), Some(&1));
}

#[test]
fn a_best_price_behind_the_levels_of_the_snapshot_is_no_fault() {
    const BIDS: &str = r#"["10","1"],["9","1"],["8","1"],["7","1"],["6","1"]"#;
    let capture = |bids: &str| {
        let gone = BIDS.replace("\"1\"", "\"0\"");
        format!(
            r#"1 {{"lastUpdateId":10,"bids":[{bids}],"asks":[["11","1"]]}}
2 {{"stream":"x@depth@0ms","data":{{"U":11,"u":11,"b":[{gone}],"a":[]}}}}
3 {{"stream":"x@bookTicker","data":{{"u":11,"b":"5","B":"1","a":"11","A":"1"}}}}
"#
        )
    };
    let verdict = compared(capture(BIDS)).unwrap();
    assert_eq!(verdict.reasons.into_iter().collect::<Vec<_>>(), [(BEYOND, 1)]);
    // The offers are known, however little is known of the bids.
    let wrong = capture(BIDS).replace(r#""A":"1""#, r#""A":"2""#);
    assert_eq!(
        compared(wrong).unwrap().reasons.into_iter().collect::<Vec<_>>(),
        [(UNEXPLAINED, 1)]
    );
    // Four levels are no number that can be asked for: there were no more. Unless it is said.
    let four = capture(BIDS.strip_suffix(r#",["6","1"]"#).expect("five"));
    assert_eq!(compared(&four).unwrap().reasons.get(UNEXPLAINED), Some(&1));
    let limited = |limit| compare(&Capture::of("f", four.as_bytes()), Some(limit)).unwrap();
    assert_eq!(limited(4).reasons.get(BEYOND), Some(&1));
    assert_eq!(limited(5).reasons.get(UNEXPLAINED), Some(&1));
}

#[test]
fn futures_frames_are_joined_by_their_previous_id() {
    const FUTURES: &str = r#"1 {"lastUpdateId":10,"bids":[["10","1"]],"asks":[["11","1"]]}
2 {"stream":"x@depth@0ms","data":{"U":4,"u":12,"pu":2,"b":[],"a":[]}}
3 {"stream":"x@depth@0ms","data":{"U":20,"u":21,"pu":12,"b":[],"a":[]}}
4 {"stream":"x@bookTicker","data":{"u":11,"b":"10","B":"1","a":"11","A":"2"}}
"#;
    let frame = |pu: u64| FUTURES.replace(r#""pu":12"#, &format!("\"pu\":{pu}"));
    assert_eq!(compared(frame(12).as_bytes()).unwrap().reasons.get(GAP), None);
    assert_eq!(compared(frame(13).as_bytes()).unwrap().reasons.get(GAP), Some(&1));
}

#[test]
fn names_the_line_of_what_is_wrong_and_never_panics() {
    for (line, what) in [
        ("1", "expected a receive time"),
        ("x {}", "expected a receive time in nanoseconds"),
        ("1 {", "JSON of the documented shape is expected at byte 1"),
        ("1 []", "JSON of"),
        (r#"1 {"stream":"x@depth","data":{"U":9,"u":8,"b":[],"a":[]}}"#, "a first id U"),
        (
            r#"1 {"stream":"x@depth","data":{"U":1,"u":8,"b":[["x","1"]],"a":[]}}"#,
            "a price above zero",
        ),
        (r#"1 {"stream":"x@depth","data":{"U":1,"u":8,"b":[["1","-1"]],"a":[]}}"#, "a size"),
        (r#"1 {"stream":"x@bookTicker","data":{"u":-1}}"#, "a field \"u\""),
    ] {
        let Err(Failure::Usage(told)) = compared(format!("1 {{}}\n{line}\n").as_bytes()) else {
            panic!("accepted: {line}")
        };
        assert!(told.starts_with(&format!("f:2: {what}")), "{told}");
    }
    let Err(Failure::Usage(told)) = compared(b"1 {}\n") else { panic!("no snapshot") };
    assert!(told.contains("no snapshot"));
    for cut in 0..SPOT.len() {
        let _ = compared(&SPOT.as_bytes()[..cut]);
    }
}
