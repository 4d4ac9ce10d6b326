// Every view, in both themes, on a wide and a narrow screen, without violations of WCAG 2.2 AA.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { assertQuiet, assertWhole, close, launch, look, signIn } from "../lib/browser.mjs";
import { changed, ordinary } from "../lib/fixtures.mjs";
import { World, skill, waitFor, write } from "../lib/programs.mjs";

const world = new World();
const served = join(world.folder, "acme");
let ui;
let page;
const id = encodeURIComponent("acme:skill://refunds/SKILL.md");

before(async () => {
  write(served, ordinary);
  await world.addServer("acme", served);
  write(join(world.home, ".agents/skills"), {
    "house-style/SKILL.md": "---\nname: house-style\ndescription: Our words and tone. Use when writing for customers.\n---\n# Style\n\nShort sentences.\n",
  });
  // The user approved an earlier version, and has read it.
  world.run("approve", "acme:refunds", "--yes", "--exec");
  world.run("approve", "acme:meeting-minutes", "--yes");
  world.run("approve", "acme:data-cleaning", "--yes", "--exec");
  world.run("load", "acme:refunds");
  for (const file of ["scripts/refund.py", "references/policy.md"]) world.run("show", "acme:refunds", file);
  // Clients have some of them in context, and scripts ran: one well, one not, one not at all.
  const client = await world.bridge();
  for (const name of ["refunds", "meeting-minutes", "data-cleaning"]) await client.call("load_skill", { name: `acme:${name}` });
  world.attempt("run", "acme:data-cleaning", "scripts/profile.py");
  world.attempt("run", "acme:data-cleaning", "scripts/none.py");
  world.attempt("run", "acme:refunds", "scripts/refund.py");
  write(served, changed);
  await waitFor(() => world.state_of("refunds") === "changed");
  world.attempt("load", "acme:release-notes");
  world.run("server", "add", "--no-connect", "gone", "http://127.0.0.1:9/mcp");
  ui = await world.ui();
  page = await signIn(ui);
  await page.getByText("was not listed").waitFor();
  // What is on this machine is scanned by now.
  await waitFor(async () => {
    await page.goto(`${ui.origin}/?finding=none`);
    return (await page.locator(".skills .title", { hasText: "house-style" }).count()) === 1;
  });
});
after(async () => {
  await close();
  world.end();
});

const views = [
  ["catalogue", "/"],
  ["search", "/?q=refund&state=changed"],
  ["skill-unread", `/skill?id=${id}`],
  ["review-queue", "/review"],
  ["approvals", "/approvals"],
  ["context", "/context"],
  ["runs", "/runs"],
  ["log", "/audit"],
  ["servers", "/servers"],
  ["connect", "/connect"],
  ["settings", "/settings"],
  ["not-found", "/skill?id=acme:skill://none/SKILL.md"],
];
// A view that is empty proves little.
const filled = { approvals: 3, context: 3, runs: 3, log: 10, servers: 2, settings: 5 };
for (const [name, path] of views) {
  test(`${name} can be used by everybody`, async () => {
    await page.goto(ui.origin + path);
    await assertWhole(page, name);
    assert.ok((await page.locator("tbody tr").count()) >= (filled[name] ?? 0), `${name} has rows`);
    await look(page, name);
    // The browser itself reports the status of this one.
    if (name === "not-found") assert.match(page.context().errors.pop(), /404/);
  });
}

test("a skill that was read shows all its views to everybody", async () => {
  await page.goto(`${ui.origin}/review?id=${id}`);
  await page.getByRole("button", { name: "Read it now" }).first().click();
  await page.getByText("Newly reaches out to").waitFor();
  await look(page, "review", { full: true });
  for (const view of ["", "raw", "files", "findings", "reach", "details"]) {
    await page.goto(`${ui.origin}/skill?id=${id}&view=${view}`);
    await look(page, `skill-${view || "text"}`);
  }
  for (const layout of ["split", "unified"]) {
    await page.goto(`${ui.origin}/diff?id=${id}&layout=${layout}`);
    await look(page, `diff-${layout}`);
    await page.locator(".file-diff").first().evaluate((it) => it.scrollIntoView());
    assert.ok((await page.locator(".diff mark").count()) >= 2, "the part of a line that differs is marked");
    await look(page, `diff-${layout}-lines`);
  }
  for (const path of ["scripts/refund.py", "assets/flow.png"]) {
    await page.goto(`${ui.origin}/file?id=${id}&path=${encodeURIComponent(path)}`);
    await look(page, `file-${path.split(".").pop()}`);
  }
  assertQuiet(page);
});

test("a batch, and a page without a session, can be used by everybody", async () => {
  await page.goto(`${ui.origin}/review`);
  await page.getByLabel("Select all on this page").check();
  await look(page, "review-selected");
  await page.getByRole("button", { name: "Approve selected" }).click();
  await page.getByRole("heading", { name: "Check before you decide" }).waitFor();
  await look(page, "review-batch");
  const other = await (await launch()).newPage();
  await other.goto(ui.origin);
  await look(other, "not-signed-in");
  await other.close();
});

test("what was decided, refused or cannot be drawn can be used by everybody", async () => {
  // The queue with what can be taken back, and what was said about it.
  await page.goto(`${ui.origin}/review`);
  await page.getByRole("checkbox", { name: "Select release-notes" }).check();
  await page.getByRole("button", { name: "Decline selected" }).click();
  await page.getByRole("button", { name: "Decline 1 skill" }).click();
  await page.getByText("Recorded 1 decision.").waitFor();
  await page.getByRole("button", { name: "Undo release-notes" }).waitFor();
  await look(page, "review-decided");
  await page.getByRole("button", { name: "Undo release-notes" }).click();
  await page.getByText("was taken back").waitFor();
  await look(page, "review-undone");
  write(served, {
    "odd/SKILL.md": skill("odd", "Has files that are not drawn. Use in tests.", "# Odd\n"),
    "odd/data.bin": Buffer.from([0, 1, 2, 3, 255]),
    "odd/drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg'><circle r='4'/></svg>\n",
  });
  await waitFor(async () => {
    await page.goto(`${ui.origin}/?q=odd`);
    return (await page.locator(".skills .title", { hasText: "odd" }).count()) === 1;
  });
  const odd = encodeURIComponent("acme:skill://odd/SKILL.md");
  await page.goto(`${ui.origin}/skill?id=${odd}`);
  await page.getByRole("button", { name: "Read all files" }).click();
  await page.waitForLoadState();
  for (const [file, words] of [["data.bin", "so it is only described"], ["drawing.svg", "so it is shown as text"]]) {
    await page.goto(`${ui.origin}/file?id=${odd}&path=${file}`);
    await page.getByText(words).waitFor();
    await look(page, `file-${file.split(".").pop()}`);
  }
  // Settings that cannot be read are said, not passed over.
  write(world.home, { "state/state/settings.toml": "what = \n" });
  assert.equal((await page.goto(`${ui.origin}/settings`)).status(), 409);
  await look(page, "refused");
  write(world.home, { "state/state/settings.toml": "" });
  assert.match(page.context().errors.pop(), /409/);
  const other = await (await launch()).newPage();
  assert.equal((await other.goto(`${ui.origin}/sign-in?secret=wrong`)).status(), 403);
  await look(other, "sign-in-failed");
  await other.close();
});

test("readers who want less motion get none", async () => {
  await page.goto(`${ui.origin}/`);
  const moving = () => page.evaluate(() => [...document.querySelectorAll("*")].filter((it) => {
    const style = getComputedStyle(it);
    return style.transitionDuration.split(", ").some((time) => time !== "0s") || style.animationName !== "none" || style.scrollBehavior === "smooth";
  }).length);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  assert.ok((await moving()) > 0, "the check finds what moves");
  await page.emulateMedia({ reducedMotion: "reduce" });
  assert.equal(await moving(), 0);
});

test("the keyboard alone reaches everything, and shows where it is", async () => {
  await page.goto(`${ui.origin}/`);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), "#main", "the first stop leads past the navigation");
  const stops = await page.locator("a[href]:visible, button:visible, input:visible:not([type=hidden]), select:visible, summary:visible").count();
  const seen = new Set();
  for (let n = 0; n < stops + 5; n++) {
    seen.add(await page.evaluate(() => {
      const it = document.activeElement;
      it.dataset.stop ??= String(Math.random());
      const style = getComputedStyle(it);
      return it === document.body ? "" : style.outlineStyle === "none" && style.boxShadow === "none" ? `hidden: ${it.outerHTML}` : it.dataset.stop;
    }));
    await page.keyboard.press("Tab");
  }
  assert.deepEqual([...seen].filter((stop) => stop.startsWith("hidden")), []);
  assert.ok(seen.size >= stops, `${seen.size} of ${stops} can be reached`);
});

test("on a narrow screen nothing is wider than the screen", async () => {
  const phone = await page.context().newPage();
  await phone.setViewportSize({ width: 320, height: 740 });
  for (const [name, path] of [["catalogue", "/"], ["skill", `/skill?id=${id}`], ["review-queue", "/review"], ["review", `/review?id=${id}`], ["diff", `/diff?id=${id}`], ["files", `/skill?id=${id}&view=files`], ["log", "/audit"], ["context", "/context"], ["runs", "/runs"], ["approvals", "/approvals"], ["servers", "/servers"], ["settings", "/settings"], ["connect", "/connect"], ["reach", `/skill?id=${id}&view=reach`], ["file", `/file?id=${id}&path=scripts/refund.py`]]) {
    await phone.goto(ui.origin + path);
    const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
    // What overflows its box without being hidden there; its own box need not reach that far.
    const culprits = await phone.evaluate(() => [...document.querySelectorAll("main *")].filter((it) => it.clientWidth && it.scrollWidth > it.clientWidth && getComputedStyle(it).overflowX === "visible").map((it) => it.outerHTML.slice(0, 120)));
    assert.ok(wide <= 320, `${name} is ${wide} wide: ${culprits.slice(-3).join("\n")}`);
    // Rows of tables are cards there, which need no scrolling to the side.
    await assertWhole(phone, name);
    const current = await phone.locator(".bar nav [aria-current]").boundingBox();
    assert.ok(current.x >= 0 && current.x + current.width <= 321, `${name} is in sight in the navigation`);
    await look(phone, `phone-${name}`);
  }
  await phone.close();
});
