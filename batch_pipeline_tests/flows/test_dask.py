"""A whole migration whose files are hashed and read on a Dask cluster."""

import pytest
from distributed import LocalCluster

from batch_pipeline_tests.documents.dask_tasks import tasks_done
from batch_pipeline_tests.flows.bench import Bench, assert_paid_once, assert_right

pytestmark = pytest.mark.servers


def test_a_migration_on_a_dask_cluster_ends_right(bench: Bench, dask_cluster: LocalCluster) -> None:
    key, expected = bench.small()
    with tasks_done(dask_cluster) as keys:
        done = bench.run(key, BATCH_PIPELINE_DASK=dask_cluster.scheduler_address)
    assert done.code == 0, done.said
    assert len(keys) == 2  # files hashed, texts read: a chunk each
    assert_right(bench, key, expected)
    assert_paid_once(bench)


def test_an_address_that_is_none_stops_before_anything_is_read(bench: Bench) -> None:
    key, _ = bench.small()
    done = bench.run(key, BATCH_PIPELINE_DASK="scheduler")
    assert done.code == 2
    assert "BATCH_PIPELINE_DASK = 'scheduler': give the address" in done.said
