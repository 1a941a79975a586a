"""A migration's file (YAML): the only configuration of a migration, and the catalogue of them.

The file's name is the migration's key: `migrations/acme-2026.yaml` is migration `acme-2026`. The key
becomes a partition, a job name and an object prefix, so it is a slug that says nothing personal.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, available_timezones

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.privacy.placeholders import Kind
from batch_pipeline.provider_settings import BATCH_ALONE, KINDS, ProviderSection, Section

KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class Window(Section):
    """Hours of every day, by the clock of one zone; over midnight where it starts later than it ends."""

    timezone: str = "UTC"
    from_hour: Annotated[int, Field(ge=0, le=23)] = 20
    until_hour: Annotated[int, Field(ge=0, le=23)] = 6

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        if zone not in available_timezones():
            raise ValueError("name an IANA time zone such as Europe/Berlin")
        return zone

    def contains(self, now: datetime) -> bool:
        """Whether `now` (aware) lies inside; equal hours mean the whole day."""
        hour = now.astimezone(ZoneInfo(self.timezone)).hour
        if self.from_hour == self.until_hour:
            return True
        if self.from_hour < self.until_hour:
            return self.from_hour <= hour < self.until_hour
        return hour >= self.from_hour or hour < self.until_hour


class OnDemand(Section):
    """The route of what cannot go in batch: scans, and what is left under the minimum."""

    model: str | None = None
    provider: Annotated[
        ProviderSection | None, Field(description="another provider for single calls; its model counts")
    ] = None
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    tokens_per_minute: Annotated[int, Field(ge=1000)] = 200_000
    window: Annotated[Window | None, Field(description="calls are made in these hours only")] = None

    def may_run(self, now: datetime) -> bool:
        return self.window is None or self.window.contains(now)


class Start(Window):
    """When the migration may start: at once, in its nightly window, or only by hand."""

    when: Literal["at_once", "off_peak", "by_hand"] = "off_peak"


class Limits(Section):
    """How often a record is tried before it counts as failed, and how long it waits in between."""

    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    backoff_minutes: Annotated[
        float,
        Field(ge=0, le=1440, description="pause before a passing error is tried again, doubled each time"),
    ] = 5.0

    def pause_seconds(self, attempts: int) -> float:
        """Before the next attempt of a record that was tried `attempts` times; a day at the most."""
        return min(86_400.0, 60.0 * self.backoff_minutes * 2 ** (attempts - 1)) if attempts else 0.0


class Ocr(Section):
    """Scans are read on this machine first; what cannot be read well is still shown to a model."""

    engine: Literal["tesseract"] = "tesseract"
    languages: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[a-z]{3}(_[a-z]+)?$")], ...],
        Field(min_length=1, description="of the scans, by Tesseract's names"),
    ] = ("eng",)


class TargetDatabase(Section):
    schema_name: Annotated[str, Field(alias="schema", pattern=r"^[a-z_][a-z0-9_]{0,62}$")] = "recruiting"


class Migration(Section):
    """One customer's move, as its file says it."""

    key: str
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    source: dict[str, Any]
    provider: ProviderSection
    on_demand: OnDemand = OnDemand()
    cascade: Annotated[
        tuple[ProviderSection, ...],
        Field(
            max_length=8, description="models that are asked, in turn, what the one before failed to answer"
        ),
    ] = ()
    start: Start = Start()
    limits: Limits = Limits()
    ocr: Ocr | None = None
    person_files: Annotated[
        Literal["all", "latest_application"],
        Field(
            description="whose CV a file is that hangs on a person: of all their applications, or the newest"
        ),
    ] = "all"
    reuse_identical_text: Annotated[
        bool,
        Field(description="CVs of one text in several files are asked about once; each keeps its own row"),
    ] = False
    redaction: Annotated[
        tuple[Kind, ...],
        Field(description="what is taken out of every text before it is sent, and put back into the answer"),
    ] = ()
    target: TargetDatabase = TargetDatabase()
    folder: Annotated[Path, Field(description="where the file lies; relative paths start here")]
    digest: Annotated[str, Field(description="SHA-256 of the file as read")]

    @field_validator("key")
    @classmethod
    def _slug(cls, key: str) -> str:
        if not KEY.fullmatch(key):
            raise ValueError("a key has lower-case letters, digits and dashes, at most 63")
        return key

    @field_validator("redaction")
    @classmethod
    def _in_one_order(cls, kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
        return tuple(sorted(set(kinds)))

    @property
    def source_system(self) -> str:
        """The system the export comes from: with the tenant, what its ids are unique in."""
        return str(self.source.get("system", self.source["kind"]))

    @property
    def on_demand_provider(self) -> ProviderSection:
        """Who answers single calls: the batch's provider where the file names no other."""
        return self.on_demand.provider or self.provider

    def at_tier(self, tier: int) -> Self:
        """The same migration asking the model of this tier alone, on both routes: 0 is `provider`, 1 the first of
        the cascade.

        Raises:
            ConfigurationError: the cascade is not that long (any more).
        """
        if tier == 0:
            return self
        if tier > len(self.cascade):
            raise ConfigurationError(
                "cascade",
                f"{len(self.cascade)} sections",
                f"documents of migration {self.key} are at section {tier}: put it back until they have ended",
            )
        single = self.on_demand.model_copy(update={"model": None, "provider": None})
        return self.model_copy(
            update={"provider": self.cascade[tier - 1], "on_demand": single, "cascade": ()}
        )

    @model_validator(mode="after")
    def _source_kind(self) -> Self:
        if "kind" not in self.source:
            raise ValueError("source.kind is missing: give one of csv_folder, greenhouse, lever, workable")
        return self

    @field_validator("cascade")
    @classmethod
    def _takes_what_no_job_can_hold(cls, cascade: tuple[ProviderSection, ...]) -> tuple[ProviderSection, ...]:
        for section in cascade:
            if section.kind in BATCH_ALONE:
                raise ValueError(
                    f"{section.kind} answers batches alone, and a later model answers scans and small rests by "
                    "single calls: give another provider, or name it as `provider`"
                )
        return cascade

    @model_validator(mode="after")
    def _single_calls(self) -> Self:
        if self.on_demand_provider.kind in BATCH_ALONE:
            raise PydanticCustomError(
                "batch_alone",
                "{kind} answers batches alone: give kind and model of another provider here, for scans and for "
                "what no job can hold",
                {"kind": self.on_demand_provider.kind},
            )
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read one file.

        Raises:
            ConfigurationError: names the file, the field, the value and what would be right.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise _no_such_file(path) from None
        return cls.parse(data, path)

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Self:
        """The content of the file at `path`; errors name that file."""
        try:
            content = yaml.safe_load(data)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}" if mark else "the file"
            raise ConfigurationError(
                path.name, where, "is no YAML: check the indentation and quotes"
            ) from None
        if not isinstance(content, dict):
            raise ConfigurationError(path.name, type(content).__name__, "write the settings as `name: value`")
        try:
            return cls.model_validate(
                {
                    **content,
                    "key": path.stem,
                    "folder": path.parent.absolute(),
                    "digest": hashlib.sha256(data).hexdigest(),
                }
            )
        except ValidationError as error:
            field, value, fix = _said(error.errors()[0])
            raise ConfigurationError(f"{path.name}: {field}", value, fix) from None


def _said(error: ErrorDetails) -> tuple[str, object, str]:
    """Field as the file writes it, its value, and what would be right."""
    value = "(not set)" if error["type"] == "missing" else error["input"]
    where = list(error["loc"])
    for at, part in enumerate(where):
        if (part == "provider" or where[:at] == ["cascade"]) and where[at + 1 :] and where[at + 1] in KINDS:
            del where[at + 1]  # pydantic names which kind of section it read; the file does not
    if error["type"] == "unknown_kind":
        where.append("kind")
        value = value.get("kind") if isinstance(value, dict) else value
    if error["type"] == "batch_alone":
        where, value = ["on_demand", "provider"], error["ctx"]["kind"]
    if isinstance(value, dict | list):
        value = "(a section)"  # a message shows one value, never a whole file
    return ".".join(map(str, where)) or "the file", value, error["msg"]


def _no_such_file(path: Path) -> ConfigurationError:
    fix = f"there is no {path.name} in {path.parent}: `batch-pipeline migration new`"
    return ConfigurationError("migration", path.stem, fix)


@dataclass(frozen=True)
class Catalogue:
    """The migration files of one folder."""

    folder: Path

    def migration_keys(self) -> list[str]:
        """Keys of all files whose name is a legal key, sorted."""
        return sorted(path.stem for path in self.folder.glob("*.yaml") if KEY.fullmatch(path.stem))

    def misnamed(self) -> list[str]:
        """Names of files that cannot be migrations because their name is no key."""
        return sorted(path.name for path in self.folder.glob("*.yaml") if not KEY.fullmatch(path.stem))

    def path(self, key: str) -> Path:
        if not KEY.fullmatch(key):
            raise ConfigurationError(
                "migration", key, "a key has lower-case letters, digits and dashes, at most 63"
            )
        return self.folder / f"{key}.yaml"

    def require(self, key: str) -> Path:
        """The file of this migration. Raises ConfigurationError where there is none."""
        path = self.path(key)
        if not path.exists():
            raise _no_such_file(path)
        return path

    def load(self, key: str) -> Migration:
        return Migration.load(self.path(key))
