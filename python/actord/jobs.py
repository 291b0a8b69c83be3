# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs in the foreground (Run) and of the daemon (Job). Both are followed in the same way: actorctl writes each round as a line of JSON
into a temporary file, and an iteration reads this file as it grows. So a slow reader delays nothing, and all rounds stay readable."""
from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .client import ActordError, Sections, Settings, as_job_file, as_options, ask, call, complaint, program
from .notebook import as_html
from .policy import Policy

if TYPE_CHECKING:
    import pandas

LOOK_SEC = 0.1  # between two looks at a file that has not grown

# Watches over Python, its parent, and over actorctl, which its number and the time of its start name. If Python ends first, in whatever way, this
# asks actorctl to end, too. Not by os.pidfd_open(), which some builds of Python lack.
GUARD = """
import os, signal, sys, time
python, followed, started = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def start():
    try:
        with open(f"/proc/{followed}/stat", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return ""


while start() == started:
    if os.getppid() != python:
        os.kill(followed, signal.SIGINT)
        break
    time.sleep(0.5)
"""


@dataclass(frozen=True)
class Result:
    """How a run ended. `figures` has everything that `actorctl run --json` prints."""

    state: str
    result: str  # such as target-reached, finished, budget-exhausted, interrupted
    environment: str
    algorithm: str
    rounds: int
    env_steps: int
    episodes: int
    return_mean: float | None
    wall_s: float
    emulated_s: float
    policy_sha256: str
    cost_paper: float
    cost_full: float
    currency: str
    directory: str
    figures: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, figures: dict[str, Any]) -> "Result":
        cost = figures["cost"]
        own = {name: figures[name] for name in ("state", "result", "environment", "algorithm", "rounds", "env_steps", "episodes",
                                                "return_mean", "wall_s", "emulated_s", "policy_sha256")}
        return cls(**own, cost_paper=cost["paper"], cost_full=cost["full"], currency=cost["currency"],
                   directory=figures["state_directory"], figures=figures)


class _Followed:
    """A process of actorctl that writes rounds as they come."""

    _process: subprocess.Popen[str] | None = None
    _guard: subprocess.Popen[bytes] | None = None
    _directory: tempfile.TemporaryDirectory[str] | None = None

    def _follow(self, words: list[str], argument: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="actord-")
        self._rounds_path = os.path.join(self._directory.name, "rounds.jsonl")
        self._scalars_path = os.path.join(self._directory.name, "scalars.jsonl")
        self._out = open(os.path.join(self._directory.name, "out"), "w+", encoding="utf-8", errors="replace")
        self._err = open(os.path.join(self._directory.name, "err"), "w+", encoding="utf-8", errors="replace")
        # A group of its own: Ctrl-C in a notebook or a terminal interrupts Python alone, which decides whether the job ends.
        files = [f"--metrics=jsonl:{self._rounds_path}", f"--metrics=scalars:{self._scalars_path}"]
        self._process = subprocess.Popen([program(), *words, *files, "--", argument], stdin=subprocess.DEVNULL, stdout=self._out,
                                         stderr=self._err, text=True, start_new_session=True)
        self._end_with_python(self._process.pid)

    def _end_with_python(self, pid: int) -> None:
        with open(f"/proc/{pid}/stat", errors="replace") as stat:
            started = stat.read().rpartition(")")[2].split()[19]
        self._guard = subprocess.Popen([sys.executable, "-I", "-S", "-c", GUARD, str(os.getpid()), str(pid), started], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", start_new_session=True)

    def _begin(self) -> None:
        """Starts the process of actorctl, if it has not been started yet."""

    def _is_over(self) -> bool:
        over = self._process is None or self._process.poll() is not None
        if over and self._guard:
            self._guard.poll()
        return over

    def _printed(self) -> tuple[str, str]:
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read())
        return texts[0], texts[1]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields each round from the first on, as it comes, until the job ends. Rows are those of `actorctl rounds --json`."""
        self._begin()
        return self._lines(self._rounds_path)

    def scalars(self) -> Iterator[dict[str, Any]]:
        """Yields the same rounds under the names of TensorBoard's scalars, with `step` and `time`, as `actorctl metrics --metrics=scalars:` writes them."""
        self._begin()
        return self._lines(self._scalars_path)

    def _lines(self, path: str) -> Iterator[dict[str, Any]]:
        file = None
        try:
            rest = ""
            while True:
                over = self._is_over()  # asked before the file is read, so that its last lines are not missed
                if file is None:
                    with contextlib.suppress(FileNotFoundError):
                        file = open(path, encoding="utf-8")
                more = file.read() if file else ""
                *lines, rest = (rest + more).split("\n")
                yield from map(json.loads, lines)
                if not more:
                    if over:
                        self._check_end()
                        return
                    time.sleep(LOOK_SEC)
        finally:
            if file:
                file.close()

    def _check_end(self) -> None:
        """Called when all rounds that actorctl wrote have been read. A run's failure is known by its result; ActordError: actorctl could not follow
        a job to its end, so rounds may be missing."""

    def _rows_so_far(self) -> list[dict[str, Any]]:
        try:
            with open(self._rounds_path, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []


class Run(_Followed):
    """A job in the foreground, which ends with this process or before. Use it as a context (`with actord.run(…) as run:`) to stop it
when the block is left."""

    def __init__(self, job: str | os.PathLike[str] | Sections, settings: Settings | None = None, *, seed: int | None = None,
                 resume: str | None = None, directory: str | os.PathLike[str] = "."):
        self._result: Result | None = None
        words = ["run", *as_options(settings, seed), *([f"--from={resume}"] if resume else []), "--json=short"]
        with _job_file(job, directory) as path:
            self._follow(words, path)
            if not isinstance(job, (str, os.PathLike)):
                self._wait_for_read()

    def _wait_for_read(self) -> None:
        """Removes the file that we wrote for a dictionary. actorctl has read it once it has printed anything, or has ended."""
        while not self._is_over() and os.fstat(self._err.fileno()).st_size == 0:
            time.sleep(LOOK_SEC)

    def wait(self, timeout: float | None = None) -> Result:
        """Waits for the end of the run. TimeoutError: it still runs. ActordError: it was refused or failed, with the reason."""
        assert self._process
        if self._result is None:
            try:
                status = self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise TimeoutError(f"the run has not ended after {timeout:g} s") from None
            out, err = self._printed()
            try:
                figures = json.loads(out)
                self._result = Result.of(figures)
            except (ValueError, KeyError):
                raise complaint(err, status) from None
            if self._result.result in ("failed", "refused"):
                raise ActordError(figures.get("fault") or str(complaint(err, status)), status)
        return self._result

    @property
    def result(self) -> Result:
        return self.wait()

    @property
    def name(self) -> str:
        """The name that actorctl's verbs take: r7."""
        return "r" + os.path.basename(self.result.directory)

    def stop(self) -> None:
        """Ends the run after its current round, with ledger and checkpoint written."""
        if not self._is_over():
            assert self._process
            self._process.send_signal(signal.SIGINT)

    def policy(self) -> Policy:
        return Policy.of(self.name)

    def rounds(self) -> list[dict[str, Any]]:
        """The rounds so far."""
        return self._rows_so_far()

    def frame(self) -> "pandas.DataFrame":
        """The rounds so far as a table of pandas."""
        return _frame(self.rounds())

    def bill(self) -> Any:
        return ask("bill", self.name)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        assert self._process
        self._process.wait()

    def __repr__(self) -> str:
        rows = self.rounds()
        return f"<actord.Run: {'ended' if self._is_over() else 'running'}, {len(rows)} rounds>"

    def _repr_html_(self) -> str:
        return as_html("run", "ended" if self._is_over() else "running", self.rounds())


class _Watched(_Followed):
    """A job that goes on without its process of actorctl."""

    def _check_end(self) -> None:
        assert self._process
        if self._process.returncode != 0:
            raise complaint(self._printed()[1], self._process.returncode)


class Job(_Watched):
    """A job of the daemon. It continues when this Python process ends."""

    def __init__(self, number: int):
        self.number = number

    def _begin(self) -> None:
        if self._process is None:
            self._follow(["watch"], self.name)

    @property
    def name(self) -> str:
        """The word that actorctl's verbs take: its number."""
        return str(self.number)

    def wait(self, timeout: float | None = None) -> dict[str, Any]:
        """Waits for the end of the job, and returns its status. TimeoutError: it still runs."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            status = self.status()
            if status["state"] == "ended":
                return status
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self.number} has not ended after {timeout:g} s")
            time.sleep(LOOK_SEC * 5)

    def status(self) -> dict[str, Any]:
        """The output of `actorctl status --json` for this job."""
        status: dict[str, Any] = ask("status", str(self.number))
        return status

    def stop(self) -> None:
        call("stop", str(self.number))

    def policy(self) -> Policy:
        return Policy.of(self.number)

    def rounds(self) -> list[dict[str, Any]]:
        """The rounds so far. If there are more than 10,000, these are 10,000 of them, evenly spaced."""
        rows: list[dict[str, Any]] = ask("rounds", str(self.number))
        return rows

    def frame(self) -> "pandas.DataFrame":
        return _frame(self.rounds())

    def bill(self) -> Any:
        return ask("bill", str(self.number))

    def __repr__(self) -> str:
        return f"<actord.Job {self.number}>"

    def _repr_html_(self) -> str:
        return as_html(f"job {self.number}", self.status()["state"], self.rounds())


class Kept(_Watched):
    """The rounds of a run that has ended: "r7", as `actorctl runs` lists it."""

    def __init__(self, name: str):
        self.name = name

    def _begin(self) -> None:
        if self._process is None:
            self._follow(["metrics"], self.name)


def _frame(rows: list[dict[str, Any]]) -> "pandas.DataFrame":
    import pandas

    return pandas.DataFrame(rows)


@contextlib.contextmanager
def _job_file(job: str | os.PathLike[str] | Sections, directory: str | os.PathLike[str]) -> Iterator[str]:
    """Returns a path of the job file. A dictionary is written into `directory`, and its own paths are relative to that."""
    if isinstance(job, (str, os.PathLike)):
        yield os.fspath(job)
        return
    text = as_job_file(job)
    with tempfile.NamedTemporaryFile("w", suffix=".conf", prefix=".actord-", dir=directory, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield file.name


def run(job: str | os.PathLike[str] | Sections, settings: Settings | None = None, *, seed: int | None = None, resume: str | None = None,
        directory: str | os.PathLike[str] = ".") -> Run:
    """Starts a job in the foreground and returns at once; iterate over it, or wait().

    job: a job file's path, or its sections as a dictionary. settings: changes, such as {"Learner.LearningRate": 1e-3}.
    resume: a run ("r7"), a job's number or a checkpoint file, from which the job continues."""
    return Run(job, settings, seed=seed, resume=resume, directory=directory)


def submit(job: str | os.PathLike[str] | Sections, settings: Settings | None = None, *, seed: int | None = None, resume: str | None = None,
           directory: str | os.PathLike[str] = ".") -> Job:
    """Gives a job to the daemon; the arguments are those of run()."""
    with _job_file(job, directory) as path:
        words = [*as_options(settings, seed), *([f"--from={resume}"] if resume else [])]
        return Job(int(call("submit", "--quiet", *words, "--", path, timeout=None)))


def job(number: int) -> Job:  # noqa: F811: the name that a reader expects
    return Job(number)


def jobs(**filters: object) -> list[dict[str, Any]]:
    """The output of `actorctl list --json`; filters are its options, such as owner="alice", tag="thesis", since="3d", all=True."""
    words = [(f"--{name.replace('_', '-')}", value) for name, value in filters.items() if value is not False]
    rows: list[dict[str, Any]] = ask("list", *(word if value is True else f"{word}={value}" for word, value in words))
    return rows


def runs() -> list[dict[str, Any]]:
    """The runs that are kept, as `actorctl runs --json` prints them."""
    rows: list[dict[str, Any]] = ask("runs")
    return rows
