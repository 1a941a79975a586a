-- The ledger: what was about to happen, what happened, and what is owed. Ids and counts only.

create table migration (
    key           text primary key,
    tenant        text not null,
    file_digest   text not null,
    state         text not null default 'open'
                  check (state in ('open', 'paused', 'cancelled', 'imported', 'erased')),
    -- set when every document of the migration is known here; nothing is sent before
    planned_at    timestamptz,
    -- why nothing more is sent until a person says so
    hold          text,
    -- runs asked for by a sensor or schedule: makes each run key new
    launches      integer not null default 0,
    -- those since something last changed: makes the pause between them longer
    idle_launches integer not null default 0,
    launch_after  timestamptz not null default now(),
    report        jsonb,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now()
);

-- A job's life. `void` ends an intent that is known never to have been accepted.
create table job_transition (
    from_state text not null,
    to_state   text not null,
    primary key (from_state, to_state)
);
insert into job_transition values
    ('intent', 'accepted'), ('intent', 'void'),
    ('accepted', 'running'), ('accepted', 'ended'),
    ('running', 'ended'),
    ('ended', 'collected'),
    ('collected', 'imported'),
    ('imported', 'erased');

create table job (
    id              bigint generated always as identity primary key,
    migration       text not null references migration,
    shard_digest    text not null,
    attempt         integer not null check (attempt >= 1),
    state           text not null default 'intent'
                    check (state in ('intent', 'void', 'accepted', 'running', 'ended',
                                     'collected', 'imported', 'erased')),
    account         text not null,
    name            text not null unique,
    token           text not null unique,
    model           text not null,
    invocation_type text not null,
    input_uri       text not null,
    output_uri      text not null,
    timeout_hours   integer not null,
    records         integer not null check (records >= 1),
    bytes           bigint not null check (bytes >= 1),
    reserved_at     timestamptz not null default now(),
    -- the moment before the create call left: from here on the intent is ambiguous until resolved
    sent_at         timestamptz,
    -- a full quota is no failure: the intent waits until then, or until a job of its account ends
    not_before      timestamptz,
    provider_id     text unique,
    provider_status text,
    message         text,
    counts          jsonb,
    deadline        timestamptz,
    ended_at        timestamptz,
    checked_at      timestamptz,
    unique (migration, shard_digest, attempt),
    check ((state in ('intent', 'void')) = (provider_id is null)),
    check (state in ('intent', 'void') or sent_at is not null)
);
create index on job (state) where state in ('intent', 'accepted', 'running');
create index on job (account, model) where state in ('accepted', 'running');

create function check_job_transition() returns trigger language plpgsql as $$
begin
    if new.state <> old.state and not exists (
        select 1 from job_transition t where t.from_state = old.state and t.to_state = new.state
    ) then
        raise exception 'job % cannot go from % to %', old.name, old.state, new.state
            using errcode = 'check_violation';
    end if;
    if old.provider_id is not null and new.provider_id is distinct from old.provider_id then
        raise exception 'job % already has a provider id', old.name using errcode = 'check_violation';
    end if;
    return new;
end $$;
create trigger job_transition before update on job
    for each row execute function check_job_transition();

-- One row per document that a model must read.
create table document (
    migration      text not null references migration,
    record_id      text not null,
    md5            text not null,
    request_digest text not null,
    route          text not null check (route in ('batch', 'on_demand')),
    state          text not null default 'owed' check (state in ('owed', 'sent', 'answered', 'failed')),
    attempts       integer not null default 0,
    reason         text,
    error_code     integer,
    error_message  text,
    -- exactly one final answer: of this job, or of this on-demand call
    answered_by_job  bigint references job,
    answered_by_call bigint,
    input_tokens   bigint,
    output_tokens  bigint,
    primary key (migration, record_id),
    unique (migration, md5),
    check ((state = 'answered') = (num_nonnulls(answered_by_job, answered_by_call) = 1)),
    check ((state = 'failed') = (reason is not null))
);
create index on document (migration, state, route);

create table job_document (
    job        bigint not null references job,
    migration  text not null,
    record_id  text not null,
    outcome    text check (outcome in ('answered', 'error', 'missing', 'unsent')),
    error_code integer,
    input_tokens  bigint,
    output_tokens bigint,
    primary key (job, record_id),
    foreign key (migration, record_id) references document
);
-- A record is in one unsettled job at a time: the database itself refuses to send it twice.
create unique index job_document_in_flight on job_document (migration, record_id) where outcome is null;

create table on_demand_call (
    id         bigint generated always as identity primary key,
    migration  text not null,
    record_id  text not null,
    attempt    integer not null check (attempt >= 1),
    model      text not null,
    -- intent: the call may have left. unsent: it is known not to have been paid.
    state      text not null default 'intent' check (state in ('intent', 'answered', 'error', 'unsent')),
    started_at timestamptz not null default now(),
    ended_at   timestamptz,
    -- the same line a batch job would have written; emptied when the migration is erased
    line       bytea,
    error_code integer,
    error_message text,
    foreign key (migration, record_id) references document,
    unique (migration, record_id, attempt)
);
create unique index on_demand_call_in_flight on on_demand_call (migration, record_id) where state = 'intent';
alter table document add foreign key (answered_by_call) references on_demand_call;

-- Who was sent what, when, under which job: appended, never changed, nothing personal.
create table event (
    id        bigint generated always as identity primary key,
    at        timestamptz not null default now(),
    migration text not null,
    kind      text not null,
    detail    jsonb not null default '{}'
);
create index on event (migration, id);
