// Open orders, and the last ones that were sent, each with its way through the stages.

import { decimal, ns, span, stageName } from "./format.js";
import { el, setText, timeline } from "./plots.js";
import { lives } from "./lives.js";
import { card, table } from "./tables.js";

export const STAGES = [
  "decode",
  "book",
  "publish",
  "to_strategy",
  "strategy",
  "to_gateway",
  "risk",
  "encode",
  "send",
];

export function orders(api) {
  let order = null;
  const open = table({
    label: "Open orders",
    key: (row) => row.id,
    tall: true,
    empty: "No order is open.",
    columns: [
      { head: "id", left: true, cell: (row) => row.id },
      { head: "strategy", left: true, cell: (row) => row.strategy },
      { head: "instrument", left: true, cell: (row) => row.symbol },
      {
        head: "side",
        left: true,
        cell: (row) => row.side,
        tone: (row) => (row.side === "buy" ? "bid-text" : "ask-text"),
      },
      { head: "price", cell: (row) => decimal(row.price) },
      { head: "quantity", cell: (row) => decimal(row.quantity) },
      { head: "open", cell: (row) => decimal(row.open) },
      { head: "state", left: true, cell: (row) => row.state },
      { head: "seen for", cell: (row) => span(row.seen_s) },
    ],
  });
  const way = timeline(STAGES);
  const wayTitle = el("span");
  const wayNote = el("p", { class: "note" });
  const wayCard = card("", [], way.root, wayNote);
  wayCard.querySelector("h2").append(wayTitle);
  const slowest = (row) => STAGES[row.stages_ns.indexOf(Math.max(...row.stages_ns))];
  const sent = table({
    label: "The last orders that were sent",
    key: (row) => `${row.id} ${row.received_ns}`,
    tall: true,
    pick: (row) => {
      order = `${row.id} ${row.received_ns}`;
      api.redraw();
    },
    empty: "No order was sent since this page's desk looks.",
    columns: [
      { head: "id", left: true, cell: (row) => row.id },
      { head: "tick to trade", cell: (row) => ns(row.tick_to_trade_ns) },
      { head: "longest stage", left: true, cell: (row) => stageName(slowest(row) ?? "–") },
      { head: "took", cell: (row) => ns(Math.max(...row.stages_ns)) },
    ],
  });
  let kept = null;
  const journal = lives(api);
  // When each open order was seen first, by gateway and id.
  let seen = new Map();
  return {
    needsGateway: true,
    roots: [
      card("Open orders", [], open.root),
      el("div", { class: "two" }, wayCard, card("Last orders sent", [], sent.root)),
      journal.root,
    ],
    update(desk, gateway) {
      journal.update(desk, gateway);
      const now = desk.look.snapshot.at_ns / 1e9;
      const before = seen;
      seen = new Map(
        gateway.orders.map((row) => {
          const key = `${gateway.name} ${row.id}`;
          return [key, before.get(key) ?? now];
        }),
      );
      open.update(
        gateway.orders.map((row) => ({
          ...row,
          seen_s: now - seen.get(`${gateway.name} ${row.id}`),
        })),
      );
      const list = gateway.recent.slice(0, 100);
      const named = (row) => `${row.id} ${row.received_ns}`;
      // One that was picked stays, also when newer ones have pushed it out of the list.
      const found = list.find((row) => named(row) === order);
      if (found) kept = found;
      const shown = order && kept && named(kept) === order ? kept : list[0];
      sent.update(list, order);
      wayCard.hidden = !shown;
      if (shown) {
        const state =
          gateway.orders.find((row) => row.id === shown.id)?.state ??
          "over by now, or not among those that are shown";
        setText(wayTitle, `The way of order ${shown.id}: ${ns(shown.tick_to_trade_ns)}`);
        setText(
          wayNote,
          `${order ? "" : "The latest; pick another one beside it. "}From the packet that caused it to the return of the send call: the stages add up. Its state: ${state}.`,
        );
        way.draw(shown);
      }
    },
  };
}
