//! Which orders the venue is asked about, and which answers are still missing.

use std::collections::BTreeSet;

use taut_types::{ClientOrderId, Nanos};

/// Orders that are asked about at a time.
const QUESTIONS_MAX: usize = 32;

/// The question about all orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MassQuestion {
    /// The number of its message.
    pub(super) message: u64,
    /// When it was asked, or answered in part.
    pub(super) since: Nanos,
}

/// A question about one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) order: ClientOrderId,
    /// The number of its message.
    pub(super) message: u64,
    pub(super) since: Nanos,
    /// Whether the order was done here when the question was asked.
    pub(super) was_done: bool,
}

/// Questions about orders: about all of them after a logon, about one when something does not fit.
#[derive(Debug, Default)]
pub(super) struct Reconcile {
    mass: Option<MassQuestion>,
    /// Whether all are to be asked about.
    asks_all: bool,
    /// Orders to be asked about.
    open: BTreeSet<ClientOrderId>,
    asked: Vec<Question>,
    /// Orders whose question came to nothing.
    untold: BTreeSet<ClientOrderId>,
    /// Orders with a question that was given up, whose answer may come yet: the answer to the next
    /// question and that one cannot be told apart.
    late: BTreeSet<ClientOrderId>,
}

impl Reconcile {
    /// A session begins with these orders open, or the venue has passed over what it said of them.
    /// It can be asked about all of them at once, or not.
    pub(super) fn begin(&mut self, open: impl Iterator<Item = ClientOrderId>, tells_all: bool) {
        self.disconnected();
        self.open.extend(open);
        self.asks_all = tells_all;
    }

    /// Whether the question about all is to be asked now.
    pub(super) const fn next_mass(&mut self) -> bool {
        std::mem::replace(&mut self.asks_all, false)
    }

    /// The question about all could not be asked yet: one by one would cost more.
    pub(super) const fn asks_all_later(&mut self) {
        self.asks_all = true;
    }

    /// The venue has missed messages, which are not sent again: a question may be among them. What
    /// has no answer yet is asked once more.
    pub(super) fn missed(&mut self) {
        self.asks_all |= self.mass.take().is_some();
        self.open.extend(self.asked.drain(..).map(|question| question.order));
    }

    /// The question about all was asked.
    pub(super) const fn asked_all(&mut self, question: MassQuestion) {
        self.mass = Some(question);
    }

    /// The connection is gone, and what was asked with it: the next session asks again, also about
    /// an order that is done and of which a trade is missing.
    pub(super) fn disconnected(&mut self) {
        (self.mass, self.asks_all) = (None, false);
        self.late.clear();
        self.open.extend(self.asked.drain(..).map(|question| question.order));
    }

    /// An order should be asked about.
    pub(super) fn want(&mut self, order: ClientOrderId) {
        if !self.asked.iter().any(|question| question.order == order) {
            self.open.insert(order);
        }
    }

    /// Whether this order was done here when the question about it was asked: then the answer
    /// cannot be older than its end.
    pub(super) fn asked_when_done(&self, order: ClientOrderId) -> bool {
        self.asked.iter().any(|question| question.order == order && question.was_done)
    }

    /// The venue said where an order stands, or that it will not.
    pub(super) fn settled(&mut self, order: ClientOrderId) {
        self.open.remove(&order);
        self.late.remove(&order);
        self.asked.retain(|question| question.order != order);
    }

    /// One of the answers to the question about all.
    pub(super) fn mass_answer(&mut self, now: Nanos) {
        if let Some(mass) = &mut self.mass {
            mass.since = now;
        }
    }

    /// The question about all has all its answers.
    pub(super) const fn all_told(&mut self) {
        self.mass = None;
    }

    /// A question came to nothing: the venue refused it, or the question or its answer was lost.
    /// The order that it was about.
    fn give_up(&mut self, at: usize) -> ClientOrderId {
        let order = self.asked.swap_remove(at).order;
        self.untold.insert(order);
        self.late.insert(order);
        order
    }

    /// Orders whose question came to nothing are asked about again, where that `is_needed`: nobody
    /// else would ask.
    pub(super) fn want_untold(&mut self, is_needed: impl Fn(ClientOrderId) -> bool) {
        for order in std::mem::take(&mut self.untold) {
            if is_needed(order) {
                self.want(order);
            }
        }
    }

    /// A message of ours was refused. The order that it asked about, if it was such a question.
    pub(super) fn refused(&mut self, message: u64) -> Option<ClientOrderId> {
        if self.mass.is_some_and(|mass| mass.message == message) {
            self.mass = None;
        }
        let at = self.asked.iter().position(|question| question.message == message)?;
        Some(self.give_up(at))
    }

    /// The next order to ask about: one by one, once all were asked about.
    pub(super) fn next(&mut self, now: Nanos, timeout: Nanos) -> Option<ClientOrderId> {
        if self.mass.is_some_and(|mass| now.since(mass.since) >= timeout) {
            self.mass = None;
        }
        if self.mass.is_some() || self.asks_all || self.asked.len() >= QUESTIONS_MAX {
            return None;
        }
        self.open.pop_first()
    }

    /// An order was asked about.
    pub(super) fn asked(&mut self, question: Question) {
        let was_done = question.was_done && !self.late.contains(&question.order);
        self.asked.push(Question { was_done, ..question });
    }

    /// An order whose question has no answer for so long; the question is given up.
    pub(super) fn overdue(&mut self, now: Nanos, timeout: Nanos) -> Option<ClientOrderId> {
        let is_late = |question: &Question| now.since(question.since) >= timeout;
        let at = self.asked.iter().position(is_late)?;
        Some(self.give_up(at))
    }

    /// Whether nothing is asked, or to be.
    pub(super) fn is_over(&self) -> bool {
        self.mass.is_none() && !self.asks_all && self.open.is_empty() && self.asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Nanos = Nanos::from_secs(10);

    const fn question(order: ClientOrderId, message: u64) -> Question {
        Question { order, message, since: Nanos::ZERO, was_done: false }
    }

    /// It may be done, with a trade that is missing: among the open ones it is not.
    #[test]
    fn a_question_that_a_connection_took_with_it_is_asked_in_the_next_session() {
        let mut reconcile = Reconcile::default();
        let (asked, wanted) = (ClientOrderId(1), ClientOrderId(2));
        reconcile.want(asked);
        assert_eq!(reconcile.next(Nanos::ZERO, LATE), Some(asked));
        reconcile.asked(question(asked, 1));
        reconcile.want(wanted);
        reconcile.disconnected();
        reconcile.begin(std::iter::once(ClientOrderId(3)), true);
        assert!(reconcile.next_mass());
        let next = [(); 4].map(|()| reconcile.next(Nanos::ZERO, LATE));
        assert_eq!(next, [Some(1), Some(2), Some(3), None].map(|id| id.map(ClientOrderId)));
    }

    #[test]
    fn a_question_that_came_to_nothing_is_asked_again_where_that_is_needed() {
        let mut reconcile = Reconcile::default();
        let [late, refused, known] = [1, 2, 3].map(ClientOrderId);
        for (order, message) in [(late, 7), (refused, 8), (known, 9)] {
            reconcile.asked(question(order, message));
        }
        assert_eq!(reconcile.refused(8), Some(refused));
        let given_up = [(); 3].map(|()| reconcile.overdue(LATE, LATE));
        assert_eq!(given_up, [Some(late), Some(known), None]);
        assert!(reconcile.is_over());
        reconcile.want_untold(|order| order != known);
        let next = [(); 3].map(|()| reconcile.next(LATE, LATE));
        assert_eq!(next, [Some(late), Some(refused), None]);
        reconcile.want_untold(|_| true);
        assert!(reconcile.is_over(), "once for each question");
    }

    #[test]
    fn an_answer_is_younger_than_an_end_only_when_no_other_answer_may_come() {
        let mut reconcile = Reconcile::default();
        let order = ClientOrderId(1);
        let when_done = Question { was_done: true, ..question(order, 2) };
        reconcile.asked(question(order, 1));
        assert!(!reconcile.asked_when_done(order), "it was open when it was asked about");
        assert_eq!(reconcile.overdue(LATE, LATE), Some(order));
        reconcile.asked(when_done);
        assert!(!reconcile.asked_when_done(order), "the first answer may come yet");
        reconcile.settled(order);
        reconcile.asked(when_done);
        assert!(reconcile.asked_when_done(order));
    }

    /// The venue would be asked for more than it allows.
    #[test]
    fn nothing_is_asked_one_by_one_while_the_question_about_all_waits() {
        let mut reconcile = Reconcile::default();
        reconcile.begin(std::iter::once(ClientOrderId(3)), true);
        assert!(reconcile.next_mass());
        reconcile.asks_all_later();
        assert_eq!(reconcile.next(Nanos::ZERO, LATE), None);
        assert!(!reconcile.is_over() && reconcile.next_mass());
        assert_eq!(reconcile.next(Nanos::ZERO, LATE), Some(ClientOrderId(3)));
    }
}
