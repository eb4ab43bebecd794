//! Compares the top of a rebuilt book with a LOBSTER orderbook file.
//!
//! They are aligned by content, not by row: the sample's message file covers 50 levels of one hour,
//! its orderbook file the best level of the whole day. Both become sequences of distinct states (a
//! state that repeats the one before is left out); ours takes the state after the last event of
//! each row. What matches is their longest common subsequence, of all of ours with some beginning
//! of the truth (Myers, "An O(ND) difference algorithm and its variations", 1986).

/// Best ask price and size, best bid price and size, prices in 1e-4 dollars: the first four columns
/// of an orderbook file.
pub(super) type TopState = [i64; 4];

/// Appends a state unless it repeats the last one.
pub(super) fn push_distinct(states: &mut Vec<TopState>, state: TopState) -> bool {
    let differs = states.last() != Some(&state);
    if differs {
        states.push(state);
    }
    differs
}

/// The best level of every row of an orderbook file.
pub(super) fn parse_orderbook(text: &str) -> Vec<TopState> {
    let state = |row: &str| {
        let mut columns = row.split(',').map(|column| column.parse().expect("a number"));
        std::array::from_fn(|_| columns.next().expect("four columns"))
    };
    text.lines().map(state).collect()
}

/// Where two sequences agree.
#[derive(Debug)]
pub(super) struct Alignment {
    /// Indexes into ours and into the truth of equal states, rising.
    pub(super) matched: Vec<(usize, usize)>,
    /// States of ours that the truth has not.
    pub(super) ours_only: Vec<usize>,
    /// States of the truth, up to where ours ends, that ours has not.
    pub(super) truth_only: Vec<usize>,
}

/// The best alignment of all of `ours` with some beginning of `truth`.
pub(super) fn align(ours: &[TopState], truth: &[TopState]) -> Alignment {
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

#[test]
fn alignment_finds_the_longest_common_subsequence() {
    let states =
        |text: &str| -> Vec<TopState> { text.bytes().map(|b| [i64::from(b); 4]).collect() };
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
        let (ours, truth) = (states(ours), states(truth));
        let alignment = align(&ours, &truth);
        assert!(alignment.matched.iter().all(|&(i, j)| ours[i] == truth[j]));
        assert!(alignment.matched.is_sorted());
        assert_eq!(alignment.matched.len(), matched);
        assert_eq!(alignment.ours_only.len(), ours_only);
        assert_eq!(alignment.truth_only.len(), truth_only);
    }
}
