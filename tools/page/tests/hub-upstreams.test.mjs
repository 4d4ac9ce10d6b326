// What a hub passes on: how upstreams answer, what they offer, what the hub signs, and who learns of what.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assertQuiet, assertWhole, close, launch, look } from "../lib/browser.mjs";
import { changed, ordinary } from "../lib/fixtures.mjs";
import { World, skill, waitFor, write } from "../lib/programs.mjs";

const world = new World();
const hub = join(world.folder, "hub");
const offered = join(world.folder, "offered");
const tokens = {};
let origin;
let publicKey;

const onHub = (...args) => world.run(...args, "--hub", hub);
const publish = (name, namespace) => {
  const folder = join(world.folder, `published-${namespace}`);
  write(folder, { [`${name}/SKILL.md`]: skill(name, `Is ${name}. Use in tests.`, `# ${name}\n`) });
  onHub("publish", join(folder, name), "--namespace", namespace, "--yes", "--despite-findings");
};
const events = () => {
  const found = JSON.parse(onHub("hub", "audit", "--json"));
  return found.events ?? found.items ?? found;
};
const rows = (...args) => {
  const found = JSON.parse(onHub("hub", "review", "--json", ...args));
  return found.items ?? found.offers ?? found;
};

const contents = () => rows("--upstream", "partner").map((row) => row.content).join();

let limit = 5000;
/** Changes what the upstream has; a changed limit makes the hub list it at once. */
const offer = (files) => {
  write(offered, files);
  onHub("hub", "upstream", "set", "partner", "--limit", `answer-ms=${++limit}`);
};

before(async () => {
  world.run("hub", "init", hub);
  publicKey = JSON.parse(world.run("hub", "key", "new", hub, "--json")).public;
  for (const namespace of ["open", "closed"]) onHub("hub", "namespace", "new", namespace);
  write(offered, Object.fromEntries(Object.entries(ordinary).filter(([path]) => path.startsWith("refunds/"))));
  onHub("hub", "upstream", "add", "partner", "--folder", offered, "--mode", "pin");
  onHub("hub", "upstream", "add", "gone", "http://127.0.0.1:9/mcp", "--mode", "pin");
  for (const namespace of ["open", "partner"]) onHub("hub", "namespace", "grant", namespace, "ana", "reader");
  onHub("hub", "namespace", "grant", "partner", "rex", "reviewer");
  onHub("hub", "namespace", "grant", "open", "rex", "reviewer");
  for (const subject of ["ana", "rex"]) tokens[subject] = JSON.parse(onHub("hub", "token", "new", subject, "--json")).token;
  tokens.root = JSON.parse(onHub("hub", "token", "new", "root", "--admin", "--json")).token;
  publish("notes", "open");
  const { found } = await world.start(["hub", "serve", hub, "--listen", "127.0.0.1:0"], /listening on (http:\S+)\/mcp/);
  origin = found[1];
});
after(async () => {
  await close();
  world.end();
});

async function signedIn(subject) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 900 } });
  context.foreign = [];
  context.errors = [];
  const page = await context.newPage();
  page.on("request", (request) => request.url().startsWith(origin) || context.foreign.push(request.url()));
  page.on("pageerror", (error) => context.errors.push(String(error)));
  await page.goto(`${origin}/`);
  await page.getByLabel("Token").fill(tokens[subject]);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${origin}/`);
  return page;
}

test("upstreams show whether they answer, what they listed, and why one does not", async () => {
  const page = await signedIn("root");
  const row = (label) => page.locator("tbody tr", { hasText: label });
  await waitFor(async () => {
    await page.goto(`${origin}/servers`);
    return (await row("partner").innerText()).includes("answering") && /failing|paused/.test(await row("gone").innerText());
  });
  assert.match(await row("partner").innerText(), /1 skill\b/);
  assert.match(await row("gone").innerText(), /0 skills; \S/);
  await assertWhole(page, "upstreams");
  await look(page, "hub-upstreams-live");
  assertQuiet(page);
});

test("a reader sees no upstream whose skills they may not read", async () => {
  const page = await signedIn("ana");
  await page.goto(`${origin}/servers`);
  assert.equal(await page.locator("tbody tr").count(), 1);
  assert.doesNotMatch(await page.innerText("main"), /gone|127\.0\.0\.1:9/);
});

test("what an upstream offers is approved as it was shown, and is served from then on", async () => {
  await waitFor(() => rows("--upstream", "partner").length === 1);
  const page = await signedIn("rex");
  await page.goto(`${origin}/review`);
  await page.locator(".skills", { hasText: "upstream partner" }).waitFor();
  // What was fetched was scanned, and the queue is narrowed by that.
  assert.doesNotMatch(await page.locator(".skills").innerText(), /not scanned/);
  await page.getByLabel("Findings").selectOption("unscanned");
  await waitFor(async () => (await page.locator(".skills > li").count()) === 0);
  await page.goto(`${origin}/review`);
  await look(page, "hub-offers");
  await page.getByRole("link", { name: "refunds" }).click();
  await page.getByText("Look up the order first").waitFor();
  await look(page, "hub-offer");
  await page.getByLabel(/Reason/).fill("read line by line");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("is approved").waitFor();
  assert.equal(rows("--upstream", "partner").length, 0);
  assert.equal(rows("--upstream", "partner", "--state", "approved").length, 1);
  const recorded = events().filter((event) => event.actor === "rex" && JSON.stringify(event).includes("read line by line"));
  assert.ok(recorded.length >= 1, JSON.stringify(events()));
  const reader = await signedIn("ana");
  await waitFor(async () => (await reader.goto(`${origin}/`)) && (await reader.innerText("main")).includes("refunds"));
});

test("what an upstream changes waits beside what was approved, and a stale tab decides nothing", async () => {
  const page = await signedIn("rex");
  offer(Object.fromEntries(Object.entries(changed).filter(([path]) => path.startsWith("refunds/"))));
  await waitFor(() => rows("--upstream", "partner").length === 1);
  await page.goto(`${origin}/review`);
  await page.getByRole("link", { name: "refunds" }).click();
  await page.getByText("Newly reaches out to").waitFor();
  assert.ok((await page.locator(".newly").innerText()).includes("collect.example.net"));
  await look(page, "hub-offer-changed");
  // Meanwhile the upstream offers something else.
  const before = contents();
  offer({ "refunds/SKILL.md": ordinary["refunds/SKILL.md"].replace("then decide", "then refuse") });
  await waitFor(() => contents() !== before);
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Nothing was recorded").waitFor();
  await page.waitForURL(`${origin}/review`);
  assert.equal(rows("--upstream", "partner", "--state", "approved").length, 1);
});

test("a version shows the decision that the hub signs about it", async () => {
  const page = await signedIn("ana");
  await page.goto(`${origin}/skill?id=${encodeURIComponent("open/notes")}&view=details`);
  const listed = world.run("hub", "key", "list", hub);
  const text = await page.innerText("main");
  assert.match(text, /signed by this hub\s[^]*The decision: approved in the hub \S+, until \d{4}-/);
  const shown = text.match(/key (\S+)/)[1];
  assert.ok(listed.includes(shown), `${shown} is no key of ${listed}`);
  await look(page, "hub-signed");
});

test("what a hub decided counts for a user who trusts its key, and their page says who decided, why and until when", async () => {
  const user = new World();
  write(user.folder, { token: tokens.ana });
  user.run("server", "add", "team", `${origin}/mcp`, "--bearer-token-file", join(user.folder, "token"), "--trust-key", publicKey);
  user.run("load", "team:notes");
  const ui = await user.ui();
  const context = await (await launch()).newContext();
  const page = await context.newPage();
  await page.goto(ui.url);
  await page.locator(".skills .title", { hasText: "notes" }).first().click();
  await page.getByText("by a signed decision").first().waitFor();
  await page.getByRole("link", { name: "Details" }).click();
  const facts = await page.innerText("main");
  assert.match(facts, /Signed decision\s+approved in the hub/);
  assert.match(facts, /Decided by the key\s+\S+/);
  assert.match(facts, /The decision ends\s+\d{4}-\d\d-\d\dT/);
  assert.match(facts, /Signed origin\s+\S+/);
  await page.goto(`${ui.origin}/approvals`);
  assert.match(await page.locator("tbody tr").first().innerText(), /by a signed decision\s[^]*until \d{4}-/);
  await look(page, "approvals-signed");
  await context.close();
  user.end();
});

test("a reader is not told of changes that are hidden from them", async () => {
  const [reader, reviewer, root] = [await signedIn("ana"), await signedIn("rex"), await signedIn("root")];
  const marks = (page) => page.evaluate(() => document.body.dataset.skills);
  const before = [await marks(reader), await marks(reviewer)];
  publish("merger", "closed");
  await root.getByText("Something changed since you opened this page").waitFor();
  // The administrator was told; for the others everything is as it was, at once and after a reload.
  assert.equal(await reader.locator(".news").isVisible(), false);
  assert.equal(await reviewer.locator(".news").isVisible(), false);
  await reader.reload();
  await reviewer.reload();
  assert.deepEqual([await marks(reader), await marks(reviewer)], before);
  publish("letters", "open");
  await reader.getByText("Something changed since you opened this page").waitFor();
  await reviewer.getByText("Something changed since you opened this page").waitFor();
});
