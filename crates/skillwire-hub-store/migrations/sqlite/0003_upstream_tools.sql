-- Which tools and prompts of an upstream clients may use, as a list of patterns.
ALTER TABLE upstreams ADD COLUMN tools TEXT NOT NULL DEFAULT '[]';
