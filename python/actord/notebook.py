# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shows a run in a notebook: its newest figures, and the return over the steps as a small curve."""
from __future__ import annotations

import time
from collections.abc import Iterator
from html import escape
from typing import Any

WIDTH, HEIGHT = 320, 60
REDRAW_SEC = 0.5


def _points(rows: list[dict[str, Any]]) -> list[tuple[float, float]]:
    found = [(row["env_steps"], row["return_mean"] if row["return_mean"] is not None else row["return_round"]) for row in rows]
    return [(float(x), float(y)) for x, y in found if y is not None]


def curve(rows: list[dict[str, Any]]) -> str:
    """The mean return over the environment steps, as SVG; empty before the first episode has ended."""
    points = _points(rows)
    if len(points) < 2:
        return ""
    low_x, high_x = points[0][0], points[-1][0]
    low_y, high_y = min(y for _, y in points), max(y for _, y in points)
    path = " ".join(f"{WIDTH * (x - low_x) / ((high_x - low_x) or 1):.1f},{HEIGHT - 2 - (HEIGHT - 4) * (y - low_y) / ((high_y - low_y) or 1):.1f}"
                    for x, y in points)
    return (f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="return over steps">'
            f'<polyline points="{path}" fill="none" stroke="currentColor"/></svg>')


def as_html(title: str, state: str, rows: list[dict[str, Any]]) -> str:
    figures = ""
    if rows:
        last = rows[-1]
        mean = last["return_mean"] if last["return_mean"] is not None else last["return_round"]
        figures = (f": {len(rows)} rounds, {last['env_steps']:,} steps, return {'none yet' if mean is None else f'{mean:.1f}'}, "
                   f"{last['actors']} actors, cost {last['cost_full']:.6f}")
    return f"<div><b>{escape(title)}</b> {escape(state)}{escape(figures)}<br>{curve(rows)}</div>"


def progress(run: Any) -> Iterator[dict[str, Any]]:
    """Yields the rounds of a run or a job, and shows the progress in the notebook's cell:

        for row in actord.notebook.progress(run): ..."""
    import IPython.display as notebook

    html: Any = notebook.HTML
    show: Any = notebook.display
    rows: list[dict[str, Any]] = []
    handle = show(html(as_html(repr(run).strip("<>"), "running", rows)), display_id=True)
    drawn = 0.0
    for row in run:
        rows.append(row)
        if handle and time.monotonic() - drawn > REDRAW_SEC:
            handle.update(html(as_html("actord", "running", rows)))
            drawn = time.monotonic()
        yield row
    if handle:
        handle.update(html(as_html("actord", "ended", rows)))
