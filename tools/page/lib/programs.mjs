// The real program: servers of skills, the user's state, and the page.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { BridgeClient } from "./client.mjs";

const program = process.env.SKILLWIRE;
if (!program) throw new Error("Set SKILLWIRE to the program; `tools/page/run` does.");

/** Writes files below a folder. */
export function write(folder, files) {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** The text of a `SKILL.md`. */
export const skill = (name, description, body = "", fields = "") =>
  `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n${fields}---\n${body}`;

/** A user with an empty home, servers of their own, and perhaps an open page. */
export class World {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "skillwire-page-"));
    this.home = join(this.folder, "home");
    this.state = join(this.home, "state");
    this.work = join(this.folder, "work");
    mkdirSync(this.work, { recursive: true });
    mkdirSync(this.home, { recursive: true });
    this.children = [];
  }

  env(more = {}) {
    return { PATH: process.env.PATH, HOME: this.home, SKILLWIRE_HOME: this.state, ...more };
  }

  /** Runs a command to its end and returns its standard output. */
  run(...args) {
    const done = spawnSync(program, args, { env: this.env(), cwd: this.work, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${args.join(" ")}: ${done.stderr}${done.stdout}`);
    return done.stdout;
  }

  /** Runs a command that may fail. */
  attempt(...args) {
    const done = spawnSync(program, args, { env: this.env(), cwd: this.work, encoding: "utf8" });
    return { status: done.status, out: done.stdout, err: done.stderr };
  }

  /** Starts a program that stays; resolves with the first match in what it writes. */
  start(args, pattern, env = {}) {
    const child = spawn(program, args, { env: this.env(env), cwd: this.work });
    this.children.push(child);
    return new Promise((resolve, reject) => {
      let text = "";
      const read = (piece) => {
        text += piece;
        const found = text.match(pattern);
        if (found) resolve({ child, found, text: () => text });
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}: ${text}`)));
      setTimeout(() => reject(new Error(`${args.join(" ")} said nothing in time: ${text}`)), 120_000).unref();
    });
  }

  /** Serves a folder of skills over HTTP; returns its address. */
  async serve(folder, ...more) {
    const { found, child } = await this.start(["serve", folder, "--http", "127.0.0.1:0", ...more], /listening on (http:\S+)/);
    return { url: found[1], child };
  }

  /** Serves a folder and uses it under a label. */
  async addServer(label, folder) {
    const { url, child } = await this.serve(folder);
    this.run("server", "add", label, url);
    return child;
  }

  /** Opens the page; returns the address that signs in. */
  async ui(...more) {
    const { found, child, text } = await this.start(["ui", "--no-open", ...more], /(http:\/\/127\.0\.0\.1:\d+\/sign-in\?secret=\w+)/);
    this.page = child;
    return { url: found[1], origin: new URL(found[1]).origin, child, text };
  }

  /** Connects a client to a bridge of the user. */
  async bridge() {
    const child = spawn(program, ["bridge"], { env: this.env(), cwd: this.work, stdio: ["pipe", "pipe", "ignore"] });
    this.children.push(child);
    return new BridgeClient(child).connect();
  }

  /** What was logged, newest last. */
  log() {
    const text = this.run("audit", "--json");
    return text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  list() {
    return JSON.parse(this.run("list", "--json"));
  }

  state_of(name) {
    return this.list().skills.find((row) => row.name === name)?.state;
  }

  read(path) {
    return readFileSync(join(this.folder, path), "utf8");
  }

  end() {
    for (const child of this.children) {
      child.removeAllListeners("exit");
      child.kill();
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits until a check holds, and returns what it found. */
export async function waitFor(check) {
  for (let tries = 0; tries < 200; tries++) {
    const found = await check();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error("it did not happen in time");
}
