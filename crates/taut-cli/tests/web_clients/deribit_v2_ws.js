// npm deribit-v2-ws, in which no address can be changed, against a venue that speaks as Deribit.
const deribit = require("deribit-v2-ws");
const { assert, levels, play, sameBooks, soon } = require("./day.js");

const NAME = "BTC-PERPETUAL";
const kept = {};

async function ask(method, params) {
  const { result, error } = await deribit.request(method, params);
  if (error) throw new Error(`${method}: ${error.code} ${error.message}`);
  return result;
}

const refused = async (code, method, params) => {
  const { error } = await deribit.request(method, params);
  assert.strictEqual(error?.code, code, method);
};

// The order so long as it stands there with a part of it traded.
async function partlyFilled() {
  for (let tries = 0; tries < 40; tries += 1) {
    const { best_bid_price: bid } = await ask("public/ticker", { instrument_name: NAME });
    const price = bid + 0.5;
    const of = { instrument_name: NAME, type: "limit", price };
    const { order } = await ask("private/buy", { ...of, amount: 5000, label: "part" });
    // The crowd, or nobody.
    for (let looks = 0; looks < 20; looks += 1) {
      const now = await ask("private/get_order_state", { order_id: order.order_id });
      if (now.order_state !== "open") break;
      if (now.filled_amount > 0) return now;
      await soon(100);
    }
    await deribit.request("private/cancel", { order_id: order.order_id });
  }
  throw new Error("no partial fill");
}

play({
  connect: () => deribit.connect(),
  authenticate: () => deribit.authenticate("one", "secret-of-one"),
  load_markets: async () => {
    const markets = await ask("public/get_instruments", { currency: "BTC", kind: "future" });
    assert(markets.some((market) => market.instrument_name === NAME));
    return `${markets.length} markets`;
  },
  watch_book: async () => {
    const [book, seen] = [{ bids: new Map(), asks: new Map() }, new Map()];
    let last;
    await deribit.subscribe("public", `book.${NAME}.100ms`, (data) => {
      assert(last === undefined || data.prev_change_id === last, "a gap");
      last = data.change_id;
      for (const side of ["bids", "asks"]) {
        for (const [action, price, amount] of data[side]) {
          if (action === "delete") book[side].delete(price);
          else book[side].set(price, amount);
        }
      }
      const best = (side, sign) => [...book[side]].sort((a, b) => sign * (a[0] - b[0]));
      seen.set(last, { bids: best("bids", -1), asks: best("asks", 1) });
    });
    return sameBooks(5, seen, async () => {
      const now = await ask("public/get_order_book", { instrument_name: NAME, depth: 1000 });
      return [now.change_id, { bids: levels(now.bids), asks: levels(now.asks) }];
    });
  },
  create: async () => {
    const { best_bid_price: bid } = await ask("public/ticker", { instrument_name: NAME });
    const of = { instrument_name: NAME, type: "limit", price: Math.round(bid * 0.97) };
    const { order } = await ask("private/buy", { ...of, amount: 100, label: "first" });
    assert.deepStrictEqual([order.order_state, order.filled_amount], ["open", 0]);
    kept.order = order;
  },
  edit: async () => {
    const { order_id, price } = kept.order;
    const { order } = await ask("private/edit", { order_id, amount: 150, price: price - 10 });
    assert.deepStrictEqual([order.order_id, order.amount, order.price], [order_id, 150, price - 10]);
  },
  open_orders: async () => {
    const orders = await ask("private/get_open_orders_by_instrument", { instrument_name: NAME });
    assert.deepStrictEqual(orders.map((order) => order.order_id), [kept.order.order_id]);
  },
  cancel: async () => {
    const order = await ask("private/cancel", { order_id: kept.order.order_id });
    assert.strictEqual(order.order_state, "cancelled");
  },
  watch_orders_and_partial_fill: async () => {
    const told = [];
    await deribit.subscribe("private", `user.changes.${NAME}.raw`, (data) => told.push(data));
    const order = await partlyFilled();
    const traded = () =>
      told
        .flatMap((data) => data.trades)
        .filter((it) => it.order_id === order.order_id)
        .reduce((sum, trade) => sum + trade.amount, 0);
    while (traded() < order.filled_amount) await soon(5);
    return `${order.filled_amount} of 5000`;
  },
  positions: async () => {
    const position = await ask("private/get_position", { instrument_name: NAME });
    assert(position.size !== 0);
  },
  balance: async () => {
    const summary = await ask("private/get_account_summary", { currency: "BTC" });
    assert(summary.balance > 99, summary.balance);
  },
  refusals: async () => {
    await refused(10004, "private/cancel", { order_id: "BTC-1" });
    await refused(-32601, "private/there_is_none", {});
  },
  reconcile: async () => {
    const count = await ask("private/cancel_all", {});
    const left = await ask("private/get_open_orders", {});
    assert.deepStrictEqual(left, []);
    return `${count} cancelled`;
  },
});
