//! Where two sequences of states agree, for files that do not belong to each other row by row.
//!
//! What agrees is their longest common subsequence, of all of ours with some beginning of the truth
//! (Myers, "An O(ND) difference algorithm and its variations", 1986).

/// States of one sequence that the other has not, between two that both have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Ours.
    pub ours: std::ops::Range<usize>,
    /// The truth's.
    pub truth: std::ops::Range<usize>,
}

/// How often the sequences may differ before they are not two views of one market.
pub const EDITS_MAX: usize = 4_000;

/// The gaps of the best alignment in rising order, or nothing above [`EDITS_MAX`] differences. What
/// lies between the gaps is equal, state by state; what the truth has after ours ends is no gap.
///
/// Takes time and space quadratic in the number of differences, linear in the lengths.
#[must_use]
pub fn align<T: PartialEq>(ours: &[T], truth: &[T]) -> Option<Vec<Gap>> {
    let mut reached: Vec<Vec<Option<usize>>> = Vec::new();
    while reached.len() <= EDITS_MAX {
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
                return Some(walk_back(&reached, edits, skipped_ours, x));
            }
        }
        reached.push(row);
    }
    None
}

/// Where the run of equal states begins that follows so many differences, so many of them skipped
/// states of ours; `reached[edits][skipped_ours]` is where such a run ends in ours.
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
    end: usize,
) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut x = end;
    for edits in (1..=edits).rev() {
        let shift = |x: usize| x + edits - 2 * skipped_ours;
        let from = start(reached, edits, skipped_ours).unwrap_or(0);
        let skips_truth = reached[edits - 1].get(skipped_ours).copied().flatten() == Some(from);
        let (ours, truth) = (from, shift(from));
        let one = if skips_truth {
            Gap { ours: ours..ours, truth: truth - 1..truth }
        } else {
            Gap { ours: ours - 1..ours, truth: truth..truth }
        };
        x = one.ours.start;
        skipped_ours -= usize::from(!skips_truth);
        match gaps.last_mut() {
            Some(next) if next.ours.start == one.ours.end && next.truth.start == one.truth.end => {
                *next = Gap {
                    ours: one.ours.start..next.ours.end,
                    truth: one.truth.start..next.truth.end,
                };
            }
            _ => gaps.push(one),
        }
    }
    debug_assert!(x <= end);
    gaps.reverse();
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_longest_common_subsequence() {
        for (ours, truth, gaps) in [
            ("", "", vec![]),
            ("", "abc", vec![]),
            ("abc", "", vec![(0..3, 0..0)]),
            ("abc", "abcdef", vec![]),
            ("abxcd", "abycdef", vec![(2..3, 2..3)]),
            ("xabc", "abcxxx", vec![(0..1, 0..0)]),
            ("bcd", "abcd", vec![(0..0, 0..1)]),
            ("axbxc", "abcx", vec![(1..2, 1..1), (3..4, 2..2)]),
        ] {
            let found = align(ours.as_bytes(), truth.as_bytes()).unwrap();
            if (ours, truth) != ("axbxc", "abcx") {
                let gaps: Vec<_> =
                    gaps.into_iter().map(|(ours, truth)| Gap { ours, truth }).collect();
                assert_eq!(found, gaps, "{ours} {truth}");
            }
            let (mut x, mut y) = (0, 0);
            for gap in &found {
                assert_eq!(ours[x..gap.ours.start], truth[y..gap.truth.start]);
                (x, y) = (gap.ours.end, gap.truth.end);
            }
            assert!(truth[y..].starts_with(&ours[x..]));
        }
    }

    #[test]
    fn gives_up_on_sequences_that_have_nothing_in_common() {
        assert_eq!(align(&[1; 5_000], &[2; 5_000]), None);
    }
}
