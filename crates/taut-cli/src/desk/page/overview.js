// All gateways at a glance.

import { clock, count, money, ns, rate, span, timeOf } from "./format.js";
import { drawKind } from "./lists.js";
import { el, setText, spark } from "./plots.js";
import { card, figures, state, table } from "./tables.js";

const KINDS = { up: "good", silent: "warn", ended: "bad" };

export const stageOf = (gateway, name) => gateway.stages.find((it) => it.stage === name);
export const counterOf = (gateway, name) =>
  gateway.counters.find((it) => it.name === name) ?? { value: 0, per_second: 0 };

export function nobody() {
  return el(
    "section",
    { class: "card empty" },
    el("p", {}, "No gateway of this user runs."),
    el(
      "p",
      {},
      "Start one with ",
      el("code", {}, "taut gateway --config gateway.toml"),
      "; it is shown here within a second.",
    ),
    el(
      "p",
      {},
      el("code", {}, "taut gateway sample"),
      " prints a file to begin with, ",
      el("code", {}, "taut venue"),
      " plays its venue, ",
      el("code", {}, "taut demo --out taut-out/first"),
      " makes a finished run to look at under Runs.",
    ),
  );
}

function gatewayCard(api) {
  const name = el("button", { type: "button" });
  const status = el("span");
  const where = el("p", { class: "where" });
  const shown = figures();
  const line = spark("Tick to trade, p99, last minutes");
  const caption = el("p", { class: "where" });
  const warnings = el("ul", { class: "warnings" });
  const root = el(
    "section",
    { class: "card gateway" },
    el("div", { class: "head" }, name, status),
    where,
    shown.root,
    el("div", {}, line.root, caption),
    warnings,
  );
  name.addEventListener("click", () => api.choose(name.textContent, "latency"));
  return {
    root,
    update(gateway, points) {
      setText(name, gateway.name);
      if (status.dataset.is !== gateway.state) {
        status.dataset.is = gateway.state;
        status.replaceChildren(state(KINDS[gateway.state], gateway.state));
      }
      root.classList.toggle("is-old", gateway.state !== "up");
      const parts = [
        gateway.venue && `at ${gateway.venue}`,
        gateway.paper && "on paper",
        gateway.process && `process ${gateway.process}`,
        gateway.process && `up ${span(gateway.up_seconds)}`,
      ];
      setText(where, parts.filter(Boolean).join(" · "));
      const whole = stageOf(gateway, "tick to trade");
      shown.set("tick to trade p50", timeOf(whole?.second, "p50_ns"));
      shown.set("p99, last second", timeOf(whole?.second, "p99_ns"));
      shown.set("ticks/s", rate(counterOf(gateway, "ticks").per_second));
      shown.set("orders/s", rate(counterOf(gateway, "orders").per_second));
      shown.set("open orders", count(gateway.open_orders));
      const total = gateway.profit.total;
      shown.set("profit less fees", money(total), total > 0 ? "plus" : total < 0 ? "minus" : "");
      const index = gateway.stages.findIndex((it) => it.stage === "tick to trade");
      const values = points.slice(-300).map((point) => point.stages[index]?.[1] ?? 0);
      const seen = values.filter((value) => value > 0);
      const words =
        seen.length > 1
          ? `p99 of tick to trade, last ${span(values.length)}: ${ns(Math.min(...seen))} to ${ns(Math.max(...seen))}`
          : "No order was timed in the last minutes";
      line.draw(values, words);
      setText(caption, words);
      const lines = gateway.warnings.map((it) => `${it.code}\n${it.text}`).join("\n\n");
      if (warnings.dataset.is !== lines) {
        warnings.dataset.is = lines;
        warnings.replaceChildren(
          ...gateway.warnings.map((it) =>
            el("li", {}, el("span", { class: "badge warn" }, it.code), el("span", {}, it.text)),
          ),
        );
      }
    },
  };
}

export function overview(api) {
  const grid = el("div", { class: "gateways" });
  const cards = new Map();
  const nothing = nobody();
  const channels = table({
    label: "Channels",
    key: (row) => `${row.channel}/${row.name}/${row.reader?.process ?? ""}/${row.index}`,
    columns: [
      { head: "channel", left: true, cell: (row) => row.channel },
      { head: "stream", left: true, cell: (row) => row.name },
      {
        head: "writer",
        left: true,
        cell: (row) => (row.process ? `${row.writer}, process ${row.process}` : row.writer),
      },
      { head: "messages or bytes", cell: (row) => count(row.position) },
      { head: "per second", cell: (row) => rate(row.per_second) },
      { head: "dropped", cell: (row) => count(row.dropped) },
      {
        head: "reader",
        left: true,
        cell: (row) =>
          row.reader ? (row.reader.process ? `process ${row.reader.process}` : "dead") : "–",
      },
      { head: "lag", cell: (row) => (row.reader ? count(row.reader.lag) : "–") },
      { head: "lost", cell: (row) => (row.reader ? count(row.reader.lost) : "–") },
    ],
  });
  const news = table({
    label: "Latest events",
    key: (row) => row.number,
    empty: "Nothing has happened since the desk began to look.",
    columns: [
      { head: "time", left: true, cell: (row) => clock(row.at_ns / 1e6) },
      { head: "gateway", left: true, cell: (row) => row.gateway },
      { head: "kind", left: true, draw: drawKind },
      { head: "what happened", left: true, wrap: true, cell: (row) => row.text },
    ],
  });
  const all = el("a", { href: "#events" }, "All of them");
  const newsCard = card("Latest events", [all], news.root);
  const channelCard = card("Channels in shared memory", [], channels.root);
  return {
    roots: [nothing, grid, newsCard, channelCard],
    update(desk) {
      const { gateways, channels: list } = desk.look.snapshot;
      nothing.hidden = gateways.length > 0;
      for (const gateway of gateways) {
        if (!cards.has(gateway.name)) {
          cards.set(gateway.name, gatewayCard(api));
          grid.append(cards.get(gateway.name).root);
        }
        cards.get(gateway.name).update(gateway, desk.history.get(gateway.name) ?? []);
      }
      for (const [name, it] of cards) {
        if (!gateways.some((gateway) => gateway.name === name)) {
          it.root.remove();
          cards.delete(name);
        }
      }
      const rows = list.flatMap((channel) =>
        channel.streams.flatMap((stream) =>
          (stream.readers.length ? stream.readers : [null]).map((reader, index) => ({
            ...stream,
            channel: channel.name,
            reader,
            index,
          })),
        ),
      );
      news.update(desk.events.slice(-8).reverse());
      channelCard.hidden = rows.length === 0;
      channels.update(rows);
    },
  };
}
