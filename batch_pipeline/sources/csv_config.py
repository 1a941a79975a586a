"""How a CSV export is described in a migration file."""

from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator

from batch_pipeline.sources.canonical import Entity


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableConfig(_Strict):
    """One file of the export. Whatever is not stated is matched by header and derived by value."""

    file: Annotated[str, Field(min_length=1, description="path below the export")]
    columns: Annotated[
        dict[str, str | list[str]],
        Field(description="canonical field -> header, or headers whose values are joined"),
    ] = {}
    date_formats: Annotated[
        dict[str, str],
        Field(
            description="canonical field -> year_first, day_first, month_first, text, epoch, excel or a %-format"
        ),
    ] = {}
    values: Annotated[
        dict[str, dict[str, str]],
        Field(description="canonical field -> value of the export -> canonical value"),
    ] = {}


class CsvFolderConfig(_Strict):
    """A folder of CSV files with a manifest of attachments, or a zip file of that folder."""

    kind: Literal["csv_folder"] = "csv_folder"
    path: Annotated[str, Field(min_length=1, description="folder, or .zip file of it")]
    system: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="who made the export")]
    timezone: Annotated[str, Field(description="IANA zone of times that name none")]
    encoding: Annotated[str | None, Field(description="of every file; detected when absent")] = None
    delimiter: Annotated[str | None, Field(min_length=1, max_length=1)] = None
    preset: Annotated[
        Literal["bullhorn"] | None,
        Field(description="a vendor whose columns are known; what `tables` states wins"),
    ] = None
    list_separator: Annotated[
        str | None,
        Field(min_length=1, max_length=1, description="parts several people of a note, or tags, in one cell"),
    ] = None
    tables: dict[Entity, TableConfig] = {}
    attachment_path: Annotated[
        str,
        Field(description="{path}, {attachment_id}, {application_id}, {person_id}, {file_name}, {email}"),
    ] = "{path}"
    totals: Annotated[
        dict[Entity, Annotated[int, Field(ge=0)]],
        Field(description="how many rows there are by the source's own word: compared with what was read"),
    ] = {}
    keep_columns: Annotated[
        list[str],
        Field(description="headers of sensitive columns (health, equal opportunity) to keep in raw"),
    ] = []

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if value not in available_timezones():
            raise ValueError("give an IANA time zone such as Europe/Lisbon")
        return value
