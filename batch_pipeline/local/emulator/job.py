"""One batch inference job as the emulator keeps it."""

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

Status = Literal[
    "Submitted",
    "Validating",
    "Scheduled",
    "InProgress",
    "Stopping",
    "Completed",
    "PartiallyCompleted",
    "Failed",
    "Stopped",
    "Expired",
]
TERMINAL: Final[frozenset[Status]] = frozenset(
    {"Completed", "PartiallyCompleted", "Failed", "Stopped", "Expired"}
)
InvocationType = Literal["InvokeModel", "Converse"]


class InputFile(BaseModel):
    """One input object, as validated."""

    key: str
    bytes: int
    records: int


class Job(BaseModel):
    """Request, state and progress. Times are UTC."""

    model_config = ConfigDict(validate_assignment=False)

    id: str
    region: str
    account: str
    request: dict[str, Any]  # the Create body as it came
    base_model: str
    timeout_hours: int
    submit_time: datetime
    expires: datetime
    status: Status = "Submitted"
    entered: datetime  # when the current state began
    modified: datetime
    end_time: datetime | None = None
    message: str | None = None
    files: list[InputFile] = []
    total: int = 0
    processed: int = 0
    succeeded: int = 0
    failed: int = 0
    written: list[int] = []  # bytes of finished output per file, so that a restart goes on there

    @property
    def arn(self) -> str:
        return f"arn:aws:bedrock:{self.region}:{self.account}:model-invocation-job/{self.id}"

    @property
    def name(self) -> str:
        return str(self.request["jobName"])

    @property
    def model_id(self) -> str:
        return str(self.request["modelId"])

    @property
    def token(self) -> str | None:
        return self.request.get("clientRequestToken")

    @property
    def invocation_type(self) -> InvocationType:
        return self.request.get("modelInvocationType") or "InvokeModel"

    @property
    def input(self) -> dict[str, Any]:
        config: dict[str, Any] = self.request["inputDataConfig"]["s3InputDataConfig"]
        return config

    @property
    def output(self) -> dict[str, Any]:
        config: dict[str, Any] = self.request["outputDataConfig"]["s3OutputDataConfig"]
        return config

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL

    def shown(self, counters: Literal["right", "zero", "missing"]) -> dict[str, Any]:
        """The members Get and List answer."""
        view: dict[str, Any] = {
            "jobArn": self.arn,
            "jobName": self.name,
            "modelId": self.model_id,
            "clientRequestToken": self.token,
            "roleArn": self.request["roleArn"],
            "status": self.status,
            "message": self.message,
            "submitTime": wire_time(self.submit_time),
            "lastModifiedTime": wire_time(self.modified),
            "endTime": wire_time(self.end_time) if self.end_time else None,
            "inputDataConfig": self.request["inputDataConfig"],
            "outputDataConfig": self.request["outputDataConfig"],
            "vpcConfig": self.request.get("vpcConfig"),
            "timeoutDurationInHours": self.timeout_hours,
            "jobExpirationTime": wire_time(self.expires),
            "modelInvocationType": self.invocation_type,
        }
        if counters != "missing":
            right = counters == "right"
            view |= {
                "totalRecordCount": self.total if right else 0,
                "processedRecordCount": self.processed if right else 0,
                "successRecordCount": self.succeeded if right else 0,
                "errorRecordCount": self.failed if right else 0,
            }
        return {name: value for name, value in view.items() if value is not None}


def wire_time(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds, as botocore reads it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
