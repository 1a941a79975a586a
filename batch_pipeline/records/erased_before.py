"""People the target holds as erased: a later export that still names them does not bring them back."""

from datetime import datetime

import psycopg
from psycopg import sql

from batch_pipeline.records.target import Target, connect


def erased_before(connection_url: str, target: Target) -> dict[str, datetime]:
    """Source id -> since when, of the tenant's people in this system; empty where nothing was imported yet."""
    query = sql.SQL(
        "select source_id, erased_at from {}.person where tenant = %(tenant)s "
        "and source_system = %(source_system)s and erased_at is not null"
    ).format(sql.Identifier(target.schema))
    with connect(connection_url) as connection:
        try:
            return dict(connection.execute(query, target.parameters).fetchall())
        except psycopg.errors.UndefinedTable:
            return {}
