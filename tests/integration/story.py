# SPDX-License-Identifier: LGPL-2.1-or-later
"""The vocabulary of the integration tests: run a job, kill an actor, check the books. Prints TAP.

A test file is a list of functions under @story("what a user relies on"); tell() runs them. Only the standard library, and the built tree."""
import contextlib, ctypes, json, os, random, re, signal, sqlite3, subprocess, sys, tempfile, threading, time, traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("ACTORD_BUILD", os.path.join(ROOT, "build"))
CTL = os.path.join(BUILD, "actorctl")
EXAMPLES = os.path.join(ROOT, "examples")

_stories = []
_witnesses = []
WITNESS_LINES = 60


# A deadline ends a test that hangs. Each deadline is the time for a quick machine; a slow or busy one gets this many times as long.
PATIENCE = 6


class Skip(Exception):
    pass


def story(name):
    def add(f):
        _stories.append((name, f))
        return f
    return add


def bear_witness(lines):
    """Keeps lines of a fixture for the case that its story fails, such as its daemon's log. The newest are printed after the reason, so that
    the reason remains if a tool cuts the output."""
    _witnesses.extend(lines[-WITNESS_LINES:])


def _tell_failure(i, name, error):
    """Prints the reason first, then the error at a fixture's end, if there was one."""
    reasons, trace = [], traceback.format_exc().splitlines()
    while error:
        reasons[:0] = "".join(traceback.format_exception_only(error)).splitlines()[:WITNESS_LINES]
        error = error.__cause__ or error.__context__
    print(f"not ok {i} - {name}", flush=True)
    for line in (*reasons, *trace, *_witnesses[-WITNESS_LINES:]):
        print("# " + line, flush=True)


def restart_service():
    """Restarts the system's daemon. On a fast host stories restart it more often than systemd allows in ten seconds."""
    subprocess.run(["systemctl", "reset-failed", "actord.service"], stderr=subprocess.DEVNULL, timeout=60)
    subprocess.run(["systemctl", "restart", "actord.service"], check=True, stdout=subprocess.DEVNULL, timeout=60)


def tell():
    only = sys.argv[1:]
    chosen = [s for s in _stories if not only or any(o in s[1].__name__ for o in only)]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for i, (name, f) in enumerate(chosen, 1):
        start = time.monotonic()
        _witnesses.clear()
        try:
            f()
            print(f"ok {i} - {name} ({time.monotonic() - start:.1f} s)", flush=True)
        except Skip as e:
            print(f"ok {i} - {name} # SKIP {e}", flush=True)
        except Exception as e:
            failed += 1
            _tell_failure(i, name, e)
    sys.exit(1 if failed else 0)


class Result:
    """What a run of actorctl printed, and its files."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds
        try:
            self.json = json.loads(out)
        except ValueError:
            self.json = None

    def __getattr__(self, name):
        if self.json is None or name not in self.json:
            raise AssertionError(f"no {name} in what actorctl printed: status {self.status}, out {self.out[:300]!r}, err {self.err[-800:]!r}")
        return self.json[name]


def environment():
    """Directories of the test's own, so that no test touches the user's files."""
    e = dict(os.environ)
    e["XDG_STATE_HOME"] = STATE
    e["XDG_DATA_HOME"] = os.path.join(STATE, "data")
    return e


STATE = tempfile.mkdtemp(prefix="actord-test-")


def _remove_state():
    import shutil
    shutil.rmtree(STATE, ignore_errors=True)


import atexit
atexit.register(_remove_state)


def ctl(*args, during=None, timeout=120, before=(), env=None):
    """Runs actorctl to its end; `during(process)` runs beside it in a thread."""
    start = time.monotonic()
    p = subprocess.Popen([*before, CTL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         stdin=subprocess.DEVNULL, env=env or environment())
    helper = threading.Thread(target=during, args=(p,), daemon=True) if during else None
    if helper:
        helper.start()
    try:
        out, err = p.communicate(timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        # Its daemon and its relay hold the pipes, too.
        for pid in (*descendants(p.pid), p.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        out, err = p.communicate()
        raise AssertionError(f"actorctl {' '.join(args)} took longer than {timeout * PATIENCE} s: {err[-800:]}")
    if helper:
        helper.join(5)
    return Result(p.returncode, out, err, time.monotonic() - start)


def bash(line, timeout=120, check=True, env=None):
    """Runs a line of bash without input. With check, a failure raises an error that shows what the line printed."""
    r = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, env=env)
    if check and r.returncode != 0:
        raise AssertionError(f"`{line}` ended with {r.returncode}: {r.stdout[-1500:]} {r.stderr[-1500:]}")
    return r


def set_words(*sets):
    """The words of a command line that set these: texts "Section.Key=VALUE"."""
    return [word for s in sets for word in ("--set", s)]


def run(example, *sets, seed=None, during=None, timeout=120, before=(), ok=True):
    """Runs a job in the foreground. sets: texts "Section.Key=VALUE"."""
    path = example if "/" in example else os.path.join(EXAMPLES, example + ".conf")
    args = ["run", path, "--json", *set_words(*sets)]
    if seed is not None:
        args += ["--seed", str(seed)]
    r = ctl(*args, during=during, timeout=timeout, before=before)
    if ok and r.status != 0:
        raise AssertionError(f"actorctl {' '.join(args)} ended with {r.status}: {r.err[-1200:]}")
    return r


def shared_library(source, *flags, name=None):
    """Compiles an environment from the file `source` of the tree, once for all stories of the test; returns its path."""
    path = os.path.join(STATE, name or os.path.basename(source)[:-2] + ".so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-std=gnu17", "-O1", "-fPIC", "-shared", *flags, "-I", os.path.join(ROOT, "include"),
                        "-o", path, os.path.join(ROOT, source), "-lm"], check=True)
    return path


def offset_of(member):
    """The offset of a member of JobSettings in bytes, for a test that changes sealed settings."""
    source = '#include <stdio.h>\n#include <stddef.h>\n#include "include/settings.h"\nint main(void) { printf("%zu", offsetof(JobSettings, ' \
             + member + ")); }"
    path = os.path.join(STATE, "offset")
    subprocess.run(["cc", "-std=gnu17", "-I", ROOT, "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return int(subprocess.run([path], stdout=subprocess.PIPE, check=True).stdout)


HOSTILE = "tests/integration/hostile-env.c"


def in_time(how):
    """A short deadline for actors, only for those that hang: on a slow machine the start alone may take that long."""
    return ("Actor.TimeoutSec=3",) if how in ("hang", "stall") else ()


def processes():
    """{pid: (parent, comm)} of all processes."""
    found = {}
    for d in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open(f"/proc/{d}/stat").read()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        if fields[0] != "Z":
            found[int(d)] = (int(fields[1]), text[text.index("(") + 1:text.rindex(")")])
    return found


def pids(comm):
    """The numbers of all processes with this name, in order."""
    return sorted(pid for pid, (_, name) in processes().items() if name == comm)


def descendants(pid, comm=None):
    all_ = processes()
    found, grew = {pid}, True
    while grew:
        new = {p for p, (pp, _) in all_.items() if pp in found} - found
        found |= new
        grew = bool(new)
    return [p for p in found - {pid} if comm is None or all_[p][1] == comm]


def adopt_orphans():
    """From now on a process of this test that loses its parent becomes a child of the test, so that processes of others are never taken for its own."""
    ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def left_over():
    """{pid: comm} of the product's processes that descend from this test."""
    return {pid: comm for pid, (_, comm) in processes().items() if comm.startswith("actord") and pid in descendants(os.getpid())}


def wait_for(what, condition, seconds=20):
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds * PATIENCE} s in vain for {what}")


def run_of(r):
    """The name by which verbs know a run."""
    return "r" + os.path.basename(r.state_directory)


def rounds_of_newest_run():
    """The rounds of the newest run by its ledger, which is a tenth of a second behind."""
    place = os.path.join(STATE, "actord", "runs")
    ledger = os.path.join(place, max(os.listdir(place), key=int), "ledger.sqlite")
    try:
        with contextlib.closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as db:
            return db.execute("SELECT max(round) FROM records").fetchone()[0] or 0
    except sqlite3.OperationalError:  # it is about to be made
        return 0


class Killer:
    """Kills processes of a name during a run: random ones, or those that choose() takes from their sorted ids. `killed` lists them.

    A job endures a hundred kills of one invocation, but on a slow host no invocation might finish between two of them."""

    def __init__(self, comm, low=0.03, high=0.15, most=30, seed=1, choose=None, ready=lambda seconds: True):
        self.comm, self.low, self.high, self.most, self.ready, self.killed = comm, low, high, most, ready, []
        self.random = random.Random(seed)
        self.choose = choose or self.random.choice

    def hit(self, r):
        """Asserts that the run had to repeat something: the processes were still at work."""
        assert self.killed and r.recovered, f"{self.killed} of {self.comm} were killed, and the run recovered from {r.recovered}"

    def __call__(self, p):
        start = time.monotonic()
        while p.poll() is None and len(self.killed) < self.most:
            time.sleep(self.random.uniform(self.low, self.high))
            pids = descendants(p.pid, self.comm)
            if pids and self.ready(time.monotonic() - start):
                victim = self.choose(sorted(pids))
                try:
                    os.kill(victim, signal.SIGKILL)
                    self.killed.append(victim)
                except ProcessLookupError:
                    pass


def within(before, comm, choose=None):
    """Kills one process in the middle of a run that has as many rounds as the run `before`: after a quarter of these, or after 0.4 of its time
    if the ledger is too far behind, as on a fast host."""
    return Killer(comm, low=0, high=0.01, most=1, choose=choose,
                  ready=lambda seconds: seconds >= 0.4 * before.seconds or rounds_of_newest_run() >= 0.25 * before.rounds)


def close(a, b, relative=1e-9):
    return abs(a - b) <= relative * max(abs(a), abs(b)) + 1e-18


def equal(a, b, what="values"):
    assert a == b, f"{what} differ: {a!r} and {b!r}"
