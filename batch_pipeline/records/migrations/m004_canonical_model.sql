-- The rest of what the source said: a job's stages, tags, offers and answers to questions.
-- `application.current_stage` and `stage_move` name stages as the source shows them; nothing refers to
-- `stage` by key, because exports name stages that were renamed or deleted since.
CREATE TABLE stage (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    job_id text,
    name text,
    position integer,
    kind text,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, job_id) REFERENCES job
);
CREATE INDEX stage_job ON stage (job_id, tenant);

CREATE TABLE tag (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    person_id text,
    application_id text,
    name text,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, person_id) REFERENCES person,
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application
);
CREATE INDEX tag_person ON tag (person_id, tenant);
CREATE INDEX tag_application ON tag (application_id, tenant);

CREATE TABLE offer (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    application_id text NOT NULL,
    status text,
    sent_at timestamptz,
    resolved_at timestamptz,
    starts_on date,
    details jsonb,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application
);
CREATE INDEX offer_application ON offer (application_id, tenant);

CREATE TABLE question_answer (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    application_id text NOT NULL,
    question text,
    answer text,
    kind text,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application
);
CREATE INDEX question_answer_application ON question_answer (application_id, tenant);
