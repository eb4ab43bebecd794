//! How a taker is divided among the makers of one price.
//!
//! Source: CME Globex, "Matching Algorithm Steps": every algorithm is a sequence of steps out of
//! TOP, LMM, split, FIFO, pro rata, levelling and a last FIFO. When the taker wants all that there
//! is, the steps do not matter and every maker is filled.

/// A lead market maker and its part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MakerShare {
    /// The account.
    pub owner: u32,
    /// Its part of what the top order left, in percent; zero: none.
    pub percent: u8,
}

/// The steps of an allocation, in their order; a step whose parameter is zero is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// TOP: the order that bettered the market gets up to so many lots first.
    pub top_lots_max: i64,
    /// TOP: smaller orders do not become the top order.
    pub top_lots_min: i64,
    /// LMM: lead market makers' parts of what the top order left.
    pub lead: [MakerShare; 4],
    /// Split: the part of what is left by then that goes by time, in percent, rounded down.
    pub fifo_percent: u8,
    /// Pro rata: each maker's part is rounded down, and to nothing below so many lots.
    pub pro_rata_lots_min: i64,
    /// Levelling: makers whose part was nothing get one lot each, the largest first, then the
    /// oldest, as far as rounding left any.
    pub levelling: bool,
}

impl Allocation {
    /// F: by time alone.
    pub const FIFO: Self = Self {
        top_lots_max: 0,
        top_lots_min: 0,
        lead: [MakerShare { owner: 0, percent: 0 }; 4],
        fifo_percent: 100,
        pro_rata_lots_min: 1,
        levelling: false,
    };
    /// C: pro rata, then by time.
    pub const PRO_RATA: Self = Self { fifo_percent: 0, ..Self::FIFO };
    /// A: the top order, pro rata from two lots up, then by time.
    pub const ALLOCATION: Self =
        Self { top_lots_max: i64::MAX, top_lots_min: 1, pro_rata_lots_min: 2, ..Self::PRO_RATA };

    /// K: everything can be configured.
    #[must_use]
    pub const fn split(fifo_percent: u8, levelling: bool) -> Self {
        Self { fifo_percent, levelling, ..Self::FIFO }
    }

    /// O: the top order within bounds, and pro rata from a threshold up.
    #[must_use]
    pub const fn threshold(top_lots_min: i64, top_lots_max: i64, pro_rata_lots_min: i64) -> Self {
        Self { top_lots_min, top_lots_max, pro_rata_lots_min, ..Self::PRO_RATA }
    }

    /// With lead market makers: T from `FIFO`, Q from `threshold`.
    #[must_use]
    pub const fn with_lead(self, lead: [MakerShare; 4]) -> Self {
        Self { lead, ..self }
    }

    /// With a top order: S from T, K with TOP from K.
    #[must_use]
    pub const fn with_top(self, top_lots_min: i64, top_lots_max: i64) -> Self {
        Self { top_lots_min, top_lots_max, ..self }
    }

    /// Whether it is by time alone.
    pub(crate) fn is_fifo(&self) -> bool {
        self.fifo_percent >= 100
            && self.top_lots_max <= 0
            && self.lead.iter().all(|share| share.percent == 0)
    }
}

/// A maker of the price: what it has, and what it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) place: u32,
    pub(crate) owner: u32,
    pub(crate) lots: i64,
    pub(crate) given: i64,
    /// Whether pro rata gave it nothing.
    passed_over: bool,
}

impl Share {
    pub(crate) const fn new(place: u32, owner: u32, lots: i64) -> Self {
        Self { place, owner, lots, given: 0, passed_over: false }
    }

    const fn open(&self) -> i64 {
        self.lots - self.given
    }

    fn give(&mut self, lots: i64) -> i64 {
        let lots = lots.clamp(0, self.open());
        self.given += lots;
        lots
    }
}

/// Divides `lots` among the makers, oldest first; `head_is_top` says whether the first of them is
/// the top order. All that there is is given away, or all that is wanted.
pub(crate) fn allocate(rules: &Allocation, makers: &mut [Share], lots: i64, head_is_top: bool) {
    let mut left = lots;
    if makers.iter().map(|maker| i128::from(maker.lots)).sum::<i128>() > i128::from(lots) {
        if head_is_top && let Some(top) = makers.first_mut() {
            left -= top.give(left.min(rules.top_lots_max));
        }
        left -= lead(rules, makers, left);
        let by_time = part(left, i64::from(rules.fifo_percent.min(100)), 100);
        let given_by_time = fifo(makers, by_time);
        left -= given_by_time;
        let rated = pro_rata(rules, makers, left);
        left -= rated;
        if rules.levelling {
            left -= level(makers, left);
        }
    }
    fifo(makers, left);
}

fn lead(rules: &Allocation, makers: &mut [Share], lots: i64) -> i64 {
    let mut given = 0;
    for share in rules.lead.iter().filter(|share| share.percent > 0) {
        let mut left = part(lots, i64::from(share.percent.min(100)), 100).min(lots - given);
        for maker in makers.iter_mut().filter(|maker| maker.owner == share.owner) {
            let lots = maker.give(left);
            left -= lots;
            given += lots;
        }
    }
    given
}

fn fifo(makers: &mut [Share], lots: i64) -> i64 {
    let mut left = lots;
    for maker in makers.iter_mut() {
        if left == 0 {
            break;
        }
        left -= maker.give(left);
    }
    lots - left
}

fn pro_rata(rules: &Allocation, makers: &mut [Share], lots: i64) -> i64 {
    let open: i128 = makers.iter().map(|maker| i128::from(maker.open())).sum();
    let mut given = 0;
    for maker in makers.iter_mut() {
        let fair = i128::from(lots) * i128::from(maker.open()) / open.max(1);
        let fair = i64::try_from(fair).unwrap_or(i64::MAX);
        let fair = if fair < rules.pro_rata_lots_min { 0 } else { fair };
        maker.passed_over = fair == 0 && maker.open() > 0;
        given += maker.give(fair);
    }
    given
}

/// Cost: the makers times the lots given.
fn level(makers: &mut [Share], lots: i64) -> i64 {
    let mut given = 0;
    while given < lots {
        let passed_over = makers.iter_mut().rev().filter(|maker| maker.passed_over);
        let Some(largest) = passed_over.max_by_key(|maker| maker.open()) else { break };
        largest.passed_over = false;
        given += largest.give(1);
    }
    given
}

fn part(lots: i64, of: i64, whole: i64) -> i64 {
    let part = i128::from(lots) * i128::from(of) / i128::from(whole);
    i64::try_from(part).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn given(rules: &Allocation, makers: &[i64], lots: i64, head_is_top: bool) -> Vec<i64> {
        let mut shares: Vec<Share> =
            makers.iter().zip(1..).map(|(&lots, owner)| Share::new(0, owner, lots)).collect();
        allocate(rules, &mut shares, lots, head_is_top);
        shares.iter().map(|share| share.given).collect()
    }

    #[test]
    fn by_time_the_oldest_gets_all() {
        assert_eq!(given(&Allocation::FIFO, &[10, 30, 60], 50, false), [10, 30, 10]);
    }

    #[test]
    fn pro_rata_rounds_down_and_time_takes_the_rest() {
        assert_eq!(given(&Allocation::PRO_RATA, &[10, 30, 60], 50, false), [5, 15, 30]);
        assert_eq!(given(&Allocation::PRO_RATA, &[3, 3, 3], 5, false), [3, 1, 1]);
    }

    #[test]
    fn allocation_serves_the_top_order_first_and_gives_no_single_lots() {
        assert_eq!(given(&Allocation::ALLOCATION, &[10, 30, 60], 50, true), [10, 14, 26]);
        // A sixth of 6 is one lot, which is rounded to nothing; time gives it to the first.
        assert_eq!(given(&Allocation::ALLOCATION, &[10, 10, 40], 6, false), [2, 0, 4]);
    }

    #[test]
    fn a_threshold_bounds_the_top_order() {
        let rules = Allocation::threshold(1, 5, 3);
        assert_eq!(given(&rules, &[10, 45, 50], 25, true), [6, 9, 10]);
    }

    #[test]
    fn lead_market_makers_get_their_part_before_the_others() {
        let lead = [MakerShare { owner: 3, percent: 40 }; 4];
        let mut lead = lead;
        lead[1..].fill(MakerShare::default());
        let rules = Allocation::FIFO.with_lead(lead);
        assert_eq!(given(&rules, &[10, 30, 60], 50, false), [10, 20, 20]);
        assert_eq!(given(&rules.with_top(1, 4), &[10, 30, 60], 54, true), [10, 24, 20]);
    }

    #[test]
    fn a_split_goes_by_time_and_then_pro_rata() {
        // 40 of 100 by time: 10 and 30; the other 60 pro rata of 0, 30 and 160 open.
        assert_eq!(given(&Allocation::split(40, false), &[10, 60, 160], 100, false), [10, 40, 50]);
    }

    #[test]
    fn levelling_gives_single_lots_to_the_largest_that_were_passed_over() {
        let rules = Allocation::split(0, true);
        assert_eq!(given(&rules, &[1, 1, 2, 96], 2, false), [0, 0, 1, 1]);
        assert_eq!(given(&rules, &[1, 1, 1, 97], 2, false), [1, 0, 0, 1]);
    }

    #[test]
    fn all_that_there_is_goes_to_all_and_nothing_is_lost_or_invented() {
        for rules in [Allocation::FIFO, Allocation::PRO_RATA, Allocation::ALLOCATION] {
            assert_eq!(given(&rules, &[1, 2, 3], 9, true), [1, 2, 3]);
            for lots in 1..6 {
                let sum: i64 = given(&rules, &[1, 2, 3], lots, true).iter().sum();
                assert_eq!(sum, lots);
            }
            let huge = given(&rules, &[i64::MAX, i64::MAX], i64::MAX, false);
            assert_eq!(huge.iter().map(|lots| i128::from(*lots)).sum::<i128>(), i64::MAX.into());
        }
    }
}
