//! Shared memory between two processes, messages of 56 bytes.

use iceoryx2::port::backpressure_strategy::BackpressureStrategy;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use ringfire::{FlowControl, RingConsumer, RingProducer, RingProducerBuilder};

use crate::run::{In, Mode, Out, Outcome, Plan, Shared, Words, in_process, read, whole, write};

struct RingfireOut(RingProducer<Words>);
struct RingfireIn(RingConsumer<Words>, Vec<Words>);

impl Out for RingfireOut {
    fn send(&mut self, number: u64) {
        self.0.push(&[number; 7]);
    }

    fn send_batch(&mut self, first: u64, count: usize) {
        let batch: Vec<Words> = (first..).take(count).map(|number| [number; 7]).collect();
        self.0.push_batch(&batch);
    }
}

impl In for RingfireIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        let count = self.0.recv_batch(&mut self.1);
        self.1[..count].iter().for_each(|words| each(whole(words)));
        count
    }
}

pub fn ringfire(plan: &Plan) -> Outcome {
    let shared = Shared::new();
    let paths = ["out", "back"].map(|name| format!("/dev/shm/peer-{}-{name}", std::process::id()));
    let create = |path: &String| {
        let builder = RingProducerBuilder::new(plan.capacity as u64);
        let lossless = builder.flow_control(FlowControl::LosslessBackpressure);
        RingfireOut(lossless.build(path).expect("ring"))
    };
    let attach = |path: &String| {
        let start = RingConsumer::builder().start_from_oldest();
        RingfireIn(start.attach(path).expect("ring"), vec![[0; 7]; 64])
    };
    let out = create(&paths[0]);
    let both_ways = plan.mode == Mode::RoundTrip;
    let ended = in_process(|| {
        let echo = both_ways.then(|| create(&paths[1]));
        read(shared, plan.cpus[1], attach(&paths[0]), echo);
    });
    while shared.ready.load(std::sync::atomic::Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    let back = both_ways.then(|| attach(&paths[1]));
    let outcome = write(shared, plan, out, back);
    ended();
    for path in paths {
        let _ = std::fs::remove_file(path);
    }
    outcome
}

struct IceoryxOut(Publisher<ipc::Service, Words, ()>);
struct IceoryxIn(Subscriber<ipc::Service, Words, ()>);

impl Out for IceoryxOut {
    fn send(&mut self, number: u64) {
        let sample = self.0.loan_uninit().expect("loan");
        sample.write_payload([number; 7]).send().expect("send");
    }
}

impl In for IceoryxIn {
    fn take(&mut self, each: &mut dyn FnMut(Option<u64>)) -> usize {
        match self.0.receive().expect("receive") {
            Some(sample) => {
                each(whole(&sample));
                1
            }
            None => 0,
        }
    }
}

pub fn iceoryx2(plan: &Plan) -> Outcome {
    let shared = Shared::new();
    let run = std::process::id();
    let open = |node: &Node<ipc::Service>, way: &str| {
        let name = ServiceName::new(&format!("peer/{run}/{way}")).expect("name");
        node.service_builder(&name)
            .publish_subscribe::<Words>()
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size(plan.capacity)
            .open_or_create()
            .expect("service")
    };
    let both_ways = plan.mode == Mode::RoundTrip;
    let side = |out: Option<&str>, input: Option<&str>| {
        let node = NodeBuilder::new().create::<ipc::Service>().expect("node");
        let out = out.map(|way| {
            let service = open(&node, way);
            let wait = BackpressureStrategy::RetryUntilDelivered;
            let publisher = service.publisher_builder().backpressure_strategy(wait);
            IceoryxOut(publisher.create().expect("publisher"))
        });
        let input = input.map(|way| {
            let service = open(&node, way);
            let subscriber = service.subscriber_builder().buffer_size(plan.capacity);
            IceoryxIn(subscriber.create().expect("subscriber"))
        });
        (node, out, input)
    };
    let ended = in_process(|| {
        let (_node, echo, input) = side(both_ways.then_some("back"), Some("out"));
        read(shared, plan.cpus[1], input.expect("input"), echo);
    });
    let (_node, out, back) = side(Some("out"), both_ways.then_some("back"));
    let outcome = write(shared, plan, out.expect("out"), back);
    ended();
    outcome
}
