#!/usr/bin/env bash
# Autobahn's test suite against taut's WebSocket, both roles: `tests/autobahn/run.sh [CASES...]`.
#
# Its fuzzing client plays every case against `taut ws echo`, its fuzzing server against
# `taut ws autobahn`. A case must end OK, NON-STRICT or INFORMATIONAL, and so must its close. 12.*
# and 13.* are permessage-deflate: both of ours run with `--compress`.
#
# It needs a binary (TAUT, else target/release/taut), Python 2.7 (TAUT_PYTHON2, else python2.7) and,
# the first time, a network: the suite is Python 2 code from PyPI. CASES are patterns as `1.*`;
# without them, all 517. Reports stay in target/autobahn.
set -euo pipefail
cd "$(dirname "$0")/../.."

taut=${TAUT:-target/release/taut}
python2=${TAUT_PYTHON2:-python2.7}
home=${CARGO_TARGET_DIR:-target}/autobahn
# pip builds within other folders: a relative one is lost there.
mkdir -p "$home"
home=$(cd "$home" && pwd)
wstest=$home/venv/bin/wstest

if ! "$python2" --version >/dev/null 2>&1; then
    echo "autobahn: skipped, no Python 2.7 ($python2); name one with TAUT_PYTHON2"
    exit 0
fi
if [[ ! -x $taut ]]; then
    echo "autobahn: no $taut; build it with \`cargo build --release --features full\`, or name one with TAUT" >&2
    exit 2
fi
if [[ ! -x $wstest ]]; then
    PYTHONUSERBASE=$home/base "$python2" -m pip install -q --user virtualenv==20.15.1
    PYTHONUSERBASE=$home/base "$python2" -m virtualenv -q "$home/venv"
    "$home/venv/bin/pip" install -q autobahntestsuite==25.10.1
fi

cases='"*"'
if (($# > 0)); then
    cases=$(printf '"%s",' "$@")
    cases=${cases%,}
fi
reports=$home
rm -rf "$reports/server" "$reports/client"
children=()
trap 'kill "${children[@]}" 2>/dev/null || true; wait' EXIT

# await <port>: until somebody listens there.
await() {
    for _ in $(seq 200); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.1
    done
    echo "autobahn: nobody listens on port $1" >&2
    return 1
}

# Our server under test.
"$taut" ws echo --listen 127.0.0.1:0 --compress >"$reports/echo.out" 2>"$reports/echo.err" &
children+=($!)
for _ in $(seq 100); do
    [[ -s $reports/echo.out ]] && break
    sleep 0.1
done
url=$(sed -n 's/^listening on //p' "$reports/echo.out")
printf '{"outdir": "%s/server", "servers": [{"agent": "taut", "url": "%s"}], "cases": [%s],
"exclude-cases": [], "exclude-agent-cases": {}}\n' "$reports" "$url" "$cases" \
    >"$reports/fuzzingclient.json"
"$wstest" -m fuzzingclient -s "$reports/fuzzingclient.json" >"$reports/fuzzingclient.log" 2>&1

# Our client under test.
port=$("$python2" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
printf '{"url": "ws://127.0.0.1:%s", "outdir": "%s/client", "cases": [%s],
"exclude-cases": [], "exclude-agent-cases": {}}\n' "$port" "$reports" "$cases" \
    >"$reports/fuzzingserver.json"
"$wstest" -m fuzzingserver -s "$reports/fuzzingserver.json" -u 0 \
    >"$reports/fuzzingserver.log" 2>&1 &
children+=($!)
await "$port"
"$taut" ws autobahn --url "ws://127.0.0.1:$port" --agent taut --compress

"$python2" tests/autobahn/judge.py "$reports/server/index.json" "$reports/client/index.json"
