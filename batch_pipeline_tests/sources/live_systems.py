"""Systems with five people each, spoken to over HTTP: their lists, their files, and a reading of them."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from batch_pipeline.sources.base import SourceReport
from batch_pipeline.sources.payload_source import FILES, PayloadSource
from batch_pipeline_tests.sources.api_server import (
    System,
)
from batch_pipeline_tests.sources.payload_exports import NOW, source

PDF = b"%PDF-1.4\n" + b"x" * 500

T0 = 1_768_205_100_000

PEOPLE = 5


def fill_v1(system: System) -> None:
    applications = [
        {
            "id": 10 + number,
            "candidate_id": number,
            "prospect": False,
            "applied_at": "2026-01-02T08:00:00Z",
            "status": "active",
            "jobs": [{"id": 100, "name": "Engineer"}],
            "attachments": [
                {
                    "filename": "CV.pdf",
                    "type": "resume",
                    "created_at": "2026-01-02T08:00:00Z",
                    "url": f"{{{{f{number}.pdf}}}}",
                }
            ],
        }
        for number in range(PEOPLE)
    ]
    system.lists |= {
        "jobs": [{"id": 100, "name": "Engineer", "status": "open"}],
        "candidates": [{"id": number, "first_name": f"P{number}"} for number in range(PEOPLE)],
        "applications": applications,
        "scorecards": [{"id": 1, "application_id": 10, "overall_recommendation": "yes"}],
        "offers": [],
        "job_stages": [{"id": 50, "name": "Applied", "job_id": 100, "priority": 0}],
    }
    body = "P was moved into Offer for Engineer on 01/19/2026 by Rae"
    for number in range(PEOPLE):
        activity = {"id": 7, "created_at": "2026-01-19T10:00:00Z", "body": body}
        system.owned[f"candidates/{number}/activity_feed"] = {"notes": [], "activities": [activity]}
        system.objects[f"applications/{10 + number}"] = applications[number]


def fill_v3(system: System) -> None:
    system.lists |= {
        "jobs": [{"id": 100, "name": "Engineer", "status": "open"}],
        "candidates": [{"id": number, "first_name": f"P{number}"} for number in range(PEOPLE)],
        "applications": [
            {"id": 10 + number, "candidate_id": number, "job_id": 100, "status": "in_process"}
            for number in range(PEOPLE)
        ],
        "job_interview_stages": [{"id": 51, "name": "Offer"}],
        "application_stages": [
            {"id": number, "application_id": 10 + number, "job_interview_stage_id": 51, "entered_at": at}
            for number, at in enumerate([*["2026-01-19T10:00:00Z"] * 4, None])
        ],
        "notes": [{"id": 1, "candidate_id": 1, "body": "x", "visibility": "admin_only", "type": "NOTE"}],
        "scorecards": [{"id": 5, "application_id": 10, "candidate_rating": "yes", "status": "complete"}],
        "scorecard_questions": [{"id": 1, "question": "Notice?", "answer_type": "text"}],
        "scorecard_question_answers": [
            {"id": number, "scorecard_id": 5, "scorecard_question_id": 1, "answer": f"{number} months"}
            for number in range(3)
        ],
        "attachments": [
            {
                "id": 20 + number,
                "application_id": 10 + number,
                "candidate_id": number,
                "filename": "CV.pdf",
                "type": "resume",
                "url": f"{{{{f{number}.pdf}}}}",
            }
            for number in range(PEOPLE)
        ],
    }


def fill_lever(system: System) -> None:
    names = [f"o{number}" for number in range(PEOPLE)]
    system.lists |= {
        "postings": [{"id": "p1", "text": "Engineer", "state": "published"}],
        "stages": [{"id": "s1", "text": "Applied"}],
        "archive_reasons": [],
        "users": [],
        "opportunities": [
            {
                "id": name,
                "contact": f"c-{name}",
                "tags": ["Berlin"],
                "name": f"P {name}",
                "createdAt": T0,
                "applications": [{"id": f"a-{name}", "posting": "p1", "createdAt": T0}],
                "stageChanges": [{"toStageId": "s1", "updatedAt": T0}],
            }
            for name in names
        ],
    }
    for number, name in enumerate(names):
        listed = {
            "id": f"f{number}.pdf",
            "createdAt": T0,
            "file": {"name": "CV.pdf", "downloadUrl": "https://x"},
        }
        system.owned |= {
            f"opportunities/{name}/resumes": [listed],
            f"opportunities/{name}/files": [],
            f"opportunities/{name}/notes": [
                {"id": f"n{number}{one}", "text": "x", "secret": True, "createdAt": T0} for one in range(3)
            ],
            f"opportunities/{name}/feedback": [],
            f"opportunities/{name}/offers": [{"id": f"offer-{name}", "status": "sent", "sentAt": T0}],
        }
        system.objects[f"opportunities/{name}/resumes/f{number}.pdf"] = listed


def fill_workable(system: System) -> None:
    system.lists |= {"jobs": [{"shortcode": "J1", "title": "Engineer", "state": "published"}]}
    system.lists["stages"] = [{"slug": "applied", "name": "Applied", "kind": "applied", "position": 1}]
    system.lists["candidates"] = [
        {
            "id": f"w{number}",
            "name": f"P{number}",
            "email": f"p{number}@example.com",
            "job": {"shortcode": "J1"},
        }
        for number in range(PEOPLE)
    ]
    for number, one in enumerate(system.lists["candidates"]):
        answers = [{"question": {"body": "Why?"}, "answer": {"body": "Because"}}]
        detail = {"resume_url": f"{{{{f{number}.pdf}}}}", "tags": ["Berlin"], "answers": answers}
        system.objects[f"candidates/{one['id']}"] = one | detail
        system.owned[f"candidates/{one['id']}/activities"] = [
            {
                "id": str(step),
                "action": "moved",
                "stage_name": f"S{step}",
                "created_at": "2026-01-05T00:00:00Z",
            }
            for step in range(3)
        ]


FILLED = {"v1": fill_v1, "v3": fill_v3, "lever": fill_lever, "workable": fill_workable}

KINDS = {"v1": "greenhouse", "v3": "greenhouse", "lever": "lever", "workable": "workable"}

CANDIDATES = {"v1": "candidates", "v3": "candidates", "lever": "opportunities", "workable": "candidates"}

STORED = {"v1": "storage/f1.pdf", "v3": "storage/f1.pdf", "workable": "storage/f1.pdf"} | {
    "lever": "opportunities/o1/resumes/f1.pdf/download"
}

PATHS = {"v1": "v1", "v3": "v3", "lever": "lever", "workable": "spi"}

every_system = pytest.mark.parametrize("which", sorted(FILLED))


def live(
    system: System,
    which: str,
    now: datetime = NOW,
    wait: Callable[[float], None] = time.sleep,
    **api: Any,
) -> PayloadSource:
    given = {"base_url": f"{system.base}/{PATHS[which]}", "key_env": "ATS_KEY", "requests_per_second": 1000}
    if which in ("v1", "v3"):
        given["version"] = which
    if which == "v3":
        given |= {"key_env": "ATS_CLIENT", "token_url": f"{system.base}/auth/token"}
    if which == "lever":
        given["page_size"] = 2
    return source(KINDS[which], now, wait, api=given | api)


def read(
    system: System, which: str, into: Path, waits: list[float] | None = None, **api: Any
) -> SourceReport:
    wait = time.sleep if waits is None else waits.append
    return live(system, which, wait=wait, **api).read(into)


def files_of(into: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in (into / FILES).rglob("*") if path.is_file())
