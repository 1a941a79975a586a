-- How an attachment came: what the source said it is, when its bytes were fetched, and the answer's status.
ALTER TABLE attachment
    ADD COLUMN declared_mime text,
    ADD COLUMN fetched_at timestamptz,
    ADD COLUMN http_status integer;
