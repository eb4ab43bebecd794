#!/bin/sh
# Fetches and builds the FIX peers that there are tools for, into the folder `target` beside this file:
# Go for quickfixgo, Maven and a JDK for QuickFIX/J, python3 for simplefix, asyncfix and QuickFIX, cargo for
# quickfix-tokio and deribit-fix.
set -eu
cd "$(dirname "$0")"
mkdir -p target
has() { command -v "$1" >/dev/null || { echo "skipped: no $1"; return 1; }; }

if has go; then
    (cd go && go build -o ../target/fix-peer-go .)
fi
if has mvn && has javac; then
    (cd java && mvn -q -B dependency:copy-dependencies -DoutputDirectory="$PWD/../target/java/lib")
    javac -cp 'target/java/lib/*' -d target/java java/Peer.java
fi
if has python3; then
    python3 -m venv target/python
    target/python/bin/pip install -q simplefix==1.0.17 asyncfix==1.0.1
    # QuickFIX itself, built: there are no wheels of the package `quickfix`.
    target/python/bin/pip install -q --only-binary :all: quickfix-tls==1.16.0.1rc1 || echo "skipped: no QuickFIX"
fi
if has cargo; then
    cargo build --release --manifest-path rust/Cargo.toml --target-dir target/cargo
    cargo build --release --manifest-path deribit/Cargo.toml --target-dir target/cargo
    cp target/cargo/release/fix-peer-rust target/cargo/release/fix-peer-deribit target
fi
ls target
