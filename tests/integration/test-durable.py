#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A job that ends on a full disk: either ledger, files and standard output agree, or the job has not ended."""
import contextlib, glob, os, resource, select, shutil, subprocess, sys, tempfile

PRIVATE = "ACTORD_TEST_PRIVATE"


def private_namespace():
    """Runs this program again where it may mount; True if that is impossible."""
    if os.environ.get(PRIVATE):
        return False
    words = ["unshare", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        words[1:1] = ["--user", "--map-root-user"]
    with tempfile.TemporaryDirectory() as d:
        try:
            if subprocess.run([*words, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", d], capture_output=True).returncode != 0:
                return True
        except FileNotFoundError:
            return True
    os.environ[PRIVATE] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


IMPOSSIBLE = private_namespace()

import bus
from bus import *
from small_disk import SmallDisk

# Many epochs: the job lasts longer than what happens to it, without more records.
JOB_SETS = ["Job.StopReturn=", "Job.StopSteps=30000", "Learner.Epochs=100"]


class Disk(SmallDisk):
    def __enter__(self):
        if IMPOSSIBLE:
            raise Skip("nothing can be mounted here")
        return super().__enter__()

    def start(self, *more):
        """A run in the foreground whose state lies here."""
        sets = set_words(*JOB_SETS)
        self.said = tempfile.NamedTemporaryFile("a")
        return subprocess.Popen([CTL, "run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", *sets, *more],
                                env=dict(environment(), XDG_STATE_HOME=self.dir), stdout=subprocess.PIPE, stderr=self.said, text=True,
                                stdin=subprocess.DEVNULL)

    def words(self):
        return open(self.said.name).read()

    def run_directory(self, n=1):
        return f"{self.dir}/actord/runs/{n}"


def reference():
    """The job's results where there is space."""
    if not hasattr(reference, "result"):
        reference.result = run("cartpole", *JOB_SETS)
    return reference.result


def books(directory):
    """State, result, number of rounds that count, of records, and the policy's digest of the only job."""
    db = sqlite3.connect(f"file:{directory}/ledger.sqlite?mode=ro", uri=True)
    try:
        return db.execute("SELECT state, result, (SELECT count(*) FROM rounds), (SELECT count(*) FROM records WHERE kind = 9), "
                          "lower(hex(policy_sha256)), (SELECT sum(n_jobs) FROM totals) FROM jobs").fetchone()
    finally:
        db.close()


def complete(directory, said=None):
    """The whole job is in the ledger, once, and its policy in a file."""
    ref = reference()
    equal(books(directory), ("ended", "finished", ref.rounds, 1, ref.policy_sha256, 1), "the ledger")
    name = f"{directory}/jobs/1/state/checkpoint-{ref.rounds}.safetensors"
    shown = open(name, "rb").read()
    assert ref.policy_sha256.encode() in shown, "the checkpoint is of another policy"
    if said is not None:
        equal((said["state"], said["rounds"], said["policy_sha256"]), ("finished", ref.rounds, ref.policy_sha256), "what was printed")


@story("a disk that is full at the end: the run waits and says for what, and ends when there is space, with all of its records and its policy")
def full_at_the_end():
    reference()
    with Disk() as disk:
        p = disk.start()
        wait_for("it is launched", lambda: os.path.exists(disk.run_directory() + "/run/jobs/1.launch") or p.poll() is not None)
        disk.fill()
        wait_for("it says that it waits", lambda: re.search("waits? for space in", disk.words()) or p.poll() is not None, 60)
        assert p.poll() is None, f"it ended with {p.returncode} on a full disk: {disk.words()}"
        assert "No space left on device" in disk.words(), disk.words()
        assert books(disk.run_directory())[0] != "ended", "its row says that it has ended"
        disk.free()
        out, _ = p.communicate(timeout=60)
        equal(p.returncode, 0, "status")
        complete(disk.run_directory(), json.loads(out))


@story("a daemon that is killed while an end waits for space: the next one comes to the same ledger")
def killed_while_it_waits():
    reference()
    with Disk() as disk:
        tempfile.tempdir = disk.dir
        try:
            with Bus() as b:
                job = b.submit(overrides=[s.split("=", 1) for s in JOB_SETS])
                wait_for("it is launched", lambda: os.path.exists(f"{b.dir}/actord/jobs/{job}.launch") or b.state(job) not in ("queued", "starting"))
                disk.fill()
                wait_for("it waits", lambda: b.get(job, "Waiting") != "", 60)
                equal((b.get(job, "Result"), b.get(job, "PolicySHA256")), ("running", ""), "what is said before it is durable")
                b.stop(signal.SIGKILL)
                disk.free()
                b.start()
                equal(b.ended(job), "finished", "result")
                equal(b.get(job, "Waiting"), "", "Waiting")
                complete(b.dir + "/state/actord")
        finally:
            tempfile.tempdir = None


@story("a learner that is killed while its last checkpoint cannot be written: the next life writes it, and the job is not `finished` before")
def learner_killed_while_it_waits():
    with Bus() as b:
        job = b.submit(overrides=[s.split("=", 1) for s in JOB_SETS])
        wait_for("it runs", lambda: b.state(job) != "queued" and b.processes("actord-learner"))
        state = f"{b.dir}/state/actord/jobs/{job}/state"
        shutil.rmtree(state)
        wait_for("its checkpoint waits", lambda: "its last checkpoint waits" in b.get(job, "Waiting"), 60)
        os.mkdir(state)
        os.chmod(state, 0o777)
        for pid in b.processes("actord-learner"):
            os.kill(pid, signal.SIGKILL)
        equal(b.ended(job), "finished", "result")
        equal((b.get(job, "Life"), b.get(job, "PolicySHA256")), (2, reference().policy_sha256), "lives and policies")


def leave(disk, p):
    """Presses Ctrl-C until it ends; returns what it printed."""
    for _ in range(2):
        p.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out, _ = p.communicate(timeout=60)
    return json.loads(out) if out else None


def recover(disk):
    return ctl("recover", disk.run_directory(), env=dict(environment(), XDG_STATE_HOME=disk.dir))


def consistent(directory):
    """Asserts that the job has ended, that its rounds have no gaps, and that it counts once, however it ended."""
    state, result, rounds, ends, policy, jobs = books(directory)
    equal((state, jobs), ("ended", 1), "state, and jobs in the totals")
    db = sqlite3.connect(f"file:{directory}/ledger.sqlite?mode=ro", uri=True)
    summary = dict(line.split("=", 1) for line in db.execute("SELECT summary FROM jobs").fetchone()[0].splitlines())
    equal(db.execute("SELECT coalesce(max(round), 0) FROM rounds").fetchone()[0], rounds, "rounds without gaps")
    equal(int(summary.get("round", 0)), rounds, "the summary's rounds")
    db.close()
    if result == "finished":
        complete(directory)
    return result, rounds


@story("a run that is left while it waits: status 4, state ending, and what its ledger lacks is kept; recover takes it in, twice as well as once")
def left_while_it_waits():
    with Disk() as disk:
        p = disk.start()
        wait_for("it is launched", lambda: os.path.exists(disk.run_directory() + "/run/jobs/1.launch") or p.poll() is not None)
        disk.fill()
        wait_for("it says that it waits", lambda: re.search("waits? for space in", disk.words()) or p.poll() is not None, 60)
        said = leave(disk, p)
        equal((p.returncode, said["state"]), (4, "ending"), "status and state")
        assert os.path.isdir(said["rest"]) and said["rest"] in disk.words(), disk.words()
        assert books(disk.run_directory())[0] != "ended"
        r = recover(disk)
        assert r.status == 1 and "No space left on device. They are kept where they are: free some space" in r.err, r.err
        disk.free()
        r = recover(disk)
        equal(r.status, 0, "recover's status: " + r.err)
        assert not os.path.exists(said["rest"]), "what was taken in is still there"
        result, rounds = consistent(disk.run_directory())
        equal(rounds, said["rounds"], "rounds in the ledger and in what was printed")
        before = books(disk.run_directory())
        equal((recover(disk).status, books(disk.run_directory())), (0, before), "the second time")


@story("a run whose disk is full has its last checkpoint nevertheless, in a place that was reserved; it may be left, and recover takes it in")
def left_with_its_checkpoint():
    ref = reference()
    with Disk() as disk:
        p = disk.start()
        state = disk.run_directory() + "/jobs/1/state"
        wait_for("a place is reserved", lambda: os.path.exists(state + "/.checkpoint.reserve") or p.poll() is not None)
        disk.fill()
        wait_for("its last checkpoint is written", lambda: os.path.exists(f"{state}/checkpoint-{ref.rounds}.safetensors") or p.poll() is not None, 60)
        wait_for("it says that it waits", lambda: re.search("waits? for space in", disk.words()) or p.poll() is not None, 60)
        assert "could not write" not in disk.words(), disk.words()
        said = leave(disk, p)
        equal((p.returncode, said["state"]), (4, "ending"), "status and state")
        disk.free()
        equal(recover(disk).status, 0, "recover's status")
        complete(disk.run_directory())
        assert not os.path.exists(state + "/.checkpoint.reserve"), "the place is still taken"


def rests_of(disk):
    """Directories with records of runs that had their state on this disk."""
    def origin(rest):
        with contextlib.suppress(OSError):
            return open(rest + "/origin").read()
        return ""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = {disk.dir, tempfile.gettempdir(), "/var/tmp", "/dev/shm", os.environ.get("XDG_RUNTIME_DIR") or cache}
    return [rest for place in places for rest in glob.glob(place + "/actord-rest-*") if disk.dir in origin(rest)]


def n_rounds(disk):
    """The rounds of the run that is in progress, by its note."""
    with contextlib.suppress(OSError, ValueError):
        return json.load(open(disk.run_directory() + "/run.json"))["rounds"]
    return 0


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class OnDisk:
    """A command whose disk gets full while it works. place: the variable that puts its state there."""

    def __init__(self, disk, place, *words, **more):
        self.disk = disk
        disk.said = tempfile.NamedTemporaryFile("a")
        self.p = subprocess.Popen([CTL, *words], env={**environment(), place: disk.dir, **more}, stdout=subprocess.PIPE, stderr=disk.said, text=True,
                                  stdin=subprocess.DEVNULL)

    def wait(self, what, condition):
        wait_for(what, lambda: self.p.poll() is not None or condition(), 60)
        assert self.p.poll() is None, f"it ended with {self.p.returncode} before {what}: {self.disk.words()}"

    def fill(self):
        """Fills the disk once there are actors. Returns whether the command now waits for space; otherwise it ended before, with its result."""
        wait_for("its actors", lambda: self.p.poll() is not None or descendants(self.p.pid, "actord-actor"), 60)
        # It cannot end while its invoker stands still. A new actor is called like the invoker for a moment.
        held = descendants(self.p.pid, "actord-invoker")
        signal_all(held, signal.SIGSTOP)
        try:
            if held:
                self.disk.fill()
        finally:
            signal_all(held, signal.SIGCONT)
        wait_for("it waits or ends", lambda: self.p.poll() is not None or re.search("waits? for space in", self.disk.words()), 60)
        if self.p.poll() is None:
            return True
        equal(self.p.wait(), 0, "status before the disk was full: " + self.disk.words())
        self.p.stdout.close()
        self.disk.free()
        return False

    def interrupt(self, meanwhile=lambda: True):
        """Presses Ctrl-C twice. Returns what it printed on both outputs."""
        with self.disk.stays_full():
            self.p.send_signal(signal.SIGINT)
            self.wait("an answer to Ctrl-C", lambda: "Ctrl-C again" in self.disk.words() and meanwhile())
            self.p.send_signal(signal.SIGINT)
            out, _ = self.p.communicate(timeout=60)
        return out, self.disk.words()


def waiting(disk, *words, **more):
    """A command without lasting state that waits for space. If it ended before the disk was full, another try follows."""
    for _ in range(5):
        c = OnDisk(disk, "TMPDIR", *words, **more)
        if c.fill():
            return c
    raise AssertionError(f"{words} ended each time before its disk was full")


@story("an evaluation that is left while its disk is full prints its result if all episodes were played; it and calibrate leave no records behind")
def left_without_a_run():
    ref = reference()
    evaluate = ["eval", f"{ref.state_directory}/jobs/1/state/checkpoint-{ref.rounds}.safetensors", "--json"]
    # No more records than the daemon and the spool hold, or the evaluation would pause.
    played = ctl(*evaluate, "--episodes=4000").json
    with Disk() as disk:
        c = waiting(disk, *evaluate, "--episodes=4000")
        c.wait("all episodes are played", lambda: not descendants(c.p.pid, "actord-actor"))
        out, err = c.interrupt()
        equal((c.p.returncode, {k: json.loads(out)[k] for k in ("episodes", "return_mean")}), (130, {"episodes": 4000, "return_mean": played["return_mean"]}), err)
        assert "another place" not in err and not rests_of(disk), (err, rests_of(disk))
        disk.free()

        c = waiting(disk, *evaluate, "--episodes=1000000")
        out, err = c.interrupt()
        assert (c.p.returncode, out) == (130, "") and re.search(r"left after \d+ of 1000000 episodes: no result is kept", err), (out, err)
        assert not rests_of(disk), rests_of(disk)
        disk.free()

        c = waiting(disk, "calibrate", os.path.join(EXAMPLES, "cartpole.conf"), "--set=Actor.RolloutSteps=4096", "--set=Learner.MinibatchSize=4096")
        out, err = c.interrupt()
        assert (c.p.returncode, out) == (130, "") and "no figure is known before both runs have ended" in err and not rests_of(disk), (out, err)


@contextlib.contextmanager
def no_space_elsewhere():
    """Lets no records be kept outside the disk."""
    places = [place for place in ("/var/tmp", "/dev/shm") if os.path.isdir(place)]
    try:
        for place in places:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", place], check=True)
        yield
    finally:
        for place in places:
            subprocess.run(["umount", "-l", place], stderr=subprocess.DEVNULL)


@story("an evaluation whose disk is full ends soon after actorctl has left it, and does not complain that no place has space for its records")
def left_at_once():
    ref = reference()
    evaluate = ["eval", f"{ref.state_directory}/jobs/1/state/checkpoint-{ref.rounds}.safetensors", "--episodes=1000000"]
    with Disk() as disk, no_space_elsewhere():
        c = waiting(disk, *evaluate, XDG_RUNTIME_DIR=disk.dir)
        out, err = c.interrupt()
        assert (c.p.returncode, out) == (130, "") and "no result is kept" in err and "TMPDIR" not in err, (out, err)
    with Disk() as disk:
        c = waiting(disk, *evaluate)
        daemon, = descendants(c.p.pid, "actord")
        fd = os.pidfd_open(daemon)
        c.p.kill()
        # After 12 s (STOP_LONGEST_USEC) the daemon would have given up waiting for space, and kept the records elsewhere.
        assert select.select([fd], [], [], 10 * PATIENCE)[0], "its daemon waits for space"
        os.close(fd)
        c.p.communicate()
        equal(rests_of(disk), [], "records that were kept")


@story("a training of a scheduler that is left while its disk is full keeps its records and what it learned, and recover takes the records in")
def left_training():
    job = os.path.join(STATE, "inner.conf")
    with open(job, "w") as f:
        f.write("[Job]\nEnvironment=CartPole-v1\nStopSteps=4096\nStopReturn=400\n[Scaling]\nMaxActors=4\n[Actor]\nRolloutSteps=64\n")
    with Disk() as disk:
        c = OnDisk(disk, "XDG_STATE_HOME", "scheduler", "train", job, "--episodes=1000000", "--rounds=6", "--json")
        state = disk.run_directory() + "/jobs/1/state"
        c.wait("a place is reserved", lambda: os.path.exists(state + "/.checkpoint.reserve"))
        c.wait("the first runs", lambda: n_rounds(disk) > 0)
        assert c.fill(), "it ended before its disk was full"
        before = set(os.listdir(state))
        out, err = c.interrupt(lambda: any(f.startswith("checkpoint-") for f in set(os.listdir(state)) - before))
        equal(c.p.returncode, 4, "status: " + err)
        rest, = re.findall(r"the missing records are in (\S+), and", err)
        assert os.path.isdir(rest) and "kept as inner.unfinished" in err and json.loads(out)["name"] == "inner.unfinished", (out, err)
        equal(ctl("scheduler", "show", "inner.unfinished", "--json").json, json.loads(out), "what show says")
        disk.free()
        equal(recover(disk).status, 0, "recover's status")
        assert not os.path.exists(rest), "what was taken in is still there"
        equal(books(disk.run_directory())[:2], ("ended", "interrupted"), "state and result")


# The points at which a disk gets full, in bytes that are left for the run; ACTORD_DURABLE_STEP= makes the steps smaller.
STEP = int(os.environ.get("ACTORD_DURABLE_STEP", 96 << 10))


@story("wherever the disk gets full, and its daemon is killed there: books agree, or recover completes them")
def every_point():
    reference()
    for n, left in enumerate(range(64 << 10, 640 << 10, STEP)):
        with Disk() as disk:
            disk.fill(left)
            p = disk.start()
            wait_for("it waits or ends", lambda: re.search("waits? for space in", disk.words()) or p.poll() is not None, 60)
            if p.poll() is None and n % 2 == 0:
                for pid in descendants(p.pid, "actord"):
                    os.kill(pid, signal.SIGKILL)
            disk.free()
            out, _ = p.communicate(timeout=60)
            if not os.path.exists(disk.run_directory() + "/jobs/1"):
                acted = json.loads(out).get("invocations", {"total": 0})["total"] if out else 0
                assert p.returncode == 1 and acted == 0, f"a run that could not begin printed a result: {out}"
                continue
            if p.returncode == 0:
                complete(disk.run_directory(), json.loads(out))
                continue
            assert not out or json.loads(out)["state"] == "failed", out
            r = recover(disk)
            equal(r.status, 0, f"recover's status, {left} bytes left: {r.err}")
            consistent(disk.run_directory())


@story("recover believes no path that another user wrote, and waits for no pipe")
def foreign_rest():
    r = run("cartpole", "Job.StopReturn=", "Job.StopSteps=1024")
    with tempfile.TemporaryDirectory() as directory:
        origin = os.path.join(directory, "origin")
        shutil.copy(os.path.join(r.state_directory, "ledger.sqlite"), directory)
        open(origin, "w").write(r.state_directory)
        equal(ctl("recover", directory).out, f"The run in {r.state_directory} lacks nothing.\n", "a rest of one's own")
        if os.geteuid() == 0:
            os.chown(directory, 65534, 65534)
            other = ctl("recover", directory)
            assert other.status != 0 and other.out == "" and "belong to another user: run this command as that user" in other.err, (other.out, other.err)
            os.chown(directory, 0, 0)
        os.unlink(origin)
        os.mkfifo(origin)
        equal(ctl("recover", directory).out, f"The run in {directory} lacks nothing.\n", "a pipe")
        os.unlink(origin)
        os.symlink("/dev/zero", origin)
        equal(ctl("recover", directory).out, f"The run in {directory} lacks nothing.\n", "a link")


SHORT = [["Job.StopReturn", ""], ["Job.StopSteps", "2000"]]


@story("a daemon that starts on a full disk answers: list, status and bill work, submit says why it does not, and it waits for space")
def start_on_a_full_disk():
    with Disk() as disk:
        tempfile.tempdir = disk.dir
        try:
            with Bus() as b:
                job = b.submit(overrides=SHORT)
                equal(b.ended(job), "finished", "result")
                bill = b.ctl("bill", job, "--json").out
                b.stop(signal.SIGKILL)
                disk.fill()
                b.start()
                equal(b.ctl("bill", job, "--json").out, bill, "the bill")
                assert "CartPole" in b.ctl("list").out
                assert "finished" in b.ctl("status", job).out
                total, = json.loads(b.ctl("totals", "--json").out)
                equal((total["jobs"], total["env_steps"], total["currency"]), (1, b.get(job, "EnvSteps"), "USD"), "totals")
                assert abs(total["full"] - json.loads(bill)["full"]) < 2e-9, (total, bill)
                # The ledger's own file may have room for a few more.
                taken = []
                try:
                    while len(taken) < 100:
                        taken.append(b.submit(overrides=SHORT))
                    assert False, "jobs were taken that cannot be written down"
                except BusError as e:
                    assert "No space left on device" in e.text, e.text
                b.stop()
                disk.free()
                b.start()
                for job in taken:
                    equal(b.ended(job), "finished", "a job that was taken")
                job = b.submit(overrides=SHORT)
                equal(b.ended(job), "finished", "the next job")
        finally:
            tempfile.tempdir = None


@story("a ledger that is removed or replaced while it is in use: that is said, and a job waits until it is back")
def ledger_taken_away():
    with Bus() as b:
        path = b.dir + "/state/actord/ledger.sqlite"
        job = b.submit(overrides=LONG)
        wait_for("it runs", lambda: b.state(job) == "running")
        os.rename(path, path + ".away")
        wait_for("it waits", lambda: "removed or replaced" in b.get(job, "Waiting"))
        open(path, "w").close()
        assert "removed or replaced" in b.get(job, "Waiting"), b.get(job, "Waiting")
        os.rename(path + ".away", path)
        wait_for("it goes on", lambda: b.get(job, "Waiting") == "")
        b.call("/org/actord1", MANAGER, "StopJob", "t", job)
        equal(b.ended(job), "interrupted", "result")
        assert "removed or replaced" in open(b.dir + "/log").read()


@story("a last checkpoint that can never be written: the second stop ends the job without it, and says so")
def stopped_twice():
    with Bus() as b:
        job = b.submit(overrides=[("Job.StopSteps", "100000000"), ("Job.StopReturn", "")])
        wait_for("some rounds", lambda: b.get(job, "Round") > 3)
        shutil.rmtree(f"{b.dir}/state/actord/jobs/{job}/state")
        b.call("/org/actord1", MANAGER, "StopJob", "t", job)
        wait_for("it says what it waits for", lambda: "its last checkpoint waits" in b.get(job, "Waiting"))
        equal(b.state(job), "ending", "state")
        b.call("/org/actord1", MANAGER, "StopJob", "t", job)
        wait_for("the end", lambda: b.state(job) == "ended", 60)
        equal((b.get(job, "Result"), b.get(job, "PolicySHA256")), ("interrupted", ""), "result and policy")
        assert "its last checkpoint could not be written" in b.get(job, "Fault"), b.get(job, "Fault")


def limit_memory(pid, limits):
    """Sets the limits of the process's data, and returns the former limits."""
    try:
        return resource.prlimit(pid, resource.RLIMIT_DATA, limits)
    except PermissionError:
        raise Skip("the limits of other processes cannot be changed here")


def without_memory(b):
    """A job that is told to end, and whose learner has no memory for the last checkpoint: the job, the learner and its limit."""
    job = b.submit(overrides=[*ENDLESS, ("Checkpoint.IntervalSec", "1000000")])
    wait_for("some rounds", lambda: b.get(job, "Round") > 3)
    pid, = b.processes("actord-learner")
    before = limit_memory(pid, (1 << 20, resource.prlimit(pid, resource.RLIMIT_DATA)[1]))
    b.call("/org/actord1", MANAGER, "StopJob", "t", job)
    wait_for("it says what it waits for", lambda: "its last checkpoint waits for memory (Cannot allocate memory" in b.get(job, "Waiting"))
    equal((b.state(job), "RLIMIT_DATA" in b.get(job, "Waiting")), ("ending", True), "state, and whether a limit is named")
    return job, pid, before


@story("a learner without memory for its last checkpoint: it is tried again, and the job ends with its policy when there is memory")
def no_memory():
    with Bus() as b:
        job, pid, before = without_memory(b)
        limit_memory(pid, before)
        equal(b.ended(job), "interrupted", "result")
        name = f"{b.dir}/state/actord/jobs/{job}/state/checkpoint-{b.get(job, 'Round')}.safetensors"
        sha256 = b.get(job, "PolicySHA256")
        assert sha256 and sha256.encode() in open(name, "rb").read(), f"the checkpoint is not of policy {sha256!r}"


@story("a learner without memory for its last checkpoint: the second stop ends the job without it, and says so")
def no_memory_stopped_twice():
    with Bus() as b:
        job, _, _ = without_memory(b)
        b.call("/org/actord1", MANAGER, "StopJob", "t", job)
        equal((b.ended(job), b.get(job, "PolicySHA256")), ("interrupted", ""), "result and policy")
        assert "its last checkpoint could not be written (Cannot allocate memory)" in b.get(job, "Fault"), b.get(job, "Fault")


def without_learner(b):
    """A job that waits for its last checkpoint, whose learner is killed then, and can have no memory in any life that this daemon starts."""
    job = b.submit(overrides=[s.split("=", 1) for s in JOB_SETS])
    wait_for("it runs", lambda: b.state(job) != "queued" and b.processes("actord-learner"))
    state = f"{b.dir}/state/actord/jobs/{job}/state"
    shutil.rmtree(state)
    wait_for("its checkpoint waits", lambda: "its last checkpoint waits" in b.get(job, "Waiting"), 60)
    os.mkdir(state)
    os.chmod(state, 0o777)
    learners = b.processes("actord-learner")
    for pid in (b.daemon.pid, *b.processes("actord-spawn")):
        limit_memory(pid, (3 << 20, 3 << 20)) # the hard limit: a learner's own is not above it
    for pid in learners:
        os.kill(pid, signal.SIGKILL)
    wait_for("it is tried more often than lives may fail", lambda: b.get(job, "Life") > 7 or b.state(job) == "ended", 60)
    if b.get(job, "Result") == "finished":
        raise Skip("a learner does with that little memory")
    wait_for("it says what it waits for", lambda: b.get(job, "Waiting").startswith("it waits to start again: the learner ") or b.state(job) == "ended")
    assert b.state(job) != "ended" and b.get(job, "Fault").endswith("; actord tries again"), (b.state(job), b.get(job, "Fault"))
    return job


@story("a learner that is lost before its last checkpoint, and cannot have memory again: it is tried until it can, also if a life then fails otherwise, to the same policy")
def no_learner():
    with Bus() as b:
        job = without_learner(b)
        b.stop(signal.SIGKILL)
        b.start() # under the limits of old
        wait_for("the next life", lambda: b.processes("actord-invoker") or b.state(job) == "ended")
        for pid in b.processes("actord-invoker"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        equal((b.ended(job), b.get(job, "PolicySHA256")), ("finished", reference().policy_sha256), "result and policy")


@story("a learner that is lost before its last checkpoint, and cannot have memory again: a stop ends the job without it")
def no_learner_stopped():
    with Bus() as b:
        job = without_learner(b)
        b.call("/org/actord1", MANAGER, "StopJob", "t", job)
        equal((b.ended(job), b.get(job, "PolicySHA256")), ("interrupted", ""), "result and policy")


if __name__ == "__main__":
    tell()
