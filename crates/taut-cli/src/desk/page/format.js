// Numbers and times for people, as taut's reports write them.

const UNITS = [
  ["µs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
];

/** A duration with three significant digits: 412 ns, 8.24 µs. */
export function ns(value) {
  if (value == null) return "–";
  if (value < 1000) return `${Math.round(value)} ns`;
  const [unit, scale] = UNITS.find(([, scale]) => value / scale < 999.5) ?? UNITS[2];
  const number = value / scale;
  return `${number.toFixed(number < 9.995 ? 2 : number < 99.95 ? 1 : 0)} ${unit}`;
}

/** A figure of a window, which may be empty. */
export const timeOf = (times, key) => (times && times.count > 0 ? ns(times[key]) : "–");

/** A tick of a time axis. */
export function axisNs(value) {
  if (value < 1e3) return `${value} ns`;
  const [unit, scale] = UNITS.findLast(([, scale]) => value >= scale);
  return `${+(value / scale).toPrecision(3)} ${unit}`;
}

export const count = (value) => Math.round(value).toLocaleString("en-US");

/** So many a second. */
export function rate(value) {
  if (value == null) return "–";
  return value < 10 ? value.toFixed(value === 0 ? 0 : 1) : count(value);
}

/** A decimal that came as text, cut behind its eighth place, its thousands apart. */
export function decimal(text) {
  if (text == null || text === "") return "–";
  const found = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!found) return text;
  const [, sign, whole, places = ""] = found;
  const cut = places.length > 8 ? places.slice(0, 8).replace(/0+$/, "") : places;
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const number = cut ? `${grouped}.${cut}` : grouped;
  return /^0(\.0*)?$/.test(number) ? number : (sign ? "−" : "") + number;
}

/** A price that came as text, with as many places as its instrument's step has. */
export function price(text, step) {
  const shown = decimal(text);
  const places = (step?.split(".")[1] ?? "").length;
  const [whole, own = ""] = shown.split(".");
  if (!/\d$/.test(shown) || own.length >= places) return shown;
  return `${whole}.${own.padEnd(places, "0")}`;
}

/** A profit: with its sign, two places. */
export function money(text) {
  const value = Number(text);
  if (text == null || text === "" || Number.isNaN(value)) return text || "–";
  const places = value !== 0 && Math.abs(value) < 0.01 ? 8 : 2;
  const number = Math.abs(value).toLocaleString("en-US", {
    minimumFractionDigits: 2,
    maximumFractionDigits: places,
  });
  return value < 0 ? `−${number}` : value > 0 ? `+${number}` : number;
}

/** How long: 4 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const pairs = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const at = pairs.findIndex(([size]) => whole >= size);
  if (at < 0) return "0 s";
  const [size, unit] = pairs[at];
  const next = pairs[at + 1];
  const rest = next ? Math.floor((whole % size) / next[0]) : 0;
  return `${Math.floor(whole / size)} ${unit}${rest ? ` ${rest} ${next[1]}` : ""}`;
}

/** The time of day, to the second or to the millisecond. */
export function clock(ms, withMillis = false) {
  const at = new Date(ms);
  const two = (number) => String(number).padStart(2, "0");
  const text = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return withMillis ? `${text}.${String(at.getMilliseconds()).padStart(3, "0")}` : text;
}

/** A stage's name for people: to_strategy is to strategy. */
export const stageName = (name) => name.replaceAll("_", " ");

/** The ticks of a logarithmic axis from low to high: 1, 2, 5, or powers alone where it is long. */
export function logTicks(low, high) {
  const from = Math.max(low, 1e-9);
  const to = Math.max(high, from * 1.0001);
  const steps = Math.log10(to / from) > 3.2 ? [1] : [1, 2, 5];
  const all = [];
  for (let power = Math.floor(Math.log10(from)) - 1; power <= Math.log10(to) + 1; power += 1) {
    for (const step of steps) all.push(step * 10 ** power);
  }
  const first = Math.max(
    0,
    all.findLastIndex((tick) => tick <= from * 1.0000001),
  );
  const last = all.findIndex((tick) => tick >= to * 0.9999999);
  const ticks = all.slice(first, (last < 0 ? all.length : last) + 1);
  return ticks.length > 1 ? ticks : all.slice(first, first + 2);
}

/** Round ticks of a linear axis, about so many. */
export function ticks(low, high, wanted = 4) {
  const range = high - low || Math.abs(high) || 1;
  const rough = range / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((it) => it * power).find((it) => it >= rough * 0.999);
  const all = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) all.push(at);
  return { all, step };
}
