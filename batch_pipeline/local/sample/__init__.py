"""An invented customer: people, jobs, applications and their CV files, the same for the same seed."""

from batch_pipeline.local.sample.customer import make_sample
from batch_pipeline.local.sample.expectation import SampleExpectation

__all__ = ["SampleExpectation", "make_sample"]
