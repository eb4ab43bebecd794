// Binance's own SDK for JavaScript (npm @binance/spot) against a venue that speaks as Binance's spot market.
// Nothing is said to it but keys: its own addresses lead there.
const { Spot } = require("@binance/spot");
const { assert, levels, play, sameBooks, soon } = require("./day.js");

const symbol = "BTCUSDT";
// The example's in the venue's documents, as in the venue's sample.
const privateKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u
-----END PRIVATE KEY-----
`;

const client = (keys) =>
  new Spot({
    configurationRestAPI: keys,
    configurationWebsocketAPI: keys,
    configurationWebsocketStreams: {},
  });
const one = client({ apiKey: "one-ed25519", privateKey });
const two = client({ apiKey: "two", apiSecret: "secret-of-two" });
const kept = { told: [] };

// Answers of REST read themselves when they are asked to, those of the WebSocket API are read.
const data = async (asked) => {
  const answer = await asked;
  return typeof answer.data === "function" ? answer.data() : answer.data;
};
const best = async () => {
  const book = await data(two.restAPI.depth({ symbol, limit: 5 }));
  return { bid: Number(book.bids[0][0]), ask: Number(book.asks[0][0]) };
};
const limit = (side, quantity, price, more = {}) =>
  ({ symbol, side, type: "LIMIT", timeInForce: "GTC", quantity, price: Number(price.toFixed(2)), ...more });

// A book by the venue's rules: a snapshot, and the events behind it.
class Book {
  constructor(snapshot) {
    this.last = Number(snapshot.lastUpdateId);
    this.sides = { b: new Map(snapshot.bids), a: new Map(snapshot.asks) };
    this.hasBegun = false;
  }

  take(event) {
    const [first, last] = [Number(event.U), Number(event.u)];
    if (last <= this.last) return;
    assert(this.hasBegun ? first === this.last + 1 : first <= this.last + 1, `${first}: ${this.last}`);
    [this.hasBegun, this.last] = [true, last];
    for (const side of ["b", "a"]) {
      for (const [price, quantity] of event[side]) {
        if (Number(quantity) === 0) this.sides[side].delete(price);
        else this.sides[side].set(price, quantity);
      }
    }
  }

  top(count) {
    const sorted = (side, sign) =>
      levels(this.sides[side]).sort((x, y) => sign * (x[0] - y[0])).slice(0, count);
    return { bids: sorted("b", -1), asks: sorted("a", 1) };
  }
}

play({
  load_markets: async () => {
    const { symbols } = await data(one.restAPI.exchangeInfo());
    assert(symbols.some((it) => it.symbol === symbol));
    return `${symbols.length} symbols`;
  },
  follow_book: async () => {
    const connection = await one.websocketStreams.connect();
    const [events, seen] = [[], new Map()];
    let book;
    const take = (event) => {
      book.take(event);
      seen.set(book.last, book.top(20));
    };
    connection
      .diffBookDepth({ symbol: symbol.toLowerCase(), updateSpeed: "100ms" })
      .on("message", (event) => (book ? take(event) : events.push(event)));
    while (events.length === 0) await soon(5);
    book = new Book(await data(two.restAPI.depth({ symbol, limit: 1000 })));
    events.forEach(take);
    const said = await sameBooks(5, seen, async () => {
      const now = await data(two.restAPI.depth({ symbol, limit: 20 }));
      return [Number(now.lastUpdateId), { bids: levels(now.bids), asks: levels(now.asks) }];
    });
    await connection.disconnect();
    return said;
  },
  log_on: async () => {
    kept.api = await one.websocketAPI.connect();
    await kept.api.sessionLogon();
    const { stream } = await kept.api.userDataStreamSubscribe();
    stream.on("message", (event) => kept.told.push(event));
    const status = await data(kept.api.accountStatus());
    assert(status.balances.some((it) => it.asset === "BTC"));
  },
  create: async () => {
    const { bid } = await best();
    const order = await data(kept.api.orderPlace(limit("BUY", 0.1, bid * 0.97)));
    assert.strictEqual(order.status, "NEW");
    kept.order = order;
  },
  open_orders: async () => {
    const orders = await data(one.restAPI.getOpenOrders({ symbol }));
    assert.deepStrictEqual(orders.map((it) => it.orderId), [kept.order.orderId]);
  },
  edit: async () => {
    const { orderId } = kept.order;
    const amended = await data(kept.api.orderAmendKeepPriority({ symbol, orderId, newQty: 0.05 }));
    assert.strictEqual(Number(amended.amendedOrder.qty), 0.05);
    const price = Number(kept.order.price) - 10;
    const replaced = await data(
      kept.api.orderCancelReplace({
        ...limit("BUY", 0.06, price),
        cancelReplaceMode: "STOP_ON_FAILURE",
        cancelOrderId: orderId,
      }),
    );
    assert.strictEqual(replaced.newOrderResponse.status, "NEW");
    kept.order = replaced.newOrderResponse;
  },
  cancel: async () => {
    const gone = await data(kept.api.orderCancel({ symbol, orderId: kept.order.orderId }));
    assert.strictEqual(gone.status, "CANCELED");
    const told = kept.told.filter((it) => it.i === kept.order.orderId).map((it) => it.X);
    assert.deepStrictEqual(told, ["NEW", "CANCELED"], JSON.stringify(kept.told.at(-1)));
    assert.deepStrictEqual(await data(one.restAPI.getOpenOrders({ symbol })), []);
  },
  partial_fill: async () => {
    for (let tries = 0; tries < 40; tries += 1) {
      const price = (await best()).bid + 0.01;
      const { orderId } = await data(one.restAPI.newOrder(limit("BUY", 5, price)));
      await data(two.restAPI.newOrder(limit("SELL", 0.01, price, { timeInForce: "IOC" })));
      const order = await data(one.restAPI.getOrder({ symbol, orderId }));
      if (order.status === "PARTIALLY_FILLED") {
        kept.part = order;
        return `${order.executedQty} of 5`;
      }
      if (order.status === "NEW") await data(one.restAPI.deleteOrder({ symbol, orderId }));
    }
    throw new Error("no partial fill");
  },
  my_trades: async () => {
    const trades = await data(one.restAPI.myTrades({ symbol }));
    assert(trades.some((it) => it.orderId === kept.part.orderId));
  },
  balance: async () => {
    const { balances } = await data(one.restAPI.getAccount());
    assert(Number(balances.find((it) => it.asset === "BTC").free) > 99);
  },
  refusals: async () => {
    await assert.rejects(() => one.restAPI.deleteOrder({ symbol, orderId: 1 }), /Unknown order/);
    await assert.rejects(() => one.restAPI.newOrder(limit("BUY", 8000, 50000)), /insufficient/);
    const wrong = client({ apiKey: "two", apiSecret: "wrong" });
    await assert.rejects(() => wrong.restAPI.getAccount(), /[Ss]ignature/);
  },
  reconnect_and_reconcile: async () => {
    const { bid } = await best();
    const resting = await data(kept.api.orderPlace(limit("BUY", 0.1, bid * 0.9)));
    await kept.api.disconnect();
    const again = await one.websocketAPI.connect();
    await again.sessionLogon();
    const after = (await data(again.openOrdersStatus({ symbol }))).map((it) => it.orderId);
    assert(after.includes(resting.orderId), `${after}: without ${resting.orderId}`);
    await data(again.openOrdersCancelAll({ symbol }));
    assert.deepStrictEqual(await data(one.restAPI.getOpenOrders({ symbol })), []);
    await again.disconnect();
  },
});
