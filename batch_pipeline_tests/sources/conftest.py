"""A live system of a test's own."""

from collections.abc import Iterator

import pytest

from batch_pipeline_tests.sources.api_server import (
    KEY,
    System,
    running,
)
from batch_pipeline_tests.sources.live_systems import PDF, PEOPLE


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    monkeypatch.setenv("ATS_KEY", KEY)
    monkeypatch.setenv("ATS_CLIENT", "client:secret")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with running(System(files={f"f{number}.pdf": PDF + bytes([number]) for number in range(PEOPLE)})) as made:
        yield made
