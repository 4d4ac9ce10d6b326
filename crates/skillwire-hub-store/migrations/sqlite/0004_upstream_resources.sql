-- Which resources of an upstream that belong to no skill clients may read, as a list of patterns.
ALTER TABLE upstreams ADD COLUMN resources TEXT NOT NULL DEFAULT '[]';
