//! Compares the top of a rebuilt book with a LOBSTER orderbook file.
//!
//! They are aligned by content, not by row: the sample's message file covers 50 levels of one hour,
//! its orderbook file the best level of the whole day. Both become sequences of distinct states (a
//! state that repeats the one before is left out); ours takes the state after the last event of
//! each row. What matches is their longest common subsequence, of all of ours with some beginning
//! of the truth (Myers, "An O(ND) difference algorithm and its variations", 1986).

use taut_book::TopOfBook;
use taut_types::HalfTicks;

/// The best levels, prices in 1e-4 dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopState {
    /// Best ask.
    pub ask: i64,
    /// Its size.
    pub ask_lots: i64,
    /// Best bid.
    pub bid: i64,
    /// Its size.
    pub bid_lots: i64,
}

impl TopState {
    /// The top of a book whose tick is a cent, unless a side is empty.
    #[must_use]
    pub fn of(top: &TopOfBook<HalfTicks>) -> Option<Self> {
        let (ask, bid) = (top.ask?, top.bid?);
        Some(Self {
            ask: ask.price.0 * 50,
            ask_lots: ask.lots.0,
            bid: bid.price.0 * 50,
            bid_lots: bid.lots.0,
        })
    }
}

/// The best levels of every row of an orderbook file.
///
/// # Panics
/// When a row does not begin with four numbers.
#[must_use]
pub fn parse_orderbook(text: &str) -> Vec<TopState> {
    let state = |row: &str| {
        let mut columns = row.split(',').map(|column| column.parse().expect("a number"));
        let mut next = || columns.next().expect("four columns");
        TopState { ask: next(), ask_lots: next(), bid: next(), bid_lots: next() }
    };
    text.lines().map(state).collect()
}

/// The states without those that repeat the one before.
pub fn distinct(states: impl IntoIterator<Item = TopState>) -> Vec<TopState> {
    let mut states: Vec<TopState> = states.into_iter().collect();
    states.dedup();
    states
}

/// Where two sequences agree.
#[derive(Debug)]
pub struct Alignment {
    /// Indexes into ours and into the truth of equal states, rising.
    pub matched: Vec<(usize, usize)>,
    /// States of ours that the truth has not.
    pub ours_only: Vec<usize>,
    /// States of the truth, up to where ours ends, that ours has not.
    pub truth_only: Vec<usize>,
}

/// The best alignment of all of `ours` with some beginning of `truth`.
#[must_use]
pub fn align<T: PartialEq>(ours: &[T], truth: &[T]) -> Alignment {
    // reached[edits][skipped_ours]: how far into ours one gets with so many states skipped, so many
    // of them ours.
    let mut reached: Vec<Vec<Option<usize>>> = Vec::new();
    loop {
        let edits = reached.len();
        let mut row = vec![None; edits + 1];
        for (skipped_ours, end) in row.iter_mut().enumerate() {
            let Some(mut x) = start(&reached, edits, skipped_ours) else { continue };
            let shift = |x: usize| x + edits - 2 * skipped_ours;
            if x > ours.len() || shift(x) > truth.len() {
                continue;
            }
            while x < ours.len() && truth.get(shift(x)) == Some(&ours[x]) {
                x += 1;
            }
            *end = Some(x);
            if x == ours.len() {
                return walk_back(&reached, edits, skipped_ours, x);
            }
        }
        reached.push(row);
    }
}

/// Where the run of equal states begins that follows so many skipped states.
fn start(reached: &[Vec<Option<usize>>], edits: usize, skipped_ours: usize) -> Option<usize> {
    let Some(before) = edits.checked_sub(1) else { return Some(0) };
    let skip_truth = reached[before].get(skipped_ours).copied().flatten();
    let skip_ours = skipped_ours.checked_sub(1).and_then(|i| reached[before][i]).map(|x| x + 1);
    skip_truth.max(skip_ours)
}

fn walk_back(
    reached: &[Vec<Option<usize>>],
    edits: usize,
    mut skipped_ours: usize,
    mut x: usize,
) -> Alignment {
    let (mut matched, mut ours_only, mut truth_only) = (Vec::new(), Vec::new(), Vec::new());
    for edits in (0..=edits).rev() {
        let shift = |x: usize| x + edits - 2 * skipped_ours;
        let from = start(reached, edits, skipped_ours).expect("a step that was taken");
        matched.extend((from..x).rev().map(|x| (x, shift(x))));
        x = from;
        if edits == 0 {
            break;
        }
        if reached[edits - 1].get(skipped_ours).copied().flatten() == Some(from) {
            truth_only.push(shift(from) - 1);
        } else {
            x -= 1;
            ours_only.push(x);
            skipped_ours -= 1;
        }
    }
    for list in [&mut ours_only, &mut truth_only] {
        list.reverse();
    }
    matched.reverse();
    Alignment { matched, ours_only, truth_only }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_finds_the_longest_common_subsequence() {
        for (ours, truth, matched, ours_only, truth_only) in [
            ("", "", 0, 0, 0),
            ("", "abc", 0, 0, 0),
            ("abc", "", 0, 3, 0),
            ("abc", "abcdef", 3, 0, 0),
            ("abxcd", "abycdef", 4, 1, 1),
            ("xabc", "abcxxx", 3, 1, 0),
            ("bcd", "abcd", 3, 0, 1),
            ("axbxc", "abcx", 3, 2, 0),
        ] {
            let (ours, truth) = (ours.as_bytes(), truth.as_bytes());
            let alignment = align(ours, truth);
            assert!(alignment.matched.iter().all(|&(i, j)| ours[i] == truth[j]));
            assert!(alignment.matched.is_sorted());
            assert_eq!(alignment.matched.len(), matched);
            assert_eq!(alignment.ours_only.len(), ours_only);
            assert_eq!(alignment.truth_only.len(), truth_only);
        }
    }

    #[test]
    fn a_state_that_repeats_the_one_before_is_left_out() {
        let states = parse_orderbook("2,1,1,5\n2,1,1,5\n3,1,1,5\n2,1,1,5\n");
        assert_eq!(distinct(states.iter().copied()), [states[0], states[2], states[0]]);
    }
}
