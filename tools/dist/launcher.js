#!/usr/bin/env node
// Starts the program of the package that npm installed for this system.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const carrier = `@skillwire/${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "skillwire.exe" : "skillwire";

let path;
try {
  path = require.resolve(`${carrier}/bin/${program}`);
} catch {
  console.error(`skillwire: the package ${carrier} is not installed.`);
  console.error(
    "Install skillwire again without --omit=optional. If there is no such package, build it with cargo: see docs/install.md.",
  );
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`skillwire: ${path} cannot be started: ${error.message}`);
  process.exit(1);
});
// A client ends its server by a signal to this process: the program has to end with it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
