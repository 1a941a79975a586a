-- People erased while their migration is under way, by the id the source gave them; and documents
-- that the plan no longer holds although something was sent for them: paid for, and used by nobody.
create table erased_person (
    migration text not null references migration,
    source_id text not null,
    at        timestamptz not null default now(),
    primary key (migration, source_id)
);

alter table document add column withdrawn_at timestamptz;
