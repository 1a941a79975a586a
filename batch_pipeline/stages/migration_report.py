"""The migration report for people who recruit: what came over, what did not, why, and what to do.

Counts and ids only, so it can be kept and sent after everything personal was erased.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from typing import Final

from batch_pipeline.records.shortfall import Shortfall, shortfalls
from batch_pipeline.stages.advice import advice
from batch_pipeline.stages.context import Context
from batch_pipeline.stages.load import target_of
from batch_pipeline.stages.summary import Tables, summary

MOST_IDS: Final = 500

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1f2328; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; } td, th { padding: .3rem .8rem; text-align: left;
border-bottom: 1px solid #d8dee4; vertical-align: top; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
details { margin: .3rem 0; } code { font-size: .85em; word-break: break-all; } .open { color: #b42318; font-weight: 600; }
"""


def html_report(context: Context) -> str:
    """The whole report as one page that needs nothing else."""
    url = context.settings.database_url.get_secret_value()
    tables = summary(context.ledger, context.key)
    lacking = shortfalls(url, target_of(context))
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    body = [
        f"<h1>Migration {escape(context.key)}</h1>",
        f"<p>Customer {escape(context.migration.tenant)}, {made}</p>",
        "<h2>What came over</h2>",
        *_figures(tables),
        f"<h2>What did not become a CV: {len(lacking):,} attachments</h2>",
        *_lacking(lacking),
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Migration {escape(context.key)}</title>'
        f"<style>{_STYLE}</style>" + "\n".join(body) + "</html>\n"
    )


def _figures(tables: Tables) -> Iterable[str]:
    for title, figures in tables.items():
        yield f"<h3>{escape(title)}</h3><table>"
        for name, value in figures.items():
            shown = f"{value:,}" if isinstance(value, int) else escape(str(value))
            mark = ' class="open"' if str(value).endswith("OPEN") else ' class="n"'
            yield f"<tr><td>{escape(str(name).replace('_', ' '))}</td><td{mark}>{shown}</td></tr>"
        yield "</table>"


def _lacking(rows: list[Shortfall]) -> Iterable[str]:
    if not rows:
        yield "<p>Everything became a CV.</p>"
    for (what, reason), group in groupby(rows, key=lambda row: (row.what, row.reason)):
        members = list(group)
        title = what if reason in (None, what) else f"{what}: {reason}"
        yield f"<h3>{escape(title.replace('_', ' '))} ({len(members):,})</h3><p>{escape(advice(what, reason))}</p>"
        yield "<details><summary>attachments and applications</summary><table><tr><th>attachment</th><th>application</th></tr>"
        for row in members[:MOST_IDS]:
            yield (
                f"<tr><td><code>{escape(row.attachment_id)}</code></td>"
                f"<td><code>{escape(row.application_id or '(on the person)')}</code></td></tr>"
            )
        if len(members) > MOST_IDS:
            yield f"<tr><td colspan=2>and {len(members) - MOST_IDS:,} more, in the table attachment</td></tr>"
        yield "</table></details>"
