"""Why a document has no parsed CV: the closed list of `parsed/*.parquet`."""

from typing import Final, Literal, get_args

Reason = Literal[
    "truncated",  # the answer ran out of tokens
    "refused",  # the model would not answer
    "filtered",  # a content filter or guardrail took the answer
    "provider_error",  # the provider answered with an error worth no other attempt
    "empty",  # no answer text, or an object that says nothing
    "no_json",  # no JSON object in the answer, or one that cannot be read without guessing
    "ambiguous_json",  # more than one object, a key twice, or a CV and a verdict at once
    "wrong_types",  # JSON, but not of the schema's types
    "invented",  # a placeholder person, or our own prompt or schema handed back
    "not_a_cv",  # the model says the document is something else
    "unreadable",  # the model says nothing can be read
    "too_large",  # larger than any CV
    "attempts_exhausted",  # every attempt ended in an error worth another one
    "cannot_be_shown",  # a scan that no message to a model can hold, or that no decoder opens
    "cannot_be_redacted",  # a scan, of a migration whose texts are redacted: nothing was sent
    "cannot_be_restored",  # what its placeholders stand for is lost, with the files of the text that was sent
    "given_up",  # nobody saw how its call ended, and a person chose not to pay for another
    "missing",  # no attempt ever gave a line for it
]
REASONS: Final[tuple[Reason, ...]] = get_args(Reason)

# Those that say something about the model that was asked and nothing about the document: another may do better.
# What is no CV or cannot be read is so for every model.
OF_THE_MODEL: Final[frozenset[Reason]] = frozenset(
    {
        "truncated",
        "refused",
        "filtered",
        "provider_error",
        "empty",
        "no_json",
        "ambiguous_json",
        "wrong_types",
        "invented",
        "too_large",
    }
)
