//! Messages with what nobody documented.

/// A field with everything that a value can be.
const FIELD: &str = r#""newField":{"a":[null,true,-1.5e-3,"x\\"]}"#;

/// The same object with one field more, as its first one or its last; what is no object with
/// fields is as it was.
pub(super) fn with_a_field(text: &str, is_first: bool) -> String {
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    match inner.filter(|inner| !inner.trim().is_empty()) {
        Some(inner) if is_first => format!("{{{FIELD},{inner}}}"),
        Some(inner) => format!("{{{inner},{FIELD}}}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_one_field_more_and_is_json_yet() {
        let text = r#"{"id":7,"result":[]}"#;
        for is_first in [true, false] {
            let strange = with_a_field(text, is_first);
            let value: serde_json::Value = serde_json::from_str(&strange).expect("JSON");
            assert_eq!(
                (&value["id"], value["newField"]["a"][1].as_bool()),
                (&7.into(), Some(true))
            );
            assert_eq!(strange.starts_with(r#"{"new"#), is_first);
        }
        for other in ["pong", "{}", "[1]"] {
            assert_eq!(with_a_field(other, true), other);
        }
    }
}
