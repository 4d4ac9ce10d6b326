// A real browser, and what is asked of every view.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const pictures = process.env.PAGE_PICTURES;
if (pictures) mkdirSync(pictures, { recursive: true });

let browser;
export async function launch() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // One name leads to this machine, as a name of an attacker could.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP rebound.example 127.0.0.1"],
  });
  return browser;
}
export async function close() {
  await browser?.close();
  browser = undefined;
}

/** Opens a browser window of its own that is signed in. Anything that reaches out fails the test. */
export async function signIn(ui, options = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.foreign = [];
  context.errors = [];
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(ui.origin) && !url.startsWith("data:")) context.foreign.push(url);
  });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && context.errors.push(message.text()));
  page.on("pageerror", (error) => context.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    context.errors.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(ui.url);
  await page.waitForURL(`${ui.origin}/`);
  return page;
}

/** Asserts that a page asked nothing of other places and reported no error, such as a blocked script. */
export function assertQuiet(page) {
  const context = page.context();
  assert.deepEqual(context.foreign, [], "the page asked something of another place");
  assert.deepEqual(context.errors, [], "the page reported errors");
}

/** Asserts that axe finds nothing, by the rules of WCAG 2.2 AA and its best practices. */
export async function assertAccessible(page, name) {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const told = found.violations.map((it) => `${it.id}: ${it.help}\n  ${it.nodes.slice(0, 3).map((node) => `${node.html}\n    ${node.failureSummary}`).join("\n  ")}`);
  assert.deepEqual(told, [], `${name} has violations`);
}

/** Asserts that no table is cut off at its side. */
export async function assertWhole(page, name) {
  const beyond = await page.evaluate(() => [...document.querySelectorAll(".scroll:has(> table.rows)")].map((it) => it.scrollWidth - it.clientWidth));
  assert.ok(beyond.every((it) => it <= 0), `${name} has a table that is ${beyond} pixels too wide`);
}

/** Takes a picture in both themes, and checks both. */
export async function look(page, name, { full = false } = {}) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await assertAccessible(page, `${name} (${theme})`);
    if (pictures) await page.screenshot({ path: join(pictures, `${name}-${theme}.png`), fullPage: full });
  }
  await page.emulateMedia({ colorScheme: "light" });
}
