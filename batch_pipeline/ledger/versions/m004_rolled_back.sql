-- A migration whose rows a person took out of the target again: its answers are gone, and it says so.
alter table migration add column rolled_back_at timestamptz;
