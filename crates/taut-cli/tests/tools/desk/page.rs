//! The page in a real Chromium, of a gateway that trades: what it shows is what the desk says, it
//! complains of nothing, asks nobody else, and fits a phone.

use serde_json::Value;
use taut_report::{human_count, human_ns};
use taut_sys::monotonic;
use taut_testkit::{DEADLINE, until};

use super::browser::{Browser, Screen};
use super::socket::Socket;
use super::{CONTROL, READ, get, next, start, tokens};
use crate::gateway::World;

const VIEWS: [&str; 9] = [
    "overview",
    "latency",
    "market",
    "orders",
    "positions",
    "strategies",
    "connections",
    "events",
    "runs",
];
const WIDE: Screen = Screen(1280, 900, false);
const DARK: Screen = Screen(1280, 900, true);
const PHONE: Screen = Screen(360, 740, true);

const JOURNAL: &str = "[journal]\nfolder = \"journal\"\nsegment_mb = 1\n";

/// A desk's word for the journal of this world's gateway.
fn journal_of(world: &World) -> String {
    format!("{}={}", world.control(), world.path("journal").display())
}

/// The desk's JSON and the texts of these cells, both of one look.
fn shown(browser: &mut Browser, cells: &str) -> (Value, Vec<String>) {
    let found = browser.value(&format!(
        "(async () => {{
            for (let tries = 0; tries < 500; tries += 1) {{
                const look = await (await fetch('/snapshot')).json();
                const number = `look ${{look.number.toLocaleString('en-US')}} `;
                if (document.getElementById('foot').textContent.includes(number)) {{
                    const cells = document.querySelectorAll({cells:?});
                    return [look, [...cells].map((it) => it.textContent)];
                }}
                await new Promise((done) => setTimeout(done, 20));
            }}
            return null;
        }})()"
    ));
    assert!(found.is_array(), "the page shows what the desk says");
    let texts = found[1].as_array().into_iter().flatten();
    (found[0].clone(), texts.map(|it| it.as_str().unwrap_or_default().to_owned()).collect())
}

fn view(browser: &mut Browser, name: &str) {
    browser.value(&format!("location.hash = '{name}'"));
    let expression = format!("document.querySelector('#view-{name}[aria-current]')");
    browser.wait(name, &expression);
}

#[test]
fn the_page_shows_what_the_desk_says_and_asks_nobody_else() {
    let Some(mut browser) = Browser::start() else { return };
    let world = World::new();
    let venue = world.start_venue();
    let gateway = world.start_gateway_with(JOURNAL);
    let strategy = world.start_strategy("first");
    world.until_orders("orders", 5);
    let (control, runs) = (world.control(), world.path("runs"));
    let journal = journal_of(&world);
    let file = tokens(runs.parent().expect("a folder"));
    let file = file.to_str().expect("a path");
    let runs = runs.to_str().expect("a path");
    let arguments = ["--gateway", &control, "--runs", runs, "--token-file", file];
    let (desk, address) = start(&[&arguments[..], &["--journal", &journal]].concat());
    browser.show_on(WIDE);
    // Who comes without a token is asked for it.
    browser.open(&format!("http://{address}/"));
    browser.wait("a question", "document.getElementById('login')?.open");
    browser.value(&format!(
        "document.getElementById('token').value = {READ:?}; \
         document.querySelector('#login-form button').click()"
    ));
    browser.wait("figures", "document.querySelector('.gateway .figures dd')");
    assert_eq!(browser.value("document.getElementById('kill').hidden"), true, "to look");
    // A link with a token logs on, and does not keep it.
    browser.open(&format!("http://{address}/#token={CONTROL}"));
    browser.wait("the kill switch", "!document.getElementById('kill').hidden");
    assert_eq!(browser.value("location.href"), format!("http://{address}/"));

    figures_are_the_desks(&mut browser);
    keys_lead_everywhere(&mut browser);
    every_view_fits(&mut browser);
    the_kill_switch_asks_for_the_name(&mut browser, &control);

    let origin = format!("http://{address}/");
    let strange: Vec<_> = browser
        .requested
        .iter()
        .filter(|url| !url.starts_with(&origin) && !url.starts_with("data:"))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
    assert_eq!(browser.complaints, [""; 0]);
    drop((browser, desk, strategy, gateway, venue));
}

fn figures_are_the_desks(browser: &mut Browser) {
    view(browser, "latency");
    browser.value("[...document.querySelectorAll('.group button')].at(-1).click()");
    let (look, cells) = shown(browser, "tbody tr:not([hidden]) td");
    let stages = look["snapshot"]["gateways"][0]["stages"].as_array().expect("stages");
    assert_eq!((stages.len(), cells.len()), (12, 12 * 7), "{cells:?}");
    for (stage, cells) in stages.iter().zip(cells.chunks(7)) {
        let figure = |key: &str| stage["start"][key].as_u64().expect("a figure");
        assert_eq!(cells[0], stage["stage"].as_str().expect("a name").replace('_', " "));
        assert_eq!(cells[1], human_count(figure("count")), "{cells:?}");
        let times = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map(|key| match figure("count") {
            0 => "–".to_owned(),
            _ => human_ns(figure(key)),
        });
        assert_eq!(cells[2..6], times, "{stage}");
    }
    view(browser, "connections");
    let (look, cells) = shown(browser, "section:last-of-type tbody td");
    let counters = look["snapshot"]["gateways"][0]["counters"].as_array().expect("counters");
    assert_eq!(cells.len(), 3 * counters.len());
    for (counter, cells) in counters.iter().zip(cells.chunks(3)) {
        assert_eq!(cells[0], counter["name"].as_str().expect("a name"));
        assert_eq!(cells[1], human_count(counter["value"].as_u64().expect("a count")), "{cells:?}");
    }
    view(browser, "market");
    let (look, cells) = shown(browser, "section:first-of-type tbody tr:first-child td");
    let first = &look["snapshot"]["gateways"][0]["instruments"][0];
    assert_eq!(cells[0], first["symbol"].as_str().expect("a symbol"));
    assert_eq!(cells[7], human_count(first["trades"].as_u64().expect("a count")), "{cells:?}");
    view(browser, "orders");
    browser.wait("an order's way", "document.querySelectorAll('.timeline .stage').length === 9");
    browser.wait("an order's life", "document.querySelectorAll('.life .mark').length > 1");
}

fn keys_lead_everywhere(browser: &mut Browser) {
    for (at, name) in VIEWS.iter().enumerate() {
        browser.press(&(at + 1).to_string());
        browser.wait(name, &format!("document.querySelector('#view-{name}[aria-current]')"));
    }
    browser.press("?");
    browser.wait("the list of keys", "document.getElementById('shortcuts').open");
    browser.press("Escape");
    browser.wait("its end", "!document.getElementById('shortcuts').open");
    browser.press("8");
    browser
        .wait("the events", &format!("document.querySelector('#view-{}[aria-current]')", VIEWS[7]));
    browser.press("/");
    browser.wait("the filter", "document.activeElement?.type === 'search'");
    browser.value("document.activeElement.blur()");
    browser.press(" ");
    browser.wait(
        "figures that are held",
        "document.getElementById('foot').textContent.includes('held')",
    );
    browser.press(" ");
    browser
        .wait("that they go on", "!document.getElementById('foot').textContent.includes('held')");
    // The first stop of the tabulator leads past the head.
    browser.value("document.activeElement.blur()");
    browser.press("Tab");
    let is_seen = "document.activeElement !== document.body && \
                   getComputedStyle(document.activeElement).outlineStyle !== 'none'";
    browser.wait("a focus that is seen", is_seen);
}

fn every_view_fits(browser: &mut Browser) {
    browser.show_on(PHONE);
    for name in VIEWS {
        view(browser, name);
        let fits = "document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(browser.value(fits), true, "{name} on a phone");
    }
    for (screen, name) in [(WIDE, "light"), (DARK, "dark"), (PHONE, "phone")] {
        browser.show_on(screen);
        view(browser, "market");
        println!("{}", browser.picture(name).display());
    }
    browser.show_on(WIDE);
}

fn the_kill_switch_asks_for_the_name(browser: &mut Browser, gateway: &str) {
    browser.press("k");
    browser.wait("the switch", "document.getElementById('switch').open");
    let typed = |text: &str| {
        format!(
            "(() => {{ const it = document.getElementById('switch-confirm'); it.value = {text:?}; \
             it.dispatchEvent(new Event('input')); return \
             document.getElementById('switch-kill').disabled; }})()"
        )
    };
    assert_eq!(browser.value(&typed("")), true);
    assert_eq!(browser.value(&typed("other")), true);
    assert_eq!(browser.value(&typed(gateway)), false);
    browser.value("document.getElementById('switch-kill').click()");
    let said = "document.getElementById('switch-answer').textContent.startsWith('killed')";
    browser.wait("that it is killed", said);
    browser.value("document.getElementById('switch-revive').click()");
    let said = "document.getElementById('switch-answer').textContent.startsWith('revived')";
    browser.wait("that it lives again", said);
    browser.value("document.getElementById('switch-close').click()");
}

#[test]
fn a_page_is_told_of_a_gateway_that_comes_trades_and_goes() {
    let world = World::new();
    let control = world.control();
    let runs = world.path("runs");
    let runs = runs.to_str().expect("a path");
    let file = tokens(world.path("runs").parent().expect("a folder"));
    let file = file.to_str().expect("a path");
    let journal = journal_of(&world);
    let arguments = ["--gateway", &control, "--runs", runs, "--token-file", file];
    let (desk, address) = start(&[&arguments[..], &["--journal", &journal]].concat());
    let bearer = format!("Bearer {CONTROL}");
    let headers = [("Authorization", bearer.as_str())];
    let url = format!("ws://{address}/live");
    let mut page = Socket::connect(&url, &headers).expect("a page");
    let hello = next(&mut page, "hello");
    assert_eq!((&hello["role"], &hello["asks_for_tokens"]), (&"control".into(), &true.into()));
    let mut events = Vec::new();
    let mut look = |page: &mut Socket| {
        let said = next(page, "look");
        let new = said["events"].as_array().into_iter().flatten();
        events.extend(new.map(|it| it["text"].as_str().unwrap_or_default().to_owned()));
        (said["look"]["snapshot"]["gateways"][0].clone(), said["look"]["trades"].clone())
    };
    assert_eq!(look(&mut page).0["state"], "ended");
    let venue = world.start_venue();
    let gateway = world.start_gateway_with(JOURNAL);
    let strategy = world.start_strategy("first");
    // Books, trades, orders and their times come.
    until("a market, trades and orders", DEADLINE, || {
        let (gateway, trades) = look(&mut page);
        let has = |key: &str| gateway[key].as_array().is_some_and(|it| !it.is_empty());
        let is_deep = gateway["instruments"][0]["bids"].as_array().is_some_and(|it| it.len() > 1);
        let traded = trades[&control].as_array().is_some_and(|it| !it.is_empty());
        gateway["state"] == "up" && has("recent") && is_deep && traded
    });
    let snapshot: Value =
        serde_json::from_str(&get(&address, "/snapshot", &headers).body).expect("JSON");
    assert_eq!(snapshot["snapshot"]["gateways"][0]["name"], control);
    // Its journal tells orders from their first request on.
    let path = format!("/orders/{}", control.replace('/', "%2F"));
    until("an order that was acknowledged", DEADLINE, || {
        let told: Value = serde_json::from_str(&get(&address, &path, &headers).body).expect("JSON");
        let orders = told["orders"].as_array().expect("orders").iter();
        let mut steps = orders.filter_map(|order| order["steps"].as_array());
        steps.any(|steps| {
            steps[0]["what"] == "sent" && steps.iter().any(|it| it["what"] == "acknowledged")
        })
    });
    assert_eq!(get(&address, "/orders/other", &headers).status, 404);
    // One who says the name may kill, and nobody is told more than once.
    for (revive, word) in [(false, "killed"), (true, "revived")] {
        page.send(&serde_json::json!({
            "kind": "kill", "gateway": control, "confirm": "other", "revive": revive,
        }));
        assert_eq!(next(&mut page, "answer")["is_done"], false);
        page.send(&serde_json::json!({
            "kind": "kill", "gateway": control, "confirm": control, "revive": revive,
        }));
        let answer = next(&mut page, "answer");
        assert!(answer["is_done"] == true, "{answer}");
        assert!(answer["text"].as_str().is_some_and(|it| it.starts_with(word)), "{answer}");
    }
    world.ask(&["stop"]);
    assert!(gateway.finish().status.success());
    until("its end", DEADLINE, || look(&mut page).0["state"] == "ended");
    for word in ["orders: up", "first: attached", "ended, was up"] {
        assert!(events.iter().any(|it| it.contains(word)), "{word}: {events:?}");
    }
    drop((desk, strategy, venue));
}

/// `cargo xtask soak desk`: the page is open for so many minutes; neither it nor the desk grows.
#[test]
#[ignore = "takes minutes"]
fn a_page_that_stays_open_does_not_grow() {
    let Some(mut browser) = Browser::start() else { return };
    let minutes = std::env::var("TAUT_MINUTES").ok().and_then(|it| it.parse().ok()).unwrap_or(30.0);
    let world = World::new();
    let (_venue, _gateway) = (world.start_venue(), world.start_gateway());
    let _strategy = world.start_strategy("first");
    let control = world.control();
    let (desk, address) = start(&["--gateway", &control]);
    browser.show_on(WIDE);
    browser.open(&format!("http://{address}/"));
    browser.wait("figures", "document.querySelector('.gateway .figures dd')");
    browser.call("Performance.enable", &serde_json::json!({}));
    let began = monotonic();
    // The most of each half: the kernel takes pages back from a process, and gives them again.
    let (mut halves, mut turn) = ([Used::default(); 2], 0);
    loop {
        // Views in turn, as somebody would look.
        let name = VIEWS[turn % VIEWS.len()];
        turn += 1;
        view(&mut browser, name);
        browser.value("new Promise((done) => setTimeout(() => done(1), 5000))");
        if turn % VIEWS.len() != 0 {
            continue;
        }
        let used = used(&mut browser, desk.memory_kib());
        let passed = monotonic().since(began).0 as f64 / 60e9;
        println!("{passed:.1} min: {used:?}");
        // In the first half ten minutes of points, and all the trades that are kept, come to be.
        let half = &mut halves[usize::from(passed >= minutes / 2.0)];
        *half = half.most(used);
        if passed >= minutes {
            break;
        }
    }
    let [first, second] = halves;
    assert!(second.heap_kib <= first.heap_kib + 2_048, "{first:?} {second:?}");
    // With all events and trades that are kept, and some room.
    assert!(second.nodes < 15_000, "{first:?} {second:?}");
    assert!(second.desk_kib <= first.desk_kib + 4_096, "{first:?} {second:?}");
    assert_eq!(browser.complaints, [""; 0]);
}

/// The page's memory behind a collection of what is not used, its elements, and the desk's memory.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    heap_kib: u64,
    nodes: u64,
    desk_kib: u64,
}

impl Used {
    /// Of each the larger one.
    fn most(self, other: Self) -> Self {
        Self {
            heap_kib: self.heap_kib.max(other.heap_kib),
            nodes: self.nodes.max(other.nodes),
            desk_kib: self.desk_kib.max(other.desk_kib),
        }
    }
}

fn used(browser: &mut Browser, desk_kib: u64) -> Used {
    browser.call("HeapProfiler.collectGarbage", &serde_json::json!({}));
    let told = browser.call("Performance.getMetrics", &serde_json::json!({}));
    let metrics = told["metrics"].as_array().expect("metrics");
    let metric = |name: &str| {
        let found = metrics.iter().find(|it| it["name"] == name).expect(name);
        found["value"].as_f64().expect("a number") as u64
    };
    Used { heap_kib: metric("JSHeapUsedSize") >> 10, nodes: metric("Nodes"), desk_kib }
}
