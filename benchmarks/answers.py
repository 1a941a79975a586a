"""100,000 answers read, validated and written, against reading the same bytes.

    python -m benchmarks.answers [--count 100000]

Goal: under 7 CPU-seconds and 250 MB.
"""

import argparse
import hashlib
import json
import tempfile
from functools import partial
from pathlib import Path

import polars as pl

from batch_pipeline.answers.envelope import wrap
from batch_pipeline.answers.lines import iter_lines
from batch_pipeline.answers.table import Expected, write_parsed
from batch_pipeline.requests.bodies import RequestBuilder
from batch_pipeline.requests.digests import document_digest
from batch_pipeline.tasks.cv.parser import CvTask
from benchmarks.measure import measure, show

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


def cv(number: int) -> dict[str, object]:
    """About 1.6 KB of JSON Resume, in the mix a model writes: two positions, two schools, skills."""
    work = [
        {
            "name": f"Firma {number + place}",
            "position": "Ingenieurin für Netzbetrieb",
            "location": "Köln",
            "startDate": f"20{10 + place}-03",
            "endDate": f"20{12 + place}-11",
            "summary": "Planung und Betrieb der Netze, Aufbau der Überwachung, Schulung des Teams.",
            "highlights": ["Störungen um ein Drittel gesenkt", "Umzug von 40 Standorten geleitet"],
        }
        for place in range(2)
    ]
    return {
        "basics": {
            "name": f"Person {number}",
            "label": "Ingenieurin",
            "email": f"p{number}@mail.example.org",
            "phone": "+49 221 0000000",
            "summary": "Netzbetrieb, Überwachung und Führung kleiner Teams über zehn Jahre. " * 2,
            "location": {"city": "Köln", "countryCode": "DE"},
        },
        "work": work,
        "education": [
            {"institution": "TH Köln", "area": "Elektrotechnik", "studyType": "B.Sc.", "endDate": "2009"},
            {"institution": "RWTH", "area": "Energietechnik", "studyType": "M.Sc.", "endDate": "2011-09"},
        ],
        "skills": [
            {"name": name, "keywords": ["Betrieb", "Planung"]} for name in ("IEC 61850", "SQL", "Python")
        ],
        "languages": [{"language": "Deutsch", "fluency": "Muttersprache"}, {"language": "Englisch"}],
        "extra": {"givenName": "Person", "familyName": str(number), "drivingLicence": "B"},
    }


def make_output(folder: Path, count: int) -> None:
    builder = RequestBuilder.for_model(MODEL, "Answer with one JSON object.", 4_096)
    sent = []
    with (folder / "out.jsonl").open("wb") as target:
        for number in range(count):
            md5 = hashlib.md5(b"%d" % number).hexdigest()
            request = builder.text(f"Lebenslauf {number}")
            answer = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": json.dumps(cv(number), ensure_ascii=False)}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 900, "output_tokens": 500},
            }
            target.write(wrap(f"cv-{md5}", request, answer) + b"\n")
            sent.append((f"cv-{md5}", md5, document_digest(request)))
    pl.DataFrame(sent, schema=["record_id", "md5", "request_digest"], orient="row").write_parquet(
        folder / "sent.parquet"
    )


def settle(folder: Path, count: int) -> None:
    sent = pl.read_parquet(folder / "sent.parquet")
    expected = {name: Expected(md5, digest) for name, md5, digest in sent.iter_rows()}
    with (folder / "out.jsonl").open("rb") as stream:
        settlement = write_parsed(
            iter_lines(stream),
            expected,
            folder / "parsed.parquet",
            task=CvTask(),
            model=MODEL,
            digest_of=document_digest,
        )
    if settlement.by_outcome["parsed"] != count:
        raise RuntimeError(f"{settlement.by_outcome} of {count}")


def read_bytes(folder: Path) -> None:
    with (folder / "out.jsonl").open("rb") as stream:
        while stream.read(1 << 20):
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # In a child as well: a child's peak memory starts at what its parent holds.
        measure("make the output", partial(make_output, folder, count))
        size = (folder / "out.jsonl").stat().st_size
        floor = measure("read the bytes", partial(read_bytes, folder))
        settled = measure("read, validate, write", partial(settle, folder, count))
    print(show(f"{count} answers, {size / 1e6:.0f} MB, {size / count:.0f} bytes each", floor, [settled]))


if __name__ == "__main__":
    main()
