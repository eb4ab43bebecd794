//! The messages that are measured.

/// The bytes of every message.
pub const PAYLOAD_BYTES: usize = 128;
/// Different messages.
pub const DISTINCT: usize = 4096;

/// Texts as a venue's trades are, each of the same length.
pub fn texts() -> Vec<String> {
    let text = |number: usize| {
        let price = 100_000 + number * 7 % 1_000;
        let start =
            format!("{{\"e\":\"trade\",\"s\":\"BTCUSDT\",\"t\":{number},\"p\":\"{price}.00\"");
        let fill = "x".repeat(PAYLOAD_BYTES - start.len() - "\"m\":\"\"}".len() - 1);
        format!("{start},\"m\":\"{fill}\"}}")
    };
    (0..DISTINCT).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_the_same_length_and_is_json_of_its_own() {
        let texts = texts();
        let mut seen = std::collections::HashSet::new();
        for text in &texts {
            assert_eq!(text.len(), PAYLOAD_BYTES);
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
            assert!(seen.insert(text));
        }
    }
}
