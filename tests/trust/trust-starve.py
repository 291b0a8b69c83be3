#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Resources that a host may run out of, and parts that may stop or be damaged, while a job runs: a row for each. The user gets the sentence of
the row, and nothing is lost: when the resource is back the job ends with the policy, the rounds and the ledger of an undisturbed one.

As root it runs in a mount namespace of its own, with a small disk for the daemon's state; what needs that is skipped elsewhere."""
import dataclasses, resource, shutil, sqlite3, subprocess, typing

from trust import *
from bus import Bus, BusError

# Many epochs make the job outlast what happens to it, on a fast host too, without more records, for which the small disk has no room.
SETS = [("Job.StopReturn", ""), ("Job.StopSteps", "120000"), ("Learner.Epochs", "60"), ("Checkpoint.IntervalSec", "0.1"), ("Checkpoint.Keep", "4"),
        ("Job.Seed", "7")]
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
        self.bus, self.job, self.state, self.stopped, self.limited = bus, job, bus.dir + "/state", [], []

    def said(self):
        """The user's view: the daemon's journal, and the job's property Waiting."""
        waiting = "" if self.bus.daemon.poll() is not None else self.bus.get(self.job, "Waiting")
        return open(self.bus.dir + "/log").read() + waiting

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

    def process(self, comm):
        pids = [self.bus.daemon.pid] if comm == "actord" else self.bus.processes(comm)
        if not pids:
            raise Skip(f"no {comm} stays here")  # a spawner without namespaces
        return pids[-1]

    def stop(self, comm):
        self.stopped.append(self.process(comm))
        os.kill(self.stopped[-1], signal.SIGSTOP)

    def go_on(self):
        for pid in self.stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def limit(self, comm, which, used):
        """Limits a process to what it has now, which `used` counts."""
        pid = self.process(comm)
        try:
            soft, hard = resource.prlimit(pid, which)
            most = used(pid)
            resource.prlimit(pid, which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        except PermissionError:
            raise Skip(f"this user may not limit {comm}")
        self.limited.append((pid, which, (soft, hard)))

    def unlimit(self):
        for pid, which, before in self.limited:
            try:
                resource.prlimit(pid, which, before)
            except ProcessLookupError:
                pass
        if self.bus.daemon.poll() is not None:  # as its service manager does
            self.bus.start()

    def limit_memory(self):
        """It may end of that, or refuse calls."""
        self.limit("actord", resource.RLIMIT_AS, lambda pid: int(open(f"/proc/{pid}/statm").read().split()[0]) * resource.getpagesize())
        for _ in range(20):
            try:
                self.bus.jobs()
            except BusError:
                pass

    def limit_descriptors(self):
        self.limit("actord", resource.RLIMIT_NOFILE, lambda pid: 1 + max(map(int, os.listdir(f"/proc/{pid}/fd"))))
        try:
            self.bus.submit()
        except BusError as e:
            assert re.search(r"RLIMIT_NOFILE|open files", e.text), e.text

    def ledger_away(self):
        os.rename(f"{self.state}/actord/ledger.sqlite", f"{self.state}/actord/away")

    def ledger_back(self):
        os.rename(f"{self.state}/actord/away", f"{self.state}/actord/ledger.sqlite")

    def damage_ledger(self):
        """Overwrites the middle of the ledger's first tables, while no process has it open."""
        self.end_life()
        with sqlite3.connect(f"{self.state}/actord/ledger.sqlite") as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        shutil.copy(f"{self.state}/actord/ledger.sqlite", f"{self.bus.dir}/whole")
        with open(f"{self.state}/actord/ledger.sqlite", "r+b") as f:
            f.seek(4096)
            f.write(b"\xff" * 8192)
        self.bus.start(wait=False)
        wait_for("the daemon refuses it", lambda: self.bus.daemon.poll() is not None)

    def restore_ledger(self):
        shutil.copy(f"{self.bus.dir}/whole", f"{self.state}/actord/ledger.sqlite")
        self.bus.start()

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
    sentence: str          # in the daemon's journal or the job's property Waiting; "": none is needed
    end: typing.Callable = lambda w: None
    sets: tuple = ()
    config: str = ""


ROWS = [
    Row("a full disk", Want.fill_disk, r"cannot be written", Want.free_disk),
    Row("a full disk when the job ends", Want.fill_disk, r"(wait|waits) for space in ", Want.free_disk),
    Row("no inodes", Want.fill_inodes, r"could not write checkpoint-\d+\.safetensors .*: No space left", Want.free_inodes),
    Row("a daemon whose files may not grow", lambda w: w.limit("actord", resource.RLIMIT_FSIZE, lambda pid: 4096),
        r"cannot be written .*RLIMIT_FSIZE", Want.unlimit),
    Row("a learner whose files may not grow", lambda w: w.limit("actord-learner", resource.RLIMIT_FSIZE, lambda pid: 4096),
        r"could not write checkpoint-\d+\.safetensors .*: File too large", Want.unlimit),
    Row("a daemon without a free descriptor", Want.limit_descriptors, "", Want.unlimit),
    Row("a daemon without memory", Want.limit_memory, "", Want.unlimit),
    Row("an actor that stops", lambda w: w.stop("actord-actor"), r"did not answer within its TimeoutSec=", Want.go_on, (("Actor.TimeoutSec", "2"),)),
    Row("a learner that stops", lambda w: w.stop("actord-learner"), r"the learner did not answer within \[Learner\] TimeoutSec=", Want.go_on,
        (("Learner.TimeoutSec", "2"),)),
    Row("an invoker that stops", lambda w: w.stop("actord-invoker"), r"did not answer for \d+ s", Want.go_on, config="InvokerTimeoutSec=2\n"),
    Row("a spawner that stops for a while", lambda w: w.stop("actord-spawn"), "", Want.go_on),
    Row("a daemon that stops for a while", lambda w: w.stop("actord"), "", Want.go_on),
    Row("a ledger that is moved away", Want.ledger_away, r"was removed or replaced while it was in use", Want.ledger_back),
    Row("a ledger with wrong bytes", Want.damage_ledger, r"is damaged, is not a ledger, or was written by a newer actord", Want.restore_ledger),
    Row("a newest checkpoint with one wrong bit", Want.damage_checkpoint, r"is damaged: .*; actord tries the one before it"),
]


def check_ledger(bus, job, rounds):
    with sqlite3.connect(f"file:{bus.dir}/state/actord/ledger.sqlite?mode=ro", uri=True) as ledger:
        equal(ledger.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "the ledger")
        counted = [r for r, in ledger.execute("SELECT round FROM rounds WHERE job = ? ORDER BY life, seq", (job,))]
        equal(counted, list(range(1, rounds + 1)), "rounds in the ledger, each once")
    ledger.close()


def undisturbed(seen=[]):
    """Policy and rounds of a job that wants nothing. It has a daemon of its own: in the ledger that it leaves there is room for
    another job, which would not miss the disk's."""
    if not seen:
        with Bus() as bus:
            job = bus.submit(overrides=SETS)
            equal(bus.ended(job), "finished", "result")
            seen += bus.get(job, "PolicySHA256"), bus.get(job, "Round")
    return tuple(seen)


def starve(row):
    want = undisturbed()
    bus = Bus(row.config)
    os.makedirs(bus.dir + "/state")
    if os.environ.get("TRUST_MOUNTS"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},nr_inodes=600", "small", bus.dir + "/state"], check=True)
    try:
        with bus:
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


# A limit of the shell that starts a run, the name that its sentence has, and what the run needs in order to reach the limit.
LIMITS = [("ulimit -n 40", "RLIMIT_NOFILE", ()), ("ulimit -f 100", "RLIMIT_FSIZE", ()),
          ("ulimit -v 50000", "RLIMIT_AS", ("--set", "Learner.HiddenLayers=2048 2048"))]


@story("a limit that is too low is named, and without it the same run is what it would have been")
def limits():
    words = ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", "--set", "Job.StopSteps=1000", "--set", "Job.StopReturn="]
    want = ctl(*words)
    equal(want.status, 0, want.err)
    for limit, name, sets in LIMITS:
        r = ctl(*words, *sets, before=("bash", "-c", f'{limit} && exec "$0" "$@"'))
        assert r.status != 0 and (name in r.err or "error while loading shared libraries" in r.err), (limit, r.status, r.err)
        equal(ctl(*words).policy_sha256, want.policy_sha256, f"policies after {limit}")


def add(row):
    def f():
        starve(row)
    f.__name__ = row.what.replace(" ", "-")
    story(f"{row.what}: " + ("the sentence is there, and nothing is lost" if row.sentence else "nothing is lost"))(f)


own_mounts()
for r in ROWS:
    add(r)
begin()
if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
