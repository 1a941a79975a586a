"""What the tests of this room share: the target and a way to look into it."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

Query = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def query(postgres_url: str) -> Query:
    """Runs one statement in the records' schema."""

    def run(statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(postgres_url, options="-c search_path=recruiting") as connection:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    return run
