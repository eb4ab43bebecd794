//! Aeron IPC with an embedded media driver: an exclusive publication and a subscription, each with
//! a client of its own, on two threads; the driver's thread is where the scheduler puts it.

use std::ffi::CStr;
use std::thread;
use std::time::Duration;

use rusteron_client::{
    AERON_IPC_STREAM, Aeron, AeronExclusivePublication, AeronSubscription, Handlers,
};
use rusteron_media_driver::testing::EmbeddedDriver;

use crate::run::{In, Mode, Out, Outcome, Plan, Shared, number, pin, read, write};

const CHANNEL: &CStr = AERON_IPC_STREAM;
const PATIENCE: Duration = Duration::from_secs(5);
/// Fragments of a poll, as in Aeron's own samples.
const FRAGMENTS: usize = 10;

struct AeronOut(AeronExclusivePublication, Vec<u8>);
struct AeronIn(AeronSubscription);

impl Out for AeronOut {
    fn send(&mut self, number: u64) {
        let size = self.1.len();
        self.1[..8].copy_from_slice(&number.to_ne_bytes());
        self.1[size - 8..].copy_from_slice(&number.to_ne_bytes());
        while self.0.offer(&self.1).is_err() {
            std::hint::spin_loop();
        }
    }
}

impl In for AeronIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        self.0.poll_fn(|message, _| each(number(message)), FRAGMENTS).expect("poll") as usize
    }
}

fn out(aeron: &Aeron, stream: i32, size: usize) -> AeronOut {
    let publication = aeron.async_add_exclusive_publication(CHANNEL, stream).expect("publication");
    AeronOut(publication.poll_blocking(PATIENCE).expect("publication"), vec![0; size])
}

fn input(aeron: &Aeron, stream: i32) -> AeronIn {
    let subscription =
        aeron.async_add_subscription(CHANNEL, stream, Handlers::NONE, Handlers::NONE);
    AeronIn(subscription.expect("subscription").poll_blocking(PATIENCE).expect("subscription"))
}

pub fn aeron(plan: &Plan) -> Outcome {
    let shared = Shared::new();
    let driver = EmbeddedDriver::launch().expect("driver");
    let directory = driver.dir().to_owned();
    let (size, cpu, both_ways) = (plan.size, plan.cpus[1], plan.mode == Mode::RoundTrip);
    let reader = thread::spawn(move || {
        pin(cpu);
        let aeron = Aeron::connect_dir(&directory).expect("client");
        let echo = both_ways.then(|| out(&aeron, 1002, size));
        read(shared, cpu, input(&aeron, 1001), echo);
    });
    let aeron = Aeron::connect_dir(driver.dir()).expect("client");
    let back = both_ways.then(|| input(&aeron, 1002));
    let outcome = write(shared, plan, out(&aeron, 1001, size), back);
    reader.join().expect("reader");
    outcome
}
