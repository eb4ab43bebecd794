//! Power cuts of a venue under load: the disk has what was synchronised, and of the rest whatever
//! it likes.
//!
//! A cut falls between two things that a client can see: what was executed since the last answers
//! left is not synchronised, and nobody has heard of it. Of these bytes the disk has every prefix,
//! and every combination of blocks. `TAUT_CUTS=10000` sets how many cuts there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use taut_fix::{ExecType, MemoryStore, OrdStatus, Session};
use taut_journal::{Reader, segment_name};
use taut_sys::Socket;
use taut_testkit::{Draw, for_each_seed};
use taut_types::Nanos;

use crate::journal::IMAGE_END;
use crate::tests::client::{Answer, Client, Report};
use crate::tests::journaled::{START, ask, ask_status, executions, lasting};
use crate::tests::many::{Listener, compare};
use crate::tests::rig::{Rig, drain, instrument};
use crate::{Acknowledge, Flow, Now, Recovered, VenueConfig};

/// What a disk writes whole.
const BLOCK: u64 = 512;
/// Cuts of one venue, which goes on.
const CUTS_A_DAY: u64 = 10;
/// How long a turn of the venue takes.
const TURN: Nanos = Nanos::from_millis(1);

fn days() -> u64 {
    let set = std::env::var("TAUT_CUTS").ok();
    let cuts: u64 = set.map_or(40, |cuts| cuts.parse().expect("TAUT_CUTS is a number"));
    cuts.div_ceil(CUTS_A_DAY)
}

/// The newest start of a journal, as its files are before the cut.
struct Written {
    folder: PathBuf,
    epoch: u32,
    /// Where each entry ends, behind where the first begins: segment and byte.
    ends: Vec<(u32, u64)>,
    /// How many of the entries are the image.
    image: u64,
}

impl Written {
    fn read(journal: &Path, epoch: u32) -> Self {
        let folder = journal.join(format!("epoch-{epoch:08}"));
        let mut reader = Reader::open(&folder).expect("a journal");
        let (mut ends, mut image) = (vec![(1, 64)], 0);
        while let Some(frame) = reader.next_frame().expect("right") {
            let length = 24 + frame.bytes.len().next_multiple_of(8) as u64;
            ends.push((frame.at.0, frame.at.1 + length));
            if frame.kind == IMAGE_END {
                image = frame.sequence;
            }
        }
        Self { folder, epoch, ends, image }
    }

    fn entries(&self) -> u64 {
        self.ends.len() as u64 - 1
    }

    /// The bytes of each segment that are behind this entry, piece by piece as a disk writes them.
    fn blocks_behind(&self, safe: u64) -> Vec<(u32, Range<u64>)> {
        let (first, from) = self.ends[safe as usize];
        let (last, to) = self.ends[self.ends.len() - 1];
        let mut blocks = Vec::new();
        for segment in first..=last {
            let start = if segment == first { from } else { 64 };
            let length = fs::metadata(self.segment(segment)).expect("a segment").len();
            let end = if segment == last { to } else { length };
            let of_block = |block| start.max(block * BLOCK)..end.min((block + 1) * BLOCK);
            blocks.extend((start / BLOCK..end.div_ceil(BLOCK)).map(|it| (segment, of_block(it))));
        }
        blocks
    }

    fn segment(&self, number: u32) -> PathBuf {
        self.folder.join(segment_name(number))
    }

    /// Nothing stands behind the image yet.
    fn end_with_image(&mut self) {
        let (_, behind) = self.ends.split_at(self.image as usize);
        let (segment, end) = behind[0];
        for (number, _) in behind {
            let file = self.segment(*number);
            let mut bytes = fs::read(&file).expect("a segment");
            let from = if *number == segment { end as usize } else { 64 };
            bytes[from..].fill(0);
            fs::write(&file, bytes).expect("write it");
        }
        self.ends.truncate(self.image as usize + 1);
    }

    /// The power fails when all up to this entry is on the disk.
    fn cut(&self, random: &mut impl Draw, safe: u64) {
        let blocks = self.blocks_behind(safe);
        let is_prefix = random.below(3) == 0;
        // All, most, few or none of them are there.
        let there_of_8 = random.below(9);
        let cut_in = random.below(blocks.len() as u64 + 1) as usize;
        let mut segments: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for (at, (segment, range)) in blocks.iter().enumerate() {
            let bytes = segments
                .entry(*segment)
                .or_insert_with(|| fs::read(self.segment(*segment)).expect("a segment"));
            let lost = match is_prefix {
                true if at == cut_in => range.start + random.below(range.end - range.start),
                true if at > cut_in => range.start,
                false if random.below(8) >= there_of_8 => range.start,
                _ => range.end,
            };
            bytes[lost as usize..range.end as usize].fill(0);
        }
        for (segment, bytes) in segments {
            fs::write(self.segment(segment), bytes).expect("write it");
        }
        // What was made ahead was named when it was on the disk, or had no name yet.
        let ahead = self.segment(self.ends[self.ends.len() - 1].0 + 1);
        if random.below(2) == 0 && ahead.exists() {
            fs::remove_file(ahead).expect("remove it");
        }
    }
}

/// A client over all its connections.
struct Trader {
    session: Option<Session<MemoryStore>>,
    /// What it was told, by ExecID.
    told: BTreeMap<u64, Answer>,
}

impl Trader {
    fn hear(&mut self, client: &Client) {
        for (exec_id, answer) in executions(client) {
            if let Some(before) = self.told.insert(exec_id, answer) {
                assert_eq!(before, answer, "an execution is told as another one");
            }
        }
    }

    /// Its open orders by all that it was told, with what has traded and what is left.
    fn open(&self) -> BTreeMap<u64, (i64, i64)> {
        let mut open = BTreeMap::new();
        for answer in self.told.values() {
            let Answer::Report(Report { order_id: Some(order_id), status, cum, leaves, .. }) =
                answer
            else {
                continue;
            };
            let is_open = matches!(status, OrdStatus::New | OrdStatus::PartiallyFilled);
            match is_open {
                true => _ = open.insert(*order_id, (*cum, *leaves)),
                false => _ = open.remove(order_id),
            }
        }
        open
    }
}

/// The same by the answer to its last question about all orders.
fn open_at_the_venue(client: &Client) -> BTreeMap<u64, (i64, i64)> {
    let (_, total, _) = client.mass.last().expect("an answer");
    let told = client.reports.iter().rev().filter_map(|answer| match answer {
        Answer::Report(report) if report.exec_type == ExecType::OrderStatus => Some(report),
        _ => None,
    });
    // That there is none says a report, too.
    let told = told.take(total.unwrap_or(0).max(1) as usize);
    told.filter_map(|it| Some((it.order_id?, (it.cum, it.leaves)))).collect()
}

/// A venue, its clients, and who follows its feed, over all its starts.
struct Day {
    folder: tempfile::TempDir,
    config: VenueConfig,
    traders: Vec<Trader>,
    listener: Option<Listener>,
    next_id: u64,
}

type Left = (Now, [Option<Socket>; 3]);

impl Day {
    fn new() -> Self {
        let session = |name: &&str| Some(Client::session(name, false));
        let trader = |name| Trader { session: session(name), told: BTreeMap::new() };
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            config: lasting(),
            traders: ["ALPHA", "BETA"].iter().map(trader).collect(),
            listener: None,
            next_id: 1,
        }
    }

    /// The venue starts, whatever the cut has left.
    fn start(&mut self, left: Left) -> (Rig, Recovered) {
        let (config, folder) = (&self.config, self.folder.path());
        let (rig, recovered) =
            Rig::journaled_to(config, Flow::None, folder, left, Acknowledge::Disk);
        let instruments = [instrument()];
        let listener = self.listener.get_or_insert_with(|| Listener::new(&rig, &instruments));
        listener.ask_at(&rig);
        (rig, recovered)
    }

    /// The clients log on again, hear what they missed, and know what the venue knows.
    fn log_on(&mut self, rig: &mut Rig) -> Vec<Client> {
        let mut clients = Vec::new();
        for trader in &mut self.traders {
            let session = trader.session.take().expect("a session");
            let mut client = Client::resume(rig.orders_at, session, rig.now);
            rig.advance(TURN);
            rig.until(&mut client, Client::is_logged_on);
            clients.push(client);
        }
        // What the cut took from the venue, they have sent again. What the second one sent may
        // have traded with the first one's orders.
        for _ in 0..2 {
            for (client, trader) in clients.iter_mut().zip(&mut self.traders) {
                let id = self.next_id;
                self.next_id += 1;
                ask_status(client, rig.now, id);
                rig.until(client, |client| {
                    let last = client.mass.last();
                    last.is_some_and(|(asked, _, is_last)| *is_last && asked.to_u64() == Some(id))
                });
                trader.hear(client);
            }
        }
        for (client, trader) in clients.iter().zip(&self.traders) {
            assert_eq!(trader.open(), open_at_the_venue(client), "other orders are open");
        }
        clients
    }

    fn ask_each(&mut self, random: &mut impl Draw, clients: &mut [Client], now: Now, max: u64) {
        for client in clients {
            for _ in 0..random.below(max) {
                ask(random, client, now, &mut self.next_id);
            }
        }
    }

    fn listen(&mut self, rig: &Rig) {
        if let Some(listener) = &mut self.listener {
            listener.listen(rig);
        }
    }

    /// Trades, until the power fails; what the disk has for certain, and what is left.
    fn trade(&mut self, random: &mut impl Draw, mut rig: Rig) -> (u64, Left) {
        let mut clients = self.log_on(&mut rig);
        for _ in 0..2 + random.below(5) {
            self.ask_each(random, &mut clients, rig.now, 4);
            rig.tick();
            clients.iter_mut().for_each(|client| client.pump(rig.now));
            self.listen(&rig);
        }
        let mut safe = rig.venue.journaled();
        // The last turn's answers never leave: the cut comes while it waits for the disk.
        let is_lost = random.below(4) > 0;
        if is_lost {
            self.ask_each(random, &mut clients, rig.now, 9);
            rig.tick();
            for unheard in [&rig.incremental, &rig.line_b, &rig.snapshot] {
                drain(unheard, |_| {});
            }
        } else {
            safe = rig.venue.journaled();
        }
        for (client, trader) in clients.into_iter().zip(&mut self.traders) {
            trader.hear(&client);
            trader.session = Some(client.break_off(rig.now));
        }
        (safe, rig.cut_off())
    }
}

/// Each execution has a number of its own, none is missing, and no order is forgotten.
fn check(day: &mut Day, left: Left) {
    let (mut rig, _) = day.start(left);
    day.log_on(&mut rig);
    let told = || day.traders.iter().flat_map(|trader| trader.told.keys());
    let numbers: BTreeSet<u64> = told().copied().collect();
    assert_eq!(numbers.len(), told().count(), "two clients have one execution");
    let all: BTreeSet<u64> = (1..=numbers.last().copied().unwrap_or(0)).collect();
    assert_eq!(numbers, all, "an execution was lost");
    for _ in 0..300 {
        rig.tick();
        day.listen(&rig);
    }
    let listener = day.listener.as_ref().expect("it listens");
    assert_eq!(compare(&rig, listener, &[instrument()]), 1, "the feed has another book");
    let sequencer = listener.feed.arbiter().sequencer();
    assert_eq!(sequencer.lost(sequencer.last()), 0, "the feed has a hole");
}

#[test]
fn a_power_cut_takes_nothing_that_was_acknowledged_and_no_start_is_refused() {
    for_each_seed(0..days(), |_, mut random| {
        let mut day = Day::new();
        let mut left = (START, [None, None, None]);
        for _ in 0..CUTS_A_DAY {
            let (rig, recovered) = day.start(left);
            let epoch = recovered.starts + 1;
            let has_begun = recovered.starts == 0 || random.below(8) > 0;
            let (safe, after) =
                if has_begun { day.trade(&mut random, rig) } else { (0, rig.cut_off()) };
            let mut written = Written::read(day.folder.path(), epoch);
            if !has_begun {
                // Its image is not on the disk either.
                written.end_with_image();
            }
            assert!(safe <= written.entries(), "{safe} of {}", written.entries());
            written.cut(&mut random, safe);
            left = after;
        }
        check(&mut day, left);
    });
}

/// Where answers leave before their inputs are on the disk, the last of them may be gone: the venue
/// starts all the same, with all that was on the disk.
#[test]
fn a_power_cut_of_a_venue_that_answers_at_once_refuses_no_start_either() {
    for_each_seed(0..days().div_ceil(2), |_, mut random| {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut left, mut id) = ((START, [None, None, None]), 1);
        let (mut at_least, mut epoch) = (0, 0);
        for _ in 0..CUTS_A_DAY {
            let (mut rig, recovered) =
                Rig::journaled_to(&lasting(), Flow::None, folder.path(), left, Acknowledge::Memory);
            if recovered.starts == epoch {
                assert!(recovered.inputs >= at_least, "{recovered:?}: {at_least} were safe");
            }
            // The keeper has its turn less often than the venue, and says what is safe.
            let (mut safe, mut keeper) = (0, rig.keeper.take().expect("a keeper"));
            let name = format!("C{}", random.below(1 << 40));
            let mut client = Client::resume(rig.orders_at, Client::session(&name, false), rig.now);
            rig.advance(TURN);
            rig.until(&mut client, Client::is_logged_on);
            for turn in 0..random.below(60) {
                if turn % 4 == 0 {
                    (0..random.below(9))
                        .for_each(|_| ask(&mut random, &mut client, rig.now, &mut id));
                }
                rig.tick();
                client.pump(rig.now);
                if random.below(4) == 0 {
                    safe = keeper.turn_and_tell();
                }
            }
            let written = Written::read(folder.path(), recovered.starts + 1);
            epoch = written.epoch;
            // An image is on the disk before anybody is let in.
            let safe = safe.max(written.image);
            left = rig.cut_off();
            written.cut(&mut random, safe);
            at_least = safe - written.image;
        }
    });
}
