-- One row: what every writing transaction reads first and writes last.
CREATE TABLE hub (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  outbox INTEGER NOT NULL,
  audit INTEGER NOT NULL,
  audit_hash TEXT NOT NULL,
  last_key INTEGER NOT NULL
);

CREATE TABLE namespaces (
  name TEXT PRIMARY KEY NOT NULL,
  protected INTEGER NOT NULL,
  review TEXT NOT NULL,
  quotas TEXT NOT NULL,
  skills INTEGER NOT NULL,
  versions INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
);

CREATE TABLE grants (
  namespace TEXT NOT NULL REFERENCES namespaces (name),
  subject TEXT NOT NULL,
  role TEXT NOT NULL,
  PRIMARY KEY (namespace, subject, role)
);

CREATE TABLE skills (
  key INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL REFERENCES namespaces (name),
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  conflict_with TEXT,
  conflict_kind TEXT,
  popular INTEGER NOT NULL,
  UNIQUE (namespace, name)
);

CREATE TABLE name_guards (
  key TEXT NOT NULL,
  skill INTEGER NOT NULL REFERENCES skills (key),
  PRIMARY KEY (key, skill)
);

CREATE TABLE versions (
  key INTEGER PRIMARY KEY,
  skill INTEGER NOT NULL REFERENCES skills (key),
  version TEXT NOT NULL,
  content TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  changed_at INTEGER NOT NULL,
  publisher TEXT NOT NULL,
  published_at INTEGER NOT NULL,
  provenance TEXT NOT NULL,
  files TEXT NOT NULL,
  size INTEGER NOT NULL,
  entry TEXT NOT NULL,
  purged INTEGER NOT NULL,
  UNIQUE (skill, version),
  UNIQUE (skill, content)
);
CREATE INDEX versions_by_content ON versions (content);
CREATE INDEX versions_waiting ON versions (key) WHERE state = 'quarantined';
CREATE INDEX versions_by_publisher ON versions (publisher);

CREATE TABLE version_blobs (
  digest TEXT NOT NULL,
  version INTEGER NOT NULL REFERENCES versions (key),
  PRIMARY KEY (digest, version)
);
CREATE INDEX version_blobs_by_version ON version_blobs (version);

-- Blobs that were ever about to be written. A row is older than its blob, so that garbage is always found.
CREATE TABLE blobs (
  digest TEXT PRIMARY KEY NOT NULL,
  size INTEGER NOT NULL,
  touched_at INTEGER NOT NULL
);
CREATE INDEX blobs_by_touch ON blobs (touched_at, digest);

CREATE TABLE channels (
  name TEXT NOT NULL,
  skill INTEGER NOT NULL REFERENCES skills (key),
  version INTEGER NOT NULL REFERENCES versions (key),
  stack TEXT NOT NULL,
  moved_at INTEGER NOT NULL,
  moved_by TEXT NOT NULL,
  PRIMARY KEY (name, skill)
);
CREATE INDEX channels_by_skill ON channels (skill);

CREATE TABLE revoked_content (
  content TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL,
  revoked_by TEXT NOT NULL,
  reason TEXT NOT NULL
);

CREATE TABLE tokens (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  subject TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  administrator INTEGER NOT NULL,
  scopes TEXT NOT NULL,
  namespaces TEXT,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
);
CREATE INDEX tokens_by_subject ON tokens (subject, id);

CREATE TABLE trusted_publishers (
  id INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL REFERENCES namespaces (name),
  issuer TEXT NOT NULL,
  claims TEXT NOT NULL,
  subject TEXT NOT NULL
);
CREATE INDEX trusted_publishers_by_issuer ON trusted_publishers (issuer);
CREATE INDEX trusted_publishers_by_namespace ON trusted_publishers (namespace, id);

CREATE TABLE decisions (
  id INTEGER PRIMARY KEY,
  place TEXT NOT NULL,
  content TEXT NOT NULL,
  verdict TEXT NOT NULL,
  decided_by TEXT NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  until_at INTEGER,
  findings TEXT NOT NULL
);
CREATE INDEX decisions_by_place ON decisions (place, id);
CREATE INDEX decisions_by_content ON decisions (content, id);

CREATE TABLE audit (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  actor_salt TEXT,
  actor_commitment TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  content TEXT,
  details TEXT NOT NULL,
  details_salt TEXT,
  details_commitment TEXT NOT NULL,
  hash TEXT NOT NULL
);
CREATE INDEX audit_by_content ON audit (content, number);
CREATE INDEX audit_by_actor ON audit (actor, number);
CREATE INDEX audit_by_target ON audit (target, number);

CREATE TABLE outbox (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  change TEXT NOT NULL
);

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  unique_key TEXT UNIQUE,
  run_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  worker TEXT,
  leased_until INTEGER,
  last_error TEXT
);
CREATE INDEX jobs_by_kind ON jobs (kind, run_at, id);
