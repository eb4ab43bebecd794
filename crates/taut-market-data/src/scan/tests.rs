//! Texts, and what is read in them.

use super::*;

#[test]
fn finds_the_first_quote_or_backslash_wherever_it_stands() {
    for len in 0..20 {
        for at in 0..len {
            for byte in [b'"', b'\\', 0, b'\n', 0x1f, 0x80, 0xff] {
                let mut text = std::vec![b'!'; len];
                text[at] = byte;
                assert_eq!(special(&text), at);
                text[len - 1] = b'"';
                assert_eq!(special(&text), at);
            }
        }
        assert_eq!(special(&std::vec![b' '; len]), len);
        assert_eq!(special(&std::vec![0x7f; len]), len);
    }
}

#[test]
fn a_key_is_read_whatever_its_escapes_are() {
    let read = |text: &str| {
        let mut room = [0; 32];
        Scanner::new(text.as_bytes()).key(&mut room).map(<[u8]>::to_vec)
    };
    for (text, key) in [
        (r#""u":"#, &b"u"[..]),
        (r#""\u0075":"#, b"u"),
        (r#""lastUpd\u0061teId":"#, b"lastUpdateId"),
        (r#""\/\"\\":"#, b"/\"\\"),
        (r#""\u007E":"#, b"~"),
        (r#""\u00e9":"#, "\u{e9}".as_bytes()),
        (r#""\n":"#, b"\n"),
        // Longer than any that is looked for.
        (r#""\u0061aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":"#, b""),
    ] {
        assert_eq!(read(text).as_deref(), Some(key), "{text}");
    }
    for text in ["", "\"", r#""\u0075"#, r#""\"#, r#""\u0075" 1"#, r#""\u00g5":"#] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn skips_every_kind_of_value_and_nothing_behind_it() {
    for value in [
        "1",
        "-1.5e9",
        "true",
        "null",
        "\"\"",
        "\"a\\\"]\\\\\"",
        "[]",
        "{}",
        "[1,[2,{\"a\":[]}]]",
        "{ \"a\" : \"}\" , \"b\" : [ 1 ] }",
    ] {
        let text = std::format!("{value}, 7");
        let mut scanner = Scanner::new(text.as_bytes());
        assert_eq!(scanner.skip_value(), Some(()));
        assert_eq!(scanner.take(b','), Some(()), "{value}");
        assert_eq!(scanner.number(), Some(7));
        assert!(scanner.is_at_end());
    }
    for value in ["", "\"", "\"\\", "[", "{\"a\"", "]", ",", "[[1]"] {
        assert!(Scanner::new(value.as_bytes()).skip_value().is_none(), "{value}");
    }
}

/// Everything that skips what is no JSON would take a frame that is cut or rotten for a whole
/// one.
#[test]
fn skips_nothing_that_is_no_json() {
    for value in [
        "[}",
        "{]",
        "[1 2]",
        "[1,]",
        "[,1]",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" 1}",
        "[1:2]",
        "tru",
        "nul",
        "True",
        "x",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "[0x1]",
        "[1.2.3]",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u12\"",
        "\"\u{1}\"",
        "\"a\nb\"",
        "[NaN]",
    ] {
        let text = std::format!("{value},");
        let mut scanner = Scanner::new(text.as_bytes());
        let skipped = scanner.skip_value().and_then(|()| scanner.take(b','));
        assert!(skipped.is_none(), "{value}");
    }
    for text in [&b"\"\xff\","[..], b"\"\xc3\",", b"\"\xed\xa0\x80\",", b"\"\xc0\xaf\","] {
        assert!(Scanner::new(text).skip_value().is_none(), "{text:?}");
    }
    let deep = |depth: usize| {
        let text = std::format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        Scanner::new(text.as_bytes()).skip_value().is_some()
    };
    assert!(deep(128) && !deep(130));
    for value in
        ["-0.5e-3", "\"\\u00e9\\ud83d\\ude00\"", "\"\u{e9}\u{1f600}\"", "[{\"a\":[{}]},{}]"]
    {
        let mut scanner = Scanner::new(value.as_bytes());
        assert!(scanner.skip_value().is_some() && scanner.is_at_end(), "{value}");
    }
}

#[test]
fn a_string_with_escapes_is_given_as_it_reads() {
    let mut room = [0; 16];
    for (written, read) in [
        (r#""plain""#, "plain"),
        (r#""\u0042T\u0043""#, "BTC"),
        (r#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\ud83d\ude00\u00e9""#, "\u{1f600}\u{e9}"),
        ("\"\u{e9}\\u0041\"", "\u{e9}A"),
    ] {
        let text = std::format!(" {written}:");
        let mut scanner = Scanner::new(text.as_bytes());
        assert_eq!(scanner.unescaped(&mut room), Some(read.as_bytes()), "{written}");
        assert_eq!(scanner.take(b':'), Some(()));
        let mut scanner = Scanner::new(text.as_bytes());
        assert_eq!(scanner.key(&mut room), Some(read.as_bytes()), "{written} as a key");
    }
    for written in [
        r#""\ud83d""#,
        r#""\ud83dx""#,
        r#""\ude00""#,
        r#""\q""#,
        "\"\u{1}\"",
        "\"seventeen letters\"",
    ] {
        assert!(Scanner::new(written.as_bytes()).unescaped(&mut room).is_none(), "{written}");
    }
}

#[test]
fn a_number_is_an_integer_of_64_bits() {
    for value in [0, 7, 12_345_678, 123_456_789, 5_123_107_837_557, 1 << 53, u64::MAX] {
        for behind in ["", ",", ", 12345678901234567890"] {
            let text = std::format!("{value}{behind}");
            assert_eq!(Scanner::new(text.as_bytes()).number(), Some(value), "{text}");
        }
    }
    for text in ["18446744073709551616", "-1", "01", "1.0", "1e3", "", "x", "\"1\""] {
        assert!(Scanner::new(text.as_bytes()).number().is_none(), "{text}");
    }
}

#[test]
fn a_decimal_is_exact_with_and_without_an_exponent() {
    for (text, decimals, value) in [
        ("0.0015", 9, 1_500_000),
        ("4714.0", 1, 47_140),
        ("4714.0", 0, 4_714),
        ("2.288e-5", 9, 22_880),
        ("1e-7", 9, 100),
        ("1E+3", 0, 1_000),
        ("-2.5e1", 1, -250),
        ("-0.0005", 9, -500_000),
        ("0e-99", 9, 0),
        ("1.50000000000000000000", 1, 15),
        ("9223372036854775807", 0, i64::MAX),
        ("-9.223372036854775808e18", 0, i64::MIN),
    ] {
        for behind in ["", ",1", "]", "}", " "] {
            let text = std::format!("{text}{behind}");
            let mut scanner = Scanner::new(text.as_bytes());
            assert_eq!(scanner.decimal(decimals), Some(value), "{text}");
            assert_eq!(scanner.rest(), behind.as_bytes());
        }
    }
    for (text, decimals) in [
        ("1e-10", 9),
        ("0.00000000015", 9),
        ("9223372036854775808", 0),
        ("1e19", 0),
        ("1e999999999999", 0),
        ("1e", 0),
        ("e5", 0),
        ("-", 0),
        (".5", 1),
        ("\"1\"", 0),
        ("null", 0),
        ("", 0),
    ] {
        assert_eq!(Scanner::new(text.as_bytes()).decimal(decimals), None, "{text}");
    }
}

#[test]
fn objects_and_arrays_are_visited_value_by_value() {
    let mut scanner = Scanner::new(b" { \"a\" : [1, 2,3], \"bc\":{} , \"d\":[] } 7");
    let mut seen = std::vec::Vec::new();
    scanner.object(|scanner, key| {
        if scanner.peek()? == b'[' {
            scanner.array(|scanner| scanner.number().map(|number| seen.push(number)))
        } else {
            assert_eq!(key, b"bc");
            scanner.object(|_, _| None)
        }
    });
    assert_eq!((seen.as_slice(), scanner.number()), (&[1, 2, 3][..], Some(7)));
    for text in ["{", "{}", "{\"a\":1,}", "{\"a\":1", "{\"a\"}", "[1]", "{1:1}"] {
        let read = Scanner::new(text.as_bytes()).object(|scanner, _| scanner.skip_value());
        assert_eq!(read.is_some(), text == "{}", "{text}");
    }
    let mut scanner = Scanner::new(b",\"a\":{\"b\":[]}, \"c\":1}}7");
    assert!(scanner.finish_object().and(scanner.finish_object()).is_some());
    assert_eq!(scanner.rest(), b"7");
}
