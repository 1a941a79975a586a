-- What only the code kept until now is kept by the database: a document answered once stays answered,
-- a call ends once, a job begins as an intent, and a migration that was imported never goes back.

create table document_transition (
    from_state text not null,
    to_state   text not null,
    primary key (from_state, to_state)
);
insert into document_transition values
    ('owed', 'sent'), ('owed', 'failed'),
    ('sent', 'answered'), ('sent', 'owed'), ('sent', 'failed'),
    -- a person asked for it: `resume --retry-failed`
    ('failed', 'owed');

create function check_document_transition() returns trigger language plpgsql as $$
begin
    if not exists (
        select 1 from document_transition t where t.from_state = old.state and t.to_state = new.state
    ) then
        raise exception 'document % cannot go from % to %', old.record_id, old.state, new.state
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger document_transition before update on document
    for each row when (new.state <> old.state) execute function check_document_transition();

create function check_answer_is_final() returns trigger language plpgsql as $$
begin
    raise exception 'document % already has its answer', old.record_id using errcode = 'check_violation';
end $$;
create trigger answer_is_final before update on document
    for each row when (
        old.state = 'answered'
        and (new.answered_by_job, new.answered_by_call) is distinct from (old.answered_by_job, old.answered_by_call)
    ) execute function check_answer_is_final();

create function check_call_transition() returns trigger language plpgsql as $$
begin
    if new.state <> old.state and old.state <> 'intent' then
        raise exception 'call % cannot go from % to %', old.id, old.state, new.state
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger call_transition before update on on_demand_call
    for each row execute function check_call_transition();

create function check_job_begins_as_intent() returns trigger language plpgsql as $$
begin
    if new.state <> 'intent' then
        raise exception 'job % cannot begin as %', new.name, new.state using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger job_begins before insert on job
    for each row execute function check_job_begins_as_intent();

create function check_migration_transition() returns trigger language plpgsql as $$
begin
    if new.state <> old.state
       and (old.state = 'erased' or (old.state = 'imported') <> (new.state = 'erased')) then
        raise exception 'migration % cannot go from % to %', old.key, old.state, new.state
            using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger migration_transition before update on migration
    for each row execute function check_migration_transition();

-- A record is on one route at a time: an open call and an unsettled job would be two payments.
create function check_call_is_alone() returns trigger language plpgsql as $$
begin
    if exists (
        select 1 from job_document j where j.migration = new.migration
        and j.record_id = new.record_id and j.outcome is null
    ) then
        raise exception 'record % is in a job already', new.record_id using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger call_is_alone before insert on on_demand_call
    for each row execute function check_call_is_alone();

create function check_jobs_are_alone() returns trigger language plpgsql as $$
declare
    twice text;
begin
    select a.record_id into twice from added a join on_demand_call c
        on c.migration = a.migration and c.record_id = a.record_id where c.state = 'intent' limit 1;
    if twice is not null then
        raise exception 'record % is in a call already', twice using errcode = 'check_violation';
    end if;
    return null;
end $$;
create trigger jobs_are_alone after insert on job_document referencing new table as added
    for each statement execute function check_jobs_are_alone();
