//! Encoders of odd schemas: header values, limits, buffers that are too short.

mod support;

use taut_sbe_gen::{Options, Schema};

#[test]
fn encoders_check_counts_lengths_and_buffers_in_both_byte_orders() {
    for name in ["odd.xml", "big.xml"] {
        let schema = Schema::read(&support::own(name)).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().expect("folder");
        let (options, main) = (Options::default(), include_str!("programs/odd.rs"));
        let program = support::program(&schema, &options, main, folder.path());
        let output = std::process::Command::new(program).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
