#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The display on a terminal, as an emulator shows it: lines that fit, a bar that stays in its place, keys."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
from bus import *
from story import CTL, EXAMPLES, PATIENCE, STATE, Skip, descendants, environment, equal, story, tell, wait_for

try:
    import pyte
except ImportError:
    pyte = None

WIDE = 400  # of the emulator: a line that the program made too long is then seen as a long line


class Terminal:
    """actorctl on a terminal that it takes for one of `columns`."""

    def __init__(self, *words, columns=80, lines=24, env=None, before=(), **more):
        if not pyte:
            raise Skip("python3-pyte is not installed")
        self.screen, self.seen = pyte.HistoryScreen(WIDE, 60, history=2000), b""
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = dict(env or environment(), TERM="xterm", LC_ALL="C.UTF-8", ACTORD_PAGER="", **more)
            env.pop("COLUMNS", None)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            command = [*before, CTL, *map(str, words)]
            os.execvpe(command[0], command, env)

    def until(self, condition, seconds=30):
        end = time.monotonic() + seconds * PATIENCE
        while time.monotonic() < end:
            if condition(self):
                return True
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return condition(self)
            if not data:
                return condition(self)
            self.seen += data
            self.stream.feed(data)
        return False

    def lines(self):
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def text(self):
        return "\n".join(self.lines())

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def status(self):
        self.until(lambda _: False, 60)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


RUN = ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopReturn=450", "--set", "Job.StopSteps=40000", "--set", "Job.Budget=0.01USD"]


@story("run fits 60, 80 and 120 columns: a bar with the time left, the target and the budget, the run's name, limits in one line")
def fits():
    for columns in 60, 80, 120:
        t = Terminal(*RUN, columns=columns)
        # Early rounds in which no episode ends have no return to show.
        assert t.until(lambda t: re.search(r"(?m)^\[.* return .* left", t.text())), t.text()
        live = next(line for line in t.lines() if line.startswith("["))
        equal(t.status(), 0, t.text())
        # a path or a digest is never cut, so that it can be copied
        long = [line for line in t.lines() if len(line) > columns and not re.match(r"checkpoint |policy sha256 ", line)]
        equal(long, [], f"lines beyond {columns} columns")
        assert re.match(r"\[.{10,20}\] +\d+% (round's )?return [\d.]+ of 450", live), live
        assert " left" in live and (columns < 80 or re.search(r"0\.\d+ of 0\.01 USD", live)), live
        assert re.search(r"(?m)^run r\d+: CartPole-v1, ppo, seed 1$", t.text()) and "keys: s stops the run" in t.text(), t.text()
        assert t.text().count("not enforced") <= 1 and "RLIMIT_AS" not in t.text(), t.text()
        assert sum(line.startswith("[") for line in t.lines()) == 1, t.text()


@story("colours are for terminals, and NO_COLOR= is honoured")
def colours():
    t, plain = Terminal(*RUN), Terminal(*RUN, NO_COLOR="1")
    equal((t.status(), plain.status()), (0, 0), "status")
    assert b"\033[32m[" in t.seen and b"\033[0m" in t.seen, t.seen[-2000:]
    assert not re.search(rb"\033\[\d*m", plain.seen), plain.seen[-2000:]


@story("Ctrl-C echoes nothing; s stops a run as cleanly; and the terminal is as it was")
def stops():
    for key, status in ("\x03", 130), ("s", 130):
        t = Terminal("run", os.path.join(EXAMPLES, "hopper.conf"))
        before = termios.tcgetattr(t.fd)[3]
        assert t.until(lambda t: "return" in t.text()), t.text()
        equal(termios.tcgetattr(t.fd)[3] & (termios.ECHO | termios.ICANON), 0, "while it goes on")
        t.type(key)
        assert t.until(lambda t: "checkpoint /" in t.text()), t.text()
        assert "^C" not in t.text() and "interrupted after" in t.text(), t.text()
        equal(t.status(), status, t.text())


@story("on a terminal that takes lines alone Ctrl-C echoes nothing either, and the terminal is as it was")
def plain_stop():
    script = '"$@"; echo "the end: $?"; stty -a'
    t = Terminal("run", os.path.join(EXAMPLES, "hopper.conf"), before=["env", "TERM=dumb", "bash", "-m", "-c", script, "bash"])
    assert t.until(lambda t: not termios.tcgetattr(t.fd)[3] & termios.ECHO), t.text()
    assert termios.tcgetattr(t.fd)[3] & termios.ICANON, "keys"
    t.type("\x03")
    assert t.until(lambda t: b"the end: 130" in t.seen), t.text()
    equal(t.status(), 0, t.text())
    shown, _, after = t.seen.partition(b"the end")
    assert b"^C" not in shown and b"\x03" not in shown and b"\033[" not in shown and b"interrupted after" in shown, shown
    assert re.search(rb" icanon .* echo ", after, re.S), after


@story("f freezes a run, which stays without processes of its job, and lets it go on to the same policy")
def freezes():
    words = ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopReturn=", "--set", "Job.StopSteps=480000"]
    policy = lambda t: re.search(r"policy sha256 +(\w+)", t.text())[1]
    calm, t = Terminal(*words), Terminal(*words)
    assert t.until(lambda t: " round" in t.text()), t.text()
    t.type("f")
    assert t.until(lambda t: "frozen, " in t.text()), t.text()
    equal(descendants(t.pid, "actord-invoker") + descendants(t.pid, "actord-learner"), [], "processes of the job")
    t.type("f")
    equal((calm.status(), t.status()), (0, 0), t.text())
    equal(policy(t), policy(calm), "policy")
    assert "tries again" not in t.text(), t.text()


@story("watch draws a curve over an axis of steps, in its place, tells the scheduler's count; q leaves the job, s stops it")
def watches():
    with Bus() as bus:
        job = bus.submit(overrides=[*ENDLESS, ("Scaling.MaxActors", "4"), ("Scaling.Policy", "auto"), ("Job.StopReturn", "")])
        for columns in 60, 120:
            t = Terminal("watch", job, "--user", columns=columns, env=bus.env)
            assert t.until(lambda t: re.search(r"(?m)^ +[\d,]+ +[\d,]+ steps$", t.text())), t.text()
            t.until(lambda _: False, 0.2)
            assert all(len(line) <= columns for line in t.lines()), t.text()
            assert re.search(r"job \d+: .*, round \d+, \d of 4 actors", t.text()), t.text()
            equal(sum("keys: " in line for line in t.lines()), 1, t.text())
            t.type("q")
            equal(t.status(), 0, "q: " + t.text())
            assert bus.state(job) == "running", "left"
        t = Terminal("watch", job, "--user", env=bus.env)
        assert t.until(lambda t: "keys: " in t.text()), t.text()
        t.type("s")
        equal(t.status(), 0, "s: " + t.text())
        equal(bus.ended(job), "interrupted", "stopped")
        assert "interrupted after" in t.text(), t.text()


def cooked(t):
    both = termios.ECHO | termios.ICANON
    return termios.tcgetattr(t.fd)[3] & both == both


@story("top fits its terminal's height, says when its job has ended, and leaves the terminal as it was, be it by a key or a signal")
def top_screen():
    with Bus() as bus:
        jobs = [bus.submit(overrides=[*ENDLESS, ("Scaling.Actors", "1")]) for _ in range(3)]
        for end, status in ("q", 0), ("\x03", 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130):
            # the kernel sets a terminal right at the end of its first program, which is therefore not top
            t = Terminal("top", "--user", lines=8, env=bus.env, before=["bash", "-c", '"$@"; echo "the end: $?"; stty -a', "bash"])
            assert t.until(lambda t: "keys: c CPU" in t.text()), t.text()
            assert not cooked(t) and "1 more" in t.text(), t.text()
            equal(sum(" CartPole-v1 " in line for line in t.lines()), 2, t.text())
            if isinstance(end, str):
                t.type(end)
            else:
                os.kill(descendants(t.pid, "actorctl")[0], end)
            equal(t.status(), 0, f"{end!r}: {t.text()}")
            said = re.split(rb"the end: (\d+)", t.seen)
            equal(int(said[1]), status, f"{end!r}: {t.text()}")
            assert re.search(rb"(?<!-)icanon\b.*(?<!-)\becho\b", said[2], re.S), (end, said[2])
        t = Terminal("top", jobs[0], "--user", env=bus.env)
        assert t.until(lambda t: "keys: c CPU" in t.text()), t.text()
        bus.ctl("stop", jobs[0])
        assert t.until(lambda t: f"job {jobs[0]} has ended (interrupted)" in t.text()), t.text()
        equal(t.status(), 0, t.text())


def top(bus, *words):
    return bus.ctl("top", "--json=short", *words).json


@story("top sorts by what --sort= or a key says: the largest first, unknown values last, and numbers of jobs from the first")
def top_sorts():
    with Bus("MaxJobs=3\n") as bus:
        still, small, large = jobs = [bus.submit(overrides=[*ENDLESS, ("Actor.RolloutSteps", "64"), ("Scaling.Actors", n)]) for n in "112"]
        wait_for("rounds", lambda: all(bus.get(job, "Round") > 0 for job in jobs))
        bus.ctl("freeze", still)
        wait_for("the freeze", lambda: bus.state(still) == "frozen")
        for word, column in ("cpu", "cpu_cores"), ("memory", "memory_bytes"), ("steps", "env_steps_per_s"), ("cost", "cost_per_hour"), ("dollars", "cost_per_hour"):
            rows = top(bus, f"--sort={word}")
            known = [row[column] for row in rows if row[column] is not None]
            equal(known, sorted(known, reverse=True), word)
            assert all(row[column] is None for row in rows[len(known):]), rows
            if column in ("env_steps_per_s", "cost_per_hour"):
                assert known and rows[-1]["job"] == still, (word, rows)
        equal([row["job"] for row in top(bus, "--sort=job")], jobs, "job")
        r = bus.ctl("top", "--sort=name", ok=False)
        assert r.status == 2 and "--sort=name: it must be one of cpu, memory, steps, cost, job" in r.err, r.err

        t = Terminal("top", "--user", columns=120, env=bus.env)
        first = lambda t: int(re.search(r"(?m)^ *JOB .*\n *(\d+) ", t.text())[1])
        for key, word in ("s", "steps"), ("j", "job"), ("m", "memory"), ("d", "cost"), ("c", "cpu"):
            assert t.until(lambda t: "keys: c CPU" in t.text()), t.text()
            t.type(key)
            assert t.until(lambda t: f"by {word}; keys" in t.text()), (key, t.text())
            if word in ("steps", "job", "cost"):
                equal(first(t) == still, word == "job", word + "\n" + t.text())
        t.type("q")
        equal(t.status(), 0, t.text())


@story("after Ctrl-Z and bg the keys and the terminal are the shell's, and the watching goes on")
def background():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        script = '"$@"; stty sane; bg; sleep 2; read x; echo "the shell read $x"; wait %1; echo "status $?"; stty -a'
        t = Terminal("watch", job, "--user", env=bus.env, before=["bash", "-m", "-c", script, "bash"])
        assert t.until(lambda t: "keys: " in t.text()), t.text()
        t.type("\x1a")
        assert t.until(lambda t: cooked(t)), t.text()
        assert t.until(lambda t: re.search(rb"\[1\]\S? .* &", t.seen)), t.text()
        t.type("hello\n")
        assert t.until(lambda t: b"the shell read hello" in t.seen), t.text()
        bus.ctl("stop", job)
        assert t.until(lambda t: b"status 0" in t.seen), t.text()
        assert t.until(lambda t: re.search(rb" icanon .* echo ", t.seen[t.seen.rindex(b"status 0"):], re.S)), t.text()
        equal(t.status(), 0, t.text())


@story("where less is not installed, a listing is printed without a pager")
def without_less():
    place = os.path.join(STATE, "without-less")
    os.makedirs(place, exist_ok=True)
    os.symlink("/bin/sh", os.path.join(place, "sh"))
    t = Terminal("keys", "Learner.Gamma", before=("env", "-u", "ACTORD_PAGER", "-u", "SYSTEMD_PAGER", "-u", "PAGER", "PATH=" + place))
    equal(t.status(), 0, "status")
    assert "Learner.Gamma" in t.text() and "not found" not in t.text(), t.text()


tell()
