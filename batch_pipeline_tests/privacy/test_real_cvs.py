"""What rules find in real CVs: the figure of `python -m benchmarks.redaction`, held."""

from collections import Counter

import pytest

from benchmarks.accuracy import CVS
from benchmarks.redaction import measure


@pytest.mark.skipif(not CVS.exists(), reason="the labelled CV files are not beside the checkout")
def test_no_address_number_or_known_name_of_a_labelled_cv_is_left() -> None:
    found = measure()
    assert found.there["email"] > 40
    assert found.there["phone"] > 30
    assert found.there["name"] > 40
    assert set(Counter(kind for _, kind, _ in found.left)) <= {"url"}
