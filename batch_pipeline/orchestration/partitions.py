"""One dynamic partition per customer migration; its key is the migration file's name."""

import dagster as dg

NAME = "migrations"
MIGRATIONS = dg.DynamicPartitionsDefinition(name=NAME)
