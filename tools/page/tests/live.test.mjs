// What happens elsewhere while a page is open: it arrives by itself, and moves nothing.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { close, signIn } from "../lib/browser.mjs";
import { ordinary } from "../lib/fixtures.mjs";
import { World, skill, waitFor, write } from "../lib/programs.mjs";

const world = new World();
const served = join(world.folder, "acme");
const NEWS = "Something changed since you opened this page.";
let ui;
let page;

before(async () => {
  write(served, ordinary);
  await world.addServer("acme", served);
  world.run("approve", "acme:meeting-minutes", "--yes", "--exec");
  world.run("approve", "acme:data-cleaning", "--yes", "--exec");
  ui = await world.ui();
  page = await signIn(ui);
  await page.getByText("4 skills").waitFor();
});
after(async () => {
  await close();
  world.end();
});

const showsNews = () => waitFor(() => page.locator(".news").evaluate((it) => !it.hidden));

test("a skill that a server begins to serve arrives without a reload and moves nothing", async () => {
  await page.goto(`${ui.origin}/`);
  const before = await page.locator("#results").innerHTML();
  write(served, { "invoices/SKILL.md": skill("invoices", "Writes invoices. Use when a customer wants one.", "# Invoices\n") });
  await showsNews();
  assert.equal(await page.locator("#results").innerHTML(), before);
  await page.getByRole("link", { name: "Show it" }).click();
  await page.getByText("5 skills").waitFor();
  await page.goto(`${ui.origin}/servers`);
  // The server lists other skills since the page was opened, and the page says when that was.
  assert.equal(await page.locator("tbody tr td:nth-child(5) time").count(), 1);
});

test("a skill that changes on its server asks for a review without a reload", async () => {
  await page.goto(`${ui.origin}/?q=meeting`);
  const waiting = page.locator("[data-live=waiting]");
  const before = Number(await waiting.innerText());
  write(served, { "meeting-minutes/SKILL.md": ordinary["meeting-minutes/SKILL.md"].replace("Decisions first", "Owners first") });
  await waitFor(async () => Number(await waiting.innerText()) === before + 1);
  await page.getByRole("link", { name: "Show it" }).click();
  await page.locator(".pill.warning", { hasText: "changed" }).waitFor();
});

test("a skill of a folder of this machine arrives without a reload", async () => {
  await page.goto(`${ui.origin}/`);
  write(join(world.home, ".agents/skills"), {
    "house-style/SKILL.md": skill("house-style", "Our words and tone. Use when writing for customers.", "# Style\n"),
  });
  await showsNews();
  await page.getByRole("link", { name: "Show it" }).click();
  await page.getByText("6 skills").waitFor();
});

test("news cover no button of a decision", async () => {
  await page.goto(`${ui.origin}/review?id=${encodeURIComponent("acme:skill://refunds/SKILL.md")}`);
  world.run("approve", "acme:invoices", "--yes");
  await showsNews();
  const news = await page.locator(".news").boundingBox();
  for (const button of await page.locator(".decision button").all()) {
    const box = await button.boundingBox();
    const apart = news.y + news.height <= box.y || box.y + box.height <= news.y
      || news.x + news.width <= box.x || box.x + box.width <= news.x;
    assert.ok(apart, `${await button.innerText()} is covered`);
  }
});

test("what a model has in context appears while its client has it, and goes when that ends", async () => {
  await page.goto(`${ui.origin}/context`);
  await page.getByText("No skill is loaded.").waitFor();
  const client = await world.bridge();
  await client.call("load_skill", { name: "acme:data-cleaning" });
  // A list without rows fills itself: nothing is there that could move.
  await page.getByRole("link", { name: "acme:data-cleaning" }).waitFor();
  assert.equal(await page.locator("tbody tr td:nth-child(3)").innerText(), "1 window");
  await client.call("unload_skill", { name: "acme:data-cleaning" });
  await showsNews();
  await page.getByRole("link", { name: "Show it" }).click();
  await page.getByText("No skill is loaded.").waitFor();
  await client.end();
});

test("each run of a script is one row, with who asked, how it ended and what it used", async () => {
  await page.goto(`${ui.origin}/runs`);
  await page.getByText("No script of a skill has run yet.").waitFor();
  const run = world.attempt("run", "acme:data-cleaning", "scripts/profile.py");
  await page.locator("tbody tr").first().waitFor();
  const row = page.locator("tbody tr", { hasText: "scripts/profile.py" });
  // A machine without isolation runs nothing, and the page says so.
  if (run.status === 0) {
    await waitFor(async () => {
      if (await row.getByText("finished").count()) return true;
      await page.reload();
      return false;
    });
    assert.match(await row.innerText(), /asked by you/);
    assert.match(await row.innerText(), /\d\.\d\d s/);
    assert.match(await row.innerText(), /isolation; network: none; variables: none/);
  } else {
    await row.getByText(/not run/).waitFor();
  }
  assert.equal(await row.count(), 1);
  world.attempt("run", "acme:data-cleaning", "scripts/none.py");
  await page.goto(`${ui.origin}/runs?outcome=refused&since=hour&origin=acme`);
  const refused = page.locator("tbody tr", { hasText: "scripts/none.py" });
  assert.match(await refused.innerText(), /not run[\s\S]*has no file/);
  assert.doesNotMatch(await page.locator("main").innerText(), /[{}]/, "no record is shown as JSON");
});

test("the log is narrowed by action, outcome, origin and time", async () => {
  const rows = async (query) => {
    await page.goto(`${ui.origin}/audit?${query}`);
    return page.locator("tbody tr").count();
  };
  const all = await rows("since=hour");
  assert.ok(all > 3);
  assert.equal(await rows("since=hour&origin=acme"), all);
  assert.equal(await rows("since=hour&origin=other"), 0);
  const approvals = await rows("since=hour&action=approve");
  assert.ok(approvals >= 3 && approvals < all, `${approvals} of ${all}`);
  await page.goto(`${ui.origin}/audit`);
  await page.getByLabel("Time").selectOption({ label: "the last hour" });
  await page.waitForURL(/since=hour/);
});

test("the queue selects all it shows, says how many, and a key selects one", async () => {
  await page.goto(`${ui.origin}/review`);
  const boxes = page.locator("input[name=chosen]");
  const count = await boxes.count();
  assert.ok(count >= 3);
  await page.getByLabel("Select all on this page").check();
  await page.getByText(`${count} selected`).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByText(`${count - 1} selected`).waitFor();
  assert.equal(await boxes.first().isChecked(), false);
});

test("a page whose program ended says that it may be old", async () => {
  const own = new World();
  const its = await own.ui();
  const tab = await signIn(its);
  await tab.getByText("There are no skills here yet.").waitFor();
  assert.equal(await tab.locator(".lost").isVisible(), false);
  its.child.removeAllListeners("exit");
  its.child.kill();
  await tab.getByText("The page lost its connection").waitFor();
  own.end();
});
