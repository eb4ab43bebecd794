// Instruments, a book with its depth, and trades.

import { clock, count, decimal, price, rate } from "./format.js";
import { depth, el, setText, trades } from "./plots.js";
import { card, drawState, legend, table } from "./tables.js";

/** The distance of the best prices in price steps. */
function spread(row) {
  if (!row.bid || !row.ask || !Number(row.tick)) return "–";
  return String(Math.round((Number(row.ask.price) - Number(row.bid.price)) / Number(row.tick)));
}

export function market(api) {
  let symbol = null;
  const pick = (row) => {
    symbol = row.symbol;
    api.follow(symbol);
    api.redraw();
  };
  const instruments = table({
    label: "Instruments",
    key: (row) => row.symbol,
    pick,
    tall: true,
    empty: "The gateway has no instrument.",
    columns: [
      { head: "instrument", left: true, cell: (row) => row.symbol },
      { head: "bid quantity", cell: (row) => decimal(row.bid?.quantity) },
      { head: "bid", cell: (row) => price(row.bid?.price, row.tick), tone: () => "bid-text" },
      { head: "ask", cell: (row) => price(row.ask?.price, row.tick), tone: () => "ask-text" },
      { head: "ask quantity", cell: (row) => decimal(row.ask?.quantity) },
      { head: "spread, steps", cell: spread },
      { head: "last trade", cell: (row) => price(row.last, row.tick) },
      { head: "trades", cell: (row) => count(row.trades) },
      { head: "events/s", cell: (row) => rate(row.events_per_second) },
      {
        head: "book",
        left: true,
        draw: (cell, row) =>
          drawState(
            cell,
            row.is_sound ? "good" : "bad",
            row.is_sound ? "sound" : row.stale_reason || "stale",
          ),
      },
    ],
  });
  const barred = (side) => (cell, row) => {
    let bar = cell.querySelector("i");
    if (!bar) {
      bar = el("i", { "aria-hidden": "true" });
      cell.append(bar, el("span"));
      cell.classList.add("bar-cell", side);
    }
    const level = row[side];
    bar.style.width = level ? `${((Number(level.quantity) / row.most) * 100).toFixed(1)}%` : "0";
    setText(cell.querySelector("span"), level ? decimal(level.quantity) : "");
  };
  const ladder = table({
    label: "Levels of the book",
    key: (row) => row.index,
    columns: [
      { head: "bid quantity", draw: barred("bid") },
      {
        head: "bid",
        cell: (row) => (row.bid ? price(row.bid.price, row.tick) : ""),
        tone: () => "bid-text",
      },
      {
        head: "ask",
        left: true,
        cell: (row) => (row.ask ? price(row.ask.price, row.tick) : ""),
        tone: () => "ask-text",
      },
      { head: "ask quantity", left: true, draw: barred("ask") },
    ],
  });
  ladder.root.querySelector("table").classList.add("ladder");
  const tape = table({
    label: "Last trades",
    key: (row) => row.number,
    tall: true,
    empty: "No trade was seen since this page was opened.",
    columns: [
      { head: "time", left: true, cell: (row) => clock(row.at_ns / 1e6, true) },
      { head: "price", cell: (row) => price(row.price, row.tick) },
      { head: "quantity", cell: (row) => decimal(row.quantity) },
      {
        head: "taker",
        left: true,
        cell: (row) => row.aggressor || "–",
        tone: (row) =>
          row.aggressor === "buy" ? "bid-text" : row.aggressor === "sell" ? "ask-text" : "",
      },
    ],
  });
  tape.root.querySelector(".scroll").classList.add("short");
  const deep = depth("Depth");
  const dots = trades("Trades");
  const title = (text) => {
    const place = el("span");
    return { place, set: (symbol) => setText(place, `${text} ${symbol ?? ""}`) };
  };
  const [bookTitle, depthTitle, tradesTitle, tapeTitle] = [
    "Book of",
    "Depth of",
    "Trades in",
    "Last trades in",
  ].map(title);
  const titled = (it, tools, ...content) => {
    const made = card("", tools, ...content);
    made.querySelector("h2").append(it.place);
    return made;
  };
  return {
    needsGateway: true,
    roots: [
      card("Instruments", [], instruments.root),
      el(
        "div",
        { class: "two" },
        titled(bookTitle, [], ladder.root),
        titled(depthTitle, [legend(["bid", "bids"], ["ask", "offers"])], deep.root),
      ),
      el(
        "div",
        { class: "two" },
        titled(tradesTitle, [legend(["bid", "▲ buyer took"], ["ask", "▼ seller took"])], dots.root),
        titled(tapeTitle, [], tape.root),
      ),
    ],
    update(desk, gateway) {
      const list = gateway.instruments;
      const shown =
        list.find((it) => it.symbol === symbol) ?? list.find((it) => it.bids.length) ?? list[0];
      symbol = shown?.symbol ?? null;
      if (shown && !shown.bids.length && !shown.asks.length) api.follow(symbol);
      instruments.update(list, symbol);
      const levels = Math.max(shown?.bids.length ?? 0, shown?.asks.length ?? 0);
      const all = [...(shown?.bids ?? []), ...(shown?.asks ?? [])].map((level) =>
        Number(level.quantity),
      );
      const most = Math.max(...all, 0) || 1;
      ladder.update(
        Array.from({ length: levels }, (_, index) => ({
          index,
          most,
          tick: shown.tick,
          bid: shown.bids[index],
          ask: shown.asks[index],
        })),
      );
      deep.draw(shown);
      const seen = (desk.trades.get(gateway.name) ?? []).filter((trade) => trade.symbol === symbol);
      dots.draw(seen);
      tape.update(
        seen
          .slice(-60)
          .reverse()
          .map((trade) => ({ ...trade, tick: shown?.tick })),
      );
      [bookTitle, depthTitle, tradesTitle, tapeTitle].forEach((it) => it.set(symbol));
    },
  };
}
