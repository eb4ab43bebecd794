// Where the time of an order goes: by stage, over time, by percentile.

import { count, stageName, timeOf } from "./format.js";
import { byPercentile, el, overTime, setText } from "./plots.js";
import { card, choice, legend, table } from "./tables.js";

const WINDOWS = [
  ["second", "Last second"],
  ["minute", "Last minute"],
  ["start", "Since start"],
];
const FIGURES = [
  ["p50_ns", "p50"],
  ["p99_ns", "p99"],
  ["p999_ns", "p99.9"],
  ["max_ns", "max"],
];
const WHOLES = new Set(["tick to trade", "less send", "order round trip"]);

export function latency(api) {
  let window = "second";
  let stage = "tick to trade";
  const windows = choice(
    "Window",
    WINDOWS,
    () => window,
    (it) => {
      window = it;
      api.redraw();
    },
  );
  const stages = table({
    label: "Stages",
    key: (row) => row.stage,
    tone: (row) => (row.stage === "tick to trade" ? "is-apart" : ""),
    pick: (row) => {
      stage = row.stage;
      api.redraw();
    },
    columns: [
      {
        head: "stage",
        left: true,
        draw(cell, row) {
          const button = cell.querySelector("button");
          setText(button, stageName(row.stage));
          if (!cell.querySelector(".key"))
            cell.prepend(
              el("i", {
                class: `key ${WHOLES.has(row.stage) ? "" : row.stage}`,
                "aria-hidden": "true",
              }),
            );
        },
      },
      { head: "count", cell: (row) => count(row.times.count) },
      ...FIGURES.map(([key, head]) => ({ head, cell: (row) => timeOf(row.times, key) })),
      {
        head: "share of the median",
        left: true,
        draw(cell, row) {
          let bar = cell.querySelector("i");
          if (!bar) {
            bar = el("i");
            cell.append(el("span", { class: "meter", "aria-hidden": "true" }, bar));
          }
          const share = WHOLES.has(row.stage) ? 0 : row.share;
          cell.firstElementChild.hidden = WHOLES.has(row.stage);
          bar.className = row.stage;
          bar.style.width = `${(share * 100).toFixed(1)}%`;
        },
      },
    ],
  });
  const over = overTime("Latency over time");
  const by = byPercentile(
    "Latency by percentile",
    FIGURES.map(([, head]) => head),
  );
  const overTitle = el("span");
  const overCard = card("", [legend(["p50", "p50"], ["p99", "p99"], ["max", "max"])], over.root);
  overCard.querySelector("h2").append(overTitle);
  const byTitle = el("span");
  const byCard = card(
    "",
    [legend(["second", "last second"], ["minute", "last minute"], ["start", "since start"])],
    by.root,
  );
  byCard.querySelector("h2").append(byTitle);
  return {
    needsGateway: true,
    roots: [
      el("div", { class: "two" }, overCard, byCard),
      card(
        "Stages of an order",
        [windows.root],
        stages.root,
        el(
          "p",
          { class: "note" },
          "Tick to trade runs from the return of the gateway's receive call to the return of its send call; the order round trip from the send call to the venue's answer. Pick a stage to draw it. Percentiles of stages do not add up.",
        ),
      ),
    ],
    cycle() {
      const at = WINDOWS.findIndex(([name]) => name === window);
      [window] = WINDOWS[(at + 1) % WINDOWS.length];
      windows.show();
      api.redraw();
    },
    update(desk, gateway) {
      const parts = gateway.stages
        .filter((it) => !WHOLES.has(it.stage))
        .map((it) => it[window].p50_ns);
      const sum = parts.reduce((all, one) => all + one, 0) || 1;
      stages.update(
        gateway.stages.map((it) => ({
          stage: it.stage,
          times: it[window],
          share: it[window].p50_ns / sum,
        })),
        stage,
      );
      const index = gateway.stages.findIndex((it) => it.stage === stage);
      const points = (desk.history.get(gateway.name) ?? []).map((point) => ({
        t: point.t,
        values: (point.stages[index] ?? [0, 0, 0]).toReversed(),
      }));
      const name = stageName(stage);
      setText(overTitle, `${name[0].toUpperCase()}${name.slice(1)} over time`);
      setText(byTitle, `${name[0].toUpperCase()}${name.slice(1)} by percentile`);
      const now = gateway.stages[index];
      const words = `Last second: p50 ${timeOf(now?.second, "p50_ns")}, p99 ${timeOf(now?.second, "p99_ns")}, max ${timeOf(now?.second, "max_ns")}`;
      // What is largest is drawn first: nothing hides the median.
      over.draw(points, ["max", "p99", "p50"], words);
      const series = WINDOWS.map(([key, text]) => ({
        name: text,
        class: key,
        values: FIGURES.map(([figure]) => (now?.[key].count ? now[key][figure] : 0)),
      }));
      by.draw(series, words);
    },
  };
}
