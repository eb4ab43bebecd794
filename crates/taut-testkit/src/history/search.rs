//! The search for an order of the requests.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::book::{Book, Made};
use super::{Answer, History, Order, Request, Trade, Unexplained};

/// How far each client's requests are placed, and the book then.
type Standing = (Vec<usize>, Book);

/// A request that was placed.
struct Step {
    client: usize,
    before: Book,
    made: Vec<Made>,
    /// Clients whose requests are tried next, the last one first.
    left: Vec<usize>,
}

struct Search<'h> {
    history: &'h History,
    /// Places of each client's requests.
    of_client: Vec<Vec<usize>>,
    /// The first time that somebody heard of a request of this client from here on.
    first_heard: Vec<Vec<u64>>,
    /// What each order traded, as it was heard.
    heard: HashMap<Order, Vec<Trade>>,
    /// How many of these trades were made so far, and how much that is.
    made: HashMap<Order, (usize, i64)>,
    /// Trades that were not made so far: when they were heard, and which they are.
    due: BTreeSet<(u64, Order, usize)>,
    next: Vec<usize>,
    book: Book,
}

pub fn explain(history: &History) -> Result<Vec<usize>, Unexplained> {
    let mut search = Search::new(history);
    let mut failed: HashSet<Standing> = HashSet::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut deepest = Unexplained { explained: Vec::new(), why: Vec::new() };
    let mut left = search.candidates();
    loop {
        if search.is_over() {
            return Ok(search.places(&steps));
        }
        let placed = loop {
            let Some(client) = left.pop() else { break None };
            match search.place(client) {
                Ok((before, made)) => break Some(Step { client, before, made, left: Vec::new() }),
                Err(why) if steps.len() >= deepest.explained.len() => {
                    if steps.len() > deepest.explained.len() {
                        deepest.why.clear();
                        deepest.explained = search.places(&steps);
                    }
                    if deepest.why.len() < 8 && !deepest.why.contains(&why) {
                        deepest.why.push(why);
                    }
                }
                Err(_) => {}
            }
        };
        if let Some(mut step) = placed {
            step.left = std::mem::take(&mut left);
            steps.push(step);
            if !failed.contains(&(search.next.clone(), search.book.clone())) {
                left = search.candidates();
            }
            continue;
        }
        failed.insert((search.next.clone(), search.book.clone()));
        let Some(step) = steps.pop() else { return Err(search.blame(deepest)) };
        left = search.take_back(step);
    }
}

impl<'h> Search<'h> {
    fn new(history: &'h History) -> Self {
        let clients = history.requests.iter().map(|it| it.client + 1).max().unwrap_or(0);
        let mut of_client = vec![Vec::new(); clients];
        for (place, request) in history.requests.iter().enumerate() {
            of_client[request.client].push(place);
        }
        let mut heard: HashMap<Order, Vec<Trade>> = HashMap::new();
        let mut due = BTreeSet::new();
        for trade in &history.trades {
            let of_order = heard.entry(trade.order).or_default();
            due.insert((trade.heard, trade.order, of_order.len()));
            of_order.push(*trade);
        }
        let first_heard = of_client.iter().map(|places: &Vec<usize>| {
            let mut first = vec![u64::MAX; places.len() + 1];
            for (at, place) in places.iter().enumerate().rev() {
                let answered = history.requests[*place].answered.map_or(u64::MAX, |(at, _)| at);
                first[at] = answered.min(first[at + 1]);
            }
            first
        });
        Self {
            history,
            first_heard: first_heard.collect(),
            next: vec![0; clients],
            of_client,
            heard,
            made: HashMap::new(),
            due,
            book: Book::default(),
        }
    }

    fn next_of(&self, client: usize) -> Option<&'h Request> {
        let place = self.of_client[client].get(self.next[client])?;
        Some(&self.history.requests[*place])
    }

    /// All that was answered is placed, and all trades that were heard were made.
    fn is_over(&self) -> bool {
        let is_done = |client: usize| {
            let rest = self.of_client[client].get(self.next[client]..).unwrap_or(&[]);
            rest.iter().all(|place| self.history.requests[*place].answered.is_none())
        };
        self.due.is_empty() && (0..self.next.len()).all(is_done)
    }

    /// Clients whose next request may come next, by what the exchange says, the first one last.
    fn candidates(&self) -> Vec<usize> {
        let mut clients: Vec<(u64, usize)> = (0..self.next.len())
            .filter_map(|client| Some((self.next_of(client)?.hint, client)))
            .collect();
        clients.sort_unstable_by(|one, other| other.cmp(one));
        clients.into_iter().map(|(_, client)| client).collect()
    }

    /// Whether everything that somebody heard before this moment is placed.
    fn is_after_all_heard(&self, asked: u64) -> Result<(), String> {
        for (client, heard) in self.first_heard.iter().enumerate() {
            if heard[self.next[client]] < asked {
                return Err(format!("client {client} was answered before it was sent"));
            }
        }
        match self.due.first() {
            Some((heard, order, _)) if *heard < asked => {
                Err(format!("a trade of order {order} was heard before it was sent"))
            }
            _ => Ok(()),
        }
    }

    /// Executes a client's next request, if that gives what was heard; the book before, and trades.
    fn place(&mut self, client: usize) -> Result<(Book, Vec<Made>), String> {
        let request = self.next_of(client).ok_or("nothing is left")?;
        let named = |why: String| format!("{:?} of client {client}: {why}", request.ask);
        self.is_after_all_heard(request.asked).map_err(named)?;
        let (mut book, mut made) = (self.book.clone(), Vec::new());
        let traded = |order| self.made.get(&order).map_or(0, |(_, traded)| *traded);
        let answer = book.execute(request.ask, traded, &mut made);
        let is_other = |(_, told): (u64, Answer)| told != answer;
        if let Some((_, told)) = request.answered.filter(|it| is_other(*it)) {
            return Err(named(format!("it was told {told:?}, and a book says {answer:?}")));
        }
        self.check_trades(request.asked, &made).map_err(named)?;
        for &(maker, taker, _, qty) in &made {
            for order in [taker, maker] {
                let (count, traded) = self.made.entry(order).or_default();
                self.due.remove(&(self.heard[&order][*count].heard, order, *count));
                (*count, *traded) = (*count + 1, *traded + qty);
            }
        }
        self.next[client] += 1;
        Ok((std::mem::replace(&mut self.book, book), made))
    }

    /// Whether these trades are the next ones that their owners heard of, and not before.
    fn check_trades(&self, asked: u64, made: &[Made]) -> Result<(), String> {
        let mut more: BTreeMap<Order, usize> = BTreeMap::new();
        for &(maker, taker, price, qty) in made {
            for order in [taker, maker] {
                let more = more.entry(order).or_default();
                let at = self.made.get(&order).map_or(0, |(count, _)| *count) + *more;
                *more += 1;
                let told = self.heard.get(&order).and_then(|trades| trades.get(at));
                let Some(told) = told else {
                    return Err(format!("order {order} trades {qty} at {price}: nobody heard it"));
                };
                if (told.price, told.qty) != (price, qty) {
                    return Err(format!(
                        "order {order} trades {qty} at {price}: its owner heard {} at {}",
                        told.qty, told.price
                    ));
                }
                if told.heard < asked {
                    return Err(format!("order {order} traded before it was sent"));
                }
            }
        }
        Ok(())
    }

    /// Takes a step back; what is tried instead of it.
    fn take_back(&mut self, step: Step) -> Vec<usize> {
        let Step { client, before, made, left } = step;
        self.next[client] -= 1;
        self.book = before;
        for (maker, taker, _, qty) in made.into_iter().rev() {
            for order in [maker, taker] {
                let (count, traded) = self.made.entry(order).or_default();
                (*count, *traded) = (count.saturating_sub(1), *traded - qty);
                self.due.insert((self.heard[&order][*count].heard, order, *count));
            }
        }
        left
    }

    fn places(&self, steps: &[Step]) -> Vec<usize> {
        let mut next = vec![0; self.next.len()];
        let mut place = |step: &Step| {
            let at = self.of_client[step.client][next[step.client]];
            next[step.client] += 1;
            at
        };
        steps.iter().map(&mut place).collect()
    }

    /// Where all requests could be placed, trades are left that nobody made.
    fn blame(&self, mut deepest: Unexplained) -> Unexplained {
        if deepest.why.is_empty()
            && let Some((_, order, _)) = self.due.first()
        {
            deepest.why.push(format!("order {order} heard of a trade that no request made"));
        }
        deepest
    }
}
