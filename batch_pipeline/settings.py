"""The environment as typed settings: addresses, secrets and folders, validated at start.

AWS itself is configured by its own standard variables (`AWS_PROFILE`, `AWS_REGION`,
`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL_BEDROCK`, `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`, ...), which
boto3 reads; none of ours replaces them.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from batch_pipeline.errors import ConfigurationError

_VARIABLES = {
    "database_url": "DATABASE_URL",
    "home": "BATCH_PIPELINE_HOME",
    "migrations": "BATCH_PIPELINE_MIGRATIONS",
    "workers": "BATCH_PIPELINE_WORKERS",
    "dask_scheduler": "BATCH_PIPELINE_DASK",
    "poll_seconds": "BATCH_PIPELINE_POLL_SECONDS",
    "events_queue": "BATCH_PIPELINE_EVENTS_QUEUE",
    "bucket": "BATCH_PIPELINE_BUCKET",
    "bucket_owner": "BATCH_PIPELINE_BUCKET_OWNER",
    "role_arn": "BATCH_PIPELINE_ROLE_ARN",
}

_SCHEDULER = re.compile(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:]+\]):\d{1,5}")


class Settings(BaseModel):
    """What every command and the code location read from the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database_url: Annotated[
        SecretStr, Field(description="PostgreSQL 14 or newer: the ledger and the import target")
    ]
    home: Annotated[Path, Field(description="intermediate files, private to their owner")] = Path(
        ".batch_pipeline"
    )
    migrations: Annotated[Path, Field(description="folder of migration files")] = Path("migrations")
    workers: Annotated[int, Field(ge=1, le=256, description="child processes for hashing and text")] = (
        os.cpu_count() or 1
    )
    dask_scheduler: Annotated[
        str | None, Field(description="Dask scheduler whose workers hash and read texts in their place")
    ] = None
    poll_seconds: Annotated[
        float, Field(ge=0.2, le=3600, description="pause between two looks at open jobs")
    ] = 60.0
    events_queue: Annotated[
        str | None,
        Field(pattern=r"^https?://.+", description="SQS queue of Bedrock's job events; never needed"),
    ] = None
    bucket: Annotated[str | None, Field(description="bucket of migrations that name none")] = None
    bucket_owner: Annotated[
        str | None, Field(pattern=r"^\d{12}$", description="account that must own the bucket")
    ] = None
    role_arn: Annotated[
        str | None,
        Field(pattern=r"^arn:aws(-[^:]+)?:iam::\d{12}:role/.+$", description="role Bedrock assumes"),
    ] = None

    @field_validator("dask_scheduler")
    @classmethod
    def _an_address(cls, value: str | None) -> str | None:
        if value is not None and not _SCHEDULER.fullmatch(value):
            raise PydanticCustomError(
                "address",
                "give the address `dask scheduler` prints, such as tcp://scheduler:8786 or tls://scheduler:8786, "
                "or leave it empty for processes on this machine",
            )
        return value

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings.

        Raises:
            ConfigurationError: a variable is missing or has a value that cannot work.
        """
        given = {
            name: environment[variable] for name, variable in _VARIABLES.items() if environment.get(variable)
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            field = str(first["loc"][0])
            raise ConfigurationError(
                _VARIABLES[field],
                "(not set)" if first["type"] == "missing" else given.get(field, ""),
                first["msg"]
                if first["type"] != "missing"
                else "set it to a PostgreSQL URL such as postgresql://user:password@host/database, "
                "or use `batch-pipeline demo` or `up`, which bring their own",
            ) from None

    def environment(self) -> dict[str, str]:
        """The variables that give a child process these same settings."""
        values = self.model_dump(exclude_none=True)
        values["database_url"] = self.database_url.get_secret_value()
        values["home"] = self.home.absolute()
        values["migrations"] = self.migrations.absolute()
        return {_VARIABLES[name]: str(value) for name, value in values.items()}
