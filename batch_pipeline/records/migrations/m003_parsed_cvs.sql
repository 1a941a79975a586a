-- What was read out of a CV: one row per document that was parsed, and its lists as rows in CV order.
-- `position` counts from 0, as in the JSON Resume. Dates are partial: YYYY, YYYY-MM or YYYY-MM-DD.
CREATE TABLE parsed_cv (
    tenant text NOT NULL,
    md5 text NOT NULL,
    json_resume jsonb NOT NULL,
    extra jsonb,
    schema_version text,
    parser_version text,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, md5),
    FOREIGN KEY (tenant, md5) REFERENCES document
);

CREATE TABLE parsed_cv_work (
    tenant text NOT NULL,
    md5 text NOT NULL,
    position integer NOT NULL,
    company text,
    job_title text,
    location text,
    url text,
    start_date text,
    end_date text,
    summary text,
    highlights jsonb,
    PRIMARY KEY (tenant, md5, position),
    FOREIGN KEY (tenant, md5) REFERENCES parsed_cv ON DELETE CASCADE
);

CREATE TABLE parsed_cv_education (
    tenant text NOT NULL,
    md5 text NOT NULL,
    position integer NOT NULL,
    institution text,
    area text,
    study_type text,
    url text,
    start_date text,
    end_date text,
    score text,
    courses jsonb,
    PRIMARY KEY (tenant, md5, position),
    FOREIGN KEY (tenant, md5) REFERENCES parsed_cv ON DELETE CASCADE
);

CREATE TABLE parsed_cv_skill (
    tenant text NOT NULL,
    md5 text NOT NULL,
    position integer NOT NULL,
    name text,
    level text,
    keywords jsonb,
    PRIMARY KEY (tenant, md5, position),
    FOREIGN KEY (tenant, md5) REFERENCES parsed_cv ON DELETE CASCADE
);

CREATE TABLE parsed_cv_language (
    tenant text NOT NULL,
    md5 text NOT NULL,
    position integer NOT NULL,
    language text,
    fluency text,
    PRIMARY KEY (tenant, md5, position),
    FOREIGN KEY (tenant, md5) REFERENCES parsed_cv ON DELETE CASCADE
);
