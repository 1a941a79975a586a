"""What a migration did not bring over as a CV, row by row: ids, reasons, nobody's name."""

from dataclasses import dataclass

import psycopg
from psycopg import sql

from batch_pipeline.records.target import Target, connect


@dataclass(frozen=True)
class Shortfall:
    """One attachment that became no CV. `application_id` is null where it hangs on the person."""

    attachment_id: str
    application_id: str | None
    what: str  # missing, download_failed, erased, quarantined, not_a_cv, failed
    reason: str | None


def shortfalls(connection_url: str, target: Target) -> list[Shortfall]:
    """Every attachment of the migration without a parsed CV, by what and reason, then by id.

    An empty list where nothing was imported yet.
    """
    query = sql.SQL(
        """
        select a.source_id, a.application_id,
               case when a.state <> 'fetched' then a.state
                    when d.verdict <> 'cv' then d.verdict else 'failed' end as what,
               case when a.state <> 'fetched' then a.reason
                    when d.verdict <> 'cv' then d.reason else d.parse_reason end as reason
        from {schema}.attachment a
        left join {schema}.document d on d.tenant = a.tenant and d.md5 = a.document_md5
        where a.tenant = %(tenant)s and a.source_system = %(source_system)s and a.migration = %(migration)s
          and (a.state <> 'fetched' or d.verdict <> 'cv' or d.parse_status is distinct from 'parsed')
        order by 3, 4 nulls first, 1
        """
    ).format(schema=sql.Identifier(target.schema))
    with connect(connection_url) as connection:
        try:
            rows = connection.execute(query, target.parameters).fetchall()
        except psycopg.errors.UndefinedTable:
            return []
    return [Shortfall(*row) for row in rows]
