"""Core results as the UI shows them."""

import dagster as dg

from batch_pipeline.orchestration.metadata import checks, count_table, figures, job_table, money
from batch_pipeline.orchestration.summary_page import page
from batch_pipeline.stages.summary import Tables
from batch_pipeline.stages.sums import Sum


def test_an_open_sum_is_a_failed_check_that_names_its_rows() -> None:
    [result] = checks([Sum("final answers", "rows = distinct documents", 7, 6, ("cv-1", "cv-2"))])
    assert (result.check_name, result.passed) == ("final_answers_close", False)
    shown = {name: value.value for name, value in result.metadata.items()}
    assert shown == {"left": 7, "right": 6, "open rows": "cv-1, cv-2"}


def test_an_open_sum_ends_the_run_before_the_next_asset() -> None:
    spec = dg.AssetCheckSpec("parsed_close", asset="read", blocking=True)

    @dg.asset(check_specs=[spec])
    def read() -> dg.MaterializeResult:  # type: ignore[type-arg]
        return dg.MaterializeResult(check_results=checks([Sum("parsed", "CVs = parsed + failed", 2, 1)]))

    @dg.asset(deps=[read])
    def imported() -> None:
        raise AssertionError("it must not come to this")

    with dg.instance_for_test() as instance:
        result = dg.materialize([read, imported], instance=instance, raise_on_error=False)
        assert not result.success
        assert [event.step_key for event in result.get_step_failure_events()] == ["read"]
        assert not result.get_asset_check_evaluations()[0].passed


def test_money_becomes_numbers_and_what_is_unknown_stays_so() -> None:
    assert money({"total_cost": "0.1221 USD", "per_document": "unknown", "batch_answers": 104}) == {
        "total cost, USD": 0.1221,
        "per document": "unknown",
        "batch answers": 104,
    }


def test_a_table_of_counts_leaves_out_columns_of_zeros() -> None:
    table = count_table("table", {"person": {"staged": 2, "removed": 0}, "job": {"staged": 0, "removed": 0}})
    assert isinstance(table, dg.TableMetadataValue)
    assert [record.data for record in table.records] == [
        {"table": "job", "staged": 0},
        {"table": "person", "staged": 2},
    ]


def test_no_jobs_are_said_to_be_none() -> None:
    assert job_table([])["jobs"] == "none"


def test_what_is_not_known_is_not_shown() -> None:
    assert figures(held=None, next_step="wait") == {"next step": "wait"}


def test_the_page_tells_only_what_is_there() -> None:
    tables: Tables = {
        "export": {"applications": 1300, "attachments fetched": 1200, "attachments missing": 3},
        "documents": {"distinct documents": 400, "cv": 390, "not sent: a|b": 1},
        "provider": {"jobs": 0},
    }
    said = page("acme-2026", tables)
    assert "**1,300 applications** came with **1,203 attached files**" in said
    assert "| not sent: a\\|b | 1 |" in said
    assert "USD" not in said and "Provider" not in said
