"""`python -m batch_pipeline.local.emulator`: the emulator from the command line."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from batch_pipeline.local.emulator.faults import Faults
from batch_pipeline.local.emulator.rules import Rules
from batch_pipeline.local.emulator.server import serve
from batch_pipeline.local.emulator.settings import EmulatorSettings, Phases


def parser() -> argparse.ArgumentParser:
    """Options are named like the fields of EmulatorSettings; what is not given keeps its default."""
    options = argparse.ArgumentParser(
        prog="python -m batch_pipeline.local.emulator",
        description="A local Amazon Bedrock for batch inference: strict, faulty on demand, free of charge.",
        argument_default=argparse.SUPPRESS,
    )
    options.add_argument("--host", help="address to bind (127.0.0.1)")
    options.add_argument("--port", type=int, help="port, 0 for a free one (8086)")
    options.add_argument("--region", help="region of requests that name none (us-east-1)")
    options.add_argument("--account-id", help="twelve digits (123456789012)")
    options.add_argument("--state-dir", type=Path, help="folder to keep jobs, tokens and meter in (memory)")
    options.add_argument("--clock", choices=("real", "manual"), help="manual stands still until moved (real)")
    for phase in Phases.model_fields:
        options.add_argument(
            f"--{phase.replace('_', '-')}-seconds", type=float, help=f"how long a job is in {phase}"
        )
    options.add_argument("--engine", choices=("reader", "openai", "fixed"), help="what answers (reader)")
    options.add_argument(
        "--base-url", help="of the OpenAI-compatible server, such as http://127.0.0.1:11434/v1"
    )
    options.add_argument("--model-name", help="model the OpenAI-compatible server is asked for")
    options.add_argument("--api-key", help="for the OpenAI-compatible server")
    options.add_argument("--engine-concurrency", type=int, help="requests to it at a time (4)")
    options.add_argument("--engine-timeout-seconds", type=float, help="for one request to it (120)")
    options.add_argument("--rules", type=Path, help="JSON file: limits, models, unknowns")
    options.add_argument("--faults", type=Path, help="JSON file: faults in force from the start")
    return options


def settings_from(arguments: Sequence[str] | None = None) -> EmulatorSettings:
    """Settings of a command line; a value that does not fit ends the process with a message."""
    options = parser()
    given: dict[str, Any] = vars(options.parse_args(arguments))
    phases = {
        phase: given.pop(f"{phase}_seconds") for phase in Phases.model_fields if f"{phase}_seconds" in given
    }
    try:
        if "rules" in given:
            given["rules"] = Rules.model_validate_json(given["rules"].read_bytes())
        if "faults" in given:
            given["faults"] = Faults.model_validate_json(given["faults"].read_bytes())
        return EmulatorSettings(phases=Phases(**phases), **given)
    except (ValidationError, OSError) as error:
        options.error(str(error))


if __name__ == "__main__":
    serve(settings_from())
