#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The completions of bash and zsh after --set, typed into a real shell on a terminal of its own."""
import os, pty, re, select, shutil, time
from story import *

PLACE = os.path.join(ROOT, "packaging", "completions")
BASH = ["bash", "--norc", "-i"], f"PS1='ready> '; source {PLACE}/actorctl.bash; bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'"
ZSH = ["zsh", "-f", "-i"], f"PS1='ready> '; fpath=({PLACE} $fpath); autoload -Uz compinit; compinit -u -D; unsetopt beep; zstyle ':completion:*' list-prompt ''"


class Shell:
    def __init__(self, kind):
        words, setup = kind
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", LINES="100", COLUMNS="300", HOME=STATE, PATH=BUILD + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
            os.chdir(STATE)
            os.execvp(words[0], words)
        self.text = ""
        self.type(setup + "; echo set-$((40 + 2))\n")
        self.read(lambda text: "set-42" in text)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, done, patience=60):
        end = time.monotonic() + patience
        while not done(self.text):
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"the shell said only {self.text!r}")
            self.text += os.read(self.fd, 65536).decode(errors="replace")

    def completes(self, line, *expected):
        """Asserts that the terminal shows these words after the line and two tabs."""
        self.text = ""
        self.type("\x15" + line + "\t\t")
        self.read(lambda text: all(word in text for word in expected))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def tried(kind):
    if not shutil.which(kind[0][0]):
        raise Skip(kind[0][0] + " is not installed")
    with Shell(kind) as shell:
        shell.completes("actorctl ke", "actorctl keys")
        shell.completes("actorctl run x.conf --set=Learner.Activ", "--set=Learner.Activation=")
        shell.completes("actorctl run x.conf --set=Learner.Activation=", "tanh", "relu", "silu", "mish")
        shell.completes("actorctl run x.conf --set=Job.Algorithm=impa", "impala", "impact")
        shell.completes("actorctl run x.conf --set=Job.Environment=MountainC", "MountainCar-v0", "MountainCarContinuous-v0")
        shell.completes("actorctl run x.conf --set=Job.Environment=stormwater:th", "=stormwater:theta")
        shell.completes("actorctl run x.conf --set=Billing.PriceSheet=azure", "--set=Billing.PriceSheet=azure-aci")
        shell.completes("actorctl list --sort=st", "state", "steps")
        shell.completes("actorctl env list --json=pre", "--json=pretty")
        shell.completes("actorctl --set=Job.Seed=7 --owner=root st", "status", "stop")
        shell.completes("actorctl env show stormwater:th", "stormwater:theta")
        shell.completes("actorctl env show stormwater:", "theta", "tidal", "gamma")


@story("bash completes verbs, keys and values")
def bash():
    tried(BASH)


@story("zsh does, too")
def zsh():
    tried(ZSH)


@story("keys lists sections, keys and words, and suggests what was meant")
def keys():
    rows = json.loads(ctl("keys", "--json=short").out)
    settings = re.findall(r"^        X\(([A-Z]\w+), (\w+),", open(os.path.join(ROOT, "include", "settings.h")).read(), re.M)
    equal([row["key"] for row in rows], [".".join(pair) for pair in settings], "keys")
    equal([row["key"] for row in json.loads(ctl("keys", "evaluation", "--json=short").out)],
          [row["key"] for row in rows if row["key"].startswith("Evaluation.")], "a section")
    equal(json.loads(ctl("keys", "Updates", "--json=short").out),
          [{"key": "Learner.Updates", "values": "per-data|per-round|full-batch", "default": "per-data", "meaning": "whether a larger round means more gradient steps or larger minibatches"}],
          "a key")
    r = ctl("keys", "Learner.Gama")
    assert r.status == 2 and "did you mean Learner.Gamma?" in r.err, r


tell()
