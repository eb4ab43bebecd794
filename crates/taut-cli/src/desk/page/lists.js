// What is held, who trades, what is connected, and what happened.

import { clock, count, decimal, money, rate } from "./format.js";
import { el } from "./plots.js";
import { card, drawState, figures, table } from "./tables.js";

const tone = (text) => (Number(text) > 0 ? "plus" : Number(text) < 0 ? "minus" : "");

export function positions() {
  const profit = figures();
  const held = table({
    label: "Positions",
    key: (row) => `${row.strategy}/${row.symbol}/${row.account}`,
    tall: true,
    empty: "Nothing is held, and nothing was traded today.",
    columns: [
      { head: "strategy", left: true, cell: (row) => row.strategy },
      { head: "instrument", left: true, cell: (row) => row.symbol },
      { head: "account", cell: (row) => row.account },
      { head: "quantity", cell: (row) => decimal(row.quantity) },
      { head: "average price", cell: (row) => decimal(row.average_price) },
      { head: "valued at", cell: (row) => decimal(row.mark) },
      { head: "bought", cell: (row) => decimal(row.bought) },
      { head: "sold", cell: (row) => decimal(row.sold) },
      { head: "realised", cell: (row) => money(row.realised), tone: (row) => tone(row.realised) },
      {
        head: "unrealised",
        cell: (row) => money(row.unrealised),
        tone: (row) => tone(row.unrealised),
      },
      { head: "fees", cell: (row) => money(row.fees).replace("+", "") },
    ],
  });
  return {
    needsGateway: true,
    roots: [
      card("Profit since the day began", [], profit.root),
      card(
        "Positions",
        [],
        held.root,
        el(
          "p",
          { class: "note" },
          "In the currency of each instrument, without a conversion; open positions are valued at the middle of the market.",
        ),
      ),
    ],
    update(desk, gateway) {
      const { realised, unrealised, fees, total } = gateway.profit;
      profit.set("realised", money(realised), tone(realised));
      profit.set("unrealised", money(unrealised), tone(unrealised));
      profit.set("fees", money(fees).replace("+", ""));
      profit.set("total less fees", money(total), tone(total));
      held.update(gateway.positions);
    },
  };
}

export function strategies() {
  const list = table({
    label: "Strategies",
    key: (row) => row.name,
    empty: "The settings of this gateway name no strategy.",
    columns: [
      { head: "strategy", left: true, cell: (row) => row.name },
      {
        head: "attached",
        left: true,
        draw: (cell, row) =>
          drawState(cell, row.attached ? "good" : "", row.attached ? "attached" : "not attached"),
      },
      { head: "lag, events", cell: (row) => count(row.lag) },
      {
        head: "lost events",
        cell: (row) => count(row.lapped),
        tone: (row) => (row.lapped ? "minus" : ""),
      },
      {
        head: "requests without room",
        cell: (row) => count(row.full),
        tone: (row) => (row.full ? "minus" : ""),
      },
      {
        head: "dropped",
        cell: (row) => count(row.dropped),
        tone: (row) => (row.dropped ? "minus" : ""),
      },
    ],
  });
  const latches = table({
    label: "Kill switch",
    key: (row) => `${row.scope} ${row.cause}`,
    empty: "Nothing is killed.",
    columns: [
      { head: "what", left: true, cell: (row) => row.scope },
      { head: "by", left: true, cell: (row) => row.cause },
      {
        head: "since",
        left: true,
        cell: (row) => (row.since_ns ? clock(row.since_ns / 1e6) : "before the gateway began"),
      },
    ],
  });
  const scope = (of) =>
    typeof of === "string"
      ? of === "all"
        ? "everything"
        : of
      : Object.entries(of)
          .map((it) => it.join(" "))
          .join();
  return {
    needsGateway: true,
    roots: [
      card(
        "Strategies",
        [],
        list.root,
        el(
          "p",
          { class: "note" },
          "Lag is how many market events a strategy has not read yet; one that lags a whole ring loses events. Requests without room were refused at the strategy's own ring.",
        ),
      ),
      card("Kill switch", [], latches.root),
    ],
    update(desk, gateway) {
      list.update(gateway.strategies);
      latches.update(gateway.latches.map((it) => ({ ...it, scope: scope(it.scope) })));
    },
  };
}

export function connections(api) {
  const list = table({
    label: "Connections",
    key: (row) => row.name,
    empty: "It has none yet.",
    columns: [
      { head: "connection", left: true, cell: (row) => row.name },
      {
        head: "state",
        left: true,
        draw: (cell, row) => drawState(cell, row.is_up ? "good" : "bad", row.is_up ? "up" : "down"),
      },
      { head: "to", left: true, cell: (row) => row.address || "–" },
      { head: "ended unasked", cell: (row) => count(row.ended) },
      { head: "the venue said", left: true, wrap: true, cell: (row) => row.refusal || "–" },
    ],
  });
  const timing = figures(true);
  const timingCard = card("The venue's clock", [], timing.root);
  const filter = el("input", {
    type: "search",
    placeholder: "Filter ( / )",
    "aria-label": "Filter counters",
    class: "filter",
    oninput: () => api.redraw(),
  });
  const counters = table({
    label: "Counters",
    key: (row) => row.name,
    tall: true,
    empty: "No counter has this in its name.",
    columns: [
      { head: "counter", left: true, cell: (row) => row.name },
      { head: "since start", cell: (row) => count(row.value) },
      { head: "per second", cell: (row) => rate(row.per_second) },
    ],
  });
  return {
    needsGateway: true,
    roots: [
      card("Connections", [], list.root),
      timingCard,
      card("Counters", [filter], counters.root),
    ],
    filter,
    update(desk, gateway) {
      list.update(gateway.connections);
      const clockOf = gateway.venue_clock;
      timingCard.hidden = !clockOf;
      if (clockOf) {
        timing.set("ahead of this machine", `${(clockOf.ahead_us / 1000).toFixed(1)} ms`);
        timing.set("round trip", `${(clockOf.round_trip_us / 1000).toFixed(1)} ms`);
        timing.set("jumps", count(clockOf.jumps));
      }
      const wanted = filter.value.trim().toLowerCase();
      counters.update(gateway.counters.filter((it) => it.name.includes(wanted)));
    },
  };
}

const TONES = {
  warning: "warn",
  cleared: "good",
  kill: "bad",
  state: "",
  connection: "",
  strategy: "",
  orders: "warn",
  control: "",
};

/** The kind of an event, which does not change. */
export function drawKind(cell, row) {
  if (cell.firstElementChild) return;
  cell.append(el("span", { class: `badge ${TONES[row.kind] ?? ""}` }, row.kind));
}

export function events(api) {
  const filter = el("input", {
    type: "search",
    placeholder: "Filter ( / )",
    "aria-label": "Filter events",
    oninput: () => api.redraw(),
  });
  const log = table({
    label: "Events",
    key: (row) => row.number,
    tall: true,
    empty: () =>
      filter.value
        ? "No event has these words."
        : "Nothing has happened since the desk began to look.",
    columns: [
      { head: "time", left: true, cell: (row) => clock(row.at_ns / 1e6) },
      { head: "gateway", left: true, cell: (row) => row.gateway },
      {
        head: "kind",
        left: true,
        draw: drawKind,
      },
      { head: "what happened", left: true, wrap: true, cell: (row) => row.text },
    ],
  });
  return {
    roots: [
      card(
        "Events",
        [filter],
        log.root,
        el(
          "p",
          { class: "note" },
          "The last 500 since the desk began to look, which is once a second: what comes and goes in between is only in the counters.",
        ),
      ),
    ],
    filter,
    update(desk) {
      const wanted = filter.value.trim().toLowerCase();
      const found = desk.events.filter((it) =>
        `${it.gateway} ${it.kind} ${it.text}`.toLowerCase().includes(wanted),
      );
      log.update(found.slice().reverse());
    },
  };
}
