#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a host may run out of, and what may stop or be damaged, while a job runs: a row for each. The user gets the sentence of the row, and
nothing is lost: when the want is over the job ends with the policy, the rounds and the ledger of one that wanted nothing.

As root it runs in a mount namespace of its own, with a small disk for the daemon's state; what needs that is skipped elsewhere."""
import dataclasses, shutil, sqlite3, subprocess, typing

from trust import *
from bus import MANAGER, Bus

SETS = [("Job.StopReturn", ""), ("Job.StopSteps", "120000"), ("Checkpoint.IntervalSec", "0.2"), ("Checkpoint.Keep", "4"), ("Job.Seed", "7")]
DISK = "6m"


def own_mounts():
    if os.geteuid() == 0 and "TRUST_MOUNTS" not in os.environ:
        try:
            os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv],
                       {**os.environ, "TRUST_MOUNTS": "1" if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0 else ""})
        except OSError:
            pass


class Want:
    """A daemon with a small disk, and a job on it that is to want something."""

    def __init__(self, bus, job):
        self.bus, self.job, self.state, self.stopped = bus, job, bus.dir + "/state", []

    def said(self):
        """What the user is told: the daemon's journal, and what the job says that it waits for."""
        return open(self.bus.dir + "/log").read() + self.bus.get(self.job, "Waiting")

    def on_small_disk(self):
        if not os.environ.get("TRUST_MOUNTS"):
            raise Skip("a small disk needs root and a mount namespace")

    def fill_disk(self):
        self.on_small_disk()
        with open(self.state + "/filler", "wb", buffering=0) as f:
            for size in 65536, 4096, 512:
                try:
                    while True:
                        f.write(bytes(size))
                except OSError:
                    pass

    def free_disk(self):
        os.unlink(self.state + "/filler")

    def fill_inodes(self):
        self.on_small_disk()
        try:
            for i in range(100000):
                os.close(os.open(f"{self.state}/filler-{i}", os.O_CREAT | os.O_WRONLY))
        except OSError:
            pass

    def free_inodes(self):
        for name in os.listdir(self.state):
            if name.startswith("filler-"):
                os.unlink(f"{self.state}/{name}")

    def stop(self, comm):
        pids = [self.bus.daemon.pid] if comm == "actord" else self.bus.processes(comm)
        os.kill(pids[-1], signal.SIGSTOP)
        self.stopped.append(pids[-1])

    def go_on(self):
        for pid in self.stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def end_life(self):
        """The daemon and the invoker at once, so that what lies in the files is all there is."""
        self.bus.stop(signal.SIGKILL)
        for pid in self.bus.processes("actord-invoker"):
            os.kill(pid, signal.SIGKILL)
        wait_for("the end of the life", lambda: not self.bus.processes("actord-invoker"))

    def damage_checkpoint(self):
        with sqlite3.connect(f"{self.state}/actord/ledger.sqlite") as db:
            wait_for("two checkpoints", lambda: db.execute("SELECT count(*) FROM checkpoints WHERE job = ?", (self.job,)).fetchone()[0] >= 2)
            self.end_life()
            name, = db.execute("SELECT name FROM checkpoints WHERE job = ? ORDER BY life DESC, seq DESC LIMIT 1", (self.job,)).fetchone()
        db.close()
        with open(f"{self.state}/actord/jobs/{self.job}/state/{name}", "r+b") as f:
            f.seek(-300, os.SEEK_END)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        self.bus.start()


@dataclasses.dataclass
class Row:
    what: str
    begin: typing.Callable
    sentence: str          # in the daemon's journal or the job's property Waiting; "": none, nobody has to notice
    end: typing.Callable = lambda w: None
    sets: tuple = ()


ROWS = [
    Row("a full disk", Want.fill_disk, r"cannot be written", Want.free_disk),
    Row("a full disk when the job ends", Want.fill_disk, r"(wait|waits) for space in ", Want.free_disk),
    Row("no inodes", Want.fill_inodes, r"could not write checkpoint-\d+\.safetensors .*: No space left", Want.free_inodes),
    Row("an actor that stops", lambda w: w.stop("actord-actor"), r"did not answer within its TimeoutSec=", Want.go_on, (("Actor.TimeoutSec", "2"),)),
    Row("a daemon that stops for a while", lambda w: w.stop("actord"), "", Want.go_on),
    Row("a newest checkpoint with one wrong bit", Want.damage_checkpoint, r"is damaged: .*; the one before it is tried"),
]


def check_ledger(bus, job, rounds):
    with sqlite3.connect(f"file:{bus.dir}/state/actord/ledger.sqlite?mode=ro", uri=True) as ledger:
        equal(ledger.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "the ledger")
        counted = [r for r, in ledger.execute("SELECT round FROM rounds WHERE job = ? ORDER BY life, seq", (job,))]
        equal(counted, list(range(1, rounds + 1)), "rounds in the ledger, each once")
    ledger.close()


def undisturbed(bus, seen=[]):
    """Policy and rounds of a job that wants nothing; the first one of the daemon's is job 1."""
    if not seen:
        job = bus.submit(overrides=SETS)
        equal(bus.ended(job), "finished", "result")
        seen += bus.get(job, "PolicySHA256"), bus.get(job, "Round")
    return tuple(seen)


def starve(row):
    bus = Bus()
    os.makedirs(bus.dir + "/state")
    if os.environ.get("TRUST_MOUNTS"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},nr_inodes=600", "small", bus.dir + "/state"], check=True)
    try:
        with bus:
            want = undisturbed(bus)
            job = bus.submit(overrides=[*SETS, *row.sets])
            w = Want(bus, job)
            wait_for("some rounds", lambda: bus.get(job, "Round") > 3)
            try:
                row.begin(w)
                if row.sentence:
                    wait_for(f"“{row.sentence}”", lambda: re.search(row.sentence, w.said()))
                else:
                    time.sleep(1)
            finally:
                row.end(w)
            equal(bus.ended(job), "finished", f"result ({bus.get(job, 'Fault')})")
            equal((bus.get(job, "PolicySHA256"), bus.get(job, "Round")), want, "policy and rounds")
            check_ledger(bus, job, want[1])
    finally:
        subprocess.run(["umount", "-l", bus.dir + "/state"], capture_output=True)
        shutil.rmtree(bus.dir, ignore_errors=True)


# A limit of the shell that starts a run, and the name that its sentence has.
LIMITS = [("ulimit -n 40", "RLIMIT_NOFILE"), ("ulimit -f 100", "RLIMIT_FSIZE"), ("ulimit -v 50000", "RLIMIT_AS")]


@story("a limit that is too low is named, and without it the same run is what it would have been")
def limits():
    words = ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", "--set", "Job.StopSteps=1000", "--set", "Job.StopReturn="]
    want = ctl(*words)
    equal(want.status, 0, want.err)
    for limit, name in LIMITS:
        r = ctl(*words, before=("bash", "-c", f'{limit} && exec "$0" "$@"'))
        assert r.status != 0 and (name in r.err or "error while loading shared libraries" in r.err), (limit, r.status, r.err)
        equal(ctl(*words).policy_sha256, want.policy_sha256, f"policies after {limit}")


def add(row):
    def f():
        starve(row)
    f.__name__ = row.what
    story(f"{row.what}: " + ("the sentence is there, and nothing is lost" if row.sentence else "nothing is lost"))(f)


own_mounts()
for r in ROWS:
    add(r)
begin()
if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
