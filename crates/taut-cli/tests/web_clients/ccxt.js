// npm ccxt against a venue that speaks as Deribit or Binance: `node ccxt.js deribit|binance`. It is told
// nothing of the venue: its own addresses lead there.
const ccxt = require("ccxt");
const { assert, levels, play, sameBooks } = require("./day.js");

const [, , VENUE] = process.argv;
const AT = {
  deribit: { symbol: "BTC/USD:BTC", coin: "BTC", small: 10, large: 5000, step: 0.5 },
  binance: {
    symbol: "BTC/USDT",
    coin: "BTC",
    small: 0.01,
    large: 5,
    step: 0.01,
  },
}[VENUE];
const { symbol, coin, small, large, step } = AT;

const client = (account) =>
  new ccxt.pro[VENUE]({
    apiKey: account,
    secret: `secret-of-${account}`,
    enableRateLimit: false,
    newUpdates: true,
  });
const [one, two] = [client("one"), client("two")];
const kept = {};
const balance = (exchange) => exchange.fetchBalance(VENUE === "deribit" ? { code: coin } : {});

async function refused(kind, act) {
  await assert.rejects(act, (error) => error instanceof kind);
}

play({
  load_markets: async () => {
    const markets = await one.loadMarkets();
    await two.loadMarkets();
    assert(symbol in markets);
    return `${Object.keys(markets).length} markets`;
  },
  fetch_book: async () => {
    const book = await one.fetchOrderBook(symbol);
    assert(book.bids[0][0] < book.asks[0][0]);
  },
  fetch_ticker: async () => {
    const ticker = await one.fetchTicker(symbol);
    assert(ticker.bid < ticker.ask);
  },
  watch_book: async () => {
    const seen = new Map();
    let isOver = false;
    const note = (id, book) =>
      seen.set(id, { bids: levels(book.bids).slice(0, 100), asks: levels(book.asks).slice(0, 100) });
    // Its book at Deribit does not show the change id: who looks on notes it with each message.
    if (VENUE === "deribit") {
      const take = one.handleOrderBook.bind(one);
      one.handleOrderBook = (connection, message) => {
        take(connection, message);
        note(message.params.data.change_id, one.orderbooks[symbol]);
      };
    }
    const watching = (async () => {
      while (!isOver) {
        const book = await one.watchOrderBook(symbol);
        if (VENUE === "binance") note(book.nonce, book);
      }
    })();
    try {
      return await sameBooks(5, seen, async () => {
        if (VENUE === "deribit") {
          const asked = { instrument_name: "BTC-PERPETUAL", depth: 100 };
          const { result } = await two.publicGetGetOrderBook(asked);
          const id = Number(result.change_id);
          return [id, { bids: levels(result.bids), asks: levels(result.asks) }];
        }
        const book = await two.publicGetDepth({ symbol: "BTCUSDT", limit: 100 });
        return [Number(book.lastUpdateId), { bids: levels(book.bids), asks: levels(book.asks) }];
      });
    } finally {
      isOver = true;
      await watching;
    }
  },
  watch_trades: async () => {
    const trades = await one.watchTrades(symbol);
    assert(trades[0].price > 0);
  },
  create: async () => {
    const { bid } = await one.fetchTicker(symbol);
    const order = await one.createOrder(symbol, "limit", "buy", 10 * small, Math.round(bid * 0.97));
    assert.deepStrictEqual([order.status, order.filled], ["open", 0]);
    kept.order = order;
  },
  edit: async () => {
    const { id, price } = kept.order;
    const edited = await one.editOrder(id, symbol, "limit", "buy", 15 * small, price - 10);
    assert.strictEqual(edited.price, price - 10);
    kept.order = edited;
  },
  open_orders: async () => {
    const orders = await one.fetchOpenOrders(symbol);
    assert.deepStrictEqual(orders.map((order) => order.id), [kept.order.id]);
  },
  cancel: async () => {
    await one.cancelOrder(kept.order.id, symbol);
    assert.deepStrictEqual(await one.fetchOpenOrders(symbol), []);
  },
  partial_fill: async () => {
    for (let tries = 0; tries < 40; tries += 1) {
      const { bids } = await one.fetchOrderBook(symbol);
      const price = bids[0][0] + step;
      let order = await one.createOrder(symbol, "limit", "buy", large, price);
      await two.createOrder(symbol, "limit", "sell", small, price, { timeInForce: "IOC" });
      order = await one.fetchOrder(order.id, symbol);
      if (order.status === "open" && order.filled > 0 && order.filled < large) {
        kept.part = order;
        return `${order.filled} of ${large}`;
      }
      if (order.status === "open") await one.cancelOrder(order.id, symbol);
    }
    throw new Error("no partial fill");
  },
  my_trades: async () => {
    const trades = await one.fetchMyTrades(symbol);
    assert(trades.some((trade) => trade.order === kept.part.id));
  },
  balance: async () => {
    const told = await balance(one);
    assert(told[coin].total > 99, JSON.stringify(told[coin]));
  },
  watch_orders: async () => {
    let orders;
    const waiting = one.watchOrders(symbol).then((told) => (orders = told));
    const { bid } = await one.fetchTicker(symbol);
    while (!orders) {
      const order = await one.createOrder(symbol, "limit", "buy", small, Math.round(bid * 0.96));
      await one.cancelOrder(order.id, symbol);
      await Promise.race([waiting, new Promise((done) => setTimeout(done, 200))]);
    }
    assert.strictEqual(orders[0].symbol, symbol);
  },
  refusals: async () => {
    await refused(ccxt.OrderNotFound, () => one.cancelOrder("1", symbol));
    await refused(ccxt.InsufficientFunds, () =>
      one.createOrder(symbol, "limit", "buy", VENUE === "deribit" ? 1e9 : 8000, 50000));
    const wrong = client("one");
    wrong.secret = "wrong";
    await refused(ccxt.AuthenticationError, () => balance(wrong));
  },
  reconnect: async () => {
    const { bid } = await one.fetchTicker(symbol);
    const resting = await one.createOrder(symbol, "limit", "buy", small, Math.round(bid * 0.9));
    await one.close();
    const again = client("one");
    await again.loadMarkets();
    const after = (await again.fetchOpenOrders(symbol)).map((order) => order.id);
    assert(after.includes(resting.id), `${after}: without ${resting.id}`);
    const book = await again.watchOrderBook(symbol);
    assert(book.bids.length > 0);
    await again.cancelAllOrders(symbol);
    assert.deepStrictEqual(await again.fetchOpenOrders(symbol), []);
    await again.close();
  },
});
