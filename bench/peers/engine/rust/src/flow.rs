//! The order flow, and what is made of the trades.

use std::collections::HashMap;

/// What an operation is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Add,
    Cancel,
    ImmediateOrCancel,
}

/// A record of the file.
#[derive(Clone, Copy)]
pub struct Operation {
    pub kind: Kind,
    pub is_sell: bool,
    pub quantity: u32,
    pub id: u64,
    pub price: u64,
}

/// A file of bookgen.
pub struct Flow {
    pub operations: Vec<Operation>,
    pub prefill: usize,
}

impl Flow {
    pub fn read(path: &str) -> Self {
        let file = std::fs::read(path).expect("a readable file");
        assert!(file.starts_with(b"BMX1"), "{path} is not a file of bookgen");
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        let operations: Vec<_> = file[12..].chunks_exact(24).map(operation).collect();
        let prefill = word(4) as usize;
        assert_eq!(operations.len(), prefill + word(8) as usize, "{path} is cut off");
        Self { operations, prefill }
    }
}

fn operation(record: &[u8]) -> Operation {
    let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
    Operation {
        kind: match record[0] {
            0 => Kind::Add,
            1 => Kind::Cancel,
            2 => Kind::ImmediateOrCancel,
            other => panic!("type {other}"),
        },
        is_sell: record[1] == 1,
        quantity: u32::from_le_bytes(record[4..8].try_into().unwrap()),
        id: long(8),
        price: long(16),
    }
}

/// Who is told of trades.
pub trait Trades {
    fn trade(&mut self, maker: u64, taker: u64, price: u64, quantity: u64);
}

/// For timed passes: as much as it takes that nothing is optimised away.
#[derive(Default)]
pub struct Totals {
    count: u64,
    sum: u64,
}

impl Trades for Totals {
    #[inline]
    fn trade(&mut self, maker: u64, taker: u64, price: u64, quantity: u64) {
        self.count += 1;
        self.sum = self.sum.rotate_left(5) ^ maker ^ taker ^ price ^ quantity;
    }
}

/// For the correctness pass: FNV-1a over maker, taker, price, quantity, and what is left.
pub struct TradeHash<'a> {
    flow: &'a Flow,
    traded: HashMap<u64, u64>,
    pub count: u64,
    pub hash: u64,
}

impl<'a> TradeHash<'a> {
    pub fn new(flow: &'a Flow) -> Self {
        Self { flow, traded: HashMap::new(), count: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }

    /// Cancels of the orders that rest at the end.
    pub fn left(&self) -> Vec<Operation> {
        let mut live: HashMap<u64, Operation> = HashMap::new();
        for &operation in &self.flow.operations {
            let traded = self.traded.get(&operation.id).copied().unwrap_or(0);
            match operation.kind {
                Kind::Add if traded < u64::from(operation.quantity) => {
                    live.insert(operation.id, operation);
                }
                Kind::Cancel => {
                    live.remove(&operation.id);
                }
                _ => {}
            }
        }
        let mut left: Vec<_> = live.into_values().collect();
        left.sort_by_key(|operation| operation.id);
        left.iter_mut().for_each(|operation| operation.kind = Kind::Cancel);
        left
    }
}

impl Trades for TradeHash<'_> {
    fn trade(&mut self, maker: u64, taker: u64, price: u64, quantity: u64) {
        self.count += 1;
        for word in [maker, taker, price, quantity] {
            for byte in word.to_le_bytes() {
                self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        for id in [maker, taker] {
            *self.traded.entry(id).or_default() += quantity;
        }
    }
}
