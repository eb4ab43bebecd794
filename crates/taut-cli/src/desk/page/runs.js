// Finished runs: their reports, and two of them beside each other.

import { count, ns, stageName } from "./format.js";
import { byPercentile, el, setText } from "./plots.js";
import { card, legend, table } from "./tables.js";
import { STAGES } from "./orders.js";

const FIGURES = [
  ["p50", "p50"],
  ["p99", "p99"],
  ["p999", "p99.9"],
  ["p9999", "p99.99"],
  ["max", "max"],
];

const path = (name, file) => `/runs/${encodeURIComponent(name)}/${file}`;

/** The stages and wholes of a run.json. */
function rows(run) {
  return [
    ...STAGES.map((stage) => [stage, run.stages_ns?.[stage]]),
    ["tick to trade", run.tick_to_trade_ns],
    ["less send", run.tick_to_send_ns],
    ["order round trip", run.order_round_trip_ns],
    ["bare send", run.bare_send_ns],
  ];
}

const figure = (times, key) => (times?.count > 0 ? ns(times[key]) : "–");

/** By how much the second is more than the first. */
function change(one, other) {
  if (!(one > 0) || !(other > 0)) return { text: "–", tone: "" };
  const share = (other / one - 1) * 100;
  const percent = `${Math.abs(share).toFixed(Math.abs(share) < 10 ? 1 : 0)}%`;
  const text =
    share >= 900
      ? `× ${Math.round(other / one)}`
      : `${share > 0 ? "+" : share < 0 ? "−" : ""}${percent}`;
  // Within the noise of a shared machine neither is better.
  return { text, tone: share > 5 ? "worse" : share < -5 ? "better" : "" };
}

export function runs(api) {
  let list = [];
  let folder = "";
  let failed = "";
  let shown = null;
  const compared = [null, null];
  const files = new Map();

  const listing = table({
    label: "Finished runs",
    key: (row) => row.name,
    tall: true,
    pick: (row) => show(row.name),
    empty: () =>
      failed ||
      `No run is in ${folder || "the folder"} yet. \`taut demo --out ${folder || "taut-out"}/first\` makes one; \`taut desk --runs DIR\` looks elsewhere.`,
    columns: [
      { head: "run", left: true, cell: (row) => row.name },
      {
        head: "began",
        left: true,
        cell: (row) =>
          row.started_at ??
          new Date(row.written_s * 1000).toISOString().slice(0, 19).replace("T", " "),
      },
      { head: "mode", left: true, cell: (row) => row.mode ?? "–" },
      { head: "seconds", cell: (row) => row.seconds ?? "–" },
      { head: "orders", cell: (row) => (row.orders == null ? "–" : count(row.orders)) },
      { head: "tick to trade p50", cell: (row) => figure(row.tick_to_trade_ns, "p50") },
      { head: "p99", cell: (row) => figure(row.tick_to_trade_ns, "p99") },
      { head: "max", cell: (row) => figure(row.tick_to_trade_ns, "max") },
      {
        head: "compare",
        left: true,
        draw(cell, row) {
          if (!cell.firstElementChild) {
            const mark = (index, text) =>
              el(
                "button",
                {
                  type: "button",
                  "aria-label": `Compare ${row.name} as ${text}`,
                  onclick: () => choose(index, row.name),
                },
                text,
              );
            cell.append(el("span", { class: "group" }, mark(0, "A"), mark(1, "B")));
          }
          [...cell.querySelectorAll("button")].forEach((button, index) =>
            button.setAttribute("aria-pressed", String(compared[index] === row.name)),
          );
        },
      },
    ],
  });
  const refresh = el("button", { type: "button", onclick: () => load() }, "Look again");
  const reportTitle = el("span");
  const open = el("a", { target: "_blank", rel: "noopener" }, "Open it alone");
  const frame = el("iframe", { class: "report", title: "The run's report", sandbox: "" });
  const noReport = el("p", { class: "empty" }, "This run has no report.html.");
  const reportCard = card("", [open], frame, noReport);
  reportCard.querySelector("h2").append(reportTitle);

  const plot = byPercentile(
    "Two runs by percentile",
    FIGURES.map(([, head]) => head),
  );
  let stage = "tick to trade";
  const plotTitle = el("span");
  const names = legend(["one", "A"], ["other", "B"]);
  const plotCard = card("", [names], plot.root);
  plotCard.querySelector("h2").append(plotTitle);
  const differences = table({
    label: "Two runs, stage by stage",
    key: (row) => row.stage,
    tone: (row) => (row.stage === "tick to trade" ? "is-apart" : ""),
    pick: (row) => {
      stage = row.stage;
      draw();
    },
    columns: [
      { head: "stage", left: true, cell: (row) => stageName(row.stage) },
      ...["p50", "p99", "p999", "max"].flatMap((key) => {
        const head = FIGURES.find(([it]) => it === key)[1];
        return [
          { head: `${head} A`, cell: (row) => figure(row.one, key) },
          { head: `${head} B`, cell: (row) => figure(row.other, key) },
          {
            head: "B to A",
            cell: (row) => change(row.one?.[key], row.other?.[key]).text,
            tone: (row) => change(row.one?.[key], row.other?.[key]).tone,
          },
        ];
      }),
    ],
  });
  const differenceCard = card(
    "Stage by stage",
    [],
    differences.root,
    el(
      "p",
      { class: "note" },
      "B to A says by how much B took longer. Two runs at different times on a shared machine differ by themselves: run both in turn, several times, before you believe a difference.",
    ),
  );

  async function fetched(url) {
    const answer = await fetch(url, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  async function load() {
    try {
      ({ runs: list, folder } = await fetched("/runs"));
      failed = "";
    } catch (error) {
      failed = `The list of runs did not come: ${error.message}`;
    }
    files.clear();
    draw();
    await Promise.all(compared.filter(Boolean).map(read));
    draw();
  }

  async function read(name) {
    if (files.has(name)) return;
    try {
      files.set(name, await fetched(path(name, "run.json")));
    } catch {
      files.delete(name);
    }
  }

  function show(name) {
    shown = shown === name ? null : name;
    draw();
  }

  async function choose(index, name) {
    compared[index] = compared[index] === name ? null : name;
    if (compared[index]) await read(name);
    draw();
  }

  function draw() {
    listing.update(list, shown);
    const run = list.find((it) => it.name === shown);
    reportCard.hidden = !run;
    if (run) {
      const url = path(run.name, "report.html");
      setText(reportTitle, `Report of ${run.name}`);
      open.href = url;
      frame.hidden = open.hidden = !run.has_report;
      noReport.hidden = run.has_report;
      if (run.has_report && frame.getAttribute("src") !== url) frame.setAttribute("src", url);
    }
    const [one, other] = compared.map((name) => files.get(name));
    const both = Boolean(one && other);
    plotCard.hidden = differenceCard.hidden = !both;
    if (!both) return;
    const [first, second] = [rows(one), rows(other)];
    const list2 = first.map(([name, times], index) => ({
      stage: name,
      one: times,
      other: second[index][1],
    }));
    differences.update(list2, stage);
    const picked = list2.find((row) => row.stage === stage) ?? list2[0];
    setText(
      plotTitle,
      `${stageName(picked.stage)[0].toUpperCase()}${stageName(picked.stage).slice(1)} by percentile`,
    );
    names.querySelectorAll("li").forEach((item, index) => {
      item.lastChild.textContent = `${"AB"[index]}: ${compared[index]}`;
    });
    const values = (times) => FIGURES.map(([key]) => (times?.count > 0 ? times[key] : 0));
    plot.draw(
      [
        { name: compared[0], class: "one", values: values(picked.one) },
        { name: compared[1], class: "other", values: values(picked.other) },
      ],
      `${compared[0]} and ${compared[1]}: ${stageName(picked.stage)} by percentile`,
    );
  }

  return {
    roots: [
      card(
        "Finished runs",
        [refresh],
        listing.root,
        el(
          "p",
          { class: "note" },
          "Pick a run for its report; mark two as A and B to put them beside each other.",
        ),
      ),
      plotCard,
      differenceCard,
      reportCard,
    ],
    enter() {
      load();
    },
    resize: draw,
    update() {},
  };
}
