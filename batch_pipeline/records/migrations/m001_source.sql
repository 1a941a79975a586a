-- What the source said. The key everywhere is (tenant, source_system, source_id).
-- No other index begins with the tenant: in a table filled in one transaction the planner knows no
-- statistics yet, took such an index for the foreign keys' checks and read the whole tenant for each row.
CREATE TABLE person (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    full_name text,
    given_name text,
    family_name text,
    emails jsonb,
    phones jsonb,
    links jsonb,
    location text,
    erased_at timestamptz,
    consent_until timestamptz,
    do_not_contact boolean,
    is_private boolean,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    CONSTRAINT an_erased_person_has_no_personal_data CHECK (
        erased_at IS NULL
        OR num_nonnulls(full_name, given_name, family_name, emails, phones, links, location, raw) = 0
    )
);

CREATE TABLE job (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    title text,
    code text,
    status text,
    department text,
    location text,
    opened_at timestamptz,
    closed_at timestamptz,
    confidential boolean,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id)
);

CREATE TABLE application (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    person_id text NOT NULL,
    job_id text,
    kind text,
    status text,
    applied_at timestamptz,
    rejected_at timestamptz,
    reject_reason text,
    hired_at timestamptz,
    current_stage text,
    origin text,
    sequence_no integer,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, person_id) REFERENCES person,
    FOREIGN KEY (tenant, source_system, job_id) REFERENCES job
);
CREATE INDEX application_person ON application (person_id, tenant);
CREATE INDEX application_job ON application (job_id, tenant);

CREATE TABLE stage_move (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    application_id text NOT NULL,
    from_stage text,
    to_stage text,
    moved_at timestamptz,
    actor text,
    origin text,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application
);
CREATE INDEX stage_move_application ON stage_move (application_id, tenant);

CREATE TABLE note (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    person_id text,
    application_id text,
    author text,
    body_raw text,
    body_text text,
    visibility text,
    noted_at timestamptz,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, person_id) REFERENCES person,
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application
);
CREATE INDEX note_person ON note (person_id, tenant);
CREATE INDEX note_application ON note (application_id, tenant);

CREATE TABLE evaluation (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    application_id text NOT NULL,
    author text,
    submitted_at timestamptz,
    overall integer,
    overall_raw text,
    items jsonb,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application
);
CREATE INDEX evaluation_application ON evaluation (application_id, tenant);
