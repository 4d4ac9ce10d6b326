// A client of `skillwire bridge`, as far as a test needs one: it calls tools and keeps what it loaded.
import { createInterface } from "node:readline";

/** Talks to a bridge over its pipes. */
export class BridgeClient {
  constructor(child) {
    this.child = child;
    this.waiting = new Map();
    this.next = 1;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      if (message.method && message.id !== undefined) {
        this.write({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "not here" } });
      } else if (message.id !== undefined) {
        this.waiting.get(message.id)?.(message);
        this.waiting.delete(message.id);
      }
    });
  }

  write(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  async ask(method, params) {
    const id = this.next++;
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    this.write({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async connect() {
    const clientInfo = { name: "test", version: "1" };
    await this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    this.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    return this;
  }

  /** Calls a tool, and fails with its words if the tool does. */
  async call(name, args) {
    const result = await this.ask("tools/call", { name, arguments: args });
    if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.content)}`);
    return result;
  }

  /** Ends the bridge as a client does that closes its pipes. */
  async end() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin.end();
    await ended;
  }
}
