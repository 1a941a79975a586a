"""Erased people: whatever the export still says about them is emptied before it is sent."""

from dataclasses import dataclass

import polars as pl

from batch_pipeline.records.tables import PERSONAL
from batch_pipeline.workspace import Workspace


@dataclass(frozen=True)
class Erased:
    """Ids of the people the source erased, and of their applications."""

    people: pl.Series
    applications: pl.Series

    @classmethod
    def of(cls, workspace: Workspace) -> "Erased":
        people = (
            pl.scan_parquet(workspace.table("person"))
            .filter(pl.col("erased_at").is_not_null())
            .select("source_id")
            .collect()["source_id"]
        )
        applications = (
            pl.scan_parquet(workspace.table("application"))
            .filter(pl.col("person_id").is_in(people.implode()))
            .select("source_id")
            .collect()["source_id"]
            if len(people)
            else pl.Series("source_id", [], dtype=pl.String)
        )
        return cls(people, applications)

    def empty(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of one table with the personal columns of erased people null."""
        if table not in PERSONAL or not len(self.people):
            return frame
        theirs = pl.lit(value=False)
        for column, ids in self._owners(table):
            theirs = theirs | pl.col(column).is_in(ids.implode()).fill_null(value=False)
        return frame.with_columns(pl.when(~theirs).then(pl.col(name)).alias(name) for name in PERSONAL[table])

    def _owners(self, table: str) -> list[tuple[str, pl.Series]]:
        if table == "person":
            return [("source_id", self.people)]
        if table == "application":
            return [("source_id", self.applications)]
        if table in {"tag", "note", "attachment"}:
            return [("person_id", self.people), ("application_id", self.applications)]
        return [("application_id", self.applications)]
