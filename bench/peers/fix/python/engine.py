"""asyncfix as a peer of taut: an engine of its own, as the initiator.

    python3 engine.py PORT

It prints the same lines as ../go/main.go. What it sends again has PossDupFlag behind the body, which
taut refuses as a tag out of order; so it loses nothing of its own here.
"""

import asyncio
import logging
import sys

from asyncfix import FIXMessage, FMsg, FTag
from asyncfix.connection import ConnectionState
from asyncfix.connection_client import AsyncFIXClient
from asyncfix.journaler import Journaler
from asyncfix.protocol import FIXProtocol44

from simple import order


class Client(AsyncFIXClient):
    """Tells what happens, line by line."""

    def __init__(self, port):
        silent = logging.getLogger("silent")
        silent.addHandler(logging.NullHandler())
        silent.propagate = False
        super().__init__(
            FIXProtocol44(), "GUEST", "HOST", Journaler(), "127.0.0.1", port, 30, silent
        )
        self.lines = asyncio.Queue()

    async def on_connect(self):
        await self.send_msg(self.protocol_logon())

    def protocol_logon(self):
        return FIXMessage(FMsg.LOGON, {FTag.EncryptMethod: 0, FTag.HeartBtInt: 30})

    async def on_logon(self, is_healthy):
        self.lines.put_nowait("logon")

    async def on_logout(self, message):
        self.lines.put_nowait("logout")

    async def on_message(self, message):
        again = message.get(FTag.PossDupFlag, "N") == "Y"
        self.lines.put_nowait(("again " if again else "order ") + message[FTag.ClOrdID])

    async def _process_heartbeat(self, message):
        await super()._process_heartbeat(message)
        if FTag.TestReqID in message:
            self.lines.put_nowait("heartbeat " + message[FTag.TestReqID])

    async def should_replay(self, message):
        return True

    async def expect(self, *lines):
        """Prints what comes until one of these did."""
        while True:
            said = await asyncio.wait_for(self.lines.get(), 10)
            print(said, flush=True)
            if said in lines:
                return

    async def order(self, number):
        await self.send_msg(FIXMessage("D", {tag: str(value) for tag, value in order(number)}))


async def initiate(port):
    client = Client(port)
    await client.connect()
    await client.expect("logon")
    for number in (1, 2, 3):
        await client.order(number)
        await client.expect(f"order order-{number}")
    await client.send_test_req()
    await client.expect(f"heartbeat {client._test_req_id}")
    # As if the echoes had been lost: the next one is too high, and they come again.
    client._journaler.set_seq_num(client._session, next_num_in=2)
    await client.order(4)
    await client.expect("again order-4", "order order-4")
    await client.send_msg(FIXMessage(FMsg.LOGOUT))
    await client.expect("logout")
    await client.disconnect(ConnectionState.DISCONNECTED_WCONN_TODAY)


if __name__ == "__main__":
    asyncio.run(initiate(int(sys.argv[1])))
