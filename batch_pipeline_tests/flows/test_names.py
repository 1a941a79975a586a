"""Job names: at most 63 characters, unique where it counts."""

from hypothesis import given
from hypothesis import strategies as st

from batch_pipeline.local.emulator.constraints import is_job_name
from batch_pipeline.providers.job_names import belongs_to, job_name

KEYS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True)
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@given(KEYS, DIGESTS, st.integers(1, 10_000))
def test_every_name_is_one_the_provider_takes(key: str, digest: str, attempt: int) -> None:
    name = job_name(key, digest, attempt)
    assert len(name) <= 63
    assert is_job_name(name)


@given(DIGESTS, st.integers(1, 99))
def test_two_long_keys_with_one_beginning_have_two_names(digest: str, attempt: int) -> None:
    long = "customer-" + "x" * 53
    assert job_name(long + "1", digest, attempt) != job_name(long + "2", digest, attempt)


@given(KEYS, DIGESTS, st.integers(1, 99))
def test_each_attempt_has_a_name_of_its_own(key: str, digest: str, attempt: int) -> None:
    assert job_name(key, digest, attempt) != job_name(key, digest, attempt + 1)
    assert job_name(key, digest, attempt).endswith(f"-{digest[:16]}-a{attempt}")


@given(KEYS, KEYS, DIGESTS, st.integers(1, 99))
def test_a_name_belongs_to_its_own_migration_alone(key: str, other: str, digest: str, attempt: int) -> None:
    assert belongs_to(key, job_name(key, digest, attempt))
    assert belongs_to(other, job_name(key, digest, attempt)) == (other == key)
    assert not belongs_to(key, job_name(f"{key[:40]}-x", digest, attempt))
    assert not belongs_to(key, f"{job_name(key, digest, attempt)}-x")
