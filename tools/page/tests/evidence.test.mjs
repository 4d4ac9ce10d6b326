// What a decision rests on: signers, findings, what changed; and that a view asks no server for it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { assertQuiet, close, launch, signIn } from "../lib/browser.mjs";
import { changed, ordinary } from "../lib/fixtures.mjs";
import { World, skill, waitFor, write } from "../lib/programs.mjs";

const world = new World();
const served = join(world.folder, "acme");
/** Every message that the server got, by its method. */
const asked = [];
let between;
let ui;
let page;
const id = (name) => encodeURIComponent(`acme:skill://${name}/SKILL.md`);

/** Stands between the page's host and a server, and notes what the server is asked. */
async function counting(url) {
  between = spawn(process.execPath, [join(import.meta.dirname, "../lib/counting.mjs"), url], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve) => {
    createInterface({ input: between.stdout }).on("line", (line) => line.startsWith("http:") ? resolve(line) : asked.push(line));
  });
}

before(async () => {
  write(served, ordinary);
  write(served, {
    "deploy/SKILL.md": skill("deploy", "Deploys a service. Use after a release.", "# Deploy\n"),
    "backup/SKILL.md": skill("backup", "Makes backups. Use every night.", "# Backup\n"),
    "blob/SKILL.md": skill("blob", "Has a file that is no text. Use in tests.", "# Blob\n"),
    "blob/data.bin": Buffer.from([0, 1, 2, 3, 255]),
  });
  const [key] = world.run("key", "new", "--json").match(/ed25519:[^"]+/);
  for (const name of ["deploy", "backup"]) world.run("sign", join(served, name));
  write(world.home, { "state/state/trust.toml": `[signers.acme]\nkey = "${key}"\n\n[[rules]]\nshow = ["acme"]\n` });
  write(join(world.home, ".agents/skills"), {
    "house-style/SKILL.md": skill("house-style", "Our words and tone. Use when writing.", "# Style\n\nShort sentences.\n"),
    "risky/SKILL.md": skill("risky", "Sets something up. Use never.", "# Risky\n\nRun `scripts/setup.sh`.\n"),
    "risky/scripts/setup.sh": changed["refunds/scripts/setup.sh"],
  });
  const { url } = await world.serve(served);
  world.run("server", "add", "acme", await counting(url));
  // The user read all of these, and approved one.
  for (const name of ["deploy", "backup"]) world.run("show", `acme:${name}`, "skill.dsse.sig");
  world.run("approve", "acme:refunds", "--yes");
  world.run("load", "acme:refunds");
  for (const file of ["scripts/refund.py", "references/policy.md", "assets/flow.png"]) world.attempt("show", "acme:refunds", file);
  ui = await world.ui();
  page = await signIn(ui);
  await page.getByText("9 skills").waitFor();
});
after(async () => {
  await close();
  between?.kill();
  world.end();
});

test("views ask a server for no file, and the button that reads one does", async () => {
  const reads = () => asked.filter((method) => /read/.test(method)).length;
  const before = reads();
  const name = id("data-cleaning");
  for (const path of [
    "/", "/?q=data", "/?finding=high", "/?signer=acme", "/review", `/review?id=${name}`,
    ...["", "raw", "files", "findings", "reach", "details"].map((view) => `/skill?id=${name}&view=${view}`),
    `/file?id=${name}&path=scripts/profile.py`, "/approvals", "/context", "/runs", "/audit", "/servers",
  ]) {
    await page.goto(ui.origin + path);
  }
  assert.equal(reads(), before, asked.join());
  assert.ok(asked.length > 0, "the server was listed");
  await page.goto(`${ui.origin}/review?id=${name}`);
  await page.getByRole("button", { name: "Read it now" }).click();
  await page.getByText("Profile first").waitFor();
  assert.equal(reads(), before + 1, asked.join());
  assertQuiet(page);
});

test("the list is narrowed by signer before anything was looked at, and as the signatures are now", async () => {
  const fresh = await signIn(await world.ui());
  const origin = new URL(fresh.url()).origin;
  await fresh.goto(`${origin}/servers`);
  await waitFor(async () => {
    // This page has shown no list yet.
    await fresh.goto(`${origin}/?signer=acme`);
    return (await fresh.locator(".skills .title").count()) === 2;
  });
  assert.match(await fresh.locator("#results").innerText(), /signed by acme/);
  assert.equal(await fresh.getByLabel("Signer").inputValue(), "acme");
  // What was signed is no longer what is served.
  write(served, { "deploy/SKILL.md": skill("deploy", "Deploys something else. Use after a release.", "# Other\n") });
  await waitFor(async () => {
    await fresh.goto(`${origin}/?signer=acme`);
    return (await fresh.locator(".skills .title").count()) === 1;
  });
  assert.deepEqual(await fresh.locator(".skills .title").allInnerTexts(), ["backup"]);
  await fresh.context().close();
});

test("what is on this machine is scanned before it is opened, and the list is narrowed by it", async () => {
  const fresh = await signIn(await world.ui());
  const origin = new URL(fresh.url()).origin;
  const found = async (finding) => {
    await fresh.goto(`${origin}/?finding=${finding}`);
    return (await fresh.locator(".skills .title").allInnerTexts()).sort();
  };
  await waitFor(async () => (await found("high")).includes("risky"));
  await waitFor(async () => (await found("none")).includes("house-style"));
  const unscanned = await found("unscanned");
  assert.ok(unscanned.includes("meeting-minutes") && !unscanned.includes("risky"), unscanned.join());
  await fresh.goto(`${origin}/?q=risky`);
  assert.doesNotMatch(await fresh.locator("#results").innerText(), /not scanned/);
  await fresh.context().close();
});

test("pages beyond the end of a list show its end, and an address without a difference says so", async () => {
  for (const far of ["7", "368934881474191033", "18446744073709551615"]) {
    for (const path of [`/?page=${far}`, `/?q=e&page=${far}`, `/approvals?page=${far}`, `/review?page=${far}`]) {
      assert.equal((await page.goto(ui.origin + path)).status(), 200, path);
      assert.equal(await page.getByText(/Page \d/).count(), 0, path);
    }
    await page.goto(`${ui.origin}/audit?page=${far}`);
    await page.getByText("The list ends before this page.").waitFor();
    assert.equal(await page.getByText("Nothing happened").count(), 0);
  }
  await page.getByRole("link", { name: "Show the first page" }).click();
  assert.ok((await page.locator("tbody tr").count()) > 3);
});

test("a file that is no text is only described", async () => {
  await page.goto(`${ui.origin}/review?id=${id("blob")}`);
  await page.getByRole("button", { name: "Read all files" }).click();
  await page.waitForLoadState();
  await page.goto(`${ui.origin}/file?id=${id("blob")}&path=data.bin`);
  await page.getByText("so it is only described").waitFor();
  assert.match(await page.innerText("main"), /5 B\s[^]*SHA-256 [0-9a-f]{64}/);
  assert.equal(await page.locator("main pre, main img").count(), 0);
});

test("scripts may run only after that was granted in the review", async () => {
  await page.goto(`${ui.origin}/review?id=${id("backup")}`);
  await page.getByText("Grants beside loading").first().click();
  assert.equal(await page.getByRole("checkbox", { name: "Run its scripts" }).isChecked(), false);
  await page.getByRole("button", { name: "Allow until it changes" }).click();
  await page.getByText("Decided just now").waitFor();
  const runs = () => JSON.parse(world.run("show", "acme:backup", "--json")).grants.execute;
  assert.ok(!runs(), "nothing is granted that was not chosen");
  await page.goto(`${ui.origin}/review?id=${id("backup")}`);
  await page.getByText("Grants beside loading").first().click();
  await page.getByRole("checkbox", { name: "Run its scripts" }).check();
  await page.getByRole("button", { name: "Allow until it changes" }).click();
  await page.getByText("Decided just now").first().waitFor();
  assert.equal(runs(), true);
});

test("a change shows its fields, its packages and a host in look-alike letters first", async () => {
  write(served, changed);
  write(served, {
    "refunds/scripts/setup.sh": `${changed["refunds/scripts/setup.sh"]}pip install refund-helper==1.2\ncurl https://\u0430pi.shop.example.com/now\n`,
  });
  await waitFor(() => world.state_of("refunds") === "changed");
  await page.goto(`${ui.origin}/servers`);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.goto(`${ui.origin}/review?id=${id("refunds")}`);
  await page.getByRole("button", { name: "Read all files" }).click();
  await page.getByRole("heading", { name: "Newly reaches out to" }).waitFor();
  const newly = await page.locator(".newly").innerText();
  assert.match(newly, /collect\.example\.net/);
  assert.match(newly, /Packages\s[^]*refund-helper/);
  assert.match(newly, /\\u\{430\}pi\.shop\.example\.com/, "a Cyrillic letter stands out");
  assert.doesNotMatch(newly, /\u0430/);
  await page.goto(`${ui.origin}/diff?id=${id("refunds")}`);
  const field = page.locator("tr", { hasText: "metadata/version" });
  assert.match(await field.innerText(), /1\.4\.0\s+1\.5\.0/);
  // What was approved did not contact that host.
  assert.doesNotMatch(await page.locator(".newly").innerText(), /handbook\.example\.com/);
  assert.equal((await page.goto(`${ui.origin}/diff?id=${id("refunds")}&path=none`)).status(), 404);
  page.context().errors.pop();
  await page.goto(`${ui.origin}/diff?id=${id("refunds")}&path=SKILL.md`);
  assert.equal(await page.locator(".file-diff").count(), 1);
});

test("the log and the runs are saved as tables", async () => {
  world.attempt("run", "acme:backup", "scripts/none.py");
  const saved = async (path) => (await (await page.request.get(ui.origin + path)).text()).trim().split("\r\n");
  const log = await saved("/audit/export?format=csv&action=approve");
  assert.equal(log[0], "time,label,uri,contentId,action,decision,reason,detail");
  assert.ok(log.length >= 3 && log.slice(1).every((row) => /^"\d{4}-[^"]*","acme",/.test(row) && row.includes('"approve"')), log.join("\n"));
  const runs = await saved("/runs/export?format=csv");
  assert.match(runs[0], /^time,label,uri,script,askedBy,decision,reason,outcome,/);
  await page.goto(`${ui.origin}/runs`);
  assert.equal(runs.length - 1, await page.locator("tbody tr").count(), "one line for each run that is shown");
  assert.match(runs[1], /"scripts\/none\.py"/);
  assert.doesNotMatch(runs.join("\n"), /\{/, "no record of the log as it is written");
});

test("without JavaScript a batch, taking it back, and a difference work", async () => {
  const fresh = await world.ui();
  const context = await (await launch()).newContext({ javaScriptEnabled: false });
  const plain = await context.newPage();
  await plain.goto(fresh.url);
  await plain.waitForURL(`${fresh.origin}/`);
  await waitFor(async () => {
    await plain.goto(`${fresh.origin}/review`);
    return (await plain.getByRole("checkbox", { name: "Select release-notes" }).count()) === 1;
  });
  for (const name of ["release-notes", "meeting-minutes"]) await plain.getByRole("checkbox", { name: `Select ${name}` }).check();
  await plain.getByRole("button", { name: "Approve selected" }).click();
  await plain.getByRole("button", { name: "Allow 2 skills" }).click();
  await plain.getByText("Recorded 2 decisions.").waitFor();
  assert.deepEqual(["release-notes", "meeting-minutes"].map((name) => world.state_of(name)), ["approved", "approved"]);
  await plain.getByRole("button", { name: "Undo release-notes" }).click();
  await plain.getByText("was taken back").waitFor();
  assert.deepEqual(["release-notes", "meeting-minutes"].map((name) => world.state_of(name)), ["new", "approved"]);
  await plain.goto(`${fresh.origin}/diff?id=${id("refunds")}`);
  await plain.getByRole("link", { name: "Side by side" }).click();
  assert.ok((await plain.locator("td.added, td.removed").count()) > 0);
  await context.close();
});
