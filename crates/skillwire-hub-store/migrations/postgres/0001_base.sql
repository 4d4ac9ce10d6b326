-- One row: what every writing transaction reads first and writes last.
CREATE TABLE hub (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  outbox BIGINT NOT NULL,
  audit BIGINT NOT NULL,
  audit_hash TEXT COLLATE "C" NOT NULL,
  last_key BIGINT NOT NULL
);

CREATE TABLE namespaces (
  name TEXT COLLATE "C" PRIMARY KEY,
  protected BIGINT NOT NULL,
  review TEXT COLLATE "C" NOT NULL,
  quotas TEXT COLLATE "C" NOT NULL,
  skills BIGINT NOT NULL,
  versions BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL
);

CREATE TABLE grants (
  namespace TEXT COLLATE "C" NOT NULL REFERENCES namespaces (name),
  subject TEXT COLLATE "C" NOT NULL,
  role TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, subject, role)
);

CREATE TABLE skills (
  key BIGINT PRIMARY KEY,
  namespace TEXT COLLATE "C" NOT NULL REFERENCES namespaces (name),
  name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  conflict_with TEXT COLLATE "C",
  conflict_kind TEXT COLLATE "C",
  popular BIGINT NOT NULL,
  UNIQUE (namespace, name)
);

CREATE TABLE name_guards (
  key TEXT COLLATE "C" NOT NULL,
  skill BIGINT NOT NULL REFERENCES skills (key),
  PRIMARY KEY (key, skill)
);

CREATE TABLE versions (
  key BIGINT PRIMARY KEY,
  skill BIGINT NOT NULL REFERENCES skills (key),
  version TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C",
  changed_at BIGINT NOT NULL,
  publisher TEXT COLLATE "C" NOT NULL,
  published_at BIGINT NOT NULL,
  provenance TEXT COLLATE "C" NOT NULL,
  files TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  entry TEXT COLLATE "C" NOT NULL,
  purged BIGINT NOT NULL,
  UNIQUE (skill, version),
  UNIQUE (skill, content)
);
CREATE INDEX versions_by_content ON versions (content);
CREATE INDEX versions_waiting ON versions (key) WHERE state = 'quarantined';
CREATE INDEX versions_by_publisher ON versions (publisher);

CREATE TABLE version_blobs (
  digest TEXT COLLATE "C" NOT NULL,
  version BIGINT NOT NULL REFERENCES versions (key),
  PRIMARY KEY (digest, version)
);
CREATE INDEX version_blobs_by_version ON version_blobs (version);

-- Blobs that were ever about to be written. A row is older than its blob, so that garbage is always found.
CREATE TABLE blobs (
  digest TEXT COLLATE "C" PRIMARY KEY,
  size BIGINT NOT NULL,
  touched_at BIGINT NOT NULL
);
CREATE INDEX blobs_by_touch ON blobs (touched_at, digest);

CREATE TABLE channels (
  name TEXT COLLATE "C" NOT NULL,
  skill BIGINT NOT NULL REFERENCES skills (key),
  version BIGINT NOT NULL REFERENCES versions (key),
  stack TEXT COLLATE "C" NOT NULL,
  moved_at BIGINT NOT NULL,
  moved_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (name, skill)
);
CREATE INDEX channels_by_skill ON channels (skill);

CREATE TABLE revoked_content (
  content TEXT COLLATE "C" PRIMARY KEY,
  at BIGINT NOT NULL,
  revoked_by TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL
);

CREATE TABLE tokens (
  id BIGINT PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL UNIQUE,
  administrator BIGINT NOT NULL,
  scopes TEXT COLLATE "C" NOT NULL,
  namespaces TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE INDEX tokens_by_subject ON tokens (subject, id);

CREATE TABLE trusted_publishers (
  id BIGINT PRIMARY KEY,
  namespace TEXT COLLATE "C" NOT NULL REFERENCES namespaces (name),
  issuer TEXT COLLATE "C" NOT NULL,
  claims TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL
);
CREATE INDEX trusted_publishers_by_issuer ON trusted_publishers (issuer);
CREATE INDEX trusted_publishers_by_namespace ON trusted_publishers (namespace, id);

CREATE TABLE decisions (
  id BIGINT PRIMARY KEY,
  place TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  verdict TEXT COLLATE "C" NOT NULL,
  decided_by TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  until_at BIGINT,
  findings TEXT COLLATE "C" NOT NULL
);
CREATE INDEX decisions_by_place ON decisions (place, id);
CREATE INDEX decisions_by_content ON decisions (content, id);

CREATE TABLE audit (
  number BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  actor TEXT COLLATE "C" NOT NULL,
  actor_salt TEXT COLLATE "C",
  actor_commitment TEXT COLLATE "C" NOT NULL,
  action TEXT COLLATE "C" NOT NULL,
  target TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C",
  details TEXT COLLATE "C" NOT NULL,
  details_salt TEXT COLLATE "C",
  details_commitment TEXT COLLATE "C" NOT NULL,
  hash TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_content ON audit (content, number);
CREATE INDEX audit_by_actor ON audit (actor, number);
CREATE INDEX audit_by_target ON audit (target, number);

CREATE TABLE outbox (
  number BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  change TEXT COLLATE "C" NOT NULL
);

CREATE TABLE jobs (
  id BIGINT PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  unique_key TEXT COLLATE "C" UNIQUE,
  run_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  worker TEXT COLLATE "C",
  leased_until BIGINT,
  last_error TEXT COLLATE "C"
);
CREATE INDEX jobs_by_kind ON jobs (kind, run_at, id);
