#!/usr/bin/env bash
# taut's loop beside a bare receiver, Sonic and Go's net, turn by turn, medians over the rounds; then
# the wait strategies. Writes tables, plots and verdicts to a folder and prints the verdicts.
#
#   bench/peers/loop/run.sh [--cells RATExCONNECTIONS,..] [--seconds N] [--rounds N] [--out FOLDER]
#                           [--no-waits] [--taut-bench PROGRAM]
#
# The default is the whole matrix with three rounds of three seconds: about thirteen minutes. It needs
# two CPUs with nothing else on them, and Go for the peers (without it they are left out, aloud).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

# Rates by connections; 256 connections at 200 Hz, beside 16 at 200 for the flatness of the tail; the
# last one is more than the sender can send.
cells=10x1,10x16,10x64,10x256,100x1,100x16,100x64,100x256
cells+=,1000x1,1000x16,1000x64,200x16,200x256,1000x256
seconds=3
rounds=3
out=$root/target/bench-loop
bench=
waits=yes

while (($#)); do
    case $1 in
        --cells) cells=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --rounds) rounds=$2; shift 2 ;;
        --out) out=$2; shift 2 ;;
        --taut-bench) bench=$2; shift 2 ;;
        --no-waits) waits=no; shift ;;
        -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) echo "run.sh: $1 is unknown; see --help" >&2; exit 2 ;;
    esac
done

mkdir -p "$out"
if [[ -z $bench ]]; then
    (cd "$root" && cargo build --profile release-max -p taut-bench)
    bench=${CARGO_TARGET_DIR:-$root/target}/release-max/taut-bench
fi

peers=()
if command -v go >/dev/null; then
    for peer in sonic net; do
        (cd "$here" && go build -o "$out/$peer-client" "./$peer")
        peers+=(--peer "$peer=$out/$peer-client")
    done
else
    echo "run.sh: no Go: without Sonic and net" >&2
fi

echo "matrix: $cells, $rounds rounds of $seconds s, $(date -u +%F), $(nproc) CPUs" >&2
"$bench" loop-matrix --cells "$cells" --receivers epoll,uring,bare "${peers[@]}" \
    --rounds "$rounds" --seconds "$seconds" --out "$out/matrix" >/dev/null
cat "$out/matrix/loop-matrix.md"

if [[ $waits == yes ]]; then
    echo "wait strategies at 1000x1" >&2
    "$bench" loop-matrix --cells 1000x1 --waits spin,pause,yield,backoff,block \
        --receivers epoll,uring --rounds "$rounds" --seconds "$seconds" --out "$out/waits" \
        >/dev/null
    cat "$out/waits/loop-matrix.md"
fi
echo "written to $out" >&2
