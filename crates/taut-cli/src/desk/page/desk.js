// The desk's page: what the server tells, which view shows it, and what the keyboard does.

import { clock, count } from "./format.js";
import { connections, events, positions, strategies } from "./lists.js";
import { latency } from "./latency.js";
import { market } from "./market.js";
import { orders } from "./orders.js";
import { nobody, overview } from "./overview.js";
import { el, setText } from "./plots.js";
import { runs } from "./runs.js";

// As many as the server keeps: a page that stays open for days holds no more than one that has come now.
const POINTS_MAX = 600;
const EVENTS_MAX = 500;
const TRADES_MAX = 1000;
const RECONNECT_MS = [500, 1000, 2000, 4000, 8000];

const at = (id) => document.getElementById(id);

/** What is known. `look` is what is shown, `next` what came while the figures are held. */
const desk = {
  look: null,
  next: null,
  role: null,
  version: "",
  history: new Map(),
  events: [],
  trades: new Map(),
  gateway: null,
  isFrozen: false,
  journals: [],
};
let socket = null;
let isConnecting = false;
let attempts = 0;
let lastHeard = 0;

const api = {
  redraw: () => draw(),
  choose(name, view) {
    chooseGateway(name);
    location.hash = view;
  },
  follow(symbol) {
    if (symbol && socket?.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ kind: "follow", gateway: desk.gateway, symbol }));
    }
  },
};

const VIEWS = [
  ["overview", "Overview", overview],
  ["latency", "Latency", latency],
  ["market", "Market", market],
  ["orders", "Orders", orders],
  ["positions", "Positions", positions],
  ["strategies", "Strategies", strategies],
  ["connections", "Connections", connections],
  ["events", "Events", events],
  ["runs", "Runs", runs],
];
const views = new Map();
let current = null;

// Views.

for (const [id, name] of VIEWS) {
  const badge = el("span", { class: "badge", hidden: true });
  at("views").append(el("a", { href: `#${id}`, id: `view-${id}` }, name, badge));
}
const missing = nobody();

function view(id) {
  if (!views.has(id)) views.set(id, VIEWS.find(([it]) => it === id)[2](api));
  return views.get(id);
}

function route() {
  const wanted = location.hash.slice(1);
  const id = VIEWS.some(([it]) => it === wanted) ? wanted : "overview";
  if (current?.id === id) return;
  current = { id, view: view(id), roots: [] };
  for (const [it] of VIEWS) {
    const link = at(`view-${it}`);
    if (it === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  at(`view-${id}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  document.title = `${VIEWS.find(([it]) => it === id)[1]} · taut desk`;
  at("main").replaceChildren();
  current.view.enter?.();
  draw();
}

function gatewayNow() {
  return desk.look?.snapshot.gateways.find((it) => it.name === desk.gateway) ?? null;
}

function draw() {
  if (!current || !desk.look) return;
  const gateway = gatewayNow();
  const roots = current.view.needsGateway && !gateway ? [missing] : current.view.roots;
  if (current.roots !== roots) {
    current.roots = roots;
    at("main").replaceChildren(...roots);
  }
  if (roots !== null && roots[0] !== missing) current.view.update(desk, gateway);
  const seen = desk.look.snapshot;
  setText(
    at("foot"),
    `taut ${desk.version} · look ${count(desk.look.number)} at ${clock(seen.at_ns / 1e6)}${desk.isFrozen ? ", held" : ""} · ${
      desk.role === "control" ? "you may look and act" : "you may look"
    } · times are this browser's`,
  );
}

function chooseGateway(name) {
  desk.gateway = name;
  if (at("gateway").value !== name) at("gateway").value = name;
  draw();
}

function nextGateway(step) {
  const names = desk.look?.snapshot.gateways.map((it) => it.name) ?? [];
  if (!names.length) return;
  const index = names.indexOf(desk.gateway);
  chooseGateway(names[(index + step + names.length) % names.length]);
}

// What the server tells.

function keep(map, name, more, max) {
  const list = map.get(name) ?? [];
  list.push(...more);
  if (list.length > max) list.splice(0, list.length - max);
  map.set(name, list);
}

/** What is kept beside a look: also while the figures are held. */
function remember(look) {
  const { gateways } = look.snapshot;
  const names = new Set(gateways.map((it) => it.name));
  for (const map of [desk.history, desk.trades]) {
    for (const name of map.keys()) if (!names.has(name)) map.delete(name);
  }
  for (const gateway of gateways) {
    const points = desk.history.get(gateway.name) ?? [];
    const t = Math.floor(gateway.as_of_ns / 1e6);
    if (gateway.state === "up" && (points.at(-1)?.t ?? 0) < t) {
      const stages = gateway.stages.map(({ second }) => [
        second.p50_ns,
        second.p99_ns,
        second.max_ns,
      ]);
      keep(desk.history, gateway.name, [{ t, stages }], POINTS_MAX);
    }
    const trades = look.trades[gateway.name] ?? [];
    const known = desk.trades.get(gateway.name) ?? [];
    const last = known.at(-1);
    // A gateway that began again counts its trades anew.
    const isAnew = last && trades.length && trades.at(-1).number < last.number;
    if (isAnew) desk.trades.set(gateway.name, []);
    const fresh = trades.filter((it) => !last || isAnew || it.number > last.number);
    if (fresh.length) keep(desk.trades, gateway.name, fresh, TRADES_MAX);
  }
}

function take(look, news) {
  remember(look);
  if (news.length) {
    desk.events.push(...news);
    if (desk.events.length > EVENTS_MAX) desk.events.splice(0, desk.events.length - EVENTS_MAX);
  }
  if (desk.isFrozen) desk.next = look;
  else show(look);
}

function show(look) {
  desk.look = look;
  desk.next = null;
  const names = look.snapshot.gateways.map((it) => it.name);
  const select = at("gateway");
  if ([...select.options].map((it) => it.value).join("\n") !== names.join("\n")) {
    select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  }
  select.disabled = names.length === 0;
  if (!names.includes(desk.gateway)) desk.gateway = names[0] ?? null;
  select.value = desk.gateway ?? "";
  at("kill").hidden = desk.role !== "control" || !desk.gateway;
  alerts();
  badges();
  draw();
}

/** What is worst stands above everything. It is read out once, and not each time that its age grows. */
function alerts() {
  const all = desk.look.snapshot.gateways.flatMap((gateway) =>
    gateway.warnings.map((it) => ({ gateway: gateway.name, ...it })),
  );
  const grave = new Set(["killed", "orders-down", "no-answer", "gone"]);
  const shown = all
    .filter(
      (it) => grave.has(it.code) && !(it.code === "gone" && desk.look.snapshot.gateways.length > 1),
    )
    .slice(0, 4);
  const key = shown.map((it) => `${it.gateway} ${it.code}`).join("\n");
  if (at("alerts").dataset.is !== key) {
    at("alerts").dataset.is = key;
    at("alerts").replaceChildren(
      ...shown.map((it) =>
        el("p", { class: "alert bad" }, el("b", {}, it.gateway), el("span", {}, it.text)),
      ),
    );
    setText(at("spoken"), shown.map((it) => `${it.gateway}: ${it.text}`).join(". "));
  } else {
    shown.forEach((it, index) => setText(at("alerts").children[index].lastElementChild, it.text));
  }
}

function badges() {
  const put = (id, text, tone) => {
    const badge = at(`view-${id}`).lastElementChild;
    badge.hidden = !text;
    setText(badge, text);
    badge.className = `badge ${tone}`;
  };
  const { gateways } = desk.look.snapshot;
  const warnings = gateways.reduce((sum, it) => sum + it.warnings.length, 0);
  put("overview", warnings ? String(warnings) : "", "warn");
  const gateway = gatewayNow();
  put("orders", gateway?.open_orders ? count(gateway.open_orders) : "", "");
  const down = gateway?.connections.filter((it) => !it.is_up).length ?? 0;
  put("connections", down ? `${down} down` : "", "bad");
}

function link(kind, text) {
  const place = at("link");
  place.className = `state ${kind}`;
  setText(place.lastElementChild, text);
}

function hear(message) {
  lastHeard = performance.now();
  if (message.kind === "hello") {
    attempts = 0;
    Object.assign(desk, {
      role: message.role,
      version: message.version,
      events: message.events,
      journals: message.journals,
    });
    for (const [name, points] of Object.entries(message.history)) {
      desk.history.set(
        name,
        points.map(([t, stages]) => ({ t, stages })),
      );
    }
    link("good is-live", "live");
    take(message.look, []);
  } else if (message.kind === "look") {
    take(message.look, message.events);
    link(desk.isFrozen ? "warn" : "good is-live", desk.isFrozen ? "held" : "live");
  } else if (message.kind === "answer") {
    const place = at("switch-answer");
    setText(place, message.text);
    place.classList.toggle("wrong", !message.is_done);
  }
}

async function connect() {
  if (socket || isConnecting) return;
  isConnecting = true;
  const answer = await fetch("/role", { credentials: "same-origin" }).catch(() => null);
  isConnecting = false;
  if (!answer?.ok) return again();
  const { role } = await answer.json();
  if (!role) return askForToken();
  socket = new WebSocket(
    `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`,
  );
  socket.addEventListener("message", (event) => hear(JSON.parse(event.data)));
  socket.addEventListener("close", again, { once: true });
}

function again() {
  socket = null;
  link("bad", "not connected");
  setTimeout(connect, RECONNECT_MS[Math.min(attempts++, RECONNECT_MS.length - 1)]);
}

setInterval(() => {
  if (socket?.readyState === WebSocket.OPEN && performance.now() - lastHeard > 5000)
    link("warn", "nothing new for a while");
}, 1000);

// Tokens.

async function logOn(token) {
  const answer = await fetch("/login", {
    method: "POST",
    body: token,
    credentials: "same-origin",
  }).catch(() => null);
  return Boolean(answer?.ok);
}

/** A link with a token in its fragment logs on, and forgets it. */
async function takeToken() {
  const given = /^#token=(.+)$/.exec(location.hash);
  if (!given) return false;
  history.replaceState(null, "", location.pathname);
  return logOn(decodeURIComponent(given[1]));
}

function askForToken() {
  link("warn", "a token is asked for");
  if (!at("login").open) at("login").showModal();
}

at("login").addEventListener("cancel", (event) => event.preventDefault());
at("login-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const is = await logOn(at("token").value.trim());
  setText(at("login-wrong"), is ? "" : "This is none of the tokens.");
  if (!is) return at("token").select();
  at("token").value = "";
  at("login").close();
  connect();
});

// The kill switch.

function openSwitch() {
  if (desk.role !== "control" || !desk.gateway) return;
  const name = desk.gateway;
  setText(
    at("switch-words"),
    `Of gateway ${name}: nothing new is sent, and its open orders are cancelled. It stays so until it is revived.`,
  );
  setText(at("switch-name"), name);
  setText(at("switch-answer"), "");
  at("switch-confirm").value = "";
  confirmChanged();
  at("switch").showModal();
  at("switch-confirm").focus();
}

function confirmChanged() {
  const is = at("switch-confirm").value === at("switch-name").textContent;
  at("switch-kill").disabled = at("switch-revive").disabled = !is;
}

at("switch-confirm").addEventListener("input", confirmChanged);
at("switch-close").addEventListener("click", () => at("switch").close());
at("switch-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const confirm = at("switch-confirm").value;
  if (confirm !== at("switch-name").textContent) return;
  if (socket?.readyState !== WebSocket.OPEN)
    return setText(at("switch-answer"), "Not connected: use `taut gateway kill`.");
  const revive = event.submitter?.value === "revive";
  setText(at("switch-answer"), "Asked…");
  socket.send(
    JSON.stringify({ kind: "kill", gateway: at("switch-name").textContent, confirm, revive }),
  );
});
at("kill").addEventListener("click", openSwitch);

// Keyboard.

function freeze() {
  desk.isFrozen = !desk.isFrozen;
  at("freeze").setAttribute("aria-pressed", String(desk.isFrozen));
  setText(at("freeze"), desk.isFrozen ? "Go on" : "Freeze");
  if (!desk.isFrozen && desk.next) show(desk.next);
  else draw();
  if (socket) link(desk.isFrozen ? "warn" : "good is-live", desk.isFrozen ? "held" : "live");
}

const KEYS = [
  [
    "1 … 9",
    "a view: Overview, Latency, Market, Orders, Positions, Strategies, Connections, Events, Runs",
  ],
  ["[  ]", "the gateway before, the next one"],
  ["Space", "hold the figures, or go on"],
  ["w", "in Latency: the next window of time"],
  ["/", "the filter of a view"],
  ["k", "the kill switch, with a control token"],
  ["?", "these keys"],
  ["Tab, Enter, Esc", "to the next control, use it, close"],
];
at("keys").append(
  ...KEYS.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)]),
);
at("help").addEventListener("click", () => at("shortcuts").showModal());
at("freeze").addEventListener("click", freeze);
at("gateway").addEventListener("change", (event) => chooseGateway(event.target.value));
at("skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("main").focus();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
    return;
  if (event.target.closest("input, select, textarea")) return;
  const index = Number(event.key) - 1;
  if (VIEWS[index]) location.hash = VIEWS[index][0];
  else if (event.key === "[") nextGateway(-1);
  else if (event.key === "]") nextGateway(1);
  else if (event.key === " " && !event.target.closest("button, a")) freeze();
  else if (event.key === "w") current?.view.cycle?.();
  else if (event.key === "k") openSwitch();
  else if (event.key === "?") at("shortcuts").showModal();
  else if (event.key === "/" && current?.view.filter) current.view.filter.focus();
  else return;
  event.preventDefault();
});

addEventListener("hashchange", async () => {
  if (await takeToken()) {
    at("login").close();
    if (socket) socket.close();
    else connect();
  }
  route();
});
let resized = null;
addEventListener("resize", () => {
  cancelAnimationFrame(resized);
  resized = requestAnimationFrame(() => {
    draw();
    current?.view.resize?.();
  });
});

await takeToken();
route();
connect();
