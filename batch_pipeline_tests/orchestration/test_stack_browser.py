"""A person's way through the UI, in a real browser: the graph, a click, the outcome."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from batch_pipeline.ledger import migrations
from batch_pipeline.local.demo import register_sample
from batch_pipeline.local.stack import Stack
from batch_pipeline_tests.orchestration import ui

if TYPE_CHECKING:
    from playwright.sync_api import Page

sync_api = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")

pytestmark = [pytest.mark.servers, pytest.mark.browser, pytest.mark.timeout(240)]

FLOW = (
    "raw_cvs",
    "deduped_cvs",
    "jsonl_shards",
    "bedrock_jobs",
    "on_demand_answers",
    "parsed_cvs",
    "imported_records",
    "erased_files",
    "cost_report",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def page() -> Iterator["Page"]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("neither chromium nor google-chrome is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def test_a_migration_is_started_by_clicks_and_its_outcome_read_on_the_assets_pages(
    stack: Stack, page: "Page"
) -> None:
    key, expected = register_sample(stack, 130, 110, start="by_hand")
    ui.wait_until(stack, "the partition", lambda: key in ui.partitions(stack))

    page.goto(f"{stack.ui}/asset-groups")
    for name in FLOW:
        page.locator("foreignObject").get_by_text(name, exact=True).wait_for()

    page.get_by_role("button", name="Materialize all").click()
    page.get_by_text("Select a partition or create one").click()
    page.get_by_text(key, exact=True).filter(visible=True).first.click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Launch 1 run").click()
    page.get_by_text("Launched run").wait_for()

    ui.wait_until(stack, "the end of the migration", lambda: ui.state_of(stack, key) == "erased", 150)
    with ui.ledger(stack) as ledger:
        report = migrations.report(ledger, key)
    rows = sum(counts["staged"] for counts in report["imported_records"].values())

    page.goto(f"{stack.ui}/assets/imported_records?view=partitions&partition={key}")
    page.get_by_text("dagster/row_count").first.wait_for()
    page.get_by_text(str(rows), exact=True).or_(page.get_by_text(f"{rows:,}", exact=True)).first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    page.get_by_text(f"{expected.applications} applications").wait_for()

    page.goto(f"{stack.ui}/assets/imported_records?view=checks")
    page.get_by_text("links_close").first.wait_for()
    page.get_by_text("Passed", exact=True).first.wait_for()
    page.get_by_text(str(expected.links), exact=True).first.wait_for()

    page.goto(f"{stack.ui}/assets/cost_report?view=partitions&partition={key}")
    page.get_by_text("total cost, USD").first.wait_for()
    amount, _, _ = report["cost"]["total_cost"].partition(" ")
    page.get_by_text(amount, exact=True).first.wait_for()
