"""The page to choose a provider by says what the code goes by."""

from batch_pipeline.provider_settings import KINDS
from batch_pipeline.providers.capabilities import CAPABILITIES
from docs.providers_table import PAGE, page


def test_the_table_of_providers_is_that_of_the_code() -> None:
    assert PAGE.read_text() == page(), "stale: python -m docs.providers_table"


def test_every_provider_says_what_it_can_do_with_source_and_date() -> None:
    assert tuple(CAPABILITIES) == KINDS
    assert all(one.source and one.seen for one in CAPABILITIES.values())
