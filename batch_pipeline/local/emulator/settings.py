"""How one emulator is set up."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, model_validator

from batch_pipeline.local.emulator.faults import Faults
from batch_pipeline.local.emulator.rules import Rules, Strict


class Phases(Strict):
    """Seconds a job stays in each state. A job in progress works linearly over its time."""

    submitted: float = Field(0.2, ge=0)
    validating: float = Field(0.2, ge=0)
    scheduled: float = Field(0.2, ge=0)
    in_progress: float = Field(0.5, ge=0)
    stopping: float = Field(0.2, ge=0)


class EmulatorSettings(Strict):
    """Everything `python -m batch_pipeline.local.emulator` can be told."""

    host: str = "127.0.0.1"
    port: int = Field(8086, ge=0, le=65535, description="0: any free port")
    region: str = Field("us-east-1", description="Region of requests whose signature names none")
    account_id: str = Field("123456789012", pattern=r"^[0-9]{12}$")
    state_dir: Path | None = Field(None, description="Where jobs, tokens and meter live; null: in memory")
    clock: Literal["real", "manual"] = "real"
    phases: Phases = Field(default_factory=Phases)
    engine: Literal["reader", "openai", "fixed"] = "reader"
    base_url: str | None = Field(None, description="Of the OpenAI-compatible server, such as .../v1")
    model_name: str | None = Field(None, description="Model the OpenAI-compatible server is asked for")
    api_key: SecretStr | None = None
    engine_concurrency: int = Field(4, ge=1, description="Requests at a time to the OpenAI-compatible server")
    engine_timeout_seconds: float = Field(120, gt=0)
    rules: Rules = Field(default_factory=Rules)
    faults: Faults = Field(default_factory=Faults)

    @model_validator(mode="after")
    def _openai_has_an_address(self) -> "EmulatorSettings":
        if self.engine == "openai" and (self.base_url is None or self.model_name is None):
            raise ValueError(
                "engine openai needs base_url (such as http://127.0.0.1:11434/v1) and model_name"
            )
        return self
