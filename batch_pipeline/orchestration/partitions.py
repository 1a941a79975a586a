"""One dynamic partition per customer migration; its key is the migration file's name."""

import dagster as dg

MIGRATIONS = dg.DynamicPartitionsDefinition(name="migrations")
