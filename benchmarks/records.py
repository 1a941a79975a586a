"""Importing N applications against a bare COPY of the very same rows, in the same run.

    python -m benchmarks.records [applications]

The floor is COPY FROM of the rows as the database itself wrote them, into logged tables with the same
keys, references and indexes: no reading of Parquet, no comparison, no second table. CPU counts the
client's process and every process of the server (Linux: it is read from /proc).
"""

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import psycopg
from psycopg import sql

from batch_pipeline.local.postgres import EmbeddedPostgres
from batch_pipeline.records.importing import import_migration
from batch_pipeline.records.schema import migrate
from batch_pipeline.records.tables import TABLES
from batch_pipeline.records.target import Target, connect
from batch_pipeline.sources.canonical import SCHEMAS, Entity
from batch_pipeline.workspace import Workspace, write_parquet
from benchmarks.measure import Measured, measure, show

TARGET = Target("acme", "csv", "acme-2026")


def main(applications: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bp-bench-") as name:
        root = Path(name)
        workspace = Workspace(root / "work", "acme-2026").create()
        # Made in a process of its own: a child's peak memory begins with its parent's.
        measure("make", partial(make_migration, workspace, applications))
        with EmbeddedPostgres(root / "postgres") as server:
            postmaster = int((root / "postgres" / "cluster" / "postmaster.pid").read_text().split("\n")[0])
            ours, floor = _database(server, "ours"), _database(server, "floor")
            first = _with_server(postmaster, "import", partial(run_import, ours, workspace))
            again = _with_server(postmaster, "import again", partial(run_import, ours, workspace))
            rows = dump(ours, root / "dump")
            prepare(floor)
            bare = _with_server(postmaster, "bare COPY (floor)", partial(run_copy, floor, root / "dump"))
        total = sum(rows.values())
        print(show(f"{applications:,} applications, {total:,} rows, client and server", bare, [first, again]))
        print(f"peak MB is the client's; {total / first.cpu_seconds:,.0f} rows a CPU-s imported")


def run_import(url: str, workspace: Workspace) -> None:
    report = import_migration(url, TARGET, workspace)
    print({name: (count.inserted, count.unchanged) for name, count in report.tables.items()})


def run_copy(url: str, folder: Path) -> None:
    with connect(url) as connection:
        connection.execute("SET LOCAL search_path TO recruiting")
        for table in TABLES:
            statement = sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(sql.Identifier(table.name))
            with connection.cursor().copy(statement) as copy, (folder / table.name).open("rb") as file:
                while chunk := file.read(1 << 20):
                    copy.write(chunk)


def prepare(url: str) -> None:
    with connect(url) as connection:
        migrate(connection, TARGET.schema)


def dump(url: str, folder: Path) -> dict[str, int]:
    folder.mkdir()
    counts = {}
    with connect(url) as connection:
        connection.execute("SET LOCAL search_path TO recruiting")
        for table in TABLES:
            cursor = connection.cursor()
            statement = sql.SQL("COPY {} TO STDOUT (FORMAT csv)").format(sql.Identifier(table.name))
            with cursor.copy(statement) as copy, (folder / table.name).open("wb") as file:
                for chunk in copy:
                    file.write(chunk)
            counts[table.name] = cursor.rowcount
    return counts


def make_migration(workspace: Workspace, applications: int) -> None:
    """Three applications a person, one CV a person, two moves, every fifth with a note, every fourth judged."""
    people = max(1, applications // 3)
    jobs = max(1, applications // 100)
    number = pl.int_range(applications, dtype=pl.Int64).alias("n")
    each = pl.select(number)
    person = (pl.col("n") % people).cast(pl.String)
    owner = pl.concat_str(pl.lit("p"), person)
    application = pl.concat_str(pl.lit("a"), "n")
    md5 = person.hash(7).cast(pl.String).str.zfill(32)
    text = pl.concat_str(pl.lit("Some sentences about number "), "n", pl.lit(", which nobody wrote. "))

    def entity(name: Entity, source_id: pl.Expr, rows: pl.DataFrame, **values: pl.Expr | str) -> None:
        columns = {
            "source_id": source_id,
            "source_created_at": pl.lit("2026-01-12 08:05:00").str.to_datetime(
                "%F %T", time_unit="us", time_zone="UTC"
            ),
            "tz_assumed": pl.lit(value=False),
            "raw": pl.concat_str(
                pl.lit('{"ID":"'),
                "n",
                pl.lit('","Applied On":"01/12/2026","Owner":"Rae Recruiter","Stage":"Applied"}'),
            ),
        } | {key: value if isinstance(value, pl.Expr) else pl.lit(value) for key, value in values.items()}
        frame = rows.select(
            columns.get(key, pl.lit(None)).cast(kind).alias(key) for key, kind in SCHEMAS[name].items()
        )
        write_parquet(frame, workspace.table(name))

    entity(
        "person",
        owner,
        each.head(people),
        full_name=pl.concat_str(pl.lit("Given Family "), "n"),
        emails=pl.concat_str(
            pl.lit('[{"raw":"P'), "n", pl.lit('@Example.com","norm":"p'), "n", pl.lit('@example.com"}]')
        ),
        phones='[{"raw":"+44 20 7946 0018"}]',
    )
    entity("job", pl.concat_str(pl.lit("j"), "n"), each.head(jobs), title="Data Engineer", status="open")
    entity(
        "application",
        application,
        each,
        person_id=owner,
        job_id=pl.concat_str(pl.lit("j"), pl.col("n") % jobs),
        status="active",
    )
    moves = pl.concat([each.with_columns(stage=pl.lit(stage)) for stage in ("Applied", "Onsite")])
    entity(
        "stage_move",
        pl.concat_str(application, pl.lit("-"), "stage"),
        moves,
        application_id=application,
        to_stage=pl.col("stage"),
    )
    entity(
        "note",
        pl.concat_str(pl.lit("n"), "n"),
        each.gather_every(5),
        person_id=owner,
        application_id=application,
        body_raw=text,
        body_text=text,
        visibility="private",
    )
    entity(
        "evaluation",
        pl.concat_str(pl.lit("e"), "n"),
        each.gather_every(4),
        application_id=application,
        items='[{"question":"Q","answer":"A","rating":4}]',
    )
    entity(
        "attachment",
        pl.concat_str(pl.lit("t"), "n"),
        each,
        person_id=owner,
        application_id=application,
        file_name="CV.pdf",
        state="fetched",
    )
    attachments = pl.read_parquet(workspace.table("attachment")).with_columns(
        reason=pl.lit(None, pl.String),
        sniffed_mime=pl.lit("application/pdf"),
        bytes=pl.lit(31_222, pl.Int64),
        document_md5=each.select(md5).to_series(),
        sha256=each.select(pl.concat_str(md5, md5)).to_series(),
        parent_attachment_id=pl.lit(None, pl.String),
    )
    write_parquet(attachments, workspace.attachments)
    write_parquet(
        each.select(
            attachment_id=pl.concat_str(pl.lit("t"), "n"),
            application_id=application,
            person_id=owner,
            document_md5=md5,
            is_latest=pl.col("n") < people,
        ),
        workspace.links,
    )
    documents = each.head(people).select(
        md5=md5,
        sha256=pl.concat_str(md5, md5),
        bytes=pl.lit(31_222, pl.Int64),
        sniffed_mime=pl.lit("application/pdf"),
        pages=pl.lit(2, pl.Int32),
        text_chars=pl.lit(4000, pl.Int64),
        text_sha=pl.concat_str(md5, md5),
        verdict=pl.lit("cv"),
        reason=pl.lit(None, pl.String),
        needs_vision=pl.lit(value=False),
        record_id=pl.concat_str(pl.lit("cv-"), md5),
    )
    write_parquet(documents.sort("md5"), workspace.documents)
    bullets = '"Cut the monthly close from nine days to four","Led a team of six across two sites"'
    work = '{"name":"Contoso","position":"Engineer","startDate":"2020-01","highlights":[' + bullets + "]}"
    write_parquet(
        each.head(people).select(
            record_id=pl.concat_str(pl.lit("cv-"), md5),
            md5=md5,
            status=pl.lit("parsed"),
            reason=pl.lit(None, pl.String),
            detail=pl.lit(None, pl.String),
            json_resume=pl.concat_str(
                pl.lit('{"basics":{"name":"Given Family '),
                "n",
                pl.lit('","summary":"'),
                text,
                pl.lit(
                    f'"}},"work":[{work},{work},{work}],"education":[{{"institution":"Example University"}}],'
                ),
                pl.lit('"skills":[{"name":"Data","keywords":["SQL","Python"]},{"name":"Teams"}],'),
                pl.lit('"languages":[{"language":"German","fluency":"C1"}]}'),
            ),
            extra=pl.lit("{}"),
            schema_version=pl.lit("1"),
            parser_version=pl.lit("1"),
            model=pl.lit("some-model"),
            input_tokens=pl.lit(1500, pl.Int64),
            output_tokens=pl.lit(700, pl.Int64),
        ),
        workspace.parsed / "part-0.parquet",
    )


def _database(server: EmbeddedPostgres, name: str) -> str:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return server.url_of(name)


def _with_server(postmaster: int, name: str, work: Callable[[], object]) -> Measured:
    before = _server_cpu(postmaster)
    client = measure(name, work)
    server = _server_cpu(postmaster) - before
    print(f"{name}: client {client.cpu_seconds:.1f} CPU-s, server {server:.1f} CPU-s", flush=True)
    return Measured(name, client.cpu_seconds + server, client.peak_mb)


def _server_cpu(postmaster: int) -> float:
    """CPU of the server's processes, living and ended."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:  # ended meanwhile: the postmaster has its time
                continue
            if int(entry.name) == postmaster:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == postmaster:
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
