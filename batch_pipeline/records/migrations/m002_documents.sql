-- Distinct files of a tenant by MD5, the attachments that hold them, and the fan-out to applications.
CREATE TABLE document (
    tenant text NOT NULL,
    md5 text NOT NULL,
    sha256 text,
    bytes bigint,
    sniffed_mime text,
    pages integer,
    text_chars bigint,
    text_sha text,
    verdict text NOT NULL,
    reason text,
    needs_vision boolean,
    record_id text,
    parse_status text,
    parse_reason text,
    parse_detail text,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, md5)
);

CREATE TABLE attachment (
    tenant text NOT NULL,
    source_system text NOT NULL,
    source_id text NOT NULL,
    source_created_at timestamptz,
    source_updated_at timestamptz,
    tz_assumed boolean,
    raw jsonb,
    person_id text,
    application_id text,
    file_name text,
    declared_type text,
    source_handle text,
    state text NOT NULL,
    reason text,
    sniffed_mime text,
    bytes bigint,
    document_md5 text,
    sha256 text,
    parent_attachment_id text,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, source_id),
    FOREIGN KEY (tenant, source_system, person_id) REFERENCES person,
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application,
    FOREIGN KEY (tenant, document_md5) REFERENCES document,
    FOREIGN KEY (tenant, source_system, parent_attachment_id) REFERENCES attachment
);
CREATE INDEX attachment_person ON attachment (person_id, tenant);
CREATE INDEX attachment_application ON attachment (application_id, tenant);
CREATE INDEX attachment_document ON attachment (document_md5, tenant);
CREATE INDEX attachment_parent ON attachment (parent_attachment_id, tenant)
    WHERE parent_attachment_id IS NOT NULL;

CREATE TABLE cv_link (
    tenant text NOT NULL,
    source_system text NOT NULL,
    attachment_id text NOT NULL,
    application_id text NOT NULL,
    person_id text,
    document_md5 text NOT NULL,
    is_latest boolean NOT NULL,
    migration text NOT NULL,
    first_imported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, source_system, attachment_id, application_id),
    FOREIGN KEY (tenant, source_system, attachment_id) REFERENCES attachment,
    FOREIGN KEY (tenant, source_system, application_id) REFERENCES application,
    FOREIGN KEY (tenant, source_system, person_id) REFERENCES person,
    FOREIGN KEY (tenant, document_md5) REFERENCES document
);
CREATE INDEX cv_link_application ON cv_link (application_id, tenant);
CREATE INDEX cv_link_person ON cv_link (person_id, tenant);
CREATE INDEX cv_link_document ON cv_link (document_md5, tenant);
