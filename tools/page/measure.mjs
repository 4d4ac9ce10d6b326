// Numbers of the page, each beside its bound; fails if one is over it.
//
//   tools/page/run PROGRAM --measure     PROGRAM is built for release with `--features full`
//
// PAGE_SKILLS sets how many skills the large catalogue has.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { close, signIn } from "./lib/browser.mjs";
import { World, skill, waitFor, write } from "./lib/programs.mjs";

const many = Number(process.env.PAGE_SKILLS ?? 100_000);
const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const memory = (child) => Number(readFileSync(`/proc/${child.pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]) / 1024;
let missed = 0;
/** Prints a number; with a bound, it has to be at most that. */
const report = (what, value, bound) => {
  const fits = bound === undefined || value <= bound;
  if (!fits) missed += 1;
  const beside = bound === undefined ? "" : `, bound ${bound}: ${fits ? "met" : "MISSED"}`;
  console.log(`${what}: ${value.toLocaleString("en", { maximumFractionDigits: 2 })}${beside}`);
};

async function catalogue(count) {
  const world = new World();
  const served = join(world.folder, "served");
  for (let n = 0; n < count; n++) {
    write(served, { [`group-${n % 300}/skill-${n}/SKILL.md`]: skill(`skill-${n}`, `Does the work number ${n} of the group. Use when work ${n} is asked for.`, `# Skill ${n}\n\nDo it.\n`) });
  }
  await world.addServer("acme", served);
  const ui = await world.ui();
  const page = await signIn(ui);
  await page.getByText(`${count.toLocaleString("en")} skills`).waitFor({ timeout: 240_000 });
  const paints = [];
  for (let n = 0; n < 15; n++) {
    await page.goto(`${ui.origin}/`);
    paints.push(await page.evaluate(() => new Promise((resolve) => {
      const look = (list) => list.getEntriesByName("first-contentful-paint").forEach((it) => resolve(it.startTime));
      new PerformanceObserver(look).observe({ type: "paint", buffered: true });
    })));
  }
  const weight = await page.evaluate(() => performance.getEntriesByType("resource").reduce((sum, it) => sum + it.decodedBodySize, 0));
  const searches = [];
  for (let n = 0; n < 10; n++) {
    const started = Date.now();
    await page.request.get(`${ui.origin}/?q=work+${n * 37}&part=results`);
    searches.push(Date.now() - started);
  }
  const used = memory(ui.child);
  await page.context().close();
  world.end();
  return { paint: median(paints), weight, first: searches[0], search: median(searches.slice(1)), memory: used };
}

async function diff() {
  const world = new World();
  const served = join(world.folder, "served");
  // One line differs in each file, so that all of them fit into the lines that one page shows.
  const files = (word) => Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`large/files/${n}.md`, `${`# File ${n}\n\nA line that stays.\n`.repeat(10)}${word} in the last line of ${n}.\n`]));
  write(served, { "large/SKILL.md": skill("large", "Has many files. Use in tests."), ...files("before") });
  await world.addServer("acme", served);
  const ui = await world.ui();
  const page = await signIn(ui);
  const id = encodeURIComponent("acme:skill://large/SKILL.md");
  await page.getByText("1 skill").waitFor();
  await page.goto(`${ui.origin}/review?id=${id}`);
  await page.getByRole("button", { name: "Read all files" }).click();
  await page.getByRole("button", { name: "Allow until it changes" }).click();
  write(served, files("after"));
  await waitFor(() => world.state_of("large") === "changed");
  await page.goto(`${ui.origin}/servers`);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.goto(`${ui.origin}/diff?id=${id}`);
  await page.getByRole("button", { name: "Read it now" }).click();
  await page.waitForLoadState();
  const times = [];
  for (let n = 0; n < 5; n++) {
    const started = Date.now();
    await page.goto(`${ui.origin}/diff?id=${id}`);
    times.push(Date.now() - started);
    const tables = await page.locator(".diff").count();
    assert.equal(tables, 500, "the lines of every file are compared and shown");
  }
  world.end();
  return median(times);
}

const few = await catalogue(100);
report("style, script and icon, bytes", few.weight, 100_000);
report("first paint with 100 skills, ms", few.paint);
report("a search in 100 skills, ms", few.search);
report("memory with 100 skills, MiB", few.memory, 60);
report("difference of two versions with 500 files, ms", await diff(), 1000);
const lots = await catalogue(many);
report(`first paint with ${many} skills, ms`, lots.paint);
report(`first paint with ${many} skills to that with 100`, lots.paint / few.paint, 3);
report(`the first search in ${many} skills, ms`, lots.first);
report(`a search in ${many} skills, ms`, lots.search);
report(`memory with ${many} skills, MiB`, lots.memory, 380);
await close();
process.exitCode = missed ? 1 : 0;
