-- What policies may ask about a skill that an upstream lists without a review, as JSON.
ALTER TABLE observations ADD COLUMN facts TEXT NOT NULL DEFAULT '{}';
