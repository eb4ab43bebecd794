// The steps of a client's day, one line each: `step: verdict`. Exits 1 when a step fails.
const assert = require("node:assert");

const within = (seconds, waited) => {
  let timer;
  const late = new Promise((_, refuse) => {
    timer = setTimeout(() => refuse(new Error(`nothing for ${seconds} s`)), seconds * 1000);
  });
  return Promise.race([waited, late]).finally(() => clearTimeout(timer));
};

async function play(steps) {
  let failed = 0;
  for (const [name, act] of Object.entries(steps)) {
    try {
      const said = await within(60, act());
      console.log(`${name}: ok${said ? ` (${said})` : ""}`);
    } catch (error) {
      failed += 1;
      console.log(`${name}: FAILED ${error.name}: ${String(error.message).replaceAll("\n", " ")}`);
      console.error(error);
    }
  }
  process.exit(failed ? 1 : 0);
}

// Plain numbers, whatever a client keeps its books in.
const levels = (side) => Array.from(side, ([price, amount]) => [Number(price), Number(amount)]);

const soon = (ms) => new Promise((done) => setTimeout(done, ms));

// Until as many books as wanted were seen and asked for at the same id; all of them are equal. Asked
// is right behind what is seen, when the book is most likely still that one, and within the venue's limits.
async function sameBooks(wanted, seen, ask) {
  const asked = new Map();
  const both = () => [...asked.keys()].filter((id) => seen.has(id));
  while (both().length < wanted) {
    const before = seen.size;
    while (seen.size === before) await soon(1);
    const [id, book] = await ask();
    asked.set(id, book);
    await soon(60);
  }
  for (const id of both()) assert.deepStrictEqual(asked.get(id), seen.get(id), `at ${id}`);
  return `equal at ${both().length} ids`;
}

module.exports = { assert, levels, play, sameBooks, soon };
