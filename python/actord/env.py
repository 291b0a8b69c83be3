# SPDX-License-Identifier: LGPL-2.1-or-later
"""Environments without a job: describes them, checks whether they follow actord's rules, and plays them step by step. Their code runs only
in a sandbox, as in a job."""
from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .client import Settings, ActordError, ask, as_options, call, complaint, program


@dataclass(frozen=True)
class Point:
    """One rule of actord/env.h, and whether an environment follows it."""

    rule: str
    kept: bool
    reason: str  # why not, or why it was not tried


def list() -> Any:  # noqa: A001: as `actorctl env list`
    """All environments that have a name, as dictionaries."""
    return ask("env", "list")


def show(name: str, settings: Settings | None = None) -> Any:
    """Describes an environment: its spaces, the length of its episodes, its options. `name` may be gym:ID, with
    settings={"Actor.Python": DIRECTORY of a virtual environment}."""
    return ask("env", "show", name, *as_options(settings, None))


def check(name: str, settings: Settings | None = None, timeout: float = 600) -> tuple[Point, ...]:
    """Tries each rule in a process of its own. ActordError: there is no such environment, no job could run it, or
    the check took longer than `timeout` seconds."""
    try:
        done = subprocess.run([program(), "env", "check", name, *as_options(settings, None)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        raise ActordError(f"actorctl env check gave no answer in {timeout:g} s") from None
    points = re.findall(r"^(ok|not ok) \d+ - ([^\n]*)\n((?:#[^\n]*\n)*)", done.stdout, re.M)
    if done.returncode not in (0, 1) or not points:
        raise complaint(done.stderr, done.returncode)
    return tuple(Point(rule, kept == "ok", reason.strip("# \n")) for kept, rule, reason in points)


def rollout(name: str, settings: Settings | None = None, *, steps: int = 1000, seed: int | None = None) -> Iterator[dict[str, Any]]:
    """Plays an environment with random actions: a dictionary for each step, and one with `state` before the first step of an episode."""
    for line in call("env", "rollout", name, f"--steps={steps}", *as_options(settings, seed), timeout=600).splitlines():
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ActordError(f"actorctl env rollout printed a line that is no object: {line[:80]}")
        yield row
