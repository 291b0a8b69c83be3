#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/tutorial.md, command by command as it stands there, in one shell and in a home directory that has never seen actord. A block
marked `killing` kills by the name of a process: as root the shell has a process namespace of its own, so that no other test is hit."""
import shutil

import pages
from story import *

PAGE, README = pages.read("docs/tutorial.md"), pages.read("README.md")
HOME = os.path.join(STATE, "home")
MARK = "-- block "
LONGEST_SEC = 300


def blocks():
    return pages.blocks("docs/tutorial.md")


def alone():
    return os.geteuid() == 0 and subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode == 0


def script(kills):
    lines = ["set -e"]
    for i, (kind, rest, text) in enumerate(blocks()):
        lines.append(f"echo '{MARK}{i}'")
        if kind == "ini":
            lines.append(f"cat >{rest} <<'END_OF_FILE'\n{text}END_OF_FILE")
        elif "status=" in rest:
            lines += ["set +e", text + "status=$?", "set -e", f"test $status -eq {rest.split('status=')[1]}"]
        elif rest == "killing" and not kills:
            lines.append('actorctl run "$ACTORD/examples/cartpole.conf" >killed.txt; grep sha256 killed.txt')
        else:
            lines.append(text)
    return "\n".join([*lines, f"echo '{MARK}{len(blocks())}'"])


def all_installed():
    """Whether dependencies.sh would find nothing to install."""
    text = open(os.path.join(ROOT, "packaging", "dependencies.sh")).read()
    listed, = re.findall(r"^list_build\(\) \{\n    cat <<'END'\n(.*?)^END$", text, re.M | re.S)
    if not shutil.which("dpkg-query"):
        return False
    names = [line.split()[0] for line in listed.splitlines()]
    p = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}\n", *names], capture_output=True, text=True)
    return p.returncode == 0 and set(p.stdout.split()) == {"installed"}


def play():
    """Runs the tutorial. Returns what each block printed."""
    os.makedirs(HOME)
    # The tree is built by the time that tests run, perhaps in another folder; and a test installs no package: dependencies.sh has no
    # way to ask only, so that it runs where there is nothing for it to do.
    text = script(alone()).replace("\nmake\n", "\ntest -x " + CTL + "\n", 1).replace("$PWD/build", BUILD)
    if not all_installed():
        text = text.replace("\npackaging/dependencies.sh build\n", "\n: packages are missing, and a test installs none\n", 1)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "MAKE", "MFLAGS"))}
    p = subprocess.run([*(["unshare", "--pid", "--fork", "--mount-proc"] if alone() else []), "bash", "-c", text], cwd=ROOT, env=dict(env, HOME=HOME),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST_SEC * PATIENCE)
    parts = re.split(rf"^{MARK}(\d+)\n", p.stdout, flags=re.M)
    assert p.returncode == 0, f"block {parts[-2] if len(parts) > 1 else 0} of the page ended with {p.returncode}: {parts[-1][-1500:]}"
    return parts[2::2]


_played = []


def printed(words):
    """What the block with these words printed."""
    if not _played:
        _played.extend(play())
    i, = [i for i, (_, _, text) in enumerate(blocks()) if words in text]
    return _played[i]


@story("every command of the tutorial works, in the order of the page")
def every_command():
    assert len(blocks()) >= 12, len(blocks())
    printed("packaging/dependencies.sh")


@story("the tutorial's policy is README's, also when an actor was killed")
def one_policy():
    sha256, = re.findall(r"policy sha256 (\w{64})", PAGE)
    assert sha256 in README
    assert f"policy sha256 {sha256}" in printed('run "$ACTORD/examples/cartpole.conf"\n').split("run r2")[0]
    killed = printed("killed.txt &")
    assert f"policy sha256 {sha256}" in killed, killed
    if not alone():
        raise Skip("without a process namespace of its own, the test killed no actor")
    assert "recovered" in killed, killed


@story("what the tutorial says of an answer is in the answer")
def answers():
    assert "did you mean LearningRate?" in printed("LearnigRate")
    assert "10" in printed("actorctl env check")
    assert "target-reached" in printed("actorctl run line.conf\n")
    assert re.search(r"^round \d+: \d+ → [2-8] actors: ", printed("actorctl decisions r4"), re.M), printed("actorctl decisions r4")
    assert "budget-exhausted" in printed("Environment.Squares=200")
    assert "full total" in printed("actorctl bill r4")
    assert os.path.getsize(os.path.join(HOME, "actord-tutorial", "line", "line.safetensors")) > 1000


tell()
