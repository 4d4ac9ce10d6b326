// The page of a server: for every visitor, to read and to install from.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, launch, look } from "../lib/browser.mjs";
import { changed } from "../lib/fixtures.mjs";
import { World, skill, waitFor, write } from "../lib/programs.mjs";

const world = new World();
const served = join(world.folder, "acme");
let origin;
let page;

before(async () => {
  // Its `refunds` has findings.
  write(served, changed);
  const { url } = await world.serve(served, "--page", "--name", "acme");
  origin = new URL(url).origin;
  page = await (await launch()).newPage();
});
after(async () => {
  await close();
  world.end();
});

test("visitors search, read and get a line that installs", async () => {
  await page.goto(origin);
  await page.getByText("4 skills").waitFor();
  await look(page, "served-catalogue");
  await page.getByRole("searchbox").fill("refund");
  await page.getByText("1 of 4 skills").waitFor();
  await page.getByRole("link", { name: "refunds" }).click();
  await page.getByText("Look up the order first").waitFor();
  await look(page, "served-skill");
  const lines = (await page.locator(".install code").first().innerText()).split("\n");
  for (const line of lines.slice(0, 1)) world.run(...line.split(" ").slice(1));
  assert.equal(world.state_of("refunds"), "new");
  assert.match(lines[2], /skillwire load acme:refunds/);
});

test("what was looked at says what a scan found, and the list is narrowed by it", async () => {
  await page.goto(origin);
  // The others were not looked at, so that nothing is said about them.
  assert.doesNotMatch(await page.innerText("#results"), /not scanned/);
  await page.getByRole("link", { name: "refunds" }).click();
  await page.getByRole("link", { name: /Findings/ }).click();
  const worst = await page.locator(".severity").first().innerText();
  await page.goto(origin);
  assert.match(await page.locator(".skills > li", { hasText: "refunds" }).innerText(), new RegExp(worst, "i"));
  await page.goto(`${origin}/?finding=low`);
  assert.equal(await page.locator(".skills > li").count(), 1);
  await page.goto(`${origin}/skill?id=${encodeURIComponent("skill://refunds/SKILL.md")}&view=details`);
  await page.getByText("Bash(python3 scripts/*)").first().waitFor();
});

test("every view of the catalogue can be used by everybody, on a narrow screen as well", async () => {
  const id = encodeURIComponent("skill://refunds/SKILL.md");
  const phone = await (await launch()).newPage();
  await phone.setViewportSize({ width: 320, height: 740 });
  const tabs = ["raw", "files", "findings", "reach", "details"].map((view) => [view, `/skill?id=${id}&view=${view}`]);
  const files = ["scripts/refund.py", "assets/flow.png"].map((file) => [`file-${file.split(".").pop()}`, `/file?id=${id}&path=${encodeURIComponent(file)}`]);
  for (const [name, path] of [["catalogue", "/"], ["text", `/skill?id=${id}`], ...tabs, ...files, ["not-found", "/skill?id=none"]]) {
    assert.equal((await page.goto(origin + path)).status(), name === "not-found" ? 404 : 200, path);
    await look(page, `served-${name}`);
    await phone.goto(origin + path);
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 320, `${name} is ${wide} wide`);
    await look(phone, `served-phone-${name}`);
  }
  await phone.close();
});

test("visitors are told of changes, and of no lost connection while the server runs", async () => {
  await page.goto(origin);
  write(served, { "invoices/SKILL.md": skill("invoices", "Writes invoices. Use when a customer wants one.", "# Invoices\n") });
  await page.getByText("Something changed since you opened this page").waitFor();
  assert.equal(await page.getByText("lost its connection").isVisible(), false);
  await page.getByRole("link", { name: "Show it" }).click();
  await page.getByText("5 skills").waitFor();
});

test("visitors cannot act, and MCP goes on beside the page", async () => {
  const answer = await page.request.post(`${origin}/act/decide`, { form: { id: "x", form: "" }, headers: { origin } });
  assert.equal(answer.status(), 403);
  assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
  assert.equal((await page.request.get(`${origin}/healthz`)).status(), 200);
  assert.equal((await page.request.get(`${origin}/review`)).status(), 404);
  assert.equal(world.list().servers[0].label, "acme");
});

test("where there are tokens, visitors see what is public", async () => {
  write(world.folder, { tokens: "me 0123456789abcdef0123\n" });
  const tokens = ["--token-file", join(world.folder, "tokens")];
  const refused = world.attempt("serve", served, "--http", "127.0.0.1:0", "--page", ...tokens);
  assert.match(refused.err, /needs `--public`/);
  const { url } = await world.serve(served, "--page", "--public", "refunds", ...tokens);
  await page.goto(new URL(url).origin);
  await page.getByText("1 skill").waitFor();
  assert.equal((await page.goto(`${new URL(url).origin}/skill?id=${encodeURIComponent("skill://release-notes/SKILL.md")}`)).status(), 404);
  await waitFor(() => true);
});
