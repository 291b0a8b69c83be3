#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables on a narrow terminal: texts are shortened and columns left out, and no row is longer than the screen. Elsewhere all of it is printed."""
import fcntl, os, pty, re, struct, subprocess, termios, unicodedata
from bus import Bus
from story import *

JOB = """[Job]
Environment=CartPole-v1
Description=A description that is far longer than any column of a terminal may become, ääh
Tag=widths
StopSteps=2048
[Scaling]
Actors=2
[Actor]
RolloutSteps=64
"""


HASH = r"[0-9a-f]{64}$"  # no line of 60 columns holds one behind its name


def columns_of(line):
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


def on_terminal(columns, *words, env):
    """What actorctl prints on a terminal that is so wide, line by line."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    p = subprocess.Popen([CTL, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 65536):
            seen += data
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    equal(p.wait(60 * PATIENCE), 0, f"status of {words}: {seen[-400:]}")
    return seen.decode().replace("\r\n", "\n").splitlines()


def environment_of(base):
    return dict({k: v for k, v in base.items() if k != "COLUMNS"}, TERM="xterm", LC_ALL="C.UTF-8", ACTORD_PAGER="")


def same(lines, whole, words):
    """Whether a terminal with room for all shows all, but for columns of figures in which no row has one."""
    spared = [h for h in whole[0].split() if h not in lines[0].split()]
    ends = [re.search(rf"\b{h}\b", whole[0]).end() for h in spared]
    equal([line[end - 1:end].strip() for line in whole[1:] for end in ends if line[:1] == " "],
          ["" for line in whole[1:] for end in ends if line[:1] == " "], f"figures of {spared}")
    if spared:
        assert words[0] in ("rounds", "decisions"), (words, spared)
        lines, whole = [line.split() for line in lines[1:]], [line.split() for line in whole[1:]]
    equal(lines, whole, f"{words}, where all fits")
    return spared


def check(words, env):
    """Each width, and the same without a terminal. Returns what 60 columns show."""
    whole = subprocess.run([CTL, *words], capture_output=True, text=True, env=env, timeout=60 * PATIENCE).stdout.splitlines()
    assert whole, words
    for columns in (60, 80, 120):
        lines = on_terminal(columns, *words, env=env)
        wide = [line for line in lines if columns_of(line) > columns and not re.search(HASH, line)]
        assert not wide, (words, columns, wide)
        if max(map(columns_of, whole)) <= columns:
            spared = same(lines, whole, words)
            assert words[0] != "decisions" or "TAKEN" in spared, lines
    return on_terminal(60, *words, env=env), whole


@story("no verb's table is wider than the terminal, at 60, 80 and 120 columns; without one nothing is left out")
def widths():
    with Bus() as bus:
        env = environment_of(bus.env)
        path = os.path.join(STATE, "wide.conf")
        with open(path, "w") as f:
            f.write(JOB)
        bus.ctl("submit", path, "--wait")
        narrow, whole = check(["list", "--user"], env)
        assert "DESCRIPTION" not in narrow[0] and "AGE" in narrow[0] and "ääh" in whole[1], (narrow, whole)
        shortened = on_terminal(120, "list", "--user", env=env)
        assert "…" in shortened[1] and "DESCRIPTION" in shortened[0], shortened
        for words in (["list", "--all"], ["totals"], ["status"], ["status", "1"], ["bill", "1"], ["bill", "1", "--prices=local"],
                      ["rounds", "1"], ["decisions", "1"], ["quota"]):
            check([*words, "--user"], env)


@story("the same of verbs that need no daemon")
def alone():
    env = environment_of(environment())
    example = os.path.join(EXAMPLES, "cartpole.conf")
    for words in (["env"], ["env", "show", "Hopper-v4"], ["price"], ["scheduler"], ["graph", example],
                  ["experiment", os.path.join(EXAMPLES, "experiments", "m2-cartpole.exp"), "--dry-run"]):
        check(words, env)
    run("cartpole", "Job.StopSteps=1024")
    for words in (["status", "r1"], ["bill", "r1"]):
        check(words, env)
    lines = on_terminal(60, "run", example, "--quiet", "--set=Job.StopSteps=1024", env=env)
    wide = [line for line in lines if columns_of(line) > 60 and not re.search(HASH, line)]
    assert not wide, wide


@story("no help is wider than the terminal, and a narrow one breaks lines between words alone")
def helps():
    env = environment_of(environment())
    verbs = re.findall(r"(?m)^  ([a-z]+)(?: |$)", ctl("--help").out)
    assert len(verbs) > 30, verbs
    for words in (["--help"], *([verb, "--help"] for verb in verbs)):
        whole = ctl(*words).out.splitlines()
        for columns in 60, 80, 120:
            lines = on_terminal(columns, *words, env=env)
            assert max(map(columns_of, lines)) <= columns, (columns, lines)
            equal(" ".join(lines).split(), " ".join(whole).split(), f"the words of {words}")
            assert columns < 80 or lines == whole, (words, lines)


tell()
