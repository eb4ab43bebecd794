//! Queues inside a process: two threads.

use std::sync::Arc;
use std::thread;

use crossbeam::queue::ArrayQueue;
use disruptor::BusySpin;
use rtrb::chunks::ChunkError;

use crate::run::{In, Mode, Out, Outcome, Plan, Shared, Words, read, whole, write};

/// Runs a writer and a reader over queues from `make`.
fn threads<O, I>(plan: &Plan, make: impl Fn() -> (O, I)) -> Outcome
where
    O: Out + Send + 'static,
    I: In + Send + 'static,
{
    let shared = Shared::new();
    let (out, input) = make();
    let (echo, back) = if plan.mode == Mode::RoundTrip {
        let (echo, back) = make();
        (Some(echo), Some(back))
    } else {
        (None, None)
    };
    let cpu = plan.cpus[1];
    let reader = thread::spawn(move || read(shared, cpu, input, echo));
    let outcome = write(shared, plan, out, back);
    reader.join().expect("reader");
    outcome
}

struct RtrbOut(rtrb::Producer<Words>);
struct RtrbIn(rtrb::Consumer<Words>);

impl Out for RtrbOut {
    fn send(&mut self, number: u64) {
        while self.0.push([number; 7]).is_err() {
            std::hint::spin_loop();
        }
    }

    fn send_batch(&mut self, first: u64, count: usize) {
        loop {
            match self.0.write_chunk_uninit(count) {
                Ok(chunk) => {
                    chunk.fill_from_iter((first..).take(count).map(|number| [number; 7]));
                    return;
                }
                Err(ChunkError::TooFewSlots(_)) => std::hint::spin_loop(),
            }
        }
    }
}

impl In for RtrbIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        let count = self.0.slots();
        match self.0.read_chunk(count) {
            Ok(chunk) => chunk.into_iter().map(|words| each(whole(&words))).count(),
            Err(_) => 0,
        }
    }
}

pub fn rtrb(plan: &Plan) -> Outcome {
    threads(plan, || {
        let (out, input) = rtrb::RingBuffer::new(plan.capacity);
        (RtrbOut(out), RtrbIn(input))
    })
}

struct Array(Arc<ArrayQueue<Words>>);

impl Out for Array {
    fn send(&mut self, number: u64) {
        while self.0.push([number; 7]).is_err() {
            std::hint::spin_loop();
        }
    }
}

impl In for Array {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        self.0.pop().map_or(0, |words| {
            each(whole(&words));
            1
        })
    }
}

pub fn crossbeam(plan: &Plan) -> Outcome {
    threads(plan, || {
        let queue = Arc::new(ArrayQueue::new(plan.capacity));
        (Array(Arc::clone(&queue)), Array(queue))
    })
}

struct DisruptorOut<P>(P);
struct DisruptorIn(disruptor::EventPoller<Words, disruptor::SingleProducerBarrier>);

impl<P: disruptor::Producer<Words>> Out for DisruptorOut<P> {
    fn send(&mut self, number: u64) {
        self.0.publish(|words| *words = [number; 7]);
    }

    fn send_batch(&mut self, first: u64, count: usize) {
        self.0.batch_publish(count, |events| {
            for (words, number) in events.zip(first..) {
                *words = [number; 7];
            }
        });
    }
}

impl In for DisruptorIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        match self.0.poll() {
            Ok(mut events) => (&mut events).map(|words| each(whole(words))).count(),
            Err(_) => 0,
        }
    }
}

pub fn disruptor(plan: &Plan) -> Outcome {
    threads(plan, || {
        let builder = disruptor::build_single_producer(plan.capacity, || [0; 7], BusySpin);
        let (poller, builder) = builder.new_event_poller();
        (DisruptorOut(builder.build()), DisruptorIn(poller))
    })
}
