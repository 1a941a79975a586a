"""Jobs that the emulator and the ledger both know, without an export behind them."""

import uuid
from collections.abc import Sequence

from batch_pipeline.ledger import jobs, migrations
from batch_pipeline.providers.aws import clients
from batch_pipeline_tests.orchestration.place import MODEL, ROLE, Place

ACCOUNT = "bedrock:123456789012:us-east-1"


def started_jobs(place: Place, bucket: str, keys: Sequence[str], each: int) -> None:
    """`each` accepted jobs for every migration of `keys`, which have files and partitions, and are planned."""
    bedrock = clients().bedrock
    with place.ledger() as ledger, ledger.transaction():
        for key in keys:
            place.write(key)
            migrations.record(ledger, key, key, "digest")
            migrations.mark_planned(ledger, key)
            for number in range(each):
                name = f"bp-{key}-{number}"
                token = uuid.uuid4().hex
                uris = [f"s3://{bucket}/batch-pipeline/{key}/{way}/{name}/" for way in ("input", "output")]
                answer = bedrock.create_model_invocation_job(
                    jobName=name,
                    roleArn=ROLE,
                    modelId=MODEL,
                    clientRequestToken=token,
                    inputDataConfig={"s3InputDataConfig": {"s3Uri": uris[0], "s3InputFormat": "JSONL"}},
                    outputDataConfig={"s3OutputDataConfig": {"s3Uri": uris[1]}},
                    timeoutDurationInHours=24,
                    modelInvocationType="InvokeModel",
                )
                ledger.sql.execute(
                    "insert into job (migration, shard_digest, attempt, account, name, token, model, "
                    "invocation_type, input_uri, output_uri, timeout_hours, records, bytes, sent_at) "
                    "values (%s, %s, 1, %s, %s, %s, %s, 'InvokeModel', %s, %s, 24, 100, 1000, now())",
                    (key, str(number), ACCOUNT, name, token, MODEL, *uris),
                )
                [job] = [job for job in jobs.jobs(ledger, key, "intent") if job.name == name]
                jobs.accept(ledger, job, answer["jobArn"])
    place.know(*keys)
