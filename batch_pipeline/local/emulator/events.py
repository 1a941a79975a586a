"""Events shaped like EventBridge's `Batch Inference Job State Change`."""

import random
import uuid
from typing import Any

from batch_pipeline.local.emulator.faults import EventFaults, share
from batch_pipeline.local.emulator.job import Job


def state_change(job: Job) -> dict[str, Any]:
    """The event of a job's current state. `creationTime` is prose in AWS' sample: not to be parsed."""
    created = job.submit_time
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Batch Inference Job State Change",
        "source": "aws.bedrock",
        "account": job.account,
        "time": job.entered.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": job.region,
        "resources": [job.arn],
        "detail": {
            "version": "0.0",
            "accountId": job.account,
            "batchJobName": job.name,
            "batchJobArn": job.arn,
            "batchModelId": job.model_id,
            "status": job.status,
            "failureMessage": job.message or "",
            "creationTime": f"{created:%b} {created.day}, {created:%Y}, {created:%I:%M:%S %p}",
        },
    }


def delivered(events: list[dict[str, Any]], faults: EventFaults) -> list[dict[str, Any]]:
    """The events as an unreliable bus would hand them over."""
    arrived = [event for event in events if share("event", event["id"]) >= faults.loss_rate]
    if faults.duplicate:
        arrived = [event for event in arrived for _ in range(2)]
    if faults.reorder:
        random.Random(len(arrived)).shuffle(arrived)  # noqa: S311 -- order, not a secret
    return arrived
