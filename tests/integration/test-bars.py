#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How tests/experiments/auto.py judges cells: the best constant, the bar for auto, seeds that do not reach the target, and auto's decisions."""
import os, sys
from story import ROOT, equal, story, tell

sys.path.insert(0, os.path.join(ROOT, "tests", "experiments"))
import auto
from auto_cells import COLD_S, CONSTANTS, TASKS

TASK = TASKS[0]
SHEET = "azure-aci"
PRICE = {"task": TASK.name, "sheet": SHEET, "currency": "USD", "learner_second": "0.1", "actor_second": "0.01"}


def row(arm, seed, money, seconds, reached=1, time_price=""):
    own = arm in ("auto", "server")
    return {"task": TASK.name, "arm": arm, "state": "abc" if own else "", "sheet": SHEET if own else "", "time_price": time_price, "seed": str(seed),
            "reached": str(reached), "emulated_s": str(seconds), "actors": "3", "numbers": "1", "full_" + SHEET: str(money)}


def constants(seeds=(1, 2, 3)):
    """The more actors, the dearer and the faster; 8 have the least sum at a time price of 1."""
    return [row(f"c{n}", seed, 1 + abs(n - 8) / 10, 10 - n / 16) for n in CONSTANTS for seed in seeds]


def cell(rows, time_name="even"):
    return auto.Cell(TASK, SHEET, time_name, rows, PRICE)


@story("the best constant is the one with the least money and time together, and auto is held against it with two cold starts added")
def best():
    c = cell([*constants(), *(row("auto", seed, 2, 9.5, time_price="even") for seed in (1, 2, 3))])
    equal(c.best, 8, "the best constant")
    allowance = 2 * COLD_S * (0.1 + 0.01)
    assert abs(c.allowed_ratio() - (2 + 0.95) / (1 + 0.95 + allowance)) < 1e-12, c.allowed_ratio()
    equal(c.beaten_by(), [], "none is faster by a tenth")
    low, high = c.allowed_interval()
    assert abs(low - high) < 1e-12, "equal seeds leave nothing to draw"
    money = cell([*constants(), *(row("auto", seed, 1.09, 40, time_price="money") for seed in (1, 2, 3))], "money")
    assert money.allowed_ratio() < 1.09 and not money.beaten_by(), "less than a tenth of money, however slow"
    slow = cell([*constants(), *(row("auto", seed, 1.2, 40, time_price="money") for seed in (1, 2, 3))], "money")
    equal(slow.beaten_by(), [8], "dearer by a tenth, and slower")


@story("seeds that an arm lacks are compared in none, and one that does not arrive has no price")
def seeds():
    easy = [row(f"c{n}", seed, 0.01, 0.1) for n in CONSTANTS for seed in (4, 5, 6)]
    rows = [*constants(), *easy, *(row("auto", seed, 1, 9.5, reached=seed != 1, time_price="even") for seed in (1, 2))]
    c = cell(rows)
    equal((c.seeds, c.middle("c8", 0)), ({"1", "2"}, 1), "seeds, and the median over them")
    assert c.middle("auto", 2) == auto.NEVER and c.beaten_by() == list(c.constants), "half of two is no median that arrives"
    equal((auto.times(c.allowed_ratio()), auto.amount(c.middle("auto", 0))), ("∞", "–"), "as the page has it")
    assert "∞" in auto.line(c), auto.line(c)
    assert not cell(constants()).is_whole(), "nothing of auto"
    assert not cell([r for r in rows if r["arm"] != "c64"]).is_whole(), "a constant is missing"


@story("an experiment that is written for a task has its own settings last, each once, and what is held out is in no other")
def experiments():
    for task in (*TASKS, *auto.HELD_OUT_TASKS):
        for text in auto.constants(task, (1, 10)), auto.auto(task, (1, 10), auto.SHEETS), auto.servers(task):
            for part in text.split("["):
                keys = [line.split("=")[0] for line in part.split("\n")[1:] if "=" in line]
                equal(len(keys), len(set(keys)), f"keys of {task.name}: {keys}")
            assert f"Job.StopReturn={task.target}\n" in text, text
    assert not set(auto.SHEETS) & set(auto.HELD_OUT_SHEETS) and not {t.name for t in TASKS} & {t.name for t in auto.HELD_OUT_TASKS}
    assert all(auto.held_out_sheets(task) == auto.HELD_OUT_SHEETS for task in TASKS)


@story("what auto's runs decided is told by stays: when the noise has doubled b, which later moves were undone, and what all waited for")
def moves():
    rounds = {"actors": [1.0] * 3 + [4.0] * 20 + [8.0] * 6 + [5.0] * 9, "loss_policy": [-0.001] * 3 + [-0.002] * 20 + [-0.001] * 6 + [0.5] * 9,
              "noise_scale": [60.0] * 15 + [None, 2e4] * 11 + [2e4]}
    equal([stay[:2] for stay in auto.stays_of(rounds)], [(1, 3), (4, 20), (8, 6), (5, 9)], "stays")
    equal(auto.stays_of(rounds)[3][2:], (0, 0), "a surrogate that fell counts as none")
    equal(auto.noisy_round(rounds, 5632), 23, "the eighth of fifteen rounds, of which those count that hide the gradient")
    equal(auto.noisy_round(dict(rounds, noise_scale=[9000.0] * 38), 5632), "", "less than twice b")
    cell = {"levels": {"sheet": SHEET, "time": "even"}, "seed": 1, "result": {"policy_sha256": "a" * 64}, "rounds": rounds}
    # A run with the same policy under another sheet, and one whose number never changed.
    still = dict(cell, seed=2, result={"policy_sha256": "b" * 64}, rounds={key: values[:3] for key, values in rounds.items()})
    rows = [auto.move_row(TASK.name, c) for c in (cell, dict(cell, levels={"sheet": "x", "time": "even"}), still)]
    equal(auto.moves_text(rows).split("\n")[2:], [f"| {TASK.name} | 1 | 4 | 38 | 23 | 1 | 1 | 0.50 | 3 |"], "the line of the page")


tell()
