//! Aeron IPC with an embedded media driver: an exclusive publication and a subscription, each with
//! a client of its own, on two threads; the driver's thread is where the scheduler puts it.

use std::ffi::CString;
use std::thread;
use std::time::Duration;

use rusteron_client::{
    Aeron, AeronBufferClaim, AeronExclusivePublication, AeronSubscription, Handlers,
};
use rusteron_media_driver::testing::EmbeddedDriver;

use crate::run::{In, Mode, Out, Outcome, Plan, Shared, fill, number, pin, read, write};

const PATIENCE: Duration = Duration::from_secs(5);
/// Fragments of a poll; Aeron's own samples take 10.
const FRAGMENTS: usize = 64;

/// One of Aeron's ways: a copy or a claim in place, with terms of this many KiB. A publication may
/// be half a term ahead of its reader; the driver's thread moves that window now and then.
#[derive(Clone, Copy)]
struct Way {
    term_kib: usize,
    claims: bool,
}

impl Way {
    fn channel(self) -> CString {
        CString::new(format!("aeron:ipc?term-length={}k", self.term_kib)).expect("no zero byte")
    }
}

struct AeronOut {
    publication: AeronExclusivePublication,
    message: Vec<u8>,
    claim: Option<AeronBufferClaim>,
}

struct AeronIn(AeronSubscription);

impl Out for AeronOut {
    fn send(&mut self, number: u64) {
        let size = self.message.len();
        let Some(claim) = &mut self.claim else {
            fill(&mut self.message, number);
            while self.publication.offer(&self.message).is_err() {
                std::hint::spin_loop();
            }
            return;
        };
        while self.publication.try_claim_raw(size, claim) < 0 {
            std::hint::spin_loop();
        }
        fill(claim.data_mut(), number);
        claim.commit().expect("commit");
    }
}

impl In for AeronIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        self.0.poll_fn(|message, _| each(number(message)), FRAGMENTS).expect("poll") as usize
    }
}

fn out(aeron: &Aeron, way: Way, stream: i32, size: usize) -> AeronOut {
    let publication = aeron.async_add_exclusive_publication(&way.channel(), stream);
    let publication = publication.expect("publication").poll_blocking(PATIENCE);
    AeronOut {
        publication: publication.expect("publication"),
        message: vec![0; size],
        claim: way.claims.then(AeronBufferClaim::new_zeroed_on_stack),
    }
}

fn input(aeron: &Aeron, way: Way, stream: i32) -> AeronIn {
    let subscription =
        aeron.async_add_subscription(&way.channel(), stream, Handlers::NONE, Handlers::NONE);
    AeronIn(subscription.expect("subscription").poll_blocking(PATIENCE).expect("subscription"))
}

pub fn offer<const TERM_KIB: usize>(plan: &Plan) -> Outcome {
    run(plan, Way { term_kib: TERM_KIB, claims: false })
}

pub fn claim<const TERM_KIB: usize>(plan: &Plan) -> Outcome {
    run(plan, Way { term_kib: TERM_KIB, claims: true })
}

fn run(plan: &Plan, way: Way) -> Outcome {
    let shared = Shared::new();
    let driver = EmbeddedDriver::launch().expect("driver");
    let directory = driver.dir().to_owned();
    let (size, cpu, both_ways) = (plan.size, plan.cpus[1], plan.mode == Mode::RoundTrip);
    let theirs = directory.clone();
    let reader = thread::spawn(move || {
        pin(cpu);
        let aeron = Aeron::connect_dir(&theirs).expect("client");
        let echo = both_ways.then(|| out(&aeron, way, 1002, size));
        read(shared, cpu, input(&aeron, way, 1001), echo);
    });
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let back = both_ways.then(|| input(&aeron, way, 1002));
    let outcome = write(shared, plan, out(&aeron, way, 1001, size), back);
    reader.join().expect("reader");
    drop((aeron, driver));
    let _ = std::fs::remove_dir_all(&directory);
    outcome
}
