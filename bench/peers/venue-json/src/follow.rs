//! Books that follow frames, by whichever decoder.

use std::hint::black_box;
use std::time::Instant;

use taut_book::LevelBook;
use taut_types::{Lots, Price, Side};

use crate::turns::{Runner, print};

/// A frame, and which book it is of where the handler is one for each book.
#[derive(Clone)]
pub struct Frame {
    pub book: usize,
    pub is_snapshot: bool,
    pub bytes: Vec<u8>,
}

/// Books, and a decoder that moves them.
pub trait Follower {
    /// The connection is a new one.
    fn begin(&mut self);

    /// Takes a frame, which simd-json writes into.
    fn take(&mut self, frame: &mut Frame);

    fn books(&self) -> Vec<&LevelBook>;
}

/// A level of a frame that was read before.
#[derive(Clone, Copy)]
pub struct ReadLevel {
    pub side: Side,
    pub price: Price,
    pub lots: Lots,
}

/// What both sides share: the levels of the frames, read before, set in the same books.
pub struct BookAlone {
    books: Vec<LevelBook>,
    /// Of each frame, in their order: its book, whether that is emptied, and the levels.
    frames: Vec<(usize, bool, Vec<ReadLevel>)>,
    next: usize,
}

impl BookAlone {
    pub fn new(
        books: usize,
        capacity: usize,
        frames: Vec<(usize, bool, Vec<ReadLevel>)>,
    ) -> Box<dyn Follower> {
        let books = (0..books).map(|_| LevelBook::with_capacity(capacity)).collect();
        Box::new(Self { books, frames, next: 0 })
    }
}

impl Follower for BookAlone {
    fn begin(&mut self) {
        self.next = 0;
    }

    fn take(&mut self, _: &mut Frame) {
        let (book, is_snapshot, levels) = &self.frames[self.next];
        let book = &mut self.books[*book];
        self.next += 1;
        if *is_snapshot {
            book.clear();
        }
        for level in levels {
            let _ = black_box(book.apply(level.side, level.price, level.lots, 0));
        }
    }

    fn books(&self) -> Vec<&LevelBook> {
        self.books.iter().collect()
    }
}

/// What is taken before the clock runs, and what is timed.
pub struct Case {
    pub load: Vec<Frame>,
    pub timed: Vec<Frame>,
}

/// Checks that all come to the same books, times them and prints the row.
pub fn compare(what: &str, case: &Case, followers: &mut [(&'static str, Box<dyn Follower>)]) {
    let mut hashes: Vec<Vec<u64>> = Vec::new();
    for (_, follower) in followers.iter_mut() {
        run(case, follower.as_mut());
        run(case, follower.as_mut());
        hashes.push(follower.books().iter().map(|book| book.state_hash()).collect());
    }
    for ((name, _), hash) in followers.iter().zip(&hashes) {
        assert_eq!(*hash, hashes[0], "{what}: {name} has other books");
    }
    let bytes: usize = case.timed.iter().map(|frame| frame.bytes.len()).sum();
    let mut runners: Vec<Runner<'_>> = followers
        .iter_mut()
        .map(|(name, follower)| Runner {
            name,
            pass: Box::new(move || run(case, follower.as_mut())),
        })
        .collect();
    print(what, bytes / case.timed.len(), case.timed.len(), &mut runners);
}

/// Nanoseconds of the timed frames.
fn run(case: &Case, follower: &mut dyn Follower) -> f64 {
    let mut load = case.load.clone();
    // Copies, because simd-json writes into them; they are made before the clock runs.
    let mut timed = case.timed.clone();
    follower.begin();
    load.iter_mut().for_each(|frame| follower.take(frame));
    let start = Instant::now();
    timed.iter_mut().for_each(|frame| follower.take(frame));
    start.elapsed().as_nanos() as f64
}
