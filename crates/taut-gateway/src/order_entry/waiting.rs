//! Cancels that wait until their budget has them.

use std::collections::{HashSet, VecDeque};

use taut_types::{AccountId, ClientOrderId, Nanos, UserId};

/// Whose budgets a cancel counts against: of the user who has the order, and of its account.
pub(super) type Budget = (UserId, AccountId);

/// Orders whose cancel is one too many for now. It leaves as soon as its budget has it: a cancel is
/// never lost, and never refused for a rate.
///
/// One queue for each user and account, whose budgets all in it share: when the first of a queue
/// has to wait, the others need not be looked at. A round of ten thousand costs no more than those
/// that leave.
#[derive(Debug, Default)]
pub(super) struct WaitingCancels {
    queues: Vec<Queue>,
    /// Those that are not due before a time of their own, the earliest first: in no queue yet.
    later: VecDeque<(Nanos, ClientOrderId, Budget)>,
    /// All of them, each once.
    orders: HashSet<ClientOrderId>,
}

#[derive(Debug)]
struct Queue {
    budget: Budget,
    /// When the first of them may leave.
    due: Nanos,
    orders: VecDeque<ClientOrderId>,
}

impl WaitingCancels {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.orders.len()
    }

    /// A cancel that may leave then, behind those of its owner that wait already.
    pub(super) fn push(&mut self, order: ClientOrderId, budget: Budget, due: Nanos) {
        if self.orders.insert(order) {
            self.enqueue(order, budget, due);
        }
    }

    /// A cancel that leaves then at the earliest, and until then holds up no other: of two such,
    /// the second is due no earlier than the first.
    pub(super) fn push_later(&mut self, order: ClientOrderId, budget: Budget, due: Nanos) {
        if self.orders.insert(order) {
            self.later.push_back((due, order, budget));
        }
    }

    /// One that was taken and has to wait again, with all behind it.
    pub(super) fn put_back(&mut self, order: ClientOrderId, budget: Budget, due: Nanos) {
        if self.orders.insert(order) {
            let queue = self.queue(budget);
            queue.due = due;
            queue.orders.push_front(order);
        }
    }

    /// Takes one whose time has come.
    pub(super) fn pop_due(&mut self, now: Nanos) -> Option<(ClientOrderId, Budget)> {
        while let Some(&(due, order, budget)) = self.later.front()
            && due <= now
        {
            self.later.pop_front();
            self.enqueue(order, budget, due);
        }
        let is_due = |queue: &&mut Queue| queue.due <= now && !queue.orders.is_empty();
        let queue = self.queues.iter_mut().find(is_due)?;
        let order = queue.orders.pop_front()?;
        self.orders.remove(&order);
        Some((order, queue.budget))
    }

    /// The budgets have changed: all that wait for them may be tried at once.
    pub(super) fn try_again(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.due = Nanos(i64::MIN));
    }

    /// Whether this order's cancel waits.
    pub(super) fn holds(&self, order: ClientOrderId) -> bool {
        self.orders.contains(&order)
    }

    fn enqueue(&mut self, order: ClientOrderId, budget: Budget, due: Nanos) {
        let queue = self.queue(budget);
        if queue.orders.is_empty() {
            queue.due = due;
        }
        queue.orders.push_back(order);
    }

    fn queue(&mut self, budget: Budget) -> &mut Queue {
        let known = self.queues.iter().position(|queue| queue.budget == budget);
        let place = known.unwrap_or_else(|| {
            self.queues.push(Queue { budget, due: Nanos(i64::MIN), orders: VecDeque::new() });
            self.queues.len() - 1
        });
        &mut self.queues[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Nanos = Nanos::from_secs(1);
    const LATER: Nanos = Nanos::from_secs(2);

    fn order(user: u8, number: u64) -> ClientOrderId {
        ClientOrderId::of(UserId(user), taut_types::StrategyId(1), number)
    }

    fn popped(waiting: &mut WaitingCancels, now: Nanos) -> Option<ClientOrderId> {
        waiting.pop_due(now).map(|(order, _)| order)
    }

    #[test]
    fn one_owner_s_spent_budget_does_not_hold_back_another_s() {
        let mut waiting = WaitingCancels::default();
        let [first, second] = [1, 2].map(|user| (UserId(user), AccountId(0)));
        (1..=10_000).for_each(|number| waiting.push(order(1, number), first, NOW));
        waiting.push(order(2, 1), second, NOW);
        waiting.push(order(2, 1), second, NOW);
        assert_eq!(waiting.len(), 10_001);
        assert_eq!(popped(&mut waiting, NOW), Some(order(1, 1)));
        waiting.put_back(order(1, 1), first, LATER);
        // The 9,999 behind it are not looked at.
        assert_eq!(popped(&mut waiting, NOW), Some(order(2, 1)));
        assert_eq!(popped(&mut waiting, NOW), None);
        assert!(waiting.holds(order(1, 1)) && !waiting.holds(order(2, 1)));
        assert_eq!(popped(&mut waiting, LATER), Some(order(1, 1)));
        assert_eq!(popped(&mut waiting, LATER), Some(order(1, 2)));
    }

    #[test]
    fn other_budgets_have_all_tried_at_once() {
        let mut waiting = WaitingCancels::default();
        let budget = (UserId(1), AccountId(0));
        waiting.push(order(1, 1), budget, Nanos::MAX);
        assert_eq!(waiting.pop_due(LATER), None);
        waiting.try_again();
        assert_eq!(waiting.pop_due(NOW), Some((order(1, 1), budget)));
    }

    #[test]
    fn one_that_is_due_later_holds_up_no_other_and_is_tried_with_none() {
        let mut waiting = WaitingCancels::default();
        let budget = (UserId(1), AccountId(0));
        waiting.push_later(order(1, 1), budget, LATER);
        waiting.push(order(1, 1), budget, NOW);
        waiting.push(order(1, 2), budget, NOW);
        assert_eq!(waiting.len(), 2);
        waiting.try_again();
        assert_eq!(popped(&mut waiting, NOW), Some(order(1, 2)));
        assert_eq!(popped(&mut waiting, NOW), None);
        assert!(waiting.holds(order(1, 1)));
        assert_eq!(popped(&mut waiting, LATER), Some(order(1, 1)));
        assert_eq!(waiting.len(), 0);
    }
}
