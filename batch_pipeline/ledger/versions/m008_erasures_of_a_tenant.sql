-- An erasure is of a tenant's person in one source system, whichever migration it was asked of: every later
-- reading of that tenant and system leaves them out. A row of before that nobody can say the
-- system of counts for every system of its tenant, until its own migration is read again and says it.
alter table erased_person drop constraint erased_person_pkey;
alter table erased_person add column tenant text;
alter table erased_person add column source_system text;
update erased_person e set tenant = m.tenant, source_system = m.report #>> '{target,system}' from migration m where m.key = e.migration;
alter table erased_person alter column tenant set not null;
create unique index on erased_person (migration, tenant, source_system, source_id);
create index on erased_person (tenant, source_id);
