"""Migration files: what is wrong is said by file, field, value and fix."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.migration import Catalogue, Migration, OnDemand, Window
from batch_pipeline.provider_settings import BedrockProvider

SMALLEST = """
tenant: acme
source: {kind: csv_folder, path: export, system: oldats, timezone: UTC}
provider: {model: anthropic.claude-3-haiku-20240307-v1:0}
"""


def written(folder: Path, content: str, name: str = "acme-2026.yaml") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def test_the_smallest_file_takes_its_key_from_its_name(tmp_path: Path) -> None:
    migration = Migration.load(written(tmp_path, SMALLEST))
    assert (migration.key, migration.tenant, migration.target.schema_name) == (
        "acme-2026",
        "acme",
        "recruiting",
    )
    assert migration.start.when == "off_peak"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tenant": "Acme Ltd"}, "tenant"),
        ({"provider": {"model": "m", "timeout_hours": 12}}, "provider.timeout_hours"),
        ({"provider": {"model": "m", "prefix": "a=b"}}, "provider.prefix"),
        ({"provider": {"model": "m", "buckt": "x"}}, "provider.buckt"),
        ({"provider": {}}, "provider.model"),
        ({"start": {"timezone": "Mars/Olympus"}}, "start.timezone"),
        ({"start": {"when": "sometimes"}}, "start.when"),
        ({"limits": {"attempts": 0}}, "limits.attempts"),
        ({"target": {"schema": "drop table"}}, "target.schema"),
        ({"source": {"path": "x"}}, "source.kind"),
        ({"provider": None}, "provider = None"),
        ({"provider": {"kind": "acme", "model": "m"}}, "provider.kind = 'acme'"),
        ({"provider": {"kind": "openai"}}, "provider.model"),
        ({"provider": {"kind": "openai", "model": "m", "base_url": "x"}}, "provider.base_url = 'x'"),
        ({"provider": {"kind": "vertex", "model": "m"}}, "provider.project"),
        ({"on_demand": {"provider": {"kind": "gemini", "modl": "m"}}}, "on_demand.provider.model"),
        ({"cascade": [{"model": "m"}, {"kind": "openai"}]}, "cascade.1.model"),
        ({"cascade": [{"kind": "acme", "model": "m"}]}, "cascade.0.kind = 'acme'"),
        ({"cascade": [{"kind": "vercel", "model": "a/b"}]}, "vercel answers batches alone"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(tmp_path: Path, change: dict[str, object], field: str) -> None:
    content = yaml.safe_load(SMALLEST) | change
    with pytest.raises(ConfigurationError, match=r"acme-2026\.yaml") as raised:
        Migration.load(written(tmp_path, yaml.safe_dump(content)))
    assert field in str(raised.value)


@pytest.mark.parametrize(
    "section",
    [
        {"kind": "openai", "model": "gpt-5-mini", "base_url": "http://127.0.0.1:8000/v1"},
        {"kind": "anthropic", "model": "claude-haiku-4-5"},
        {"kind": "gemini", "model": "gemini-2.5-flash"},
        {"kind": "vertex", "model": "gemini-2.5-flash", "project": "acme-cvs", "bucket": "acme-cvs"},
    ],
    ids=lambda section: section["kind"],
)
def test_every_provider_is_one_section_on_either_route(tmp_path: Path, section: dict[str, str]) -> None:
    content = yaml.safe_load(SMALLEST)
    both = content | {"provider": section, "on_demand": {"provider": section}}
    migration = Migration.load(written(tmp_path, yaml.safe_dump(both)))
    assert migration.provider.kind == section["kind"]
    assert migration.on_demand_provider == migration.provider
    assert migration.provider.timeout_hours >= 24
    alone = Migration.load(written(tmp_path, yaml.safe_dump(content | {"provider": section})))
    assert alone.on_demand_provider is alone.provider


@pytest.mark.parametrize("content", ["a: [", "- a\n- b\n", "", "just words"])
def test_a_file_that_is_no_mapping_is_refused_in_words(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigurationError, match=r"acme-2026\.yaml"):
        Migration.load(written(tmp_path, content))


def test_files_whose_names_are_no_keys_are_listed_apart(tmp_path: Path) -> None:
    written(tmp_path, SMALLEST)
    written(tmp_path, SMALLEST, "Acme 2026.yaml")
    catalogue = Catalogue(tmp_path)
    assert catalogue.migration_keys() == ["acme-2026"]
    assert catalogue.misnamed() == ["Acme 2026.yaml"]


@pytest.mark.parametrize("key", ["../etc", "a/b", "A", "", "x" * 64, "-a"])
def test_a_key_that_is_no_slug_never_becomes_a_path(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigurationError, match="a key has lower-case"):
        Catalogue(tmp_path).path(key)


def uncommented(block: str) -> str:
    return "\n".join(
        line.replace("# ", "", 1) if line.lstrip().startswith("# ") and ":" in line else line
        for line in block.splitlines()
        if not line.lstrip().startswith("#  ")
    )


def test_the_documented_section_of_another_provider_is_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "migration-file.md").read_text()
    block = page.split("```yaml\n", 2)[2].split("```", 1)[0]
    content = yaml.safe_load(SMALLEST)
    for text in (block, uncommented(block)):
        file = written(tmp_path, yaml.safe_dump(content | yaml.safe_load(text)))
        assert Migration.load(file).provider.kind == "openai"


def test_the_documented_file_is_valid_with_every_option_taken_in(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "migration-file.md").read_text()
    block = page.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert Migration.load(written(tmp_path, block)).tenant == "acme"
    everything = uncommented(block)
    loaded = Migration.load(written(tmp_path, everything))
    assert isinstance(loaded.provider, BedrockProvider)
    assert loaded.provider.kms_key_id == "alias/migrations"
    assert loaded.provider.quotas.max_records_per_job == 50000
    assert loaded.on_demand.model == "another-model"
    assert [section.model for section in loaded.cascade] == ["a-better-model"]
    assert loaded.redaction == ("email", "iban", "name", "national_id", "phone", "url")


def test_a_kind_of_redaction_that_is_not_known_is_refused(tmp_path: Path) -> None:
    assert Migration.load(written(tmp_path, SMALLEST)).redaction == ()
    with pytest.raises(ConfigurationError, match="redaction"):
        Migration.load(written(tmp_path, SMALLEST + "redaction: [address]\n"))


def test_the_documented_cascade_is_valid_and_asks_one_model_at_each_tier(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "migration-file.md").read_text()
    block = page.split("```yaml\n", 3)[3].split("```", 1)[0]
    content = yaml.safe_load(SMALLEST) | {"on_demand": {"model": "sees", "concurrency": 7}}
    loaded = Migration.load(written(tmp_path, yaml.safe_dump(content | yaml.safe_load(block))))
    assert loaded.at_tier(0) is loaded
    later = loaded.at_tier(1)
    assert later.provider == loaded.cascade[0]
    assert (later.on_demand_provider, later.on_demand.model, later.on_demand.concurrency) == (
        later.provider,
        None,
        7,
    )
    with pytest.raises(ConfigurationError, match="documents of migration acme-2026 are at section 2"):
        loaded.at_tier(2)


@pytest.mark.parametrize(
    ("window", "moment", "inside"),
    [
        ({"timezone": "Europe/Berlin"}, "2026-07-01T18:30:00Z", True),  # 20:30 in summer
        ({"timezone": "Europe/Berlin"}, "2026-12-01T18:30:00Z", False),  # 19:30 in winter
        ({"timezone": "America/New_York"}, "2026-12-01T10:59:00Z", True),  # 05:59
        ({"timezone": "America/New_York"}, "2026-12-01T11:00:00Z", False),
        ({"timezone": "Asia/Kolkata"}, "2026-12-01T14:30:00Z", True),  # 20:00, half an hour off
        ({"from_hour": 9, "until_hour": 17}, "2026-12-01T16:59:00Z", True),
        ({"from_hour": 9, "until_hour": 17}, "2026-12-01T17:00:00Z", False),
        ({"from_hour": 0, "until_hour": 0}, "2026-12-01T12:00:00Z", True),
    ],
)
def test_a_window_is_read_by_its_own_clock(window: dict[str, object], moment: str, inside: bool) -> None:
    assert Window.model_validate(window).contains(datetime.fromisoformat(moment)) is inside


def test_calls_without_a_window_may_be_made_at_any_hour() -> None:
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert OnDemand().may_run(noon)
    assert not OnDemand(window=Window()).may_run(noon)
