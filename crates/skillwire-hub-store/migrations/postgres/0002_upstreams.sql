-- Other servers, repositories, folders and web sites whose skills the hub passes on. The label is also the
-- namespace whose roles say who reads and who reviews.
CREATE TABLE upstreams (
  label TEXT COLLATE "C" PRIMARY KEY REFERENCES namespaces (name),
  mode TEXT COLLATE "C" NOT NULL,
  source TEXT COLLATE "C" NOT NULL,
  limits TEXT COLLATE "C" NOT NULL,
  rules TEXT COLLATE "C" NOT NULL,
  configured BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL
);

-- Contents of upstreams' skills whose files the hub keeps: what is offered now, and what was approved.
CREATE TABLE offers (
  id BIGINT PRIMARY KEY,
  upstream TEXT COLLATE "C" NOT NULL REFERENCES upstreams (label),
  uri TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  offered BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  entry TEXT COLLATE "C" NOT NULL,
  files TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  facts TEXT COLLATE "C" NOT NULL,
  UNIQUE (upstream, uri, content)
);
CREATE INDEX offers_by_content ON offers (content);

CREATE TABLE offer_blobs (
  digest TEXT COLLATE "C" NOT NULL,
  offer BIGINT NOT NULL REFERENCES offers (id),
  PRIMARY KEY (digest, offer)
);
CREATE INDEX offer_blobs_by_offer ON offer_blobs (offer);

-- The content of each skill of an upstream in `observe`, when it was last seen to change.
CREATE TABLE observations (
  upstream TEXT COLLATE "C" NOT NULL REFERENCES upstreams (label),
  uri TEXT COLLATE "C" NOT NULL,
  content TEXT COLLATE "C" NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (upstream, uri)
);
