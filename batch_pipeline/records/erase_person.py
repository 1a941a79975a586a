"""One person's erasure from the target database: their rows stay, what is personal in them goes."""

from typing import Final, LiteralString

import psycopg
from psycopg import sql

from batch_pipeline.records.schema import migrate
from batch_pipeline.records.tables import PERSONAL
from batch_pipeline.records.target import Target, connect, lock

_THEIRS: Final[dict[str, LiteralString]] = {
    "person": "source_id = %(person)s",
    "application": "person_id = %(person)s",
    "tag": "(person_id = %(person)s or application_id in (select source_id from mine))",
    "offer": "application_id in (select source_id from mine)",
    "question_answer": "application_id in (select source_id from mine)",
    "note": "(person_id = %(person)s or application_id in (select source_id from mine))",
    "attachment": "(person_id = %(person)s or application_id in (select source_id from mine))",
    "stage_move": "application_id in (select source_id from mine)",
    "evaluation": "application_id in (select source_id from mine)",
}
_PARSED: Final = (
    "parsed_cv_work",
    "parsed_cv_education",
    "parsed_cv_skill",
    "parsed_cv_language",
    "parsed_cv",
)


def holds_person(connection_url: str, target: Target, source_id: str) -> bool:
    """Whether the tenant has a person of this id in this system, erased or not."""
    query = sql.SQL(
        "select 1 from {}.person where tenant = %(tenant)s and source_system = %(source_system)s "
        "and source_id = %(person)s"
    ).format(sql.Identifier(target.schema))
    with connect(connection_url) as connection:
        try:
            found = connection.execute(query, {**target.parameters, "person": source_id}).fetchone()
        except psycopg.errors.UndefinedTable:  # nothing was ever imported
            return False
    return found is not None


def erase_person(connection_url: str, target: Target, source_id: str) -> dict[str, int]:
    """Blank the person everywhere in one transaction; return rows changed or removed by table.

    A document, and what was read out of it, goes with its last attachment: one that another person
    sent too stays theirs. Running it again changes nothing.
    """
    with connect(connection_url) as connection:
        migrate(connection, target.schema)
    done: dict[str, int] = {}
    with connect(connection_url) as connection:
        connection.execute(sql.SQL("set local search_path to {}").format(sql.Identifier(target.schema)))
        lock(connection, target)
        parameters = {**target.parameters, "person": source_id}
        scope = sql.SQL("tenant = %(tenant)s and source_system = %(source_system)s")
        connection.execute(
            sql.SQL(
                "create temporary table mine on commit drop as select source_id from application "
                "where {} and person_id = %(person)s"
            ).format(scope),
            parameters,
        )
        done["cv_link"] = connection.execute(
            sql.SQL("delete from cv_link where {} and person_id = %(person)s").format(scope), parameters
        ).rowcount
        for table, columns in PERSONAL.items():
            gone: list[sql.Composable] = [
                sql.SQL("{} = null").format(sql.Identifier(column)) for column in columns
            ]
            if table == "person":
                gone.append(sql.SQL("erased_at = coalesce(erased_at, now())"))
            if table == "attachment":
                gone.append(
                    sql.SQL(
                        "state = 'erased', reason = null, document_md5 = null, sha256 = null, bytes = null"
                    )
                )
            done[table] = connection.execute(
                sql.SQL("update {} set {} where {} and {}").format(
                    sql.Identifier(table), sql.SQL(", ").join(gone), scope, sql.SQL(_THEIRS[table])
                ),
                parameters,
            ).rowcount
        connection.execute(
            "create temporary table unheld on commit drop as select md5 from document d "
            "where tenant = %(tenant)s and not exists (select from attachment a "
            "where a.tenant = d.tenant and a.document_md5 = d.md5)",
            parameters,
        )
        for table in (*_PARSED, "document"):
            done[table] = connection.execute(
                sql.SQL(
                    "delete from {} where tenant = %(tenant)s and md5 in (select md5 from unheld)"
                ).format(sql.Identifier(table)),
                parameters,
            ).rowcount
    return done
