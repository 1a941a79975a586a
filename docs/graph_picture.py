"""Pictures of the running UI: starts the embedded stack, moves a sample customer, takes two pictures.

    python docs/graph_picture.py

writes `docs/images/asset-graph.png` and `docs/images/asset-page.png`. Needs Chromium and the
`playwright` package; takes two minutes.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from batch_pipeline.console import console
from batch_pipeline.ledger.connection import LedgerConnection
from batch_pipeline.local.demo import register_sample
from batch_pipeline.local.stack import Stack, running_stack
from batch_pipeline.stages.status import status

IMAGES = Path(__file__).parent / "images"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
# What the UI remembers in a browser: navigation folded, graph top to bottom at full size.
VIEW = {
    "dagster-nav-collapsed": "true",
    "asset-graph-direction": json.dumps("vertical"),
    "asset-node-facets": json.dumps(["description", "checks", "status", "kind-tag"]),
    "defaultZoom": "1",
}
MARGIN = 24


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no chromium or google-chrome on this machine")
    IMAGES.mkdir(exist_ok=True)
    with (
        _folder() as folder,
        running_stack(folder, daemon=True, ui_port=0, poll_seconds=1, say=console.print) as stack,
    ):
        _move_a_customer(stack)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            _graph(browser, f"{stack.ui}/asset-groups", IMAGES / "asset-graph.png")
            _asset_page(browser, f"{stack.ui}/assets/imported_records", IMAGES / "asset-page.png")
            browser.close()


@contextmanager
def _folder() -> Iterator[Path]:
    """Short, for PostgreSQL's socket; no place of this machine is on the pictures."""
    folder = Path(tempfile.mkdtemp(prefix="bp-"))
    yield folder
    shutil.rmtree(folder)


def _move_a_customer(stack: Stack) -> None:
    key, _ = register_sample(stack, 1000, 300, start="at_once")
    with LedgerConnection.open(stack.environment["DATABASE_URL"]) as ledger:
        said = None
        while (now := status(ledger, key)) is None or now.state != "erased":
            stack.check()
            if now is not None and now.line != said:
                said = now.line
                console.print(said)
            time.sleep(0.5)
    time.sleep(10)  # the run's own end, and what the UI reads of it


def _page(browser: Browser, width: int, height: int) -> Page:
    context = browser.new_context(viewport={"width": width, "height": height})
    context.add_init_script(
        f"for (const [name, value] of Object.entries({json.dumps(VIEW)})) localStorage.setItem(name, value)"
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    return page


def _graph(browser: Browser, address: str, target: Path) -> None:
    """The nine nodes and what is between them, without the page around."""
    page = _page(browser, 1200, 2200)
    page.goto(address)
    page.get_by_text("1 partition", exact=True).first.wait_for()
    page.locator("button:has([aria-label=panel_show_right])").click()
    page.wait_for_timeout(2000)
    boxes = [box for node in page.locator("foreignObject").all() if (box := node.bounding_box())]
    left = min(box["x"] for box in boxes) - MARGIN
    top = min(box["y"] for box in boxes) - MARGIN
    right = max(box["x"] + box["width"] for box in boxes) + MARGIN
    bottom = max(box["y"] + box["height"] for box in boxes) + MARGIN
    page.screenshot(path=target, clip={"x": left, "y": top, "width": right - left, "height": bottom - top})
    _small(target)


def _asset_page(browser: Browser, address: str, target: Path) -> None:
    page = _page(browser, 1400, 1180)
    page.goto(address)
    page.get_by_text("parsed_cv_work").first.wait_for()
    page.wait_for_timeout(1000)
    page.screenshot(path=target)
    _small(target)


def _small(target: Path) -> None:
    """256 colours are enough for a page of text and make a quarter of the bytes."""
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    console.print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
