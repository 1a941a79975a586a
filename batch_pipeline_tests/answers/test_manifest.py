"""The provider's own counts."""

import pytest

from batch_pipeline.answers.manifest import Manifest, read_manifest


def test_an_unknown_field_is_passed_over_and_cached_tokens_count_as_input() -> None:
    """F26."""
    data = (
        b'{"totalRecordCount":200,"processedRecordCount":200,"successRecordCount":133,"errorRecordCount":67,'
        b'"inputTokenCount":100,"outputTokenCount":50,"cacheReadInputTokenCount":7,'
        b'"cacheWriteInputTokenCount":3,"inputAudioSecond":0,"foo":1}'
    )
    assert read_manifest(data) == Manifest(200, 200, 133, 67, 110, 50)


def test_a_count_that_is_not_given_is_unknown() -> None:
    assert read_manifest(b'{"totalRecordCount":null,"inputTokenCount":"9"}') == Manifest(*[None] * 6)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b" " * 1_000_001])
def test_what_is_no_manifest_is_none(data: bytes) -> None:
    assert read_manifest(data) is None
