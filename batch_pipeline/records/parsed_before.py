"""CVs of this tenant that an earlier migration had read: a model is never paid for them again."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
from psycopg import sql

from batch_pipeline.records.target import Target, connect

COLUMNS: Final = (
    "md5",
    "json_resume",
    "extra",
    "schema_version",
    "parser_version",
    "model",
    "input_tokens",
    "output_tokens",
)
_CHUNK: Final = 5_000


def parsed_before(connection_url: str, target: Target, md5s: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows (COLUMNS; the two JSON values as text) of those `md5s` the tenant has a parsed CV of.

    Nothing where the target has no tables yet. A few thousand rows in memory at a time.
    """
    query = sql.SQL(
        "select md5, json_resume::text, extra::text, schema_version, parser_version, model, input_tokens, "
        "output_tokens from {schema}.parsed_cv where tenant = %s and md5 = any(%s) order by md5"
    ).format(schema=sql.Identifier(target.schema))
    with connect(connection_url) as connection:
        for start in range(0, len(md5s), _CHUNK):
            try:
                rows = connection.execute(
                    query, (target.tenant, list(md5s[start : start + _CHUNK]))
                ).fetchall()
            except psycopg.errors.UndefinedTable:
                return
            yield from rows
