#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actord-cluster alone, between a stand-in for the job's invoker and one for a node's: nodes come, go and are lost, and no stranger gets in."""
import contextlib, socket
from cluster import *

PROGRAMS = os.path.join(CLUSTER, "programs")


def install():
    """Where an ordinary user sees them, whatever the build folder's mode."""
    if not os.path.exists(PROGRAMS):
        shutil.copytree(os.path.join(BUILD, "tests", "slurm"), PROGRAMS)
        shutil.copy(os.path.join(BUILD, "actord-cluster"), PROGRAMS)


class Player:
    """The job's invoker; `with Player() as p: p.say("want 2"); p.see("up 1")`."""

    def __init__(self, *settings, before=(), user="tester", env=()):
        install()
        words = [*before, *as_user(user), *env, os.path.join(PROGRAMS, "player"), PROGRAMS, *settings]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines, self.seen = [], 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def find(self, pattern):
        for line in list(self.lines):
            if m := re.search(pattern, line):
                return m
        return None

    def see(self, pattern, seconds=SECONDS):
        try:
            wait_for(f"a line like {pattern}", lambda: self.find(pattern), seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}; seen: {self.lines}")
        return self.find(pattern)

    def cluster_pid(self):
        return int(self.see(r"^pid (\d+)")[1])

    def job_of(self, node):
        return self.see(rf"^up {node} \S+ \d+ (\d+)$")[1]

    def host_of(self, node):
        return int(self.see(rf"^up {node} n(\d)")[1])

    def count(self, pattern):
        return sum(bool(re.search(pattern, line)) for line in self.lines)

    def end(self):
        self.say("end")
        self.see("^over$")
        return self

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind:
            bear_witness(self.lines)
        self.process.kill()
        self.process.wait()
        restore_nodes()


def port_of(player):
    """Where the head listens: (address, port), from the command line of a node, as any user of the node may read it; and the token."""
    for pid in children_of_slurm("actord-cluster"):
        words = open(f"/proc/{pid}/cmdline").read().split("\0")
        if len(words) > 5 and words[1] == "--node":
            return words[2], int(words[3]), words[4]
    raise AssertionError("no node's program runs")


@story("nodes come up, carry bytes, are given back one by one, and cost what sacct says, also where Slurm has suspended one")
def lifecycle():
    with Player() as p:
        p.say("want 2")
        p.see("^up 1"), p.see("^up 2")
        p.say("send 1 hello"), p.say("send 2 there"), p.say("bytes 1 200")
        p.see("^echo 1 hello"), p.see("^echo 2 there"), p.see("^carried 1 .*usec")
        jobs = {n: p.job_of(n) for n in (1, 2)}
        p.say("release 1")
        p.see("^gone 1"), p.see("^cost 1 final")
        assert not p.find("^lost"), p.lines
        # Longer than the second by which the two may differ.
        shell("scontrol", "suspend", jobs[2])
        time.sleep(8)
        shell("scontrol", "resume", jobs[2])
        p.say("send 2 again")
        p.see("^echo 2 again")
        p.say("want 3")
        p.see("^up 3"), p.see("^up 4")
        p.end()
        assert not p.find("^(lost|refused)"), p.lines
        for node, job in jobs.items():
            _, seconds, cpus = wait_for_accounts(job)
            m = p.see(rf"^cost {node} final (\d+) (\d+) (\d+) ([\d.]+)")
            assert abs(int(m[1]) - seconds * 1000000) <= 1000000 and int(m[3]) == cpus == 2 and float(m[4]) == 2, (m[0], seconds)
        assert not queue(), queue()


@story("nodes that are not free are pending with Slurm's reason, and can be withdrawn")
def pending():
    other = shell(*as_user("stranger"), "sbatch", "--parsable", "--chdir=/", "--output=/dev/null", "-N4", "--exclusive", "--wrap", "sleep 300")
    wait_for("the other's job runs", lambda: queue().get(other, ("",))[0] == "RUNNING")
    with Player() as p:
        p.say("want 2")
        p.see(r"^pending 1 .*(Resources|Priority)")
        p.see(r"^pending 2 .*(Resources|Priority)")
        p.say("want 1")
        p.see("^gone 2"), p.see("^cost 2 final 0")
        shell("scancel", other)
        p.see("^up 1"), p.see("^cost 1 running")
        p.end()


@story("a killed program, a killed slurmd with its step, and a signal of Slurm: each node is lost by name, and another comes")
def killed():
    with Player() as p:
        p.say("want 3")
        for n in (1, 2, 3):
            p.see(f"^up {n}")
        # A node's job is never queued anew by Slurm, as the head asks for another one.
        said = shell("sh", "-c", f"scontrol requeue {p.job_of(1)} 2>&1", check=False)
        assert "disabled" in said, said
        for pid in children_of_slurm("actord-cluster", p.host_of(1)):
            os.kill(pid, signal.SIGKILL)
        p.see("^lost 1 .*cut"), p.see("^cost 1 final"), p.see("^up 4")
        shell("scancel", "--signal=TERM", "--full", p.job_of(2))
        p.see("^lost 2 .*ended the connection"), p.see("^up 5")
        host = p.host_of(3)
        for pid in [*children_of_slurm("slurmd", host), *children_of_slurm("slurmstepd", host), *children_of_slurm("actord-cluster", host)]:
            os.kill(pid, signal.SIGKILL)
        p.see("^lost 3")
        p.say("send 4 still"), p.say("send 5 here")
        p.see("^echo 4 still"), p.see("^echo 5 here")
        p.end()


@story("a node whose job Slurm puts back into the queue, as an administrator may allow, is lost; another comes, and no job is left")
def requeued():
    with Player() as p:
        p.say("want 1")
        p.see("^up 1")
        shell("scontrol", "update", f"JobId={p.job_of(1)}", "Requeue=1")
        shell("scontrol", "requeue", p.job_of(1))
        p.see("^lost 1"), p.see("^up 2"), p.see("^cost 1 final")
        p.end()
        assert not queue(), queue()


@story("strangers on the port: garbage, silence, another user with the token, a copied credential; the job goes on")
def strangers():
    with Player() as p:
        p.say("want 1")
        p.see("^up 1")
        address, port, token = port_of(p)
        kept = []
        for _ in range(100):
            s = socket.create_connection((address, port), 5)
            kept.append(s)
        for text in (b"GET / HTTP/1.0\r\n\r\n" + b"x" * 100, b"\x16\x03\x01" + b"\0" * 100, b"actord\n\0" + b"\xff" * 64):
            s = socket.create_connection((address, port), 5)
            try:
                s.sendall(text)
                assert s.recv(1000) == b"", "the head has answered a stranger"
            except ConnectionError:
                pass
        for s in kept:
            s.close()
        node = os.path.join(PROGRAMS, "actord-cluster")
        q = subprocess.run([*on_node(4), *as_user("stranger"), node, "--node", address, str(port), token, "1"],
                           capture_output=True, text=True, timeout=SECONDS * PATIENCE)
        assert q.returncode == 22, q
        p.see("was refused: .*(not made by|another user|credential)")
        # The same user with a number that is taken.
        q = subprocess.run([*on_node(4), *as_user("tester"), node, "--node", address, str(port), token, "1"],
                           capture_output=True, text=True, timeout=SECONDS * PATIENCE)
        assert q.returncode == 22, q
        # A user of this host who connects from many of its addresses, and says nothing, leaves room for nodes.
        for i in range(80):
            s = socket.create_connection((address, port), 5, (f"127.0.0.{2 + i // 16}", 0))
            kept.append(s)
        p.say("send 1 unmoved"), p.say("want 2")
        p.see("^echo 1 unmoved"), p.see("^up 2")
        assert not p.find("^lost"), p.lines
        for s in kept:
            s.close()
        # Nothing of the head answers on another interface.
        try:
            socket.create_connection(("127.0.0.1", port), 2)
            raise AssertionError("the head listens on every interface")
        except ConnectionError:
            pass
        p.end()


@story("no credential stands on a command line, in an environment or in the script that Slurm keeps")
def secrets():
    with Player() as p:
        p.say("want 1")
        p.see("^up 1")
        texts = [shell("scontrol", "write", "batch_script", p.job_of(1), "-")]
        for pid in children_of_slurm("actord-cluster"):
            texts += [open(f"/proc/{pid}/cmdline").read(), open(f"/proc/{pid}/environ").read()]
        assert not any("MUNGE:" in text for text in texts), texts
        p.end()


@story("an invoker that is killed, and a killed actord-cluster, leave no allocation behind")
def left_behind():
    with Player() as p:
        p.say("want 2")
        p.see("^up 1"), p.see("^up 2")
        p.process.kill()
        wait_for("the allocations are given back", lambda: not queue(), SECONDS)
    with Player() as p:
        p.say("want 2")
        p.see("^up 1"), p.see("^up 2")
        os.kill(p.cluster_pid(), signal.SIGKILL)
        wait_for("the nodes end by themselves", lambda: not queue(), SECONDS)


@story("a node that is given back while Slurm gives no answer has cost its time until then")
def no_answer():
    directory, silent = os.path.join(CLUSTER, "silent"), os.path.join(CLUSTER, "squeue-is-silent")
    os.mkdir(directory)
    with open(os.path.join(directory, "squeue"), "w") as f:
        f.write(f"#!/bin/sh\nwhile [ -e {silent} ]; do sleep 0.1; done\nexec {shutil.which('squeue')} \"$@\"\n")
    os.chmod(os.path.join(directory, "squeue"), 0o755)
    with Player(env=[f"PATH={directory}:{os.environ['PATH']}"]) as p:
        p.say("want 1")
        p.see("^up 1"), p.see("^cost 1 running")
        open(silent, "w").close()
        try:
            known = wait_for("no look is under way", lambda: p.count("^cost 1 running"), SECONDS)
            time.sleep(3)
            p.say("release 1")
            p.see("^gone 1")
            costs = wait_for("its cost until then", lambda: [line for line in p.lines[p.lines.index(p.find("^gone 1").string):] if "cost 1 " in line])
            assert int(costs[0].split()[3]) >= 2000000, p.lines
        finally:
            os.unlink(silent)
        p.end()
        assert not queue(), queue()


def instead_of_munge(directory):
    """Before a program that finds another directory in place of munge's."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$1" /run/munge && shift && exec "$@"', "elsewhere", directory]


@story("without Slurm, without munge, with a late clock, a partition, an account or a limit that is not there, or more nodes than there are: a sentence, "
       "and nothing is queued")
def refusals():
    empty = os.path.join(CLUSTER, "empty")
    os.mkdir(empty)
    cases = (((), {"env": ["PATH=/nowhere"]}, "there is no command sinfo"),
             ((), {"before": instead_of_munge(empty)}, "munge.*munged running"),
             ((), {"before": instead_of_munge(late_munge(3600))}, "clock"),
             (("partition=nope",), {}, "nvalid partition|partition nope"),
             (("partition=closed", "seconds=36000"), {}, "TimeLimit="),
             (("account=nope",), {}, "Account="),
             (("options=--constraint=purple",), {}, "Constraint="),
             (("options=--nonsense",), {}, "Options="),
             (("options=-J mine",), {}, "Options= has -J, which actord must decide itself"),
             (("options=--requeue",), {}, "Options= has --requeue, .*: remove this option"),
             (("options=--time=1",), {}, "Options= has --time=1, .*: use TimeLimit="),
             (("options='--half",), {}, "quote"),
             (("partition=closed", "least=2"), {}, "Nodes=2: partition closed has only 1 node"))
    with contextlib.ExitStack() as stack:
        players = [stack.enter_context(Player(*settings, **options)) for settings, options, _ in cases]
        for p, (*_, pattern) in zip(players, cases):
            p.say("want 1")
            p.see(f"^refused 0 .*({pattern})")
        for p in players:
            p.say("want 2")
            p.end()
            assert not p.find("^up"), p.lines
        assert not queue(), queue()


@story("a full queue: what runs goes on, and what waits has Slurm's reason")
def full():
    with Player("account=narrow") as p:
        p.say("want 2")
        p.see("^up 1"), p.see("^pending 2 AssocMaxJobsLimit")
        p.say("send 1 on"), p.see("^echo 1 on")
        assert not p.find("^refused"), p.lines
        p.end()


@story("a node that sees another version of actord is refused, with both versions and what to do, and no other is tried")
def other_build():
    install()
    program, older = os.path.join(PROGRAMS, "actord-cluster"), os.path.join(CLUSTER, "older")
    version = re.search(r"\d+\.\d+\.\d+", shell(os.path.join(BUILD, "actorctl"), "--version"))[0]
    with open(program, "rb") as f, open(older, "wb") as g:
        g.write(f.read().replace(version.encode() + b"\0", re.sub(r"\d", "9", version).encode() + b"\0"))
    os.chmod(older, 0o755)
    # Another installation under the same path, which the nodes alone see.
    for n in range(1, 5):
        shell(*in_mounts_of(n), "mount", "--bind", older, program)
    try:
        with Player() as p:
            p.say("want 1")
            p.see(f"^refused 0 .*9 of another build, here it is {version}; install the same")
            p.end()
            assert p.count("^lost") == 1 and not p.find("^up"), p.lines
    finally:
        for n in range(1, 5):
            shell(*in_mounts_of(n), "umount", program)


@story("an invoker that does not start on its nodes: three are tried, then no more, with its reason")
def failing():
    with Player() as p:
        open("/tmp/actord-stand-in-refuses", "w").close()
        try:
            p.say("want 1")
            p.see("^refused 0 .*the stand-in refuses")
        finally:
            os.unlink("/tmp/actord-stand-in-refuses")
        assert p.count("^lost") == 3, p.lines
        p.end()


@story("inside an allocation its nodes are used, and no other is asked for")
def allocation():
    install()
    script = "(echo want 3; sleep 8; echo send 1 within; sleep 1; echo end; sleep 10) | %s/player %s" % (PROGRAMS, PROGRAMS)
    words = [*as_user("tester"), "salloc", "-Q", "-N2", "--exclusive", "--chdir=/", "sh", "-c", script]
    p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most = 0
    while p.poll() is None:
        most = max(most, len(queue()))
        time.sleep(0.5)
    text = p.stdout.read()
    bear_witness(text.splitlines())
    assert re.search("^up 1 n1", text, re.M) and re.search("^up 2 n2", text, re.M) and "echo 1 within" in text, text
    assert re.search("^pending 3 allocation .* has 2 nodes", text, re.M) and not re.search("^up 3", text, re.M), text
    assert re.search("^cost 1 final [1-9]", text, re.M) and "over" in text, text
    assert most == 1, most
    restore_nodes()


@story("a time limit is seen coming: a successor is up before it ends. Meanwhile, of another job, a cable is pulled: the node is lost within half a "
       "minute, and what ran there ends by itself")
def renewal_and_half_open():
    with Player("seconds=60") as limited, Player() as cut:
        limited.say("want 1")
        limited.see("^up 1")
        begun = time.monotonic()
        cut.say("want 1")
        host = cut.host_of(1)
        shell("ip", "link", "set", f"v{host}", "down")
        pulled = time.monotonic()
        cut.see("^lost 1 .*cut")
        assert time.monotonic() - pulled < 30 * PATIENCE
        wait_for("the node's program ends", lambda: not children_of_slurm("actord-cluster", host), SECONDS)
        limited.see("^up 2", 90)
        assert not limited.find("^lost 1") and time.monotonic() - begun > 20, limited.lines
        cut.end(), limited.end()


if not os.path.exists(os.path.join(BUILD, "tests", "slurm", "player")):
    print("1..0 # SKIP actord-cluster was not built: libmunge or GnuTLS is missing")
else:
    tell()
