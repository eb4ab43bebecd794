// Orders from their first request to their end, out of a gateway's journal.

import { clock, decimal, ns, price } from "./format.js";
import { el, setText } from "./plots.js";
import { card, table } from "./tables.js";

// The desk reads the end of a journal when it is asked, which takes a while where it is large.
const ASK_MS = 3000;
const SHOWN = 100;
const ENDS = new Set(["cancelled", "expired", "rejected"]);

/** Lots of an instrument as its quantity, exact to eight places. */
function quantity(lots, instrument) {
  if (lots == null) return "";
  const value = lots * Number(instrument?.lot ?? 1);
  return decimal(String(+value.toFixed(8)));
}

/** How it stands, and when that was so. */
function standing(life) {
  const filled = life.steps
    .filter((it) => it.what === "filled")
    .reduce((sum, it) => sum + it.lots, 0);
  const wanted = life.steps.findLast((it) => it.what === "changed")?.lots ?? life.lots;
  const last = life.steps.at(-1);
  if (filled >= wanted) return "filled";
  const ended = life.steps.findLast((it) => ENDS.has(it.what));
  // A change that was rejected does not end an order.
  const isOver =
    ended && (ended.what !== "rejected" || !life.steps.some((it) => it.what === "acknowledged"));
  if (isOver) return filled ? `${ended.what}, ${filled} of ${wanted} lots filled` : ended.what;
  return filled ? `${filled} of ${wanted} lots filled` : last.what;
}

const began = (life) => life.steps[0]?.at_ns ?? 0;
const lasted = (life) => (life.steps.at(-1)?.at_ns ?? 0) - began(life);

/** A mark for each step, at its time between the first and the last. */
function lifeline() {
  const root = el("ol", { class: "timeline life" });
  return {
    root,
    draw(life, instrument) {
      const whole = lasted(life) || 1;
      root.replaceChildren(
        ...life.steps.map((step) => {
          const after = step.at_ns - began(life);
          const mark = el("i", { class: `mark ${step.what.split(" ")[0]}` });
          mark.style.left = `${((after / whole) * 100).toFixed(2)}%`;
          const parts = [
            quantity(step.lots, instrument),
            step.price && `at ${price(step.price, instrument?.tick)}`,
          ];
          return el(
            "li",
            {},
            el("span", { class: "name" }, step.what),
            el("span", { class: "track", "aria-hidden": "true" }, mark),
            el("span", { class: "took" }, `+${ns(after)}`),
            el("span", { class: "until" }, parts.filter(Boolean).join(" ")),
          );
        }),
      );
    },
  };
}

export function lives(api) {
  let told = { gateway: null, orders: [], error: null };
  let asked = 0;
  let order = null;
  let kept = null;
  const title = el("span");
  const line = lifeline();
  const note = el(
    "p",
    { class: "note" },
    "Times are those at which the gateway wrote its journal: a request before its bytes left, an answer when it was heard.",
  );
  const lineCard = card("", [], line.root, note);
  lineCard.querySelector("h2").append(title);
  const list = table({
    label: "Orders of the journal",
    key: (row) => row.id,
    tall: true,
    pick: (row) => {
      order = row.id;
      api.redraw();
    },
    empty: () => told.error ?? "The end of the journal is being read, or has no order.",
    columns: [
      { head: "id", left: true, cell: (row) => row.id },
      { head: "instrument", left: true, cell: (row) => row.symbol },
      {
        head: "side",
        left: true,
        cell: (row) => row.side,
        tone: (row) => (row.side === "buy" ? "bid-text" : "ask-text"),
      },
      { head: "price", cell: (row) => (row.price ? price(row.price, row.tick) : "market") },
      { head: "quantity", cell: (row) => row.quantity },
      { head: "lasted", cell: (row) => ns(row.lasted) },
      { head: "stands", left: true, cell: (row) => row.standing },
    ],
  });
  const root = el("div", { class: "two" }, lineCard, card("Orders of the journal", [], list.root));

  async function ask(name) {
    asked = performance.now();
    const answer = await fetch(`/orders/${encodeURIComponent(name)}`, {
      credentials: "same-origin",
    }).catch(() => null);
    if (!answer?.ok) return;
    told = { gateway: name, ...(await answer.json()) };
  }

  return {
    root,
    update(desk, gateway) {
      root.hidden = !desk.journals.includes(gateway.name);
      if (root.hidden) return;
      if (told.gateway !== gateway.name) told = { gateway: gateway.name, orders: [], error: null };
      if (!desk.isFrozen && performance.now() - asked > ASK_MS) ask(gateway.name);
      const latest = told.orders
        .filter((life) => life.steps.length)
        .slice(-SHOWN)
        .reverse();
      const rows = latest.map((life) => {
        const instrument = gateway.instruments[life.instrument];
        return {
          ...life,
          symbol: instrument?.symbol ?? "?",
          tick: instrument?.tick,
          instrument,
          quantity: quantity(life.lots, instrument),
          lasted: lasted(life),
          standing: standing(life),
        };
      });
      const found = rows.find((row) => row.id === order);
      if (found) kept = found;
      // Until one is picked: the latest with something to tell.
      const latestLong = rows.find((row) => row.steps.length > 2) ?? rows[0];
      const shown = order && kept?.id === order ? kept : latestLong;
      list.update(rows, order);
      lineCard.hidden = !shown;
      if (!shown) return;
      const at = clock(began(shown) / 1e6, true);
      setText(title, `The life of order ${shown.id} from ${at}: ${shown.standing}`);
      line.draw(shown, shown.instrument);
    },
  };
}
