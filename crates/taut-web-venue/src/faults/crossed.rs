//! Changes of books that cross them.

/// The same change with one level more: a bid at twice a price that is in it, in whole units.
/// Nothing of what is no change of a book, in JSON, with a price in it.
pub(super) fn crossed(text: &str) -> Option<String> {
    let (bids, is_binance) = if text.contains("\"e\":\"depthUpdate\"") {
        ("\"b\":[", true)
    } else if text.contains("\"channel\":\"book.") && text.contains("\"type\":\"change\"") {
        ("\"bids\":[", false)
    } else {
        return None;
    };
    let price = (2 * first_price(text)?).max(1);
    let level = match is_binance {
        true => format!("[\"{price}.00000000\",\"1.00000000\"]"),
        false => format!("[\"new\",{price}.0,1000000.0]"),
    };
    let at = text.find(bids)? + bids.len();
    let (before, behind) = text.split_at_checked(at)?;
    let comma = if behind.starts_with(']') { "" } else { "," };
    Some(format!("{before}{level}{comma}{behind}"))
}

/// The whole units of the first level's price: of an offer, if there is one.
fn first_price(text: &str) -> Option<u64> {
    let sides = ["\"a\":[[", "\"asks\":[[", "\"b\":[[", "\"bids\":[["];
    let level = sides.iter().find_map(|side| text.split_once(side))?.1;
    let digits = level.trim_start_matches(|it: char| !it.is_ascii_digit());
    digits.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_a_bid_above_its_offers_and_nothing_else_has() {
        for (was, is) in [
            (
                r#"{"e":"depthUpdate","b":[],"a":[["43000.50","2"]]}"#,
                r#"{"e":"depthUpdate","b":[["86000.00000000","1.00000000"]],"a":[["43000.50","2"]]}"#,
            ),
            (
                r#"{"channel":"book.A.raw","type":"change","bids":[["delete",0.5,0]],"asks":[]}"#,
                r#"{"channel":"book.A.raw","type":"change","bids":[["new",1.0,1000000.0],["delete",0.5,0]],"asks":[]}"#,
            ),
        ] {
            assert_eq!(crossed(was).as_deref(), Some(is));
        }
        for other in [
            r#"{"e":"depthUpdate","b":[],"a":[]}"#,
            r#"{"channel":"book.A.raw","type":"snapshot","bids":[["new",1,1]],"asks":[]}"#,
            r#"{"e":"trade","p":"43000"}"#,
        ] {
            assert_eq!(crossed(other), None, "{other}");
        }
    }
}
