"""What strangers' clients of Python have in common that trade in one book, under faults, with others.

On standard input come `trade`, `rest` and `tell ID`; on standard output go

    ready               it follows the book
    so far N M          requests that had an outcome, books that were seen
    resting             nothing of its own is under way, and it knows what became of all it asked for
    note TEXT           what its user had to do because it does not
    told {...}          its book, once that has come to the change ID, and what REST says of its account
"""
import asyncio
import json
import random
import sys
import time

# An answer, a book, and everything else that is waited for.
ANSWER_S = 3
BOOK_S = 5
PATIENCE_S = 60
# A book that stands still for so long while all of them trade is silent.
SILENCE_S = 5
# Orders that it keeps open.
OPEN_MAX = 8


class Refused(Exception):
    """The venue said no: nothing happened."""


class Unknown(Exception):
    """No answer came: it may have happened."""


def number(value):
    return f"{float(value):.8f}"


def levels(side):
    return [[number(level[0]), number(level[1])] for level in side]


def say(*words):
    print(*words, flush=True)


class Trader:
    """Trades by a seed. A subclass has the client: `begin`, `book`, `read_again`, `place`, `change`, `cancel`,
    `find`, `orders`, `account` and `end`, which raise Refused and Unknown."""

    # The market: the price step, its digits, and sizes that are traded.
    tick, digits, sizes = 0.01, 2, (0.01,)

    def __init__(self, account, seed):
        self.random = random.Random(f"{account} {seed}")
        self.prefix = f"{account}-{seed}-"
        self.names = 0
        # What it takes for open: a name, and the venue's id.
        self.open = {}
        self.outcomes = self.books = 0
        # Requests without an answer; books that it read again, as it noticed itself.
        self.unknown = self.rereads = 0
        self.is_trading = False

    def next_name(self):
        self.names += 1
        return f"{self.prefix}{self.names}"

    async def top(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            _, bids, asks = self.book()
            if bids and asks:
                return bids[0][0], asks[0][0]
            assert time.monotonic() < end, "no book"
            await asyncio.sleep(0.02)

    async def terms(self, side):
        """Two of three rest near the touch, one takes from the other side."""
        bid, ask = await self.top()
        if self.random.random() < 0.35:
            price = ask if side == "buy" else bid
        else:
            away = self.random.randrange(0, 40) * self.tick
            price = bid - away if side == "buy" else ask + away
        return round(round(price / self.tick) * self.tick, self.digits), self.random.choice(self.sizes)

    async def act(self):
        draw = self.random.random()
        if not self.open or (draw < 0.5 and len(self.open) < OPEN_MAX):
            name, side = self.next_name(), self.random.choice(("buy", "sell"))
            terms = await self.terms(side)
            await self.attempt([name], self.place(name, side, *terms))
            return
        name = self.random.choice(sorted(self.open))
        order, side = self.open[name]
        if draw < 0.75:
            await self.attempt([name], self.cancel(name, order))
        else:
            again = self.next_name()
            terms = await self.terms(side)
            await self.attempt([name, again], self.change(name, order, again, side, *terms))

    async def attempt(self, names, request):
        """Makes a request about orders of these names; what became of it is looked up where no answer says so."""
        try:
            for name in names:
                self.open.pop(name, None)
            stands = await asyncio.wait_for(request, ANSWER_S)
            if stands:
                name, order = stands
                self.open[name] = order
        except (Refused, Unknown, asyncio.TimeoutError) as error:
            self.unknown += not isinstance(error, Refused)
            for name in names:
                await self.settle(name)
        self.outcomes += 1

    async def settle(self, name):
        """Asks where an order stands until it knows: one that is twice not there never came."""
        end, absent = time.monotonic() + PATIENCE_S, 0
        while absent < 2:
            assert time.monotonic() < end, f"where {name} stands"
            try:
                found = await asyncio.wait_for(self.find(name), ANSWER_S)
            except (Unknown, asyncio.TimeoutError):
                await asyncio.sleep(0.1)
                continue
            if found is None:
                absent += 1
                await asyncio.sleep(0.2)
                continue
            order, side, is_open = found
            if is_open:
                self.open[name] = (order, side)
            return

    def silence(self):
        """How long its user waits for a change of its book; at rest none comes."""
        return SILENCE_S if self.is_trading else None

    async def trade(self):
        while self.is_trading:
            await self.act()
            await asyncio.sleep(self.random.uniform(0.05, 0.15))

    async def report(self):
        before = None
        while True:
            now = (self.outcomes, self.books)
            if now != before:
                say("so far", *now)
                before = now
            await asyncio.sleep(0.1)

    async def asked(self, question):
        """An answer of REST, asked for until it comes."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return await asyncio.wait_for(question(), ANSWER_S)
            except (Unknown, asyncio.TimeoutError):
                assert time.monotonic() < end, question
                await asyncio.sleep(0.1)

    async def book_at(self, change):
        """Its book, once it has come so far; where it does not, its user has it read the book again."""
        for _ in range(3):
            end = time.monotonic() + BOOK_S
            while time.monotonic() < end:
                if self.book()[0] >= change:
                    return self.book()
                await asyncio.sleep(0.02)
            say(f"note its book stood still at {self.book()[0]}: its user had it read again")
            await self.read_again()
        return self.book()

    async def tell(self, change):
        at, bids, asks = await self.book_at(change)
        orders, account = await self.asked(self.orders), await self.asked(self.account)
        mine = {order[0] for order in orders if order[0].startswith(self.prefix)}
        say("told", json.dumps({
            "book": {"change": at, "bids": levels(bids), "asks": levels(asks)},
            "orders": sorted(orders),
            # Orders that stand there and that it knows nothing of.
            "strays": sorted(mine - set(self.open)),
            **account,
            "asked": self.outcomes,
            "unknown": self.unknown,
            "rereads": self.rereads,
        }))

    async def run(self):
        await self.begin()
        await self.top()
        say("ready")
        reporting = asyncio.ensure_future(self.report())
        trading = None
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            words = line.split()
            if words[0] == "trade":
                self.is_trading = True
                trading = asyncio.ensure_future(self.trade())
            elif words[0] == "rest":
                self.is_trading = False
                await trading
                say("resting")
            elif words[0] == "tell":
                await self.tell(int(words[1]))
        reporting.cancel()
        await self.end()
