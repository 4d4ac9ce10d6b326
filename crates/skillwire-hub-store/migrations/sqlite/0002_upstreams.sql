-- Other servers, repositories, folders and web sites whose skills the hub passes on. The label is also the
-- namespace whose roles say who reads and who reviews.
CREATE TABLE upstreams (
  label TEXT PRIMARY KEY NOT NULL REFERENCES namespaces (name),
  mode TEXT NOT NULL,
  source TEXT NOT NULL,
  limits TEXT NOT NULL,
  rules TEXT NOT NULL,
  configured INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
);

-- Contents of upstreams' skills whose files the hub keeps: what is offered now, and what was approved.
CREATE TABLE offers (
  id INTEGER PRIMARY KEY,
  upstream TEXT NOT NULL REFERENCES upstreams (label),
  uri TEXT NOT NULL,
  content TEXT NOT NULL,
  offered INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  entry TEXT NOT NULL,
  files TEXT NOT NULL,
  size INTEGER NOT NULL,
  facts TEXT NOT NULL,
  UNIQUE (upstream, uri, content)
);
CREATE INDEX offers_by_content ON offers (content);

CREATE TABLE offer_blobs (
  digest TEXT NOT NULL,
  offer INTEGER NOT NULL REFERENCES offers (id),
  PRIMARY KEY (digest, offer)
);
CREATE INDEX offer_blobs_by_offer ON offer_blobs (offer);

-- The content of each skill of an upstream in `observe`, when it was last seen to change.
CREATE TABLE observations (
  upstream TEXT NOT NULL REFERENCES upstreams (label),
  uri TEXT NOT NULL,
  content TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (upstream, uri)
);
