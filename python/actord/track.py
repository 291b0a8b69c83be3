# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gives the rounds of a run or a job to an experiment tracker: Weights & Biases or MLflow. The tracker's own package writes them to the disk, and
nothing is sent anywhere. Figures have the names of TensorBoard's scalars (CleanRL's, if CleanRL has the figure); actorctl(1) has the table."""
from __future__ import annotations

import importlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .client import ask
from .jobs import Job, Kept, Run

FLUSH_SEC, FLUSH_METRICS = 1.0, 900  # MLflow takes at most 1000 metrics at once
# The figures of a job's status that go into the summary, besides those of its last round.
SUMMARY = ("result", "fault", "policy_sha256", "rounds", "env_steps", "episodes", "return_mean", "evaluation_mean", "wall_s", "emulated_s",
           "cost_paper", "cost_full", "currency")


def _package(module: str, caller: str, advice: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        raise ImportError(f"{caller}() needs the Python package {advice}, in a virtual environment ({e})") from e


def _followed(what: Run | Job | Kept | int | str) -> Run | Job | Kept:
    """ActordError: there is no such job or run."""
    if isinstance(what, Run):
        return what
    if not isinstance(what, (Job, Kept)):
        what = Job(int(what)) if str(what).isdecimal() else Kept(str(what))
    ask("status", what.name)
    return what


def _value(text: str) -> object:
    """A setting as a number or a truth value, where it is one."""
    if text in ("yes", "no"):
        return text == "yes"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _settings(name: str) -> dict[str, str]:
    return {f"{row['section']}.{row['key']}": row["value"] for row in ask("show", name) if row["value"] is not None}


class _End:
    """What is known when the rounds are over. ActordError: the run was refused or failed, and has no records."""

    def __init__(self, source: Run | Job | Kept):
        name = source.name
        status = ask("status", name)
        self.settings = _settings(name)
        self.summary: dict[str, Any] = {key: status[key] for key in SUMMARY if status[key] is not None}
        self.ended_usec: int | None = status["ended_usec"]
        self.result: str = status["result"] or status["state"]


def to_wandb(what: Run | Job | int | str, directory: str | os.PathLike[str] = ".", *, project: str = "actord", name: str | None = None,
             tags: Sequence[str] = ()) -> str:
    """Writes the rounds as they come into an offline run of Weights & Biases, below `directory`/wandb, and returns the run's directory when the job
    has ended. `wandb sync` with that directory uploads it.

    what: a Run, a Job, a job's number, or a run that has ended ("r7"). The configuration has the settings by their names, such as Learner.Gamma;
    the summary has the result, the policy's digest and the costs."""
    wandb = _package("wandb", "to_wandb", "wandb: pip install wandb")
    source = _followed(what)
    os.makedirs(directory, exist_ok=True)
    settings = wandb.Settings(console="off", silent=True, save_code=False, disable_git=True, x_disable_stats=True, reinit="create_new")
    tracked = wandb.init(mode="offline", dir=os.fspath(directory), project=project, name=name, tags=list(tags), settings=settings)
    status = 1
    try:
        for row in source.scalars():
            tracked.log({"_timestamp" if key == "time" else key: value for key, value in row.items() if key != "step"}, step=row["step"])
        end = _End(source)
        tracked.config.update({key: _value(value) for key, value in end.settings.items()})
        tracked.summary.update(end.summary)
        status = int(end.result == "failed")
    finally:
        tracked.finish(exit_code=status)
    return os.path.dirname(str(tracked.dir))


def to_mlflow(what: Run | Job | int | str, store: str | os.PathLike[str] = "mlflow.db", *, experiment: str = "actord", name: str | None = None,
              tags: Mapping[str, str] | None = None) -> str:
    """Writes the rounds as they come into a run of MLflow, and returns the run's ID when the job has ended.

    what: as for to_wandb(). store: a file, which becomes an SQLite database (`mlflow ui --backend-store-uri sqlite:///FILE` shows it), or any tracking
    URI with "://". The parameters have the settings by their names; numbers of the summary are metrics below summary/, words are tags."""
    mlflow = _package("mlflow", "to_mlflow", "mlflow: pip install mlflow")
    entities = importlib.import_module("mlflow.entities")
    source = _followed(what)
    where = os.fspath(store)
    try:
        client = mlflow.MlflowClient(tracking_uri=where if "://" in where else f"sqlite:///{os.path.abspath(where)}")
    except ModuleNotFoundError as e:
        raise ImportError(f"to_mlflow() needs {e.name} for MLflow's database, which mlflow-skinny lacks: pip install mlflow, in a virtual "
                          "environment") from e
    found = client.get_experiment_by_name(experiment)
    run_id: str = client.create_run(found.experiment_id if found else client.create_experiment(experiment), run_name=name, tags=dict(tags or {})).info.run_id
    state, ended_msec = "FAILED", None
    try:
        step = _log_rounds(client, entities.Metric, run_id, source)
        end = _End(source)
        _log_end(client, entities, run_id, end, step)
        state = {"failed": "FAILED", "interrupted": "KILLED"}.get(end.result, "FINISHED")
        ended_msec = end.ended_usec // 1000 if end.ended_usec else None
    finally:
        client.set_terminated(run_id, state, ended_msec)
    return run_id


def _log_rounds(client: Any, metric: Any, run_id: str, source: Run | Job | Kept) -> int:
    """Several rounds in one transaction, if they come quickly. Returns the last step."""
    waiting: list[Any] = []
    step, flushed = 0, time.monotonic()
    for row in source.scalars():
        step, msec = row.pop("step"), int(row.pop("time") * 1000)
        waiting += [metric(key, value, msec, step) for key, value in row.items()]
        if len(waiting) + len(row) > FLUSH_METRICS or time.monotonic() - flushed > FLUSH_SEC:
            client.log_batch(run_id, metrics=waiting)
            waiting, flushed = [], time.monotonic()
    if waiting:
        client.log_batch(run_id, metrics=waiting)
    return step


def _log_end(client: Any, entities: Any, run_id: str, end: _End, step: int) -> None:
    numbers = {key: value for key, value in end.summary.items() if not isinstance(value, str)}
    msec = end.ended_usec // 1000 if end.ended_usec else int(time.time() * 1000)
    client.log_batch(run_id, metrics=[entities.Metric(f"summary/{key}", value, msec, step) for key, value in numbers.items()],
                     tags=[entities.RunTag(f"actord.{key}", value) for key, value in end.summary.items() if isinstance(value, str)])
    params = [entities.Param(key, value) for key, value in end.settings.items()]
    for i in range(0, len(params), 100):  # as many as MLflow accepts at once
        client.log_batch(run_id, params=params[i:i + 100])
