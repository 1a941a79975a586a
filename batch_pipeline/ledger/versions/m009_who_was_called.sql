-- Jobs say whose account they went to; from here on single calls do too. Older ones are not known.
alter table on_demand_call add column account text;
