"""How an export of API payloads, saved or still to be listed, is described in a migration file."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.sources.canonical import Entity


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ApiConfig(_Strict):
    """Read from the live system. The key is never in the file, only the variable that holds it."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$")]
    key_env: Annotated[
        str, Field(pattern=r"^[A-Z][A-Z0-9_]*$", description="environment variable with the key")
    ]
    page_size: Annotated[int, Field(ge=1, le=500)] = 100
    requests_per_second: Annotated[float, Field(gt=0, le=1000)]
    concurrency: Annotated[int, Field(ge=1, le=16, description="requests under way at once")] = 4
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 60
    max_file_bytes: Annotated[int, Field(ge=1)] = 100 << 20
    without: Annotated[
        list[str], Field(description="lists left out, for example because the key may not read them")
    ] = []


class PayloadConfig(_Strict):
    """A folder (or .zip) of saved payloads with an optional folder of files, or an API."""

    kind: str
    system: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="who made the export")]
    path: Annotated[str | None, Field(min_length=1)] = None
    attachments: Annotated[
        str | None, Field(min_length=1, description="folder of files; relative to `path`")
    ] = None
    attachment_path: Annotated[
        str | None,
        Field(
            description="{attachment_id}, {application_id}, {person_id}, {file_name}; found when not stated"
        ),
    ] = None
    expired_consent: Annotated[
        Literal["restricted", "erased"],
        Field(description="people whose consent ended: kept without files, or emptied like erased ones"),
    ] = "restricted"
    totals: Annotated[
        dict[Entity, Annotated[int, Field(ge=0)]],
        Field(description="how many rows there are by the source's own word: compared with what was read"),
    ] = {}
    keep_fields: Annotated[
        list[str], Field(description="sensitive fields (health, equal opportunity) to keep in raw")
    ] = []

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        api = getattr(self, "api", None)
        if (self.path is None) == (api is None):
            raise ValueError("give either `path` (saved payloads) or `api`")
        if self.path is None and (self.attachments or self.attachment_path):
            raise ValueError("`attachments` goes with `path`: an API's files are fetched when listed")
        return self

    @property
    def files_folder(self) -> Path | None:
        """Where the files of saved payloads lie."""
        if self.path is None or self.attachments is None:
            return None
        return Path(self.path) / self.attachments


Config = TypeVar("Config", bound=BaseModel)


def validated(model: type[Config], settings: dict[str, Any]) -> Config:
    """Raises ConfigurationError naming the first wrong field."""
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(["source", *(str(part) for part in first["loc"])])
        value = "(not set)" if first["type"] == "missing" else first["input"]
        shown = value if isinstance(value, str | int | float | bool) else type(value).__name__
        raise ConfigurationError(place, shown, first["msg"]) from None
