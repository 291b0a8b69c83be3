# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls of actorctl: its JSON output, and its message when something is wrong."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

# A job file as a dictionary: {"Job": {"Environment": "CartPole-v1"}, "Learner": {"Epochs": 4}}.
Sections = Mapping[str, Mapping[str, object]]
# Changes of a job file: {"Learner.LearningRate": 1e-3}.
Settings = Mapping[str, object]


class ActordError(Exception):
    """actorctl refused or failed: its message, and in `status` its exit status."""

    def __init__(self, sentence: str, status: int | None = None):
        super().__init__(sentence)
        self.status = status


def program() -> str:
    path = os.environ.get("ACTORCTL") or shutil.which("actorctl")
    if not path:
        raise ActordError("actorctl is not in PATH: install actord, or set the environment variable ACTORCTL to its path")
    return path


def complaint(text: str, status: int) -> ActordError:
    """The error of a call of actorctl: the last lines of its standard error."""
    lines = [line for line in text.splitlines() if line.strip()]
    return ActordError("\n".join(lines[-3:]) or f"actorctl ended with status {status} and gave no reason", status)


def call(*words: str, timeout: float | None = 60) -> str:
    """Runs actorctl and returns its standard output. ActordError: its exit status is not 0, or it took longer than `timeout` seconds."""
    try:
        done = subprocess.run([program(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        raise ActordError(f"actorctl {words[0]} gave no answer in {timeout:g} s") from None
    if done.returncode != 0:
        raise complaint(done.stderr, done.returncode)
    return done.stdout


def ask(*words: str, timeout: float | None = 60) -> Any:
    return json.loads(call(*words, "--json=short", timeout=timeout))


def as_text(value: object) -> str:
    """A setting's value as a job file has it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return " ".join(as_text(part) for part in value)
    return str(value)


def as_options(settings: Settings | None, seed: int | None) -> list[str]:
    words = [f"--set={key}={as_text(value)}" for key, value in (settings or {}).items()]
    return words + ([f"--seed={seed}"] if seed is not None else [])


def as_job_file(sections: Sections) -> str:
    parts = []
    for name, keys in sections.items():
        parts.append(f"[{name}]")
        parts += [f"{key}={as_text(value)}" for key, value in keys.items()]
    text = "\n".join(parts) + "\n"
    if any(character in as_text(value) for keys in sections.values() for value in keys.values() for character in "\r\n"):
        raise ValueError("a value of a job file must be a single line")
    return text
