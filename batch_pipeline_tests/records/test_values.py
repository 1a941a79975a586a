"""Any text, JSON and time a source can hold arrives as it was, or is counted as changed."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batch_pipeline.records.cleaning import Cleaned, clean, storable
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.target import Target
from batch_pipeline.records.verify import verify
from batch_pipeline.sources.canonical import UTC as UTC_TIME
from batch_pipeline_tests.records.conftest import Query
from batch_pipeline_tests.records.rows import NOON, RESUME, answer, small_migration, source_row, write

TARGET = Target("acme", "csv", "acme-2026")
NASTY = [
    "",
    " ",
    "NULL",
    "null",
    "\\N",
    "\\.",
    "\n\\.\n",
    "\\",
    '"',
    '""',
    "'",
    ",",
    ";",
    "\t",
    "\r",
    "\r\n",
    "a\nb",
    "\u2028\u2029\x85\x0b\x0c\x1c",
    "\ufeff",
    "\x01\x7f",
    "ß İ ı ﷺ 😀 \U0001f469\u200d\U0001f467 \U0010ffff",
    "\u202ertl\u202c",
    "=1+1",
]


@pytest.mark.servers
def test_nasty_texts_arrive_unchanged(postgres_url: str, tmp_path: Path, query: Query) -> None:
    rows = small_migration()
    rows["job"] = [source_row("j1", title="first")] + [
        source_row(f"n{number}", title=text, raw=json.dumps({"Title": text}))
        for number, text in enumerate(NASTY)
    ]
    workspace = write(tmp_path, rows)
    import_migration(postgres_url, TARGET, workspace)
    held: dict[str, str] = dict(query("SELECT source_id, title FROM job"))
    assert [held[f"n{number}"] for number in range(len(NASTY))] == NASTY
    assert dict(query("SELECT source_id, raw ->> 'Title' FROM job WHERE source_id <> 'j1'")) == {
        f"n{number}": text for number, text in enumerate(NASTY)
    }
    assert verify(postgres_url, TARGET, workspace).passed


@pytest.mark.servers
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20),
    times=st.lists(st.datetimes(timezones=st.just(UTC)), min_size=1, max_size=20),
)
def test_any_text_and_time_verify_after_import(
    postgres_url: str, tmp_path: Path, texts: list[str], times: list[datetime]
) -> None:
    rows = small_migration()
    rows["job"] = [source_row("j1", title="first")] + [
        source_row(
            f"n{number}", title=text, raw=json.dumps({text: text}), opened_at=times[number % len(times)]
        )
        for number, text in enumerate(texts)
    ]
    workspace = write(tmp_path, rows)
    report = import_migration(postgres_url, TARGET, workspace)
    assert (report.cleaned.nul_characters > 0) == any("\x00" in text for text in texts)
    assert verify(postgres_url, TARGET, workspace).differences == []


@pytest.mark.servers
def test_what_postgresql_cannot_hold_is_taken_out_and_counted(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    rows = small_migration()
    rows["job"][0] |= {"title": "Data\x00 Engineer", "raw": '{"a\\u0000": "\\ud83d half", "b": "\\\\u0000"}'}
    rows["parsed"][0] = answer("cv", RESUME | {"work": [{"name": "Con\x00toso\ud800"}]})
    rows["parsed"][0]["json_resume"] = json.dumps(RESUME | {"work": [{"name": "Con\x00toso\ud800"}]})
    report = import_migration(postgres_url, TARGET, write(tmp_path, rows))
    assert report.cleaned == Cleaned(nul_characters=1, json_escapes=2)
    assert query("SELECT title, raw FROM job") == [("Data Engineer", {"a": " half", "b": "\\u0000"})]
    assert query("SELECT company FROM parsed_cv_work") == [("Contoso",)]


@pytest.mark.servers
def test_times_at_the_edges_arrive_and_those_beyond_are_counted(
    postgres_url: str, tmp_path: Path, query: Query
) -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    odd = datetime(1883, 11, 18, 12, 3, 57, 999999, tzinfo=UTC)
    rows = small_migration()
    rows["job"] = [
        source_row(f"j{number}", title="t", opened_at=moment)
        for number, moment in enumerate([first, last, odd, NOON, NOON, NOON, NOON])
    ]
    workspace = write(tmp_path, rows)
    beyond = pl.Series([-(2**62), 2**62, -62_135_596_800_000_001, 253_402_300_800_000_000]).cast(UTC_TIME)
    jobs = pl.read_parquet(workspace.table("job"))
    jobs.with_columns(opened_at=pl.concat([jobs["opened_at"][:3], beyond])).write_parquet(
        workspace.table("job")
    )
    report = import_migration(postgres_url, TARGET, workspace)
    assert report.cleaned.times_out_of_range == 4
    assert [row[0] for row in query("SELECT opened_at FROM job ORDER BY source_id")] == [
        first,
        last,
        odd,
        *[None] * 4,
    ]
    assert import_migration(postgres_url, TARGET, workspace).changed == 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.lists(json_values, min_size=1, max_size=10))
def test_repaired_json_says_the_same_without_the_unstorable(values: list[Any]) -> None:
    texts = [json.dumps(value) for value in values]
    values = [json.loads(text) for text in texts]  # two halves side by side are one character by now
    frame = pl.DataFrame({"raw": texts})
    cleaned, counts = clean(frame)
    assert [json.loads(text) for text in cleaned["raw"]] == [storable(value) for value in values]
    assert counts.json_escapes == sum(storable(value) != value for value in values)


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=10))
def test_only_nul_is_taken_from_text(texts: list[str | None]) -> None:
    cleaned, counts = clean(pl.DataFrame({"title": texts}, schema={"title": pl.String}))
    assert cleaned["title"].to_list() == [text and text.replace("\x00", "") for text in texts]
    assert counts.nul_characters == sum("\x00" in (text or "") for text in texts)
