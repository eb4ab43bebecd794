"""simplefix as a peer of taut: its encoder and parser on a plain socket.

    python3 simple.py initiator PORT | acceptor

It prints the same lines as ../go/main.go.
"""

import socket
import sys
import time

import simplefix


class Session:
    """Numbers, and what was sent, over simplefix's messages."""

    def __init__(self, stream, us, them):
        self.stream, self.us, self.them = stream, us, them
        self.parser = simplefix.FixParser()
        self.next, self.sent = 1, {}

    def send(self, kind, body=(), number=None, again=False):
        message = simplefix.FixMessage()
        message.append_pair(8, "FIX.4.4")
        message.append_pair(35, kind)
        message.append_pair(34, number or self.next)
        if again:
            message.append_pair(43, "Y")
        message.append_pair(49, self.us)
        message.append_utc_timestamp(52)
        message.append_pair(56, self.them)
        if again:
            message.append_utc_timestamp(122)
        for tag, value in body:
            message.append_pair(tag, value)
        if number is None:
            self.sent[self.next] = (kind, body)
            self.next += 1
        self.stream.sendall(message.encode())

    def receive(self):
        while True:
            message = self.parser.get_message()
            if message is not None:
                return message
            data = self.stream.recv(65536)
            if not data:
                raise SystemExit("the other side closed")
            self.parser.append_buffer(data)

    def expect(self, line):
        """Prints what comes, and answers it, until it is this."""
        said = None
        while said != line:
            message = self.receive()
            said = self.handle(message)
            if said:
                print(said, flush=True)

    def handle(self, message):
        kind = message.get(35).decode()
        if kind == "A":
            return "logon"
        if kind == "0":
            return "heartbeat " + message.get(112).decode() if message.get(112) else None
        if kind == "1":
            self.send("0", [(112, message.get(112))])
        elif kind == "2":
            self.send_again(int(message.get(7)))
            return "asked"
        elif kind == "4":
            return "filled"
        elif kind == "5":
            return "logout"
        elif kind == "D":
            return ("again " if message.get(43) == b"Y" else "order ") + message.get(11).decode()
        return None

    def send_again(self, number):
        while number < self.next:
            kind, body = self.sent.get(number, ("", ()))
            if kind == "D":
                self.send(kind, body, number, True)
            else:
                self.send("4", [(36, number + 1), (123, "Y")], number, True)
            number += 1


def order(number):
    at = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime())
    fields = [(11, f"order-{number}"), (21, 1), (38, 100), (40, 1), (54, 1), (55, "BTC-USD")]
    return fields + [(60, at)]


def initiate(port):
    stream = socket.create_connection(("127.0.0.1", port), 10)
    stream.settimeout(10)
    session = Session(stream, "GUEST", "HOST")
    session.send("A", [(98, 0), (108, 30)])
    session.expect("logon")
    for number in (1, 2, 3):
        session.send("D", order(number))
        session.expect(f"order order-{number}")
    session.send("1", [(112, "PING")])
    session.expect("heartbeat PING")
    # As if the echoes had been lost.
    session.send("2", [(7, 2), (16, 0)])
    session.expect("again order-3")
    session.expect("filled")
    # Two messages are really lost, and come when they are asked for.
    for number in (4, 5):
        session.sent[session.next] = ("D", order(number))
        session.next += 1
    session.send("D", order(6))
    session.expect("asked")
    for number in (4, 5, 6):
        session.expect(f"order order-{number}")
    session.send("5")
    session.expect("logout")


def accept():
    listener = socket.create_server(("127.0.0.1", 0))
    print("listening", listener.getsockname()[1], flush=True)
    stream, _ = listener.accept()
    stream.settimeout(10)
    session = Session(stream, "HOST", "GUEST")
    session.expect("logon")
    session.send("A", [(98, 0), (108, 30)])
    while True:
        message = session.receive()
        said = session.handle(message)
        if said:
            print(said, flush=True)
        if said == "logout":
            session.send("5")
            return
        if said and said.startswith("order "):
            number = int(said.rsplit("-", 1)[1])
            if number == 2:
                # Lost on the way: it comes when it is asked for. And as if order 1 had been lost.
                session.sent[session.next] = ("D", order(number))
                session.next += 1
                session.send("1", [(112, "PING")])
                session.send("2", [(7, 2), (16, 2)])
            else:
                session.send("D", order(number))


if __name__ == "__main__":
    initiate(int(sys.argv[2])) if sys.argv[1] == "initiator" else accept()
