// Counts the tokens (o200k) that a bridge costs a model: its tools and instructions, one listing, and
// loading a skill beside the file itself.
//
//   npm install && node tokens.mjs PROGRAM FOLDER [--skills N] [--client NAME]... [--check]
//
// PROGRAM is the program `skillwire`, FOLDER holds skills as folders with a `SKILL.md`, at any depth. The
// first N skills, by path, that can be served are served by one server with the label `real`, approved,
// and measured once for each client name, since clients get the catalogue in different places. `--check`
// fails if the goals of docs/bridge.md are missed.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const GOAL_SHOWN = 900;
const GOAL_LOADED = 1.25;
// The goal for loading is about skills of the usual size; the frame of a tiny file weighs more.
const USUAL_TOKENS = 250;

const tokens = (text) => encode(text).length;

function read(argv) {
  const options = { skills: 10, clients: [], check: false, rest: [] };
  for (let at = 0; at < argv.length; at += 1) {
    if (argv[at] === "--skills") options.skills = Number(argv[(at += 1)]);
    else if (argv[at] === "--client") options.clients.push(argv[(at += 1)]);
    else if (argv[at] === "--check") options.check = true;
    else options.rest.push(argv[at]);
  }
  if (options.rest.length !== 2) throw new Error("Give the program and a folder of skills.");
  if (options.clients.length === 0) options.clients = ["claude-code", "an unknown client"];
  options.rest = options.rest.map((path) => resolve(path));
  return options;
}

class Bridge {
  constructor(program, env, cwd) {
    this.child = spawn(program, ["bridge"], { env, cwd, stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = new Map();
    this.next = 0;
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
    });
  }

  request(method, params) {
    const id = (this.next += 1);
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer.then((message) => {
      if (message.error) throw new Error(JSON.stringify(message.error));
      return message.result;
    });
  }

  async open(name) {
    const opened = await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name, version: "1" },
    });
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    return opened;
  }

  async text(tool, args) {
    const result = await this.request("tools/call", { name: tool, arguments: args });
    if (result.isError) throw new Error(result.content[0].text);
    return result.content[0].text;
  }

  end() {
    const ended = new Promise((resolve) => this.child.on("close", resolve));
    this.child.stdin.end();
    return ended;
  }
}

const { skills, clients, check, rest: [program, folder] } = read(process.argv.slice(2));
const home = mkdtempSync(join(tmpdir(), "skillwire-tokens-"));
const env = { ...process.env, HOME: home, SKILLWIRE_HOME: join(home, "sw") };
const run = (...args) => {
  const ran = spawnSync(program, args, { env, cwd: home, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`skillwire ${args.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
};
let missed = false;
try {
  const served = join(home, "served");
  mkdirSync(served);
  // Skills lie in skills here, so only the files that belong to none of the inner ones are copied.
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const roots = paths.filter((path) => basename(path) === "SKILL.md").map(dirname).sort();
  const rootOf = (path) => roots.filter((root) => path.startsWith(`${root}/`)).sort().at(-1);
  const add = (root) => {
    for (const path of paths.filter((path) => rootOf(path) === root)) {
      cpSync(join(folder, path), join(served, path), { recursive: true });
    }
  };
  roots.slice(0, skills).forEach(add);
  run("server", "add", "real", "--", program, "serve", served);
  const list = () => JSON.parse(run("list", "--json")).skills;
  let listed = list();
  // A skill that cannot be served makes room for the next one.
  for (const root of roots.slice(skills)) {
    if (listed.length >= skills) break;
    add(root);
    listed = list();
  }
  if (listed.length < skills) throw new Error(`Only ${listed.length} skills can be served.`);
  for (const skill of listed) run("approve", skill.handle, "--yes");

  for (const client of clients) {
    const bridge = new Bridge(program, env, home);
    const { instructions } = await bridge.open(client);
    await bridge.text("list_skills", {});
    const { tools } = await bridge.request("tools/list", {});
    const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const ofTools = tokens(JSON.stringify(shown));
    const ofInstructions = tokens(instructions);
    const listing = tokens(await bridge.text("list_skills", {}));
    const loads = [];
    for (const skill of listed) {
      const path = skill.uri.replace(/^skill:\/\//, "");
      const file = readFileSync(join(served, path), "utf8");
      const loaded = tokens(await bridge.text("load_skill", { name: skill.handle }));
      loads.push({ handle: skill.handle, file: tokens(file), loaded });
    }
    await bridge.end();
    const usual = loads.filter(({ file }) => file >= USUAL_TOKENS);
    const most = Math.max(...usual.map(({ file, loaded }) => loaded / file));
    console.log(`${listed.length} skills, as ${client}:`);
    const runs = tools.some(({ name }) => name === "run_skill_script") ? "with" : "without";
    const shownTokens = ofTools + ofInstructions;
    console.log(`  tools ${ofTools} + instructions ${ofInstructions} = ${shownTokens} tokens`);
    console.log(`  ${runs} the tool that runs scripts`);
    console.log(`  list_skills ${listing} tokens`);
    for (const { handle, file, loaded } of loads) {
      console.log(`  load ${handle}: ${loaded} tokens for a file of ${file} (${(loaded / file).toFixed(2)})`);
    }
    console.log(`  most for a file of at least ${USUAL_TOKENS} tokens: ${most.toFixed(2)}`);
    missed ||= shownTokens > GOAL_SHOWN || most > GOAL_LOADED;
  }
} finally {
  // A server that is ending may still write.
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
if (check && missed) {
  console.error(`A goal is missed: ${GOAL_SHOWN} tokens shown, ${GOAL_LOADED} times the file loaded.`);
  process.exit(1);
}
