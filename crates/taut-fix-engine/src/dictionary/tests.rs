//! The dictionaries at hand, and broken ones.

use std::path::{Path, PathBuf};

use taut_fix::{DataTags, Dictionary, Fault, FieldIndex, Framed, RejectReason, Rules, frame};

use crate::dictionary::{DictionaryError, load, parse};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/dictionaries");

/// A dictionary of the folder; `None`, with a notice, when it is not there.
fn dictionary(name: &str) -> Option<Dictionary> {
    let path: PathBuf = Path::new(FOLDER).join(name);
    if !path.is_file() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(load(&path).expect("the dictionary"))
}

fn check(dictionary: &Dictionary, body: &str, rules: Rules) -> Result<(), Fault> {
    let body = body.replace('|', "\x01");
    let mut text = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = text.bytes().fold(0u8, u8::wrapping_add);
    text += &format!("10={sum:03}\x01");
    let Ok(Framed::Message(frame)) = frame(text.as_bytes(), 1 << 16) else { panic!("{text}") };
    let mut index = FieldIndex::with_capacity(256);
    index.fill_with(&frame, dictionary.data_tags()).expect("fields");
    dictionary.check(frame.bytes(), index.slots(), rules)
}

const HEADER: &str = "34=2|49=TW|52=20240229-12:34:56|56=ISLD|";
const ORDER: &str = "11=a|21=1|40=1|54=1|55=X|60=20240229-12:34:56|";

#[test]
fn both_dictionaries_at_hand_are_read() {
    for (name, version, messages) in [("FIX42.xml", "FIX.4.2", 46), ("FIX44.xml", "FIX.4.4", 93)] {
        let Some(dictionary) = dictionary(name) else { return };
        assert_eq!(dictionary.version(), version);
        assert_eq!(dictionary.sizes().1, messages, "{name}");
        assert_eq!(dictionary.field_name(55), Some("Symbol"));
        assert_eq!(dictionary.value_name(54, b"1"), Some("BUY"));
        assert_eq!(dictionary.message_name(b"D"), Some("NewOrderSingle"));
        assert_eq!(dictionary.is_admin(b"A"), Some(true));
        assert_eq!(dictionary.is_admin(b"?"), None);
        assert_eq!(dictionary.tag_of("ClOrdID"), Some(11));
    }
}

#[test]
fn each_fault_is_named_with_its_tag() {
    let Some(dictionary) = dictionary("FIX44.xml") else { return };
    use RejectReason as R;
    let wrong = |body: &str| {
        let fault = check(&dictionary, body, Rules::ALL).expect_err(body);
        (fault.reason, fault.tag)
    };
    assert_eq!(check(&dictionary, &format!("35=D|{HEADER}{ORDER}"), Rules::ALL), Ok(()));
    for (extra, expected) in [
        ("999=x|", (R::InvalidTagNumber, Some(999))),
        ("0=x|", (R::InvalidTagNumber, Some(0))),
        ("-1=x|", (R::InvalidTagNumber, Some(-1))),
        ("5000=x|", (R::InvalidTagNumber, Some(5000))),
        ("112=x|", (R::TagNotDefinedForMessage, Some(112))),
        ("58=|", (R::TagWithoutValue, Some(58))),
        ("167=BOO|", (R::ValueIncorrect, Some(167))),
        ("38=+1|", (R::IncorrectDataFormat, Some(38))),
        ("55=Y|", (R::TagAppearsTwice, Some(55))),
        ("386=3|336=1|336=2|", (R::GroupCountIncorrect, Some(386))),
        ("386=2|336=1|", (R::GroupCountIncorrect, Some(386))),
        ("386=0|336=1|", (R::GroupCountIncorrect, Some(386))),
        ("453=1|448=a|802=2|523=s|803=1|", (R::GroupCountIncorrect, Some(802))),
        ("453=1|448=a|802=1|523=s|803=x|", (R::IncorrectDataFormat, Some(803))),
        // Where a count and a value are wrong, the count is told.
        ("453=1|448=a|802=2|523=s|803=x|", (R::GroupCountIncorrect, Some(802))),
        ("453=2|448=a|802=2|523=s|803=x|", (R::GroupCountIncorrect, Some(453))),
        ("453=1|447=D|", (R::GroupOutOfOrder, Some(447))),
        ("453=2|448=a|447=D|447=D|", (R::GroupOutOfOrder, Some(447))),
        ("453=1|448=a|802=2|803=1|523=s|", (R::GroupOutOfOrder, Some(803))),
        ("34=3|", (R::TagOutOfOrder, Some(34))),
        // Data whose length does not end at a delimiter.
        ("354=2|355=abc|", (R::ValueIncorrect, Some(354))),
        ("354=4|355=abc|58=x|", (R::ValueIncorrect, Some(354))),
        ("354=99999999999999999999|355=abc|", (R::ValueIncorrect, Some(354))),
        ("354=x|355=abc|", (R::IncorrectDataFormat, Some(354))),
    ] {
        assert_eq!(wrong(&format!("35=D|{HEADER}{ORDER}{extra}")), expected, "{extra}");
    }
    for (field, tag) in [("8=FIX.4.4|", 8), ("9=5|", 9)] {
        let body = format!("35=D|{field}{HEADER}{ORDER}");
        assert_eq!(wrong(&body), (R::TagAppearsTwice, Some(tag)), "a second one");
    }
    assert_eq!(wrong(&format!("35=*|{HEADER}")), (R::InvalidMsgType, None));
    assert_eq!(wrong("35=0|34=2|49=TW|52=20240229-12:34:56|"), (R::RequiredTagMissing, Some(56)));
    assert_eq!(wrong(&format!("35=D|{HEADER}21=1|")), (R::RequiredTagMissing, Some(11)));
}

#[test]
fn each_check_can_be_switched_off() {
    let Some(dictionary) = dictionary("FIX44.xml") else { return };
    for (extra, rules) in [
        ("5000=x|", Rules { user_defined: false, ..Rules::ALL }),
        ("112=x|", Rules { allow_unknown_fields: true, ..Rules::ALL }),
        ("999=x|", Rules { allow_unknown_fields: true, ..Rules::ALL }),
        ("58=|", Rules { values_present: false, ..Rules::ALL }),
        ("167=BOO|", Rules { ranges: false, ..Rules::ALL }),
        ("38=+1|", Rules { formats: false, ..Rules::ALL }),
        ("386=3|336=1|", Rules { group_counts: false, ..Rules::ALL }),
        ("453=1|447=D|", Rules { group_starts: false, ..Rules::ALL }),
        ("354=2|355=abc|", Rules { data_lengths: false, ..Rules::ALL }),
        ("122=20240229-12:34:56|", Rules { field_order: false, ..Rules::ALL }),
    ] {
        let body = format!("35=D|{HEADER}{ORDER}{extra}");
        assert!(check(&dictionary, &body, Rules::ALL).is_err(), "{extra}");
        assert_eq!(check(&dictionary, &body, rules), Ok(()), "{extra}");
    }
    let body = format!("35=D|{HEADER}");
    assert_eq!(check(&dictionary, &body, Rules { required: false, ..Rules::ALL }), Ok(()));
}

#[test]
fn data_has_the_length_that_stands_before() {
    let Some(dictionary) = dictionary("FIX44.xml") else { return };
    let order = |extra: &str| format!("35=D|{HEADER}{ORDER}{extra}");
    let leg = |data: &str| format!("35=c|{HEADER}320=r|321=0|555=1|600=a|{data}");
    for body in [
        order("354=3|355=abc|"),
        order("354=3|355=a|c|58=x|"),
        order("93=2|89=a||"),
        leg("621=2|622=|||"),
        // Nothing says how long it is.
        order("355=abc|"),
    ] {
        assert_eq!(check(&dictionary, &body, Rules::ALL), Ok(()), "{body}");
    }
    let lenient = Rules { allow_unknown_fields: true, ..Rules::ALL };
    for (body, length) in [
        (format!("35=D|{HEADER}212=3|213=<a/>|{ORDER}"), 212),
        (order("93=2|89=abc|"), 93),
        (leg("621=1|622=abc|"), 621),
        // RawData is none of an order's fields.
        (order("95=2|96=abc|"), 95),
    ] {
        let fault = check(&dictionary, &body, lenient).expect_err(&body);
        assert_eq!((fault.reason, fault.tag), (RejectReason::ValueIncorrect, Some(length)));
    }
}

#[test]
fn groups_may_nest_and_be_empty() {
    let Some(dictionary) = dictionary("FIX44.xml") else { return };
    for extra in [
        "386=0|",
        "386=2|336=1|625=2|336=3|",
        "453=2|448=a|447=D|802=2|523=s|803=1|523=t|448=b|",
        "453=0|386=1|336=x|",
    ] {
        let body = format!("35=D|{HEADER}{ORDER}{extra}58=end|");
        assert_eq!(check(&dictionary, &body, Rules::ALL), Ok(()), "{extra}");
    }
}

#[test]
fn says_where_a_dictionary_is_wrong() {
    let fields = "<fields><field number='35' name='MsgType' type='STRING'/></fields>";
    let whole = |inner: &str| {
        format!("<fix major='4' minor='4'>{inner}<header/><trailer/><messages/></fix>")
    };
    assert!(parse(&whole(fields)).is_ok());
    let undefined = "<messages>\n<message name='m' msgtype='U' msgcat='app'>\n<field name='No'/>\
        </message></messages>";
    let endless = "<components><component name='c'><component name='c'/></component></components>";
    let endless = whole(&format!("{fields}{endless}"))
        .replace("<header/>", "<header><component name='c'/></header>");
    for (text, expected) in [
        (String::from("<fix"), 1),
        (String::from("<fix/>"), 1),
        (whole(""), 1),
        (whole("\n<fields><field number='x' name='a' type='INT'/></fields>"), 2),
        (whole("<fields>\n<field number='1' type='INT'/></fields>"), 2),
        (whole(&format!("{fields}\n")).replace("<messages/>", undefined), 4),
        (endless, 1),
    ] {
        match parse(&text) {
            Err(DictionaryError::Wrong { line, .. }) => assert_eq!(line, expected, "{text}"),
            other => panic!("{other:?} of {text}"),
        }
    }
}

#[test]
fn the_standards_data_fields_need_no_dictionary_of_their_own() {
    for name in ["FIX42.xml", "FIX44.xml"] {
        let Some(dictionary) = dictionary(name) else { return };
        assert_eq!(dictionary.data_tags(), DataTags::STANDARD, "{name}");
    }
}
