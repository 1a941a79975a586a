-- Of the input tokens of an answer: read from a prompt cache, and written to one. Both have prices of their own.
alter table job_document add column cached_tokens bigint not null default 0;
alter table job_document add column cache_written_tokens bigint not null default 0;
alter table document add column cached_tokens bigint not null default 0;
alter table document add column cache_written_tokens bigint not null default 0;
