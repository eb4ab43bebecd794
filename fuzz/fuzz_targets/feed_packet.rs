//! Datagrams of taut's own market data.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::native::{LevelSink, LevelUpdate, Message, PacketReader, Trade};

#[derive(Default)]
struct Count(usize);

impl LevelSink for Count {
    fn level_update(&mut self, _: LevelUpdate) {
        self.0 += 1;
    }
    fn trade(&mut self, _: Trade) {
        self.0 += 1;
    }
}

fuzz_target!(|input: &[u8]| {
    let Ok(packet) = PacketReader::new(input) else { return };
    let mut wanted = 0;
    let mut sound = true;
    for message in packet.messages() {
        sound &= message.is_ok();
        wanted += usize::from(matches!(message, Ok(Message::LevelUpdate(_) | Message::Trade(_))));
    }
    let mut count = Count::default();
    let visited = packet.visit_levels(&mut count);
    if sound {
        assert!(visited.is_ok());
        assert_eq!(count.0, wanted);
    }
});
