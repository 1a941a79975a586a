-- A job of records that met a passing error waits before they go again; `not_before` is the wait for room,
-- which ends early when a job ends, and this one does not.
alter table job add column due_at timestamptz;
