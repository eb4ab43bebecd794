"""A libzmq peer by way of pyzmq: see peer.c, which does the same."""

import sys
import zmq

SIZES = [0, 1, 70, 253, 255, 256, 300, 65536, 200000]


def message(number):
    topic = b"odd" if number % 2 else b"even"
    body = bytes((at ^ number) & 255 for at in range(SIZES[number % len(SIZES)]))
    return [topic, body] if number % 3 == 0 else [topic + body]


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def say(text):
    print(text, flush=True)


kind, end, endpoint = sys.argv[1:4]
options = dict(option.split("=", 1) for option in sys.argv[4:])
context = zmq.Context()
socket = context.socket(getattr(zmq, kind.upper()))
socket.linger = 5000
if "plain" in options:
    socket.plain_username, socket.plain_password = options["plain"].encode().split(b":")
if "plain-server" in options:
    # libzmq's PLAIN server asks an authenticator for each client.
    from zmq.auth.thread import ThreadAuthenticator

    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    authenticator.configure_plain(passwords={"trader": "secret"})
    socket.plain_server = True
if "server-key" in options:
    socket.curve_serverkey = options["server-key"].encode()
if "secret" in options:
    socket.curve_secretkey = options["secret"].encode()
    socket.curve_publickey = options["public"].encode()
    if "server-key" not in options:
        socket.curve_server = True
if "heartbeat" in options:
    socket.heartbeat_ivl = int(options["heartbeat"])
    socket.heartbeat_ttl = 5 * int(options["heartbeat"])
if "name" in options:
    socket.identity = options["name"].encode()
(socket.bind if end == "bind" else socket.connect)(endpoint)
if kind == "sub":
    socket.subscribe(options.get("subscribe", ""))
if kind == "xsub":
    socket.send(b"\x01" + options.get("subscribe", "").encode())
say("at " + socket.last_endpoint.decode())
count = int(options["count"])
if kind in ("rep", "router", "pair"):
    # An echo: of a REQ's question, of whatever a DEALER or a PAIR sends.
    for _ in range(count):
        socket.send_multipart(socket.recv_multipart())
elif kind in ("req", "dealer"):
    for number in range(count):
        socket.send_multipart(message(number))
        parts = socket.recv_multipart()
        say("%d %d %d" % (len(parts), sum(map(len, parts)), fnv(b"".join(parts))))
elif kind in ("sub", "xsub", "pull"):
    for _ in range(count):
        parts = socket.recv_multipart()
        say("%d %d %d" % (len(parts), sum(map(len, parts)), fnv(b"".join(parts))))
else:
    if kind == "xpub":
        say("subscribed " + socket.recv().hex())
    if kind == "pub":
        sys.stdin.readline()
    for number in range(count):
        socket.send_multipart(message(number))
    say("sent")
sys.stdin.read()
socket.close()
if "plain-server" in options:
    authenticator.stop()
