"""The environment: wrong settings name the variable, the value and the fix."""

from pathlib import Path

import pytest

from batch_pipeline.errors import ConfigurationError
from batch_pipeline.settings import Settings


def test_a_missing_database_is_asked_for_by_its_variable() -> None:
    with pytest.raises(ConfigurationError, match=r"DATABASE_URL = '\(not set\)': set it to a PostgreSQL URL"):
        Settings.from_environment({})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BATCH_PIPELINE_WORKERS", "none"),
        ("BATCH_PIPELINE_WORKERS", "0"),
        ("BATCH_PIPELINE_DASK", "scheduler:8786"),
        ("BATCH_PIPELINE_DASK", "http://scheduler:8786"),
        ("BATCH_PIPELINE_DASK", "tcp://scheduler"),
        ("BATCH_PIPELINE_POLL_SECONDS", "-1"),
        ("BATCH_PIPELINE_BUCKET_OWNER", "12"),
        ("BATCH_PIPELINE_ROLE_ARN", "arn:aws:iam::1:user/x"),
    ],
)
def test_a_wrong_value_is_named_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Settings.from_environment({"DATABASE_URL": "postgresql://h/d", variable: value})
    assert str(raised.value).startswith(f"{variable} = {value!r}: ")


def test_empty_variables_count_as_not_set() -> None:
    settings = Settings.from_environment({"DATABASE_URL": "postgresql://h/d", "BATCH_PIPELINE_BUCKET": ""})
    assert settings.bucket is None
    assert settings.migrations == Path("migrations")


def test_the_database_password_is_not_in_the_printed_settings() -> None:
    settings = Settings.from_environment({"DATABASE_URL": "postgresql://u:secret@h/d"})
    assert "secret" not in repr(settings)


def test_a_child_process_gets_the_same_settings() -> None:
    given = {
        "DATABASE_URL": "postgresql://u:secret@h/d",
        "BATCH_PIPELINE_BUCKET": "bucket",
        "BATCH_PIPELINE_HOME": "/work-files",
        "BATCH_PIPELINE_MIGRATIONS": "/files",
        "BATCH_PIPELINE_DASK": "tcp://[::1]:8786",
        "BATCH_PIPELINE_POLL_SECONDS": "0.5",
    }
    settings = Settings.from_environment(given)
    assert Settings.from_environment(settings.environment()) == settings
