#!/usr/bin/env python3
"""Messages with one mutation each, to QuickFIX (C++) and to `taut fix echo`: where do they differ?

    python3 bench/peers/fix/mutations.py --taut target/debug/taut --dictionary FIX44.xml [--count 5000] [--seed 1]

Each message goes into a session of its own: a Logon (34=1), the message (34=2), a TestRequest (34=3) to see where the
session stands. What comes back is compared without texts and times: types, and the fields that refer to something.
Differences are printed by class, with their number and the first message of each; MUTATIONS.md judges them.
It needs the Python module `quickfix` (install.sh: a build of QuickFIX 1.16 for PyPI, `quickfix-tls`).
"""
import argparse, collections, os, random, re, socket, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

SOH = "\x01"
# What a message that comes back is known by, beside its type.
REFERS = {"3": (45, 371, 372, 373), "j": (45, 372, 380), "2": (7, 16), "4": (36, 123), "0": (112,), "A": (), "5": (), "D": ()}
ORDER = "11=id|21=1|55=INTC|54=1|60={now}|38=100|40=2|44=10.25|59=0"
BASES = [
    ("D", ORDER),
    ("D", ORDER.replace("21=1|", "78=2|79=a|80=40|79=b|80=60|21=1|")),
    ("D", ORDER + "|354=3|355=abc|58=text"),
    ("D", ORDER + "|453=1|448=me|447=D|452=1"),
    ("F", "41=old|11=id|55=INTC|54=1|60={now}|38=100"),
    ("0", ""),
    ("0", "112=what"),
    ("1", "112=ask"),
    ("2", "7=1|16=0"),
    ("3", "45=1|58=no"),
    ("4", "123=Y|36=3"),
    ("4", "36=10"),
    ("5", ""),
    ("A", "98=0|108=30"),
]
VALUES = ["", "0", "-1", "1", "2", "3", "Y", "N", "A", "999999999999999999999", "1.5", "+1", "01", " 1", "abc", "20240230-00:00:00", "=", "\xe9"]
# Sessions side by side: most of the time is waiting for what does not come.
SESSIONS = 24
TAGS = [0, -1, 1, 8, 9, 10, 11, 34, 35, 38, 43, 49, 52, 56, 58, 79, 80, 97, 122, 369, 5000, 9999, 20000, 99999999999]


def now(offset=0):
    return time.strftime("%Y%m%d-%H:%M:%S.000", time.gmtime(time.time() + offset))


def message(kind, number, body, peer, header=""):
    fields = [("35", kind), ("34", str(number)), ("49", peer), ("52", now()), ("56", "ISLD")]
    fields += [tuple(f.split("=", 1)) for f in (header + body).format(now=now()).split("|") if f]
    return fields


def wire(fields, begin="FIX.4.4"):
    text = "".join(f"{tag}={value}{SOH}" for tag, value in fields)
    text = f"8={begin}{SOH}9={len(text)}{SOH}{text}"
    return (text + f"10={sum(text.encode('latin1')) % 256:03}{SOH}").encode("latin1")


def mutated(rng, peer):
    """The bytes of a message with one mutation, and what was done."""
    kind, body = rng.choice(BASES)
    header = "43=Y|122={now}|" if rng.random() < 0.1 else ""
    fields = message(kind, 2, body, peer, header)
    at = rng.randrange(len(fields))
    tag, value = fields[at]
    how = rng.choice(["value", "value", "byte", "byte", "raw byte", "drop", "twice", "swap", "empty", "tag", "insert", "digit", "cut", "length", "sum", "begin"])
    if how == "value":
        fields[at] = (tag, rng.choice(VALUES))
    elif how == "byte" and value:
        i = rng.randrange(len(value))
        fields[at] = (tag, value[:i] + chr(rng.choice([0x20, 0x30, 0x39, 0x41, 0x7e, 0x7f, 0x2d, 0x2e, 0xff])) + value[i + 1:])
    elif how == "digit" and value:
        i = rng.randrange(len(value))
        fields[at] = (tag, value[:i] + rng.choice("0123456789") + value[i + 1:])
    elif how == "drop":
        del fields[at]
    elif how == "twice":
        fields.insert(rng.randrange(at, len(fields)) + 1, fields[at])
    elif how == "swap":
        other = rng.randrange(len(fields))
        fields[at], fields[other] = fields[other], fields[at]
    elif how == "empty":
        fields[at] = (tag, "")
    elif how == "tag":
        fields[at] = (str(rng.choice(TAGS)), value)
    elif how == "insert":
        fields.insert(at, (str(rng.choice(TAGS)), rng.choice(VALUES)))
    if how == "begin":
        return wire(fields, rng.choice(["FIX.4.2", "FIX.4.5", "FIX", ""])), f"{kind}: begin", kind
    raw = bytearray(wire(fields))
    if how == "raw byte":
        raw[rng.randrange(len(raw))] = rng.randrange(256)
        tag = "*"
    elif how == "cut":
        del raw[rng.randrange(len(raw))]
        tag = "*"
    elif how == "length":
        raw = bytearray(re.sub(rb"\x019=\d+", lambda m: b"\x019=%d" % max(0, int(m[0][3:]) + rng.choice([-5, -1, 1, 5, 1000])), bytes(raw), count=1))
        tag = "9"
    elif how == "sum":
        raw[-3] = raw[-3] % 0x30 + 0x31 if raw[-3] != 0x39 else 0x30
        tag = "10"
    return bytes(raw), f"{kind}: {how} of {tag}", kind


class Peer:
    """One connection, as long as a message takes."""

    def __init__(self, port):
        self.port = port

    def outcome(self, raw, peer):
        """What comes back: a tuple of (type, fields that refer), and how it ends."""
        s = socket.create_connection(("127.0.0.1", self.port), 5)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(1.5)
        self.input, told = b"", []
        try:
            s.sendall(wire(message("A", 1, "98=0|108=30", peer)))
            logon = self.next(s)
            if not logon or logon[0] != "A":
                return (("no Logon", logon),)
            s.sendall(raw + wire(message("1", 3, "112=SYNC", peer)))
            while True:
                reply = self.next(s)
                if reply is None:
                    told.append("closed")
                    break
                told.append(reply)
                if reply == ("0", ((112, "SYNC"),)) or reply[0] == "2":
                    break
        except socket.timeout:
            told.append("silence")
        except OSError:
            told.append("closed")
        try:
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
        except OSError:
            pass
        s.close()
        return tuple(told)

    def next(self, s):
        while True:
            end = re.search(rb"\x0110=[^\x01]*\x01", self.input)
            if end:
                text, self.input = self.input[:end.end()], self.input[end.end():]
                fields = [f.partition("=") for f in text.decode("latin1").split(SOH) if f]
                values = {}
                for tag, _, value in fields:
                    values.setdefault(int(tag) if tag.isdigit() else tag, value)
                kind = values.get(35, "?")
                return kind, tuple((tag, values[tag]) for tag in REFERS.get(kind, ()) if tag in values)
            data = s.recv(65536)
            if not data:
                return None
            self.input += data


def quickfix(port, folder, dictionary, peers):
    """An acceptor in a process of its own."""
    path = os.path.join(folder, "quickfix.cfg")
    with open(path, "w") as f:
        f.write(f"[DEFAULT]\nConnectionType=acceptor\nSocketAcceptPort={port}\nSocketReuseAddress=Y\nStartTime=00:00:00\n"
                f"EndTime=00:00:00\nSenderCompID=ISLD\nResetOnLogon=Y\nBeginString=FIX.4.4\nDataDictionary={dictionary}\n")
        f.writelines(f"[SESSION]\nTargetCompID={peer}\n" for peer in peers)
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", path])


def serve(path):
    import quickfix as fix

    class Echo(fix.Application):
        def onCreate(self, session): pass
        def onLogon(self, session): pass
        def onLogout(self, session): pass
        def toAdmin(self, message, session): pass
        def toApp(self, message, session): pass
        def fromAdmin(self, message, session): pass

        def fromApp(self, message, session):
            kind = fix.MsgType()
            message.getHeader().getField(kind)
            if kind.getValue() != "D":
                raise fix.UnsupportedMessageType()
            reply = fix.Message()
            reply.getHeader().setField(fix.MsgType("D"))
            fix.Session.sendToTarget(reply, session)

    settings = fix.SessionSettings(path)
    echo, store = Echo(), fix.MemoryStoreFactory()
    acceptor = fix.SocketAcceptor(echo, store, settings)
    acceptor.start()
    while os.getppid() != 1:
        time.sleep(1)
    acceptor.stop(True)


def taut(program, folder, dictionary, peers):
    path = os.path.join(folder, "taut.toml")
    with open(path, "w") as f:
        f.write('failed_logons_per_minute = 0\n[defaults]\nbegin_string = "FIX.4.4"\nsender_comp_id = "ISLD"\n'
                f'reset_on_logon = true\ndictionary = "{dictionary}"\n')
        f.writelines(f'[[sessions]]\ntarget_comp_id = "{peer}"\n' for peer in peers)
    process = subprocess.Popen([program, "fix", "echo", "--listen", "127.0.0.1:0", "--acceptance", "--config", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.startswith("listening on "):
            return process, int(line.rsplit(":", 1)[1])
    sys.exit("taut fix echo did not start")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("QuickFIX did not start")


def shown(outcome):
    one = lambda told: told if isinstance(told, str) else told[0] + "".join(f" {tag}={value}" for tag, value in told[1])
    return ", ".join(map(one, outcome))


def class_of(outcome):
    """An outcome without its values."""
    one = lambda told: told if isinstance(told, str) else told[0] + "".join(f" {tag}={value}" for tag, value in told[1] if tag in (373, 380))
    return ", ".join(map(one, outcome))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--taut")
    p.add_argument("--dictionary")
    p.add_argument("--count", type=int, default=5000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--all", action="store_true", help="print every difference")
    p.add_argument("--serve", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.serve:
        return serve(a.serve)
    peers = [f"TW{number:02}" for number in range(SESSIONS)]
    folder = tempfile.mkdtemp(prefix="mutations-")
    dictionary, port = os.path.abspath(a.dictionary), free_port()
    processes = [quickfix(port, folder, dictionary, peers)]
    own, own_port = taut(a.taut, folder, dictionary, peers)
    processes.append(own)
    try:
        wait_for(port)
        def of_session(at):
            """The messages of a session, one after the other."""
            told = []
            for number in range(at, a.count, SESSIONS):
                raw, how, _ = mutated(random.Random(a.seed * 1_000_000 + number), peers[at])
                told.append((number, how, raw, [Peer(to).outcome(raw, peers[at]) for to in (port, own_port)]))
            return told

        with ThreadPoolExecutor(SESSIONS) as pool:
            cases = sorted(case for told in pool.map(of_session, range(SESSIONS)) for case in told)
        alike, classes = 0, collections.OrderedDict()
        for number, how, raw, told in cases:
            if told[0] == told[1]:
                alike += 1
                continue
            if a.all:
                print(number, how, "|", shown(told[0]), "|", shown(told[1]), "|", raw.decode("latin1").replace(SOH, "|"), flush=True)
            key = (class_of(told[0]), class_of(told[1]))
            classes.setdefault(key, []).append((how, told, raw))
        print(f"{alike} of {a.count} outcomes are alike; {len(classes)} classes of differences:")
        for (quick, taut_said), cases in sorted(classes.items(), key=lambda item: -len(item[1])):
            hows = collections.Counter(how for how, _, _ in cases).most_common(6)
            how, told, raw = cases[0]
            print(f"\n{len(cases)} x  QuickFIX [{quick}]  taut [{taut_said}]")
            print("   ", "; ".join(f"{name} ({count})" for name, count in hows))
            print("    first:", raw.decode("latin1").replace(SOH, "|"))
            print("   ", shown(told[0]), "  |  ", shown(told[1]))
    finally:
        for process in processes:
            process.terminate()


if __name__ == "__main__":
    main()
