// Drawings in SVG, made of elements that stay and are only moved.

import { axisNs, clock, logTicks, ns, ticks } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** An element of the page. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** Sets a text where it differs, so that what is selected stays selected. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A drawing that fills its width, with a place for axes and one for what is drawn. */
function frame(label, height, margin) {
  const axes = svg("g", { "aria-hidden": "true" });
  const marks = svg("g");
  const drawing = svg("svg", { class: "plot", role: "img", "aria-label": label }, axes, marks);
  const empty = el("p", { class: "plot-empty", hidden: true });
  const root = el("figure", { class: "plot-frame" }, drawing, empty);
  drawing.style.height = `${height}px`;
  return {
    root,
    axes,
    marks,
    /** The size in pixels; nothing while it is not shown. */
    size() {
      const width = root.clientWidth;
      if (!width) return null;
      drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
      return {
        width,
        height,
        left: margin.left,
        right: width - margin.right,
        top: margin.top,
        bottom: height - margin.bottom,
      };
    },
    say(text) {
      drawing.setAttribute("aria-label", text);
    },
    /** Says why nothing is drawn, or draws again. */
    empty(text) {
      empty.hidden = !text;
      setText(empty, text ?? "");
      drawing.classList.toggle("is-empty", Boolean(text));
    },
  };
}

/** As many children of a kind as are wanted. */
function fit(parent, name, wanted, attributes = {}) {
  while (parent.childElementCount > wanted) parent.lastElementChild.remove();
  while (parent.childElementCount < wanted) parent.append(svg(name, attributes));
  return parent.children;
}

function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}

const px = (value) => value.toFixed(1);

/** Axis lines and their words. */
function axis(group, marks) {
  group.replaceChildren(
    ...marks.flatMap(({ line, text }) => [
      ...(line
        ? [
            svg("line", {
              class: line.class ?? "grid",
              x1: px(line.x1),
              y1: px(line.y1),
              x2: px(line.x2),
              y2: px(line.y2),
            }),
          ]
        : []),
      ...(text
        ? [
            svg(
              "text",
              {
                class: "tick",
                x: px(text.x),
                y: px(text.y),
                "text-anchor": text.anchor ?? "middle",
              },
              text.text,
            ),
          ]
        : []),
    ]),
  );
}

const logScale = (low, high, from, to) => {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  return (value) => from + ((Math.log10(Math.max(value, low)) - a) / (b - a || 1)) * (to - from);
};
const linear = (low, high, from, to) => (value) =>
  from + ((value - low) / (high - low || 1)) * (to - from);

/** Latency over time: lines by class, a point a second, logarithmic. */
export function overTime(label, seconds = 600) {
  const plot = frame(label, 240, { left: 58, right: 12, top: 12, bottom: 26 });
  const lines = svg("g");
  const cursor = svg("line", { class: "cursor", visibility: "hidden" });
  plot.marks.append(lines, cursor);
  const hint = el("figcaption", { class: "plot-hint" });
  plot.root.append(hint);
  let shown = null;
  plot.root.addEventListener("pointermove", (event) => {
    if (!shown) return;
    const x = event.clientX - plot.root.getBoundingClientRect().left;
    const nearest = shown.points.reduce((best, point) =>
      Math.abs(shown.x(point.t) - x) < Math.abs(shown.x(best.t) - x) ? point : best,
    );
    const at = px(shown.x(nearest.t));
    set(cursor, {
      x1: at,
      x2: at,
      y1: shown.area.top,
      y2: shown.area.bottom,
      visibility: "visible",
    });
    const words = shown.names.map(
      (name, index) => `${name} ${nearest.values[index] ? ns(nearest.values[index]) : "–"}`,
    );
    setText(hint, `${clock(nearest.t)}  ${words.join("  ")}`);
  });
  plot.root.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    setText(hint, shown?.words ?? "");
  });
  return {
    root: plot.root,
    /** Points of { t (ms), values }, with the names of the values, which are their classes. */
    draw(points, names, words) {
      const area = plot.size();
      if (!area) return;
      const all = points.flatMap((point) => point.values).filter((value) => value > 0);
      plot.empty(all.length ? null : "Nothing was timed in these minutes.");
      shown = null;
      if (!all.length) {
        axis(plot.axes, []);
        fit(lines, "path", 0);
        return setText(hint, "");
      }
      const grades = logTicks(Math.min(...all), Math.max(...all));
      const y = logScale(grades[0], grades.at(-1), area.bottom, area.top);
      const last = points.at(-1).t;
      const first = Math.max(points[0].t, last - seconds * 1000);
      const begin = Math.min(first, last - 60000);
      const x = linear(begin, last, area.left, area.right);
      const inside = points.filter((point) => point.t >= first);
      const spacing = area.width < 480 ? 2 : 4;
      const step =
        [15, 30, 60, 120, 300].find((it) => (last - begin) / 1000 / it <= spacing + 0.5) ?? 600;
      const marks = grades.map((grade) => ({
        line: { x1: area.left, x2: area.right, y1: y(grade), y2: y(grade) },
        text: { x: area.left - 8, y: y(grade) + 4, anchor: "end", text: axisNs(grade) },
      }));
      for (let ago = 0; last - ago * 1000 >= begin; ago += step) {
        const at = last - ago * 1000;
        const anchor = ago === 0 ? "end" : "middle";
        marks.push({ text: { x: x(at), y: area.height - 6, anchor, text: clock(at) } });
      }
      axis(plot.axes, marks);
      const paths = fit(lines, "path", names.length);
      names.forEach((name, index) => {
        let text = "";
        let before = null;
        for (const point of inside) {
          const value = point.values[index];
          if (!(value > 0)) {
            before = null;
            continue;
          }
          // A pause of the page or of the orders is a gap, and no line.
          const gap = before == null || point.t - before > 5000;
          text += `${gap ? "M" : "L"}${px(x(point.t))} ${px(y(value))}`;
          if (gap) text += `h0.01`;
          before = point.t;
        }
        set(paths[index], { class: `line ${name.replace(".", "")}`, d: text || "M0 0" });
      });
      shown = { points: inside, names, x, area, words };
      plot.say(words);
      if (cursor.getAttribute("visibility") === "hidden") setText(hint, words);
    },
  };
}

/** Latency by percentile: a line for each series, of { name, class, values }. */
export function byPercentile(label, heads) {
  const plot = frame(label, 240, { left: 58, right: 14, top: 12, bottom: 26 });
  const lines = svg("g");
  const dots = svg("g");
  plot.marks.append(lines, dots);
  return {
    root: plot.root,
    draw(series, words) {
      const area = plot.size();
      if (!area) return;
      const drawn = series.filter((it) => it.values.some((value) => value > 0));
      plot.empty(drawn.length ? null : "Nothing was timed yet.");
      const all = drawn.flatMap((it) => it.values).filter((value) => value > 0);
      const grades = all.length ? logTicks(Math.min(...all), Math.max(...all)) : [1, 10];
      const y = logScale(grades[0], grades.at(-1), area.bottom, area.top);
      const x = (index) =>
        area.left + 14 + (index / (heads.length - 1)) * (area.right - area.left - 28);
      axis(
        plot.axes,
        all.length
          ? [
              ...grades.map((grade) => ({
                line: { x1: area.left, x2: area.right, y1: y(grade), y2: y(grade) },
                text: { x: area.left - 8, y: y(grade) + 4, anchor: "end", text: axisNs(grade) },
              })),
              ...heads.map((head, index) => ({
                text: { x: x(index), y: area.height - 6, text: head },
              })),
            ]
          : [],
      );
      const paths = fit(lines, "path", drawn.length);
      drawn.forEach((it, at) => {
        const points = it.values.map((value, index) => `${px(x(index))} ${px(y(value))}`);
        set(paths[at], { class: `line ${it.class}`, d: `M${points.join("L")}` });
      });
      const places = drawn.flatMap((it) => it.values.map((value, index) => ({ it, value, index })));
      const circles = fit(dots, "circle", places.length, { r: 3.2 });
      places.forEach(({ it, value, index }, at) => {
        set(circles[at], { class: `dot ${it.class}`, cx: px(x(index)), cy: px(y(value)) });
        const title = circles[at].firstElementChild ?? circles[at].appendChild(svg("title"));
        setText(title, `${it.name}, ${heads[index]}: ${ns(value)}`);
      });
      plot.say(words);
    },
  };
}

/** A small line without axes. */
export function spark(label) {
  const line = svg("path", { class: "line p99" });
  const root = svg(
    "svg",
    {
      class: "spark",
      role: "img",
      "aria-label": label,
      viewBox: "0 0 240 44",
      preserveAspectRatio: "none",
    },
    line,
  );
  return {
    root,
    draw(values, words) {
      const all = values.filter((value) => value > 0);
      root.setAttribute("aria-label", words);
      root.classList.toggle("is-empty", all.length < 2);
      if (all.length < 2) return line.setAttribute("d", "M0 43H240");
      const y = logScale(Math.min(...all) * 0.9, Math.max(...all) * 1.1, 42, 2);
      let text = "";
      let before = false;
      values.forEach((value, index) => {
        if (value > 0)
          text += `${before ? "L" : "M"}${px((index / (values.length - 1)) * 240)} ${px(y(value))}`;
        before = value > 0;
      });
      line.setAttribute("d", text);
    },
  };
}

/** A book: what can be had on either side up to each price. */
export function depth(label) {
  const plot = frame(label, 270, { left: 52, right: 12, top: 12, bottom: 26 });
  const bid = svg("path", { class: "area bid" });
  const ask = svg("path", { class: "area ask" });
  plot.marks.append(bid, ask);
  return {
    root: plot.root,
    draw(instrument) {
      const area = plot.size();
      if (!area) return;
      const side = (levels) => {
        let total = 0;
        return levels.map((level) => ({
          price: Number(level.price),
          total: (total += Number(level.quantity)),
        }));
      };
      const [bids, asks] = [side(instrument?.bids ?? []), side(instrument?.asks ?? [])];
      const all = [...bids, ...asks];
      plot.empty(all.length ? null : "The book is being fetched, or it is empty.");
      if (!all.length) {
        axis(plot.axes, []);
        bid.setAttribute("d", "");
        return ask.setAttribute("d", "");
      }
      const prices = all.map((level) => level.price);
      const [low, high] = [Math.min(...prices), Math.max(...prices)];
      const pad = (high - low) * 0.03 || 1;
      const most = Math.max(...all.map((level) => level.total));
      const x = linear(low - pad, high + pad, area.left, area.right);
      const y = linear(0, most * 1.06, area.bottom, area.top);
      const steps = (levels, edge) => {
        if (!levels.length) return "";
        let text = `M${px(x(levels[0].price))} ${px(area.bottom)}`;
        levels.forEach((level, index) => {
          const next = levels[index + 1]?.price ?? edge;
          text += `V${px(y(level.total))}H${px(x(next))}`;
        });
        return `${text}V${px(area.bottom)}Z`;
      };
      bid.setAttribute("d", steps(bids, low - pad));
      ask.setAttribute("d", steps(asks, high + pad));
      const across = ticks(low - pad, high + pad, area.width < 420 ? 2 : 4);
      const places = Math.max(0, Math.min(8, -Math.floor(Math.log10(across.step) + 1e-9)));
      axis(plot.axes, [
        ...ticks(0, most, 3).all.map((grade) => ({
          line: { x1: area.left, x2: area.right, y1: y(grade), y2: y(grade) },
          text: {
            x: area.left - 8,
            y: y(grade) + 4,
            anchor: "end",
            text: `${+grade.toPrecision(4)}`,
          },
        })),
        ...across.all.map((grade) => ({
          text: { x: x(grade), y: area.height - 6, text: grade.toFixed(places) },
        })),
      ]);
      plot.say(
        `Depth of ${instrument.symbol}: ${bids.at(-1)?.total ?? 0} bid, ${asks.at(-1)?.total ?? 0} offered`,
      );
    },
  };
}

/** Trades over time: a dot each, above and below by who took. */
export function trades(label) {
  const plot = frame(label, 330, { left: 64, right: 12, top: 12, bottom: 26 });
  const dots = svg("g");
  plot.marks.append(dots);
  return {
    root: plot.root,
    draw(list) {
      const area = plot.size();
      if (!area) return;
      plot.empty(list.length ? null : "No trade was seen since this page was opened.");
      const shown = list.slice(-400);
      const marks = fit(dots, "path", shown.length);
      if (!list.length) return axis(plot.axes, []);
      const prices = shown.map((trade) => Number(trade.price));
      const [low, high] = [Math.min(...prices), Math.max(...prices)];
      const pad = (high - low) * 0.08 || Math.abs(high) * 1e-4 || 1;
      const last = shown.at(-1).at_ns / 1e6;
      const first = Math.min(shown[0].at_ns / 1e6, last - 10000);
      const x = linear(first, last, area.left + 6, area.right - 6);
      const y = linear(low - pad, high + pad, area.bottom, area.top);
      const largest = Math.max(...shown.map((trade) => Number(trade.quantity))) || 1;
      shown.forEach((trade, index) => {
        const size = 2.2 + 3.4 * Math.sqrt(Number(trade.quantity) / largest);
        const [cx, cy] = [x(trade.at_ns / 1e6), y(Number(trade.price))];
        // Who bought points up, who sold down: colour is not the only sign of it.
        const way = trade.aggressor === "sell" ? 1 : -1;
        const d = `M${px(cx - size)} ${px(cy - (way * size) / 2)}H${px(cx + size)}L${px(cx)} ${px(cy + way * size)}Z`;
        set(marks[index], { class: `trade ${trade.aggressor || "either"}`, d });
      });
      const grades = ticks(low - pad, high + pad, 4);
      const places = Math.max(0, Math.min(8, -Math.floor(Math.log10(grades.step) + 1e-9)));
      axis(plot.axes, [
        ...grades.all.map((grade) => ({
          line: { x1: area.left, x2: area.right, y1: y(grade), y2: y(grade) },
          text: { x: area.left - 8, y: y(grade) + 4, anchor: "end", text: grade.toFixed(places) },
        })),
        { text: { x: area.left, y: area.height - 6, anchor: "start", text: clock(first) } },
        { text: { x: area.right, y: area.height - 6, anchor: "end", text: clock(last) } },
      ]);
      plot.say(`${shown.length} trades between ${low} and ${high}`);
    },
  };
}

/** An order's way: a bar for each stage, behind the one before. */
export function timeline(stages) {
  const root = el("ol", { class: "timeline" });
  return {
    root,
    draw(order) {
      let before = 0;
      const whole = order.tick_to_trade_ns || 1;
      root.replaceChildren(
        ...stages.map((stage, index) => {
          const took = order.stages_ns[index] ?? 0;
          const bar = el("i", { class: `stage ${stage}` });
          bar.style.left = `${((before / whole) * 100).toFixed(2)}%`;
          bar.style.width = `${((took / whole) * 100).toFixed(2)}%`;
          before += took;
          return el(
            "li",
            {},
            el("span", { class: "name" }, stage.replaceAll("_", " ")),
            el("span", { class: "track", "aria-hidden": "true" }, bar),
            el("span", { class: "took" }, ns(took)),
            el("span", { class: "until" }, `at ${ns(before)}`),
          );
        }),
      );
    },
  };
}
