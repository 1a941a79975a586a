-- A document's tier is the model it is at: 0 is the migration's provider, 1.. its cascade. It rises one tier where
-- a model's answer cannot be used, and never falls. Jobs and calls say at which tier they were made.
alter table document add column tier integer not null default 0 check (tier >= 0);
alter table job add column tier integer not null default 0 check (tier >= 0);
alter table on_demand_call add column tier integer not null default 0 check (tier >= 0);

-- What a call used stays with the call: the document it was for may be answered by another one in the end.
alter table on_demand_call add column input_tokens bigint, add column output_tokens bigint,
    add column cached_tokens bigint not null default 0, add column cache_written_tokens bigint not null default 0;
update on_demand_call c set input_tokens = d.input_tokens, output_tokens = d.output_tokens,
    cached_tokens = d.cached_tokens, cache_written_tokens = d.cache_written_tokens
    from document d where d.answered_by_call = c.id;
-- Those of a document were read by nothing but the count of calls.
alter table document drop column cached_tokens, drop column cache_written_tokens;

-- Why a document rose: written in the same transaction, once a tier, and it names the answer that was of no use.
create table escalation (
    migration text not null,
    record_id text not null,
    from_tier integer not null,
    model     text not null,
    reason    text not null,
    answered_by_job  bigint references job,
    answered_by_call bigint references on_demand_call,
    at        timestamptz not null default now(),
    primary key (migration, record_id, from_tier),
    foreign key (migration, record_id) references document,
    check (num_nonnulls(answered_by_job, answered_by_call) <= 1)
);

create function check_document_begins() returns trigger language plpgsql as $$
begin
    raise exception 'document % begins at the first model', new.record_id using errcode = 'check_violation';
end $$;
create trigger document_begins before insert on document
    for each row when (new.tier <> 0) execute function check_document_begins();

-- Only what a model failed to answer rises, to the very next model, as if it was never asked; and not after the
-- import, when its answer may be gone.
create function check_document_rises() returns trigger language plpgsql as $$
begin
    if new.tier <> old.tier + 1
       or not (old.state = 'answered' or (old.state = 'failed' and old.reason = 'provider_error'))
       or new.state <> 'owed' or new.attempts <> 0
       or old.withdrawn_at is not null
       or not exists (
           select from escalation e
           where (e.migration, e.record_id, e.from_tier) = (old.migration, old.record_id, old.tier)
           and (e.answered_by_job, e.answered_by_call)
               is not distinct from (old.answered_by_job, old.answered_by_call))
       or exists (select from migration m where m.key = old.migration and m.state in ('imported', 'erased'))
    then
        raise exception 'document % cannot go from model % to model %', old.record_id, old.tier, new.tier
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger document_rises before update on document
    for each row when (new.tier <> old.tier) execute function check_document_rises();

-- At one tier everything stays as it was: an answer is final there.
drop trigger document_transition on document;
create trigger document_transition before update on document
    for each row when (new.state <> old.state and new.tier = old.tier)
    execute function check_document_transition();
drop trigger answer_is_final on document;
create trigger answer_is_final before update on document
    for each row when (
        old.state = 'answered' and new.tier = old.tier
        and (new.answered_by_job, new.answered_by_call) is distinct from (old.answered_by_job, old.answered_by_call)
    ) execute function check_answer_is_final();

-- A record goes to the model it is at, and to no other.
create or replace function check_call_is_alone() returns trigger language plpgsql as $$
begin
    if exists (
        select 1 from job_document j where j.migration = new.migration
        and j.record_id = new.record_id and j.outcome is null
    ) then
        raise exception 'record % is in a job already', new.record_id using errcode = 'check_violation';
    end if;
    if not exists (
        select 1 from document d
        where (d.migration, d.record_id, d.tier) = (new.migration, new.record_id, new.tier)
    ) then
        raise exception 'record % is not at model %', new.record_id, new.tier using errcode = 'check_violation';
    end if;
    return new;
end $$;

create or replace function check_jobs_are_alone() returns trigger language plpgsql as $$
declare
    twice text;
    astray text;
begin
    select a.record_id into twice from added a join on_demand_call c
        on c.migration = a.migration and c.record_id = a.record_id where c.state = 'intent' limit 1;
    if twice is not null then
        raise exception 'record % is in a call already', twice using errcode = 'check_violation';
    end if;
    select a.record_id into astray from added a join job j on j.id = a.job
        join document d on d.migration = a.migration and d.record_id = a.record_id
        where d.tier <> j.tier limit 1;
    if astray is not null then
        raise exception 'record % is not at the model of its job', astray using errcode = 'check_violation';
    end if;
    return null;
end $$;
