"""The provider's own counts."""

import pytest

from batch_pipeline.providers.bedrock_manifest import read_manifest
from batch_pipeline.providers.contract import Totals


def test_an_unknown_field_is_passed_over_and_cached_tokens_count_as_input() -> None:
    """F26."""
    data = (
        b'{"totalRecordCount":200,"processedRecordCount":200,"successRecordCount":133,"errorRecordCount":67,'
        b'"inputTokenCount":100,"outputTokenCount":50,"cacheReadInputTokenCount":7,'
        b'"cacheWriteInputTokenCount":3,"inputAudioSecond":0,"foo":1}'
    )
    assert read_manifest(data) == Totals(133, 67, 110, 50)


def test_a_count_that_is_not_given_is_unknown() -> None:
    assert read_manifest(b'{"totalRecordCount":null,"inputTokenCount":"9"}') == Totals()


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b" " * 1_000_001])
def test_what_is_no_manifest_says_nothing(data: bytes) -> None:
    assert read_manifest(data) == Totals()
