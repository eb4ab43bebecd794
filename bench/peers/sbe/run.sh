#!/bin/sh
# Fetches the reference generator, generates its codec, checks that both write the same bytes, and
# measures both: time in one run, turn by turn; then instructions of each case under callgrind.
set -eu
cd "$(dirname "$0")"
version=1.38.1
jar=target/sbe-all-$version.jar
schema=../../../../shared/schemas/stream_1_0.xml
mkdir -p target
[ -f "$jar" ] || mvn -q dependency:copy -Dartifact=uk.co.real-logic:sbe-all:$version \
    -DoutputDirectory="$PWD/target"
java -Dsbe.output.dir=target/reference -Dsbe.target.language=Rust -jar "$jar" "$schema"
cargo build --release
binary=${CARGO_TARGET_DIR:-target}/release/peer-sbe
"$binary" time
for message in best depth; do
    for verb in encode decode; do
        for peer in taut reference; do
            count() {
                valgrind --tool=callgrind --callgrind-out-file=/dev/null \
                    "$binary" "$peer" "$message" "$verb" "$1" 2>&1 |
                    sed -n 's/.*Collected : //p'
            }
            few=$(count 1024)
            many=$(count 11264)
            echo "$message $verb $peer: $(( (many - few) / 10240 )) instructions per message"
        done
    done
done
