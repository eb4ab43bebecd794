//! Datagrams of taut's own market data, read in both ways.
#![no_main]

use libfuzzer_sys::fuzz_target;
use taut_market_data::EventKind;
use taut_market_data::native::{Message, PACKET_BYTES_MAX, PacketReader, Places};

fuzz_target!(|input: &[u8]| {
    let Ok(packet) = PacketReader::new(input) else { return };
    let mut wanted = 0;
    let mut sound = input.len() <= PACKET_BYTES_MAX;
    for message in packet.messages() {
        sound &= message.is_ok();
        let is_wanted = |kind| matches!(kind, EventKind::Level(_) | EventKind::Trade(_));
        wanted += usize::from(matches!(message, Ok(Message::Event(_, kind)) if is_wanted(kind)));
    }
    let mut places = Places::default();
    let checked = places.check(&packet);
    let mut count = 0;
    places.visit(&packet, |_, _| {
        count += 1;
        true
    });
    if sound {
        assert!(checked.is_ok());
        assert_eq!(count, wanted);
    }
});
