//! The writing process: leads the phases and keeps the time.

use taut_ipc::Channel;
use taut_ring::broadcast::Polled;
use taut_sync::atomic::Ordering;
use taut_sys::{monotonic, stop_requests};
use taut_types::Nanos;

use crate::floor::{StreamWriter, ping};
use crate::ipc::content::Content;
use crate::ipc::plan::{
    FLOOR_RTT, FLOOR_STREAM, GRACE, Mode, Phase, ROUND_S, Shared, median, reaches,
};
use crate::ipc::rings::{In, Out};
use taut_report::Failure;
use taut_report::Latency;

/// What the writer measured.
pub struct Written {
    pub messages_per_s: f64,
    pub floor_per_s: f64,
    pub rtt: Latency,
    pub floor_rtt: Latency,
}

struct Lead<'a, 'c> {
    shared: &'a Shared<'a>,
    out: Out<'c>,
    back: Option<In<'c>>,
    stream: StreamWriter<'a>,
    turn: u64,
    next: u64,
    rtt: Latency,
    floor_rtt: Latency,
}

/// Leads all phases.
pub fn run(shared: &Shared<'_>, channel: &Channel) -> Result<Written, Failure> {
    let failed = |error: taut_ipc::IpcError| Failure::Run(error.to_string());
    let out = Out::open(channel, "out", shared.arguments).map_err(failed)?;
    let is_rtt = shared.arguments.mode == Mode::Rtt;
    let back = is_rtt.then(|| In::open(channel, "back", shared.arguments));
    let mut lead = Lead {
        shared,
        out,
        back: back.transpose().map_err(failed)?,
        stream: StreamWriter::new(shared.floor),
        turn: 0,
        next: 0,
        rtt: Latency::new(),
        floor_rtt: Latency::new(),
    };
    let readers = shared.arguments.readers;
    let late = || Failure::Run("a reader did not get ready or did not finish".to_owned());
    if !(0..readers).all(|reader| reaches(shared.finished(reader), 1, GRACE)) {
        return Err(late());
    }
    let (mut per_s, mut floor_per_s) = (Vec::new(), Vec::new());
    for number in 1..=shared.phases {
        if stop_requests() > 0 {
            return Err(Failure::Run("interrupted before the end: no report".to_owned()));
        }
        shared.word(0).store(number, Ordering::Release);
        let begun = monotonic();
        let (sent, position) = lead.phase(Phase::of(number), begun);
        shared.word(2).store(position, Ordering::Relaxed);
        shared.word(1).store(number, Ordering::Release);
        if !(0..readers).all(|reader| reaches(shared.finished(reader), number + 1, GRACE)) {
            return Err(late());
        }
        let rate = sent as f64 * 1e9 / monotonic().since(begun).0.max(1) as f64;
        match Phase::of(number) {
            Phase::FloorRtt => {}
            Phase::FloorStream => floor_per_s.push(rate),
            Phase::Ring => per_s.push(rate),
        }
    }
    Ok(Written {
        messages_per_s: median(per_s),
        floor_per_s: median(floor_per_s),
        rtt: lead.rtt,
        floor_rtt: lead.floor_rtt,
    })
}

impl Lead<'_, '_> {
    /// Runs one phase; returns how many messages were sent and the position that they end at.
    fn phase(&mut self, phase: Phase, begun: Nanos) -> (u64, u64) {
        match phase {
            Phase::FloorRtt => (self.floor_rtt(begun + FLOOR_RTT), self.turn),
            Phase::FloorStream => {
                let first = self.stream.position();
                let end = begun + FLOOR_STREAM;
                while monotonic() < end {
                    (0..1024).for_each(|_| self.stream.send());
                }
                (self.stream.position() - first, self.stream.position())
            }
            Phase::Ring => {
                let ring = Nanos((ROUND_S * 1e9) as i64);
                let end = begun + ring - FLOOR_RTT - FLOOR_STREAM;
                let first = self.next;
                match self.shared.arguments.mode {
                    Mode::Throughput => self.throughput(end),
                    Mode::Rtt => self.round_trips(end),
                    Mode::Rate => self.rate(begun, end),
                }
                (self.next - first, self.next)
            }
        }
    }

    fn floor_rtt(&mut self, end: Nanos) -> u64 {
        let clock = self.shared.clock;
        let first = self.turn;
        while monotonic() < end {
            for _ in 0..256 {
                self.turn += 1;
                let before = clock.ticks();
                ping(self.shared.floor, self.turn);
                let after = clock.ticks();
                self.floor_rtt.record(clock.at(after).since(clock.at(before)).0.unsigned_abs());
            }
        }
        self.turn - first
    }

    fn throughput(&mut self, end: Nanos) {
        let batch = self.shared.arguments.batch;
        while monotonic() < end {
            if batch == 1 {
                for _ in 0..1024 {
                    self.out.send(Content { number: self.next, ..Content::default() });
                    self.next += 1;
                }
            } else {
                for _ in 0..1024 / batch.min(1024) {
                    self.next = self.out.send_batch(self.next);
                }
            }
        }
    }

    fn round_trips(&mut self, end: Nanos) {
        let clock = self.shared.clock;
        let Some(back) = &mut self.back else { return };
        let mut echo = Content::default();
        while monotonic() < end {
            for _ in 0..256 {
                let content = Content { number: self.next, ..Content::default() };
                self.next += 1;
                let before = clock.ticks();
                self.out.send(content);
                while !matches!(back.poll(&mut echo), Polled::Message(_)) {}
                let after = clock.ticks();
                self.rtt.record(clock.at(after).since(clock.at(before)).0.unsigned_abs());
            }
        }
    }

    /// Open loop: a message that is late does not delay the times of those behind it.
    fn rate(&mut self, begun: Nanos, end: Nanos) {
        let clock = self.shared.clock;
        let interval = 1e9 / self.shared.arguments.rate() as f64;
        let mut count = 0_u64;
        loop {
            let intended = begun + Nanos((count as f64 * interval) as i64);
            if intended >= end {
                return;
            }
            let mut now = clock.now();
            while now < intended {
                now = clock.now();
            }
            let ns = |at: Nanos| at.0.unsigned_abs();
            let content =
                Content { number: self.next, intended_ns: ns(intended), sent_ns: ns(now) };
            self.out.send(content);
            self.next += 1;
            count += 1;
        }
    }
}
