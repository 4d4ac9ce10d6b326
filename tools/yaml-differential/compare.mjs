// Reads the corpus of `yaml_corpus` from standard input and holds each document against the
// npm package `yaml`, an independent implementation of YAML 1.2.
//
//   cargo run --release -p skillwire-core --example yaml_corpus | node compare.mjs
//
// Exits with 1 if Skillwire accepts a document with another value than `yaml`, or accepts one
// that `yaml` rejects for a reason that ALLOWED does not list.

import { createInterface } from "node:readline";
import { parseDocument } from "yaml";

// Documents Skillwire accepts and `yaml` rejects, by the reason `yaml` gives, with the rule of
// YAML 1.2 that makes them valid.
const ALLOWED = [
  {
    why: "a line of blanks between two entries may hold tabs (l-comment)",
    matches: ({ yaml }, { rejected }) =>
      rejected === "TAB_AS_INDENT" && /\n[ \t]*\t[ \t]*\r?\n/.test(yaml),
  },
  {
    why: "a comment at column 0 may stand between a key and its value (s-l-comments)",
    matches: ({ yaml }, { rejected }) =>
      ["MULTILINE_IMPLICIT_KEY", "TAB_AS_INDENT"].includes(rejected) && /\n#/.test(yaml),
  },
  {
    why: "a comment at column 0 may stand inside of brackets (s-l-comments)",
    matches: ({ yaml }, { message }) =>
      message.startsWith("Comments must be separated") && /\n#/.test(yaml),
  },
];

// Documents Skillwire refuses as syntax and `yaml` accepts, by Skillwire's message.
const EXPLAINED = [
  [/invalid Unicode character escape/, "an escape for half a surrogate pair is no character"],
  [/YAML forbids/, "control characters, U+FFFE and inner byte order marks are not printable"],
  [/carriage return without a line feed/, "YAML says line end, `yaml` says text: in doubt"],
  [/An empty line follows a line break that is escaped/, "YAML keeps it, `yaml` folds it: in doubt"],
  [/Blanks at the end of a block/, "YAML keeps them, `yaml` drops some: in doubt"],
  [/may not precede any of/, "`{a:[b]}` lacks a blank after the `:`"],
  [/plain scalar cannot start with '-'/, "saphyr-parser refuses `[a -]`"],
  [/':' must be followed by|'-' must be followed by/, "saphyr-parser refuses a tab after an indicator"],
  [/tabs? disallowed|tab cannot|found a tab|cannot start with a tab|A tab stands/, "tabs near indentation"],
  [/expected whitespace/, "saphyr-parser refuses a tab after `?`"],
  [/wrongly indented line in block scalar/, "saphyr-parser refuses a comment left of a block's text"],
  [/comment or line break/, "`| ---` ends the document for `yaml`"],
  [/trailing content after/, "text after the quoted key of a `?` is dropped by `yaml`"],
  [
    /expected key|simple key expect|mapping (values|keys) are not|holds a `:`|'-' indicator|reserves/,
    "a `:` or `?` without a key is a null key to `yaml`",
  ],
];

const showPerCategory = Number(process.argv[2] ?? 2);

/** Parses as YAML 1.2 core; `Map` and `BigInt` keep what plain objects and numbers would hide. */
function theirs(yaml) {
  const document = parseDocument(yaml, {
    version: "1.2",
    schema: "core",
    uniqueKeys: true,
    strict: true,
    merge: false,
    intAsBigInt: true,
    logLevel: "silent",
    prettyErrors: false,
  });
  if (document.errors.length > 0) {
    const [{ code, message }] = document.errors;
    return { rejected: code, message };
  }
  try {
    return { value: document.toJS({ mapAsMap: true, maxAliasCount: 0 }) };
  } catch (error) {
    return { rejected: "TO_JS", message: String(error.message) };
  }
}

/** Compares a value of `yaml` with parsed JSON; key order counts. */
function same(value, json) {
  if (value instanceof Map) {
    if (json === null || typeof json !== "object" || Array.isArray(json)) return false;
    const keys = Object.keys(json);
    // Integer-like keys come first in a JavaScript object, whatever the text says.
    const sorted = (list) => [...list].sort();
    const names = [...value.keys()];
    if (names.some((name) => typeof name !== "string")) return false;
    if (JSON.stringify(sorted(names)) !== JSON.stringify(sorted(keys))) return false;
    return names.every((name) => same(value.get(name), json[name]));
  }
  if (Array.isArray(value)) {
    return (
      Array.isArray(json) &&
      value.length === json.length &&
      value.every((item, index) => same(item, json[index]))
    );
  }
  if (typeof value === "bigint") {
    return typeof json === "number" && Number.isSafeInteger(json) && value === BigInt(json);
  }
  // `==` on numbers: JSON has no way to tell -0 from 0 that every reader keeps.
  if (typeof value === "number") return typeof json === "number" && value === json;
  return value === json;
}

const counts = { documents: 0, agree: 0, accepted: 0, differ: 0, extra: 0, allowed: 0, unexplained: 0 };
const categories = new Map();

function note(kind, reason, record, detail) {
  const name = `${kind}: ${reason}`;
  const category = categories.get(name) ?? { count: 0, examples: [] };
  category.count += 1;
  if (category.examples.length < 2 * showPerCategory || record.yaml.length < 60) {
    category.examples.push({ yaml: record.yaml, detail });
    category.examples.sort((a, b) => a.yaml.length - b.yaml.length);
    category.examples.length = Math.min(category.examples.length, showPerCategory);
  }
  categories.set(name, category);
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const record = JSON.parse(line);
  const other = theirs(record.yaml);
  counts.documents += 1;
  if (record.code === null) {
    counts.accepted += 1;
    if (other.rejected) {
      const reason = `${other.rejected} ${other.message.split("\n")[0]}`;
      const rule = ALLOWED.find((entry) => entry.matches(record, other));
      if (rule) {
        counts.allowed += 1;
        note("allowed", rule.why, record, other.message);
      } else {
        counts.extra += 1;
        note("ACCEPTED, REJECTED BY yaml", reason, record, { ours: record.ours });
      }
    } else if (same(other.value, record.ours)) {
      counts.agree += 1;
    } else {
      counts.differ += 1;
      note("DIFFERENT VALUE", "", record, { ours: record.ours, theirs: show(other.value) });
    }
  } else if (other.rejected) {
    counts.agree += 1;
  } else if (record.code === "yaml-syntax" || record.code === "yaml-unquoted-colon") {
    const [, reason] = EXPLAINED.find(([pattern]) => pattern.test(record.why)) ?? [];
    if (reason === undefined) counts.unexplained += 1;
    const name = reason ?? `NOT EXPLAINED: ${record.why}`;
    note("refused, accepted by yaml", name, record, { why: record.why, theirs: show(other.value) });
  } else {
    // Refused on purpose: tags, references, duplicate keys, limits and the like.
    note("refused by rule", record.code, record, "");
  }
}

function show(value) {
  return JSON.stringify(value, (_, item) => {
    if (item instanceof Map) return { "(map)": [...item] };
    return typeof item === "bigint" ? Number(item) : item;
  });
}

let syntax = 0;
let rule = 0;
for (const [name, { count, examples }] of [...categories].sort((a, b) => b[1].count - a[1].count)) {
  if (name.startsWith("refused, accepted")) syntax += count;
  if (name.startsWith("refused by rule")) rule += count;
  console.log(`${String(count).padStart(7)}  ${name}`);
  if (name.startsWith("refused by rule")) continue;
  for (const { yaml, detail } of examples) {
    console.log(`           ${JSON.stringify(yaml)}\n             -> ${JSON.stringify(detail)}`);
  }
}
const bad = counts.differ + counts.extra;
console.log(
  `yaml-differential: ${counts.documents} documents, ${counts.agree} agree ` +
    `(${counts.accepted} accepted), ${counts.differ} different values, ` +
    `${counts.extra} accepted but rejected by yaml, ${counts.allowed} allowed by list, ` +
    `${syntax} refused as syntax but accepted by yaml (${counts.unexplained} not explained), ` +
    `${rule} refused by rule`,
);
process.exit(bad === 0 ? 0 : 1);
