//! Binance's published FIX-SBE Logon (fix-api.md, "Sample FIX SBE Logon request message"): a golden
//! vector of somebody else's.

use std::path::Path;

use taut_sbe_gen::Schema;

use super::{Framing, decode, encode};

/// Everything up to the texts: sofh, message header, block.
const HEAD: [u8; 40] = [
    0xd1, 0x00, 0x00, 0x00, 0x50, 0xeb, // length of all, little-endian SBE
    0x0e, 0x00, 0x28, 0x4e, 0x01, 0x00, 0x00, 0x00, // block, template, schema, version
    0x01, 0x00, 0x00, 0x00, // sequence
    0x58, 0x7a, 0x5f, 0x99, 0xdb, 0x1b, 0x06, 0x00, // sending time
    0x00, 0x1e, 0x00, 0x00, 0x00, // no encryption, a heartbeat every 30 s
    0x01, 0x02, 0xff, 0xff, 0xff, // reset, sequential, three that are not set
    0xff, 0xff, 0xff, 0xff, // no window
];
const SIGNATURE: &[u8] = b"4MHXelVVcpkdwuLbl6n73HQUXUf1dse2PCgT1DYqW9w8AVZ1RACFGM+5UdlGPrQH\
    rgtS3CvsRURC1oj73j8gCA==";
const USER: &[u8] = b"sBRXrJx2DsOraMXOaUovEhgVRcjOvCtQwnWj8VxkOh1xqboS02SPGfKi2h8spZJb";

#[test]
fn the_published_logon_of_fix_sbe_is_read_and_written_to_the_byte() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/schemas"));
    let path = path.join("spot-fixsbe-1_1.xml");
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return;
    }
    let schema = Schema::read(&path).expect("a schema");
    let mut logon = HEAD.to_vec();
    logon.extend(b"\x07EXAMPLE\x04SPOT\x58\x00");
    logon.extend(SIGNATURE);
    logon.extend(b"\x40\x00");
    logon.extend(USER);
    assert_eq!(logon.len(), 0xd1);
    let (line, failed) = decode(&schema, Framing::Sofh, &logon);
    assert_eq!(failed, 0);
    // The time of the document's FIX Logon, 11:17:25.223, as if its zone were two hours ahead.
    let start = "{\"message\":\"Logon\",\"template\":20008,\"version\":0,\"header\":{\"seqNum\":1,\
        \"sendingTime\":1719479845223000},\"fields\":{\"EncryptMethod\":0,\"HeartBtInt\":30,\
        \"ResetSeqNumFlag\":\"True\",\"MessageHandling\":\"Sequential\",\"ResponseMode\":null,\
        \"ExecutionReportType\":null,\"DropCopyFlag\":null,\"RecvWindow\":null,\
        \"SenderCompId\":\"EXAMPLE\",\"TargetCompId\":\"SPOT\",\"RawData\":\"4MHX";
    assert!(line.starts_with(start), "{line}");
    assert!(line.ends_with(
        "\"Username\":\"sBRXrJx2DsOraMXOaUovEhgVRcjOvCtQwnWj8VxkOh1xqboS02SPGfKi2h8spZJb\"}}\n"
    ));
    assert_eq!(encode(&schema, Framing::Sofh, &line), Ok(logon));
}
