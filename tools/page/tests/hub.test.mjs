// The page of a hub: signing in, reading, comparing and deciding, each reader with their own rights.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assertQuiet, assertWhole, close, launch, look } from "../lib/browser.mjs";
import { changed, ordinary } from "../lib/fixtures.mjs";
import { startIssuer } from "../lib/issuer.mjs";
import { World, skill, waitFor, write } from "../lib/programs.mjs";

const world = new World();
const hub = join(world.folder, "hub");
const tokens = {};
let origin;
let issuer;

const onHub = (...args) => world.run(...args, "--hub", hub);
const publish = (folder, namespace, ...more) => onHub("publish", folder, "--namespace", namespace, "--yes", "--despite-findings", ...more);
const audit = () => JSON.parse(onHub("hub", "audit", "--json"));
const events = () => {
  const found = audit();
  return found.events ?? found.items ?? found;
};
const key = (text) => encodeURIComponent(text);

function token(subject, ...more) {
  const made = JSON.parse(onHub("hub", "token", "new", subject, "--json", ...more));
  tokens[subject] = made.token;
}

before(async () => {
  world.run("hub", "init", hub);
  issuer = await startIssuer("/sign-in/answer");
  appendFileSync(join(hub, "hub.toml"), `
[[access.issuers]]
issuer = "${issuer.issuer}"
client-id = "the-hub"
client-secret = "\${HUB_CLIENT_SECRET}"
`);
  world.env = ((env) => (more = {}) => ({ ...env.call(world, more), HUB_CLIENT_SECRET: "a-secret-of-the-hub" }))(world.env);
  onHub("hub", "namespace", "new", "acme", "--review");
  onHub("hub", "namespace", "new", "secret");
  onHub("hub", "namespace", "grant", "acme", "rex", "reviewer");
  onHub("hub", "namespace", "grant", "acme", "ana", "reader");
  onHub("hub", "namespace", "grant", "acme", "olga", "reader");
  for (const subject of ["rex", "ana"]) token(subject);
  token("root", "--admin");
  const [one, two, hostile, hidden] = ["one", "two", "hostile", "hidden"].map((name) => join(world.folder, name));
  write(one, ordinary);
  write(two, changed);
  write(hostile, { "trap/SKILL.md": skill("trap", "Looks <b>bold</b> \u202egnihton\u202c", "# Trap\n\n<script>document.title='owned'</script>\n\n[Approved](javascript:alert(1)) <button>Approve</button> <img src=x onerror=alert(1)>\n") });
  write(hidden, { "merger/SKILL.md": skill("merger", "Not for everybody.", "# Merger\n") });
  publish(join(one, "refunds"), "acme");
  onHub("hub", "approve", "acme/refunds@1.4.0", "--reason", "first");
  publish(join(two, "refunds"), "acme");
  publish(join(one, "release-notes"), "acme");
  publish(join(hostile, "trap"), "acme");
  publish(join(hidden, "merger"), "secret");
  const { found } = await world.start(["hub", "serve", hub, "--listen", "127.0.0.1:0"], /listening on (http:\S+)\/mcp/);
  origin = found[1];
  issuer.begin(origin);
});
after(async () => {
  await close();
  issuer?.end();
  world.end();
});

/** A browser of its own, without a signed-in reader. */
async function browser() {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 900 } });
  context.foreign = [];
  context.errors = [];
  const page = await context.newPage();
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith(issuer.issuer)) context.foreign.push(request.url());
  });
  page.on("pageerror", (error) => context.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    context.errors.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return page;
}

async function signedIn(subject) {
  const page = await browser();
  await page.goto(`${origin}/`);
  await page.getByLabel("Token").fill(tokens[subject]);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${origin}/`);
  return page;
}

test("a reader signs in with a token, and with no other text", async () => {
  const page = await browser();
  assert.equal((await page.goto(`${origin}/`)).status(), 401);
  await look(page, "hub-sign-in");
  await page.getByLabel("Token").fill("swhub_" + "0".repeat(64));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(tokens.ana);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${origin}/`);
  await page.getByText("1 skill").waitFor();
  const [cookie] = await page.context().cookies();
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", JSON.stringify(cookie));
  assert.ok(!cookie.value.includes(tokens.ana));
  assertQuiet(page);
});

test("a reader signs in at the identity provider", async () => {
  const page = await browser();
  await page.goto(`${origin}/`);
  await page.getByRole("link", { name: /Sign in with/ }).click();
  await page.locator("input[name=login]").fill("olga");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.locator("button[type=submit]").click();
  await page.waitForURL(`${origin}/`);
  await page.getByText("olga").waitFor();
  await page.getByText("1 skill").waitFor();
  assert.equal((await page.goto(`${origin}/review`)).status(), 404);
});

test("an answer of the identity provider that another browser began signs no reader in", async () => {
  const page = await browser();
  const answer = await page.goto(`${origin}/sign-in/answer?code=x&state=y`);
  assert.equal(answer.status(), 403);
  await page.getByRole("alert").waitFor();
  assert.deepEqual(await page.context().cookies(), []);
});

test("a reader searches, reads and compares what they may see", async () => {
  const page = await signedIn("ana");
  await look(page, "hub-catalogue");
  await page.getByRole("searchbox").fill("refund");
  await page.getByRole("link", { name: "refunds" }).click();
  await page.getByText("Look up the order first").waitFor();
  await look(page, "hub-skill");
  await page.goto(`${origin}/skill?id=${key("acme/refunds")}&view=versions`);
  await look(page, "hub-versions");
  for (const view of ["raw", "files", "findings", "reach", "details"]) {
    await page.goto(`${origin}/skill?id=${key("acme/refunds")}&view=${view}`);
    await look(page, `hub-skill-${view}`);
  }
  await page.goto(`${origin}/diff?id=${key("acme/refunds@1.5.0")}&since=${key("acme/refunds@1.4.0")}`);
  await page.getByText("collect.example.net").first().waitFor();
  await look(page, "hub-diff");
  assertQuiet(page);
});

test("what is hidden from a reader is unknown to them", async () => {
  const page = await signedIn("ana");
  for (const path of [`/skill?id=${key("secret/merger")}`, `/skill?id=${key("secret/none")}`, `/file?id=${key("secret/merger")}&path=SKILL.md`, "/audit", "/review", `/review?id=${key("acme/trap@1.0.0")}`]) {
    const answer = await page.goto(origin + path);
    assert.equal(answer.status(), 404, path);
    assert.match(await page.innerText("main"), /There is nothing at this address/);
  }
  await page.goto(`${origin}/?q=merger`);
  await page.getByText("No skill fits").waitFor();
});

test("a cookie opens the page and nothing else", async () => {
  const page = await signedIn("root");
  assert.equal((await page.request.get(`${origin}/api/v1/audit`)).status(), 401);
  assert.equal((await page.request.post(`${origin}/mcp`, { data: {} })).status(), 401);
  const forged = await page.request.post(`${origin}/act/decide`, { form: { id: "acme/trap@1.0.0", form: "x" }, headers: { origin } });
  assert.equal(forged.status(), 403);
  const foreign = await page.request.post(`${origin}/act/decide`, { form: { id: "x" }, headers: { origin: "http://evil.example" } });
  assert.equal(foreign.status(), 403);
  const rebound = await page.request.get(`${origin}/`, { headers: { host: "rebound.example" } });
  assert.equal(rebound.status(), 403);
});

test("a reviewer sees what changed and decides about exactly that", async () => {
  const page = await signedIn("rex");
  await page.goto(`${origin}/review`);
  await page.getByText("3 waiting").waitFor();
  await look(page, "hub-queue");
  await page.getByRole("link", { name: "refunds" }).click();
  await page.getByText("Newly reaches out to").waitFor();
  await look(page, "hub-review");
  const twin = await page.context().newPage();
  await twin.goto(page.url());
  await page.getByLabel(/Reason/).fill("it sends keys away");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("is rejected").waitFor();
  const recorded = events().find((event) => event.target === "acme/refunds@1.5.0" && event.action === "transition");
  assert.equal(recorded.actor, "rex");
  assert.match(JSON.stringify(recorded), /it sends keys away/);
  // The other tab shows what was: its button does nothing.
  await twin.getByRole("button", { name: "Approve" }).click();
  await twin.getByText("Nothing was recorded").waitFor();
  assert.equal(events().filter((event) => event.target === "acme/refunds@1.5.0" && event.action === "transition").length, 1);
  await twin.close();
});

test("a reviewer approves, and readers get it without loading a page again", async () => {
  const reader = await signedIn("ana");
  const page = await signedIn("rex");
  await page.goto(`${origin}/review?id=${key("acme/release-notes@1.0.0")}`);
  const before = await reader.innerText("main");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("is approved").waitFor();
  await reader.getByText("Something changed since you opened this page").waitFor();
  assert.ok(before.includes("1 skill") && !before.includes("Something changed"));
  await reader.getByRole("link", { name: "Show it" }).click();
  await reader.getByText("2 skills").waitFor();
});

test("texts of skills do nothing", async () => {
  const page = await signedIn("rex");
  await page.goto(`${origin}/review?id=${key("acme/trap@1.0.0")}`);
  await look(page, "hub-hostile");
  assert.ok(!(await page.title()).includes("owned"));
  assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 1);
  assert.equal(await page.locator("a[href^='javascript:']").count(), 0);
  assertQuiet(page);
});

test("several are decided after a summary, and a rejection is taken back until the review is left", async () => {
  const page = await signedIn("rex");
  await page.goto(`${origin}/review`);
  await page.getByRole("checkbox", { name: "Select trap" }).check();
  await page.getByRole("button", { name: "Reject selected" }).click();
  await look(page, "hub-batch");
  await page.getByRole("button", { name: "Reject 1 skill" }).click();
  await page.getByText("Recorded 1 decision").waitFor();
  await page.getByText("Nothing waits for you").waitFor();
  await page.getByRole("button", { name: "Undo trap" }).click();
  await page.getByText("was taken back").waitFor();
  const steps = events().filter((event) => event.target === "acme/trap@1.0.0" && event.action === "transition");
  assert.equal(steps.length, 2);
  assert.match(JSON.stringify(steps), /taken back by its reviewer/);
  await page.getByText("1 waiting").waitFor();
});

test("on a narrow screen nothing is wider than the screen", async () => {
  const page = await signedIn("root");
  await page.setViewportSize({ width: 360, height: 740 });
  const difference = `/diff?id=${key("acme/refunds@1.5.0")}&since=${key("acme/refunds@1.4.0")}`;
  for (const [name, path] of [["catalogue", "/"], ["review", `/review?id=${key("acme/trap@1.0.0")}`], ["log", "/audit"], ["connect", "/connect"], ["tokens", "/tokens"], ["diff", difference], ["versions", `/skill?id=${key("acme/refunds")}&view=versions`], ["file", `/file?id=${key("acme/refunds")}&path=scripts/refund.py`], ["not-found", `/skill?id=${key("acme/none")}`]]) {
    await page.goto(origin + path);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${name} is ${wide} wide`);
    await look(page, `hub-phone-${name}`);
  }
});

test("the other sections are for everybody who may see them", async () => {
  const page = await signedIn("root");
  for (const [name, path] of [["log", "/audit"], ["upstreams", "/servers"], ["namespaces", "/namespaces"], ["tokens", "/tokens"], ["connect", "/connect"]]) {
    assert.equal((await page.goto(origin + path)).status(), 200, path);
    await assertWhole(page, name);
    await look(page, `hub-${name}`);
  }
  for (const [name, path] of [["file", `/file?id=${key("acme/refunds")}&path=scripts/refund.py`], ["image", `/file?id=${key("acme/refunds")}&path=assets/flow.png`], ["not-found", `/skill?id=${key("acme/none")}`]]) {
    assert.equal((await page.goto(origin + path)).status(), name === "not-found" ? 404 : 200, path);
    await look(page, `hub-${name}`);
  }
  // No sum with a page overflows in any table.
  for (const path of ["/", "/review", "/audit", "/servers", "/namespaces", "/tokens"]) {
    assert.equal((await page.request.get(`${origin}${path}?page=18446744073709551615`)).status(), 200, path);
  }
  const saved = await page.request.get(`${origin}/audit/export?format=jsonl&action=publish`);
  assert.equal((await saved.text()).trim().split("\n").length, 5);
});

test("a revoked token ends its session at once", async () => {
  const page = await signedIn("ana");
  const all = JSON.parse(onHub("hub", "token", "list", "--json"));
  const mine = (all.items ?? all.tokens ?? all).find((token) => token.subject === "ana");
  onHub("hub", "token", "revoke", String(mine.id));
  await waitFor(async () => (await page.goto(`${origin}/`)).status() === 401);
});
