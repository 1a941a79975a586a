"""Bedrock's job events, as EventBridge puts them into an SQS queue: they may only wake the poller early.

An event can come twice, late, out of order, before the ledger knows its job, or not at all. So it is
read for one thing, which job to ask about now; what became of that job is what the provider says when
asked. Field names: contracts/bedrock.md section 4 (`detail.batchJobArn`, not `jobArn`).
"""

import json
from typing import Any, Final

from batch_pipeline.providers.aws import client
from batch_pipeline.providers.aws_errors import mapped

_DETAIL_TYPE: Final = "Batch Inference Job State Change"
_PER_CALL: Final = 10
_CALLS: Final = 20


def named_jobs(queue_url: str) -> set[str]:
    """Provider ids of the jobs that waiting events name; at most 200 events are taken.

    Every message is deleted, one that is no such event too: nothing here could ever need it again.

    Raises:
        TransientError, TerminalError: the queue cannot be read. Polling goes on without it.
    """
    sqs = client("sqs")
    named: set[str] = set()
    with mapped("queue of job events"):
        for _ in range(_CALLS):
            messages = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=_PER_CALL).get(
                "Messages", []
            )
            if not messages:
                break
            named.update(arn for message in messages if (arn := job_of(message.get("Body", ""))))
            sqs.delete_message_batch(
                QueueUrl=queue_url,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                    for number, message in enumerate(messages)
                ],
            )
    return named


def job_of(body: str) -> str | None:
    """The job an event is about, or None where it is not about one."""
    try:
        event: Any = json.loads(body)
    except ValueError:
        return None
    if not isinstance(event, dict) or event.get("detail-type") != _DETAIL_TYPE:
        return None
    detail = event.get("detail")
    arn = detail.get("batchJobArn") if isinstance(detail, dict) else None
    return arn if isinstance(arn, str) and arn else None
