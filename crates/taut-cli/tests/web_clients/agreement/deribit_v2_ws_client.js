// npm deribit-v2-ws in one book with others: node deribit_v2_ws_client.js deribit PORT ACCOUNT SEED. It
// says and hears what agreement.py does. The library follows no book, waits for ever for an answer that is
// lost and does not connect again: its user does these things here, over its calls. No address in it can be
// changed: the WebSocket that it opens goes elsewhere.
const path = require("node:path");
const readline = require("node:readline");

const [, , , PORT, ACCOUNT, SEED] = process.argv;
const NAME = "BTC-PERPETUAL";
const CHANNEL = `book.${NAME}.100ms`;
const TICK = 0.5;
const SIZES = [10, 30, 200];
const UNAUTHORIZED = [10000, 13004, 13009];
const [ANSWER_MS, BOOK_MS, PATIENCE_MS, OPEN_MAX] = [3_000, 5_000, 60_000, 8];

// The connection that is there, or none.
let socket;
const library = path.dirname(require.resolve("deribit-v2-ws"));
const wsPath = require.resolve("ws", { paths: [library] });
const WebSocket = require(wsPath);
require.cache[wsPath].exports = class extends WebSocket {
  constructor() {
    super(`ws://127.0.0.1:${PORT}/ws/api/v2`);
    socket = this;
  }
};
const deribit = require("deribit-v2-ws");
// It tells of each answer that comes twice.
console.error = () => {};

const say = (...words) => console.log(...words);
const soon = (ms) => new Promise((done) => setTimeout(done, ms));
const number = (value) => Number(value).toFixed(8);

class Refused extends Error {}
class Unknown extends Error {}

// Random numbers that a seed repeats (mulberry32).
let state = [...`${ACCOUNT} ${SEED}`].reduce((hash, it) => Math.imul(hash ^ it.charCodeAt(0), 16777619), 0x811c9dc5);
function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
}
const pick = (all) => all[Math.floor(random() * all.length)];

const counts = { outcomes: 0, books: 0, unknown: 0, rereads: 0 };

async function answered(promise) {
  const late = soon(ANSWER_MS).then(() => {
    throw new Unknown("no answer");
  });
  late.catch(() => {});
  return Promise.race([promise, late]);
}

async function ask(method, params) {
  let answer;
  try {
    answer = await answered(deribit.request(method, params));
  } catch (error) {
    throw new Unknown(`${method}: ${error.message}`);
  }
  // A connection that is not logged on yet says nothing of the order.
  if (UNAUTHORIZED.includes(answer.error?.code)) throw new Unknown(method);
  if (answer.error) throw new Refused(`${method}: ${answer.error.code} ${answer.error.message}`);
  return answer.result;
}

// The book, and the change that it is at; none while it is read anew.
const book = { at: -1, bids: new Map(), asks: new Map() };

function take(data) {
  if (data.type === "snapshot") {
    book.bids.clear();
    book.asks.clear();
  } else if (book.at < 0) {
    return;
  } else if (data.change_id <= book.at) {
    // It came twice.
    return;
  } else if (data.prev_change_id !== book.at) {
    counts.rereads += 1;
    book.at = -1;
    return;
  }
  for (const side of ["bids", "asks"]) {
    for (const [action, price, amount] of data[side]) {
      if (action === "delete") book[side].delete(price);
      else book[side].set(price, amount);
    }
  }
  book.at = data.change_id;
  counts.books += 1;
}

const side = (which, sign) => [...book[which]].sort((a, b) => sign * (a[0] - b[0]));

// Keeps a connection that is logged on, and a book, for as long as it runs.
async function keep() {
  let isHeard = false;
  for (;;) {
    try {
      if (!socket || socket.readyState !== WebSocket.OPEN) {
        book.at = -1;
        deribit.connect();
        for (let looks = 0; socket.readyState === WebSocket.CONNECTING && looks < 100; looks += 1) await soon(20);
        await answered(deribit.authenticate(ACCOUNT, `secret-of-${ACCOUNT}`));
        if (isHeard) {
          await ask("public/subscribe", { channels: [CHANNEL] });
        } else {
          isHeard = true;
          await answered(deribit.subscribe("public", CHANNEL, take));
        }
      } else if (book.at < 0) {
        await ask("public/unsubscribe", { channels: [CHANNEL] });
        await ask("public/subscribe", { channels: [CHANNEL] });
        // Until the snapshot comes, or it was lost too.
        for (let looks = 0; book.at < 0 && looks < 50; looks += 1) await soon(20);
      }
    } catch {
      // It was lost, or the connection was: the next turn sees what is missing.
    }
    await soon(20);
  }
}

// What it takes for open: a name, and the venue's id and the side.
const open = new Map();
let names = 0;
const nextName = () => `${ACCOUNT}-${SEED}-${(names += 1)}`;

async function top() {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    const [bids, asks] = [side("bids", -1), side("asks", 1)];
    if (book.at >= 0 && bids.length && asks.length) return [bids[0][0], asks[0][0]];
    if (Date.now() > end) throw new Error("no book");
    await soon(20);
  }
}

// Two of three rest near the touch, one takes from the other side.
async function terms(way) {
  const [bid, ask] = await top();
  if (random() < 0.35) return [way === "buy" ? ask : bid, pick(SIZES)];
  const away = Math.floor(random() * 40) * TICK;
  return [way === "buy" ? bid - away : ask + away, pick(SIZES)];
}

async function find(name) {
  const found = await ask("private/get_order_state_by_label", { currency: "BTC", label: name });
  if (found.length === 0) return null;
  return { id: found[0].order_id, way: found[0].direction, isOpen: found[0].order_state === "open" };
}

// Asks where an order stands until it knows: one that is twice not there never came.
async function settle(name) {
  const end = Date.now() + PATIENCE_MS;
  for (let absent = 0; absent < 2; ) {
    if (Date.now() > end) throw new Error(`where ${name} stands`);
    try {
      const found = await find(name);
      if (found?.isOpen) open.set(name, { id: found.id, way: found.way });
      if (found) return;
      absent += 1;
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
    }
    await soon(100);
  }
}

async function attempt(name, request) {
  open.delete(name);
  try {
    const order = await request();
    if (order) open.set(name, order);
  } catch (error) {
    if (error instanceof Unknown) counts.unknown += 1;
    else if (!(error instanceof Refused)) throw error;
    await settle(name);
  }
  counts.outcomes += 1;
}

const standing = (order) =>
  order.order_state === "open" ? { id: order.order_id, way: order.direction } : null;

async function act() {
  const draw = random();
  if (open.size === 0 || (draw < 0.5 && open.size < OPEN_MAX)) {
    const [name, way] = [nextName(), pick(["buy", "sell"])];
    const [price, amount] = await terms(way);
    const of = { instrument_name: NAME, type: "limit", price, amount, label: name };
    await attempt(name, async () => standing((await ask(`private/${way}`, of)).order));
    return;
  }
  const name = pick([...open.keys()].sort());
  const { id, way } = open.get(name);
  if (draw < 0.75) {
    await attempt(name, async () => {
      await ask("private/cancel", { order_id: id });
      return null;
    });
    return;
  }
  const [price, amount] = await terms(way);
  const changed = { order_id: id, price, amount };
  await attempt(name, async () => standing((await ask("private/edit", changed)).order));
}

// An answer, asked for until it comes.
async function asked(method, params) {
  for (const end = Date.now() + PATIENCE_MS; ; ) {
    try {
      return await ask(method, params);
    } catch (error) {
      if (!(error instanceof Unknown) || Date.now() > end) throw error;
    }
    await soon(100);
  }
}

async function tell(change) {
  for (let tries = 0; tries < 3; tries += 1) {
    const end = Date.now() + BOOK_MS;
    while (book.at < change && Date.now() < end) await soon(20);
    if (book.at >= change) break;
    say(`note its book stood still at ${book.at}: its user had it read again`);
    book.at = -1;
  }
  const levels = (which, sign) => side(which, sign).map(([price, amount]) => [number(price), number(amount)]);
  const seen = { change: book.at, bids: levels("bids", -1), asks: levels("asks", 1) };
  const orders = await asked("private/get_open_orders_by_instrument", { instrument_name: NAME });
  const { equity, available_funds: free } = await asked("private/get_account_summary", { currency: "BTC" });
  const { size } = await asked("private/get_position", { instrument_name: NAME });
  const mine = orders.map((it) => it.label).filter((label) => label.startsWith(`${ACCOUNT}-${SEED}-`));
  const told = {
    book: seen,
    orders: orders
      .map((it) => [it.label, it.direction, number(it.price), number(it.amount), number(it.filled_amount)])
      .sort((a, b) => (a[0] < b[0] ? -1 : 1)),
    strays: mine.filter((name) => !open.has(name)).sort(),
    balances: { BTC: [number(equity), number(free)] },
    position: number(size),
    asked: counts.outcomes,
    unknown: counts.unknown,
    rereads: counts.rereads,
  };
  say(`told ${JSON.stringify(told)}`);
}

async function run() {
  keep();
  await top();
  say("ready");
  let before = "";
  setInterval(() => {
    const now = `so far ${counts.outcomes} ${counts.books}`;
    if (now !== before) say(now);
    before = now;
  }, 100);
  let [isTrading, trading] = [false, null];
  const trade = async () => {
    while (isTrading) {
      await act();
      await soon(50 + random() * 100);
    }
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [word, change] = line.split(" ");
    if (word === "trade") {
      isTrading = true;
      trading = trade();
    } else if (word === "rest") {
      isTrading = false;
      await trading;
      say("resting");
    } else if (word === "tell") {
      await tell(Number(change));
    }
  }
  process.exit(0);
}

run().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
