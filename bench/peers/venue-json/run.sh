#!/bin/sh
# A venue's JSON, both ways: recorded frames to an updated book, orders to bytes; taut beside
# serde_json, sonic-rs and simd-json with typed structs. One table, all turn by turn in one process.
# NATIVE=1 builds all of it for this processor: sonic-rs chooses its instructions when it is built.
set -eu
cd "$(dirname "$0")"
data=../../../../shared/data
if [ -n "${NATIVE:-}" ]; then
    RUSTFLAGS="${RUSTFLAGS:-} -C target-cpu=native"
    export RUSTFLAGS
fi
cargo build --release
"${CARGO_TARGET_DIR:-target}/release/peer-venue-json" "$data/venues/frames" "$data/binance" "$@"
