-- Nearly every statement here has a problem. It shows what the linter finds.
BEGIN;
CREATE INDEX orders_customer_idx ON orders (customer_id);
ALTER TABLE orders ADD COLUMN external_id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE orders ADD COLUMN region text NOT NULL;
ALTER TABLE orders ALTER COLUMN total TYPE bigint;
ALTER TABLE orders ADD CONSTRAINT orders_customer_fk FOREIGN KEY (customer_id) REFERENCES customers (id);
ALTER TABLE orders RENAME COLUMN note TO remark;
UPDATE orders SET region = 'eu; not; split';
CREATE TABLE audit (id bigint GENERATED ALWAYS AS IDENTITY, at timestamp);
COMMIT;
DROP TABLE legacy_orders CASCADE;

-- lint: allow drop-index-blocking, table has 200 rows
DROP INDEX tiny_idx;
CREATE INDEX audit_at_idx ON audit (at);
DO $$ BEGIN RAISE NOTICE 'DROP TABLE orders; this is only text'; END $$;
