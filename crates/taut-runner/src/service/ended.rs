//! What is said at a normal end.

/// How open orders ended, by how many were open when the end began and how many still are.
pub fn ended(before: usize, now: usize) -> String {
    let plural = |count| if count == 1 { "" } else { "s" };
    match (before, now) {
        (0, 0) => "ended: no order was open".to_owned(),
        (before, 0) => format!("ended: {before} open order{} cancelled or traded", plural(before)),
        (_, now) => format!("ended: {now} order{} still open", plural(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_says_what_became_of_open_orders() {
        assert_eq!(ended(0, 0), "ended: no order was open");
        assert_eq!(ended(1, 0), "ended: 1 open order cancelled or traded");
        assert_eq!(ended(3, 0), "ended: 3 open orders cancelled or traded");
        assert_eq!(ended(3, 2), "ended: 2 orders still open");
    }
}
