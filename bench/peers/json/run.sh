#!/bin/sh
# Binance frames to normalized events: taut's decoder beside serde_json and sonic-rs. Time in one
# run, turn by turn, one JSON line per capture; then instructions per frame under callgrind.
set -eu
cd "$(dirname "$0")"
data=../../../../shared/data/binance
cargo build --release
binary=${CARGO_TARGET_DIR:-target}/release/peer-json
for market in usdm spot; do
    capture=$data/${market}_btcusdt_20240808.gz
    "$binary" time "$capture"
    for kind in depth bookTicker trade; do
        for peer in taut serde_json sonic-rs; do
            count() {
                valgrind --tool=callgrind --callgrind-out-file=/dev/null \
                    "$binary" count "$peer" "$kind" "$capture" "$1" 2>&1 |
                    sed -n 's/.*Collected : //p'
            }
            few=$(count 1)
            many=$(count 21)
            echo "$market $kind $peer: $(( (many - few) / 10240 )) instructions per frame"
        done
    done
done
