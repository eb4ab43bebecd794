// Tables whose rows stay: what has not changed is not touched.

import { el, setText } from "./plots.js";

/**
 * A table. A column is { head, cell(row), left, wrap, tone(row), draw(td, row) }; `key(row)` names a
 * row for good. With `pick` the first column is a button that picks the row.
 */
export function table({ label, columns, key, empty, tall = false, pick = null, tone = null }) {
  const body = el("tbody");
  const heads = columns.map((it) =>
    el("th", { scope: "col", class: it.left ? "left" : "" }, it.head),
  );
  const scroll = el(
    "div",
    { class: tall ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body),
  );
  const nothing = el("p", { class: "empty" });
  const root = el("div", {}, scroll, nothing);
  const rows = new Map();

  function row(id) {
    const cells = columns.map((it) =>
      el("td", { class: [it.left && "left", it.wrap && "wrap"].filter(Boolean).join(" ") }),
    );
    const line = { root: el("tr", {}, ...cells), cells, button: null, data: null };
    if (pick) {
      line.button = el("button", {
        class: "row-pick",
        type: "button",
        onclick: () => pick(line.data),
      });
      cells[0].append(line.button);
    }
    rows.set(id, line);
    return line;
  }

  function fill(line, data, picked) {
    line.data = data;
    columns.forEach((column, index) => {
      const cell = line.cells[index];
      if (column.draw) column.draw(cell, data);
      else setText(index === 0 && line.button ? line.button : cell, String(column.cell(data)));
      if (column.tone)
        cell.className = [column.left && "left", column.wrap && "wrap", column.tone(data)]
          .filter(Boolean)
          .join(" ");
    });
    const is = picked != null && key(data) === picked;
    line.button?.setAttribute("aria-pressed", String(is));
    line.root.className = [is && "is-picked", tone?.(data)].filter(Boolean).join(" ");
  }

  return {
    root,
    update(list, picked = null) {
      const words = typeof empty === "function" ? empty() : empty;
      nothing.hidden = list.length > 0 || !words;
      scroll.hidden = list.length === 0;
      setText(nothing, words ?? "");
      const wanted = new Set();
      let place = body.firstElementChild;
      for (const data of list) {
        const id = key(data);
        wanted.add(id);
        const line = rows.get(id) ?? row(id);
        fill(line, data, picked);
        if (line.root === place) place = place.nextElementSibling;
        else body.insertBefore(line.root, place);
      }
      for (const [id, line] of rows) {
        if (!wanted.has(id)) {
          line.root.remove();
          rows.delete(id);
        }
      }
    },
  };
}

/** A card with a heading, tools at its right, and what is in it. */
export function card(title, tools, ...content) {
  const head = el(
    "header",
    {},
    el("h2", {}, title),
    tools.length ? el("div", { class: "tools" }, ...tools) : null,
  );
  return el("section", { class: "card" }, head, ...content);
}

/** One of several: buttons side by side. */
export function choice(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) =>
    el(
      "button",
      {
        type: "button",
        "aria-pressed": String(value === chosen()),
        onclick: () => {
          choose(value);
          show();
        },
      },
      text,
    ),
  );
  function show() {
    options.forEach(([value], index) =>
      buttons[index].setAttribute("aria-pressed", String(value === chosen())),
    );
  }
  const root = el("div", { class: "group", role: "group", "aria-label": label }, ...buttons);
  return { root, show };
}

/** Named figures. */
export function figures(small = false) {
  const root = el("dl", { class: small ? "figures small" : "figures" });
  const known = new Map();
  return {
    root,
    set(name, text, tone = "") {
      let place = known.get(name);
      if (!place) {
        place = el("dd");
        known.set(name, place);
        root.append(el("div", {}, el("dt", {}, name), place));
      }
      setText(place, text);
      if (place.className !== tone) place.className = tone;
    },
  };
}

/** A state in a colour, a shape and a word. */
export function state(kind, text) {
  return el(
    "span",
    { class: `state ${kind}` },
    el("i", { "aria-hidden": "true" }),
    el("span", {}, text),
  );
}

/** Draws a state into a cell, where it differs. */
export function drawState(cell, kind, text) {
  if (cell.firstElementChild?.className === `state ${kind}` && cell.textContent === text) return;
  cell.replaceChildren(state(kind, text));
}

export const legend = (...pairs) =>
  el(
    "ul",
    { class: "legend" },
    ...pairs.map(([name, text]) =>
      el("li", { class: name }, el("i", { "aria-hidden": "true" }), text),
    ),
  );
