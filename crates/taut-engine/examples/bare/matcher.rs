//! The bare matcher.

const PRICES: usize = 1 << 14;
const IDS: usize = 1 << 21;
const NONE: u32 = u32::MAX;

/// A message of the flow.
#[derive(Clone, Copy)]
pub struct Message {
    kind: u8,
    side: u8,
    lots: u32,
    id: u32,
    price: u32,
}

impl Message {
    /// Reads a record of 24 bytes.
    pub fn read(record: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four"));
        Self { kind: record[0], side: record[1], lots: word(4), id: word(8), price: word(16) }
    }
}

#[derive(Clone, Copy)]
struct Order {
    lots: u32,
    older: u32,
    newer: u32,
    price_and_side: u32,
}

/// Both sides' queues by price and the orders by id.
pub struct Bare {
    orders: Box<[Order]>,
    ends: [Box<[(u32, u32)]>; 2],
    best: [usize; 2],
    pub trade_count: u64,
    hash: u64,
}

impl Bare {
    pub fn new() -> Self {
        let none = Order { lots: 0, older: NONE, newer: NONE, price_and_side: 0 };
        let ends = vec![(NONE, NONE); PRICES].into_boxed_slice();
        Self {
            orders: vec![none; IDS].into_boxed_slice(),
            ends: [ends.clone(), ends],
            best: [0, PRICES - 1],
            trade_count: 0,
            hash: 0,
        }
    }

    pub fn apply(&mut self, message: Message) {
        let side = usize::from(message.side);
        match message.kind {
            1 => self.cancel(message.id),
            kind => {
                let left = self.sweep(side, message);
                if left > 0 && kind == 0 {
                    self.rest(side, message, left);
                }
            }
        }
    }

    fn sweep(&mut self, side: usize, message: Message) -> u32 {
        let (makers, limit) = (1 - side, message.price as usize);
        let mut left = message.lots;
        while left > 0 {
            let best = self.best[makers];
            if if side == 0 { best > limit } else { best < limit } {
                break;
            }
            let head = self.ends[makers][best].0;
            if head == NONE {
                // The end of the prices is never occupied.
                if best == 0 || best == PRICES - 1 {
                    break;
                }
                self.best[makers] = if makers == 0 { best - 1 } else { best + 1 };
                continue;
            }
            let maker = &mut self.orders[head as usize];
            let lots = left.min(maker.lots);
            left -= lots;
            maker.lots -= lots;
            let spent = maker.lots == 0;
            self.trade_count += 1;
            self.hash = self.hash.wrapping_mul(31) ^ u64::from(head) ^ u64::from(lots) << 32;
            if spent {
                self.cancel(head);
            }
        }
        left
    }

    fn rest(&mut self, side: usize, message: Message, lots: u32) {
        let (id, price) = (message.id, message.price as usize);
        let ends = &mut self.ends[side][price];
        let older = ends.1;
        ends.1 = id;
        match older {
            NONE => ends.0 = id,
            _ => self.orders[older as usize].newer = id,
        }
        let price_and_side = message.price << 1 | message.side as u32;
        self.orders[id as usize] = Order { lots, older, newer: NONE, price_and_side };
        let best = self.best[side];
        self.best[side] = if side == 0 { best.max(price) } else { best.min(price) };
    }

    fn cancel(&mut self, id: u32) {
        let order = self.orders[id as usize];
        let ends = &mut self.ends[(order.price_and_side & 1) as usize];
        let ends = &mut ends[(order.price_and_side >> 1) as usize];
        match order.older {
            NONE => ends.0 = order.newer,
            older => self.orders[older as usize].newer = order.newer,
        }
        match order.newer {
            NONE => ends.1 = order.older,
            newer => self.orders[newer as usize].older = order.older,
        }
    }
}
