# SPDX-License-Identifier: LGPL-2.1-or-later
"""A message bus of its own with a daemon on it, for stories about daemons."""
import contextlib, ctypes, shutil, socket

from story import *

MANAGER, JOB = "org.actord1.Manager", "org.actord1.Job"
JOB_TEXT = open(os.path.join(EXAMPLES, "cartpole.conf")).read()
LONG = [("Job.StopReturn", ""), ("Job.StopSteps", "720000"), ("Checkpoint.IntervalSec", "0.3")]
# tests/valgrind.sh runs the daemon under another program, which ends with a status of its own if it found anything.
WRAP, WRAP_FAILED = os.environ.get("ACTORD_WRAP", "").split(), 99
ENDLESS = [("Job.StopReturn", ""), ("Job.StopSteps", "1000000000")]
OPEN_BUS = """<busconfig><type>session</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth><policy context="default"><allow user="*"/>
<allow own="*"/><allow send_type="method_call"/><allow send_requested_reply="true"/><allow receive_type="method_call"/>
<allow receive_requested_reply="true"/><allow send_type="signal"/><allow receive_type="signal"/></policy>
<limit name="max_message_unix_fds">200</limit></busconfig>"""


class BusError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.text = text


@contextlib.contextmanager
def copies_of_descriptors(pid, kind):
    """Has copies of a process's descriptors, as a child that it has just forked; only of those whose links begin with `kind`."""
    pid_fd, place = os.pidfd_open(pid), f"/proc/{pid}/fd/"
    try:
        chosen = [int(fd) for fd in os.listdir(place) if os.readlink(place + fd).startswith(kind)]
        copies = [ctypes.CDLL(None).syscall(438, pid_fd, fd, 0) for fd in chosen]  # pidfd_getfd()
    except PermissionError:
        copies = [-1]
    os.close(pid_fd)
    if -1 in copies:
        raise Skip("this user may not copy the daemon's descriptors")
    yield
    for fd in copies:
        os.close(fd)


class Keeper:
    """Plays the service manager for a service that leaves descriptors with it (sd_notify(3), FDSTORE=1)."""

    def __init__(self, path):
        self.kept, self.path = [], path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.setblocking(False)

    def read(self):
        """Returns everything that the service has said so far, and the names of the descriptors that are kept."""
        while True:
            try:
                text, fds, *_ = socket.recv_fds(self.socket, 4096, 4)
            except BlockingIOError:
                return [name for name, _ in self.kept]
            said = dict(line.split("=", 1) for line in text.decode().splitlines())
            if said.get("FDSTOREREMOVE") == "1":
                for name, fd in self.kept:
                    if name == said["FDNAME"]:
                        os.close(fd)
                self.kept = [k for k in self.kept if k[0] != said["FDNAME"]]
            for fd in fds:
                assert said["FDSTORE"] == "1", said
                self.kept.append((said["FDNAME"], fd))

    def start(self, words, env, **kw):
        """Returns the descriptors from 3 on, and the number of the process for which they are."""
        names, fds = self.read(), [fd for _, fd in self.kept]
        hand = ("import fcntl, os, sys; fds = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 100) for fd in sys.argv[1].split()]\n"
                "for i, fd in enumerate(fds): os.dup2(fd, 3 + i); os.close(fd)\n"
                "os.execvpe(sys.argv[2], sys.argv[2:], dict(os.environ, LISTEN_PID=str(os.getpid())))")
        env = dict(env, NOTIFY_SOCKET=self.path, **({"LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": ":".join(names)} if fds else {}))
        return subprocess.Popen([sys.executable, "-c", hand, " ".join(map(str, fds)), *words], env=env, pass_fds=fds, **kw)


class Bus:
    """A message bus, and at most one actord on it."""

    def __init__(self, config="", kept=False):
        self.dir = tempfile.mkdtemp(prefix="actord-bus-")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.dir, XDG_STATE_HOME=self.dir + "/state",
                        XDG_CONFIG_HOME=self.dir + "/config", DBUS_SESSION_BUS_ADDRESS=f"unix:path={self.dir}/bus")
        os.makedirs(self.dir + "/config/actord")
        open(self.dir + "/config/actord/actord.conf", "w").write("[Daemon]\n" + config)
        self.keeper = Keeper(self.dir + "/notify") if kept else None
        self.broker = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
                                        "--address=" + self.env["DBUS_SESSION_BUS_ADDRESS"]], stderr=subprocess.DEVNULL)
        self.daemon = None

    def is_listening(self):
        """Waits until the bus listens: its socket exists a moment earlier."""
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.dir + "/bus") == 0

    def __enter__(self):
        wait_for("the bus is there", self.is_listening)
        self.start()
        return self

    def __exit__(self, *error):
        if error[0]:
            bear_witness(open(self.dir + "/log", errors="replace").read().splitlines())
        if self.daemon.poll() is not None and self.processes("actord-invoker"):
            self.start()
        if self.daemon.poll() is None:
            for row in self.jobs():
                if row[2] != "ended":
                    try:
                        self.call("/org/actord1", MANAGER, "StopJob", "t", row[0])
                    except BusError as e:
                        assert "has ended already" in e.text, e.text
            wait_for("jobs end", lambda: all(row[2] == "ended" for row in self.jobs()))
        status = self.stop()
        found = [line for line in open(self.dir + "/log") if line.startswith("==")] if status == WRAP_FAILED else []
        self.broker.kill()
        self.broker.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
        assert status != WRAP_FAILED, "".join(found[:60])

    def start(self, wait=True):
        self.log = open(self.dir + "/log", "a")
        start = self.keeper.start if self.keeper else subprocess.Popen
        self.daemon = start([*WRAP, os.path.join(BUILD, "actord"), "--user"], env=self.env, stderr=self.log)
        if wait:
            wait_for("the daemon has its name", lambda: self.has_name(), 60 if WRAP else 20)

    def stop(self, how=signal.SIGTERM):
        """Waits until the bus knows of the daemon's end, which it may learn later than the test. Before that, start() would take the dead daemon's
    name for the new one's."""
        self.daemon.send_signal(how)
        status = self.daemon.wait(timeout=20 * PATIENCE)
        wait_for("the bus knows that the daemon is gone", lambda: not self.has_name())
        return status

    def busctl(self, *words):
        p = subprocess.run(["busctl", "--user", "--json=short", *map(str, words)], env=self.env, capture_output=True, text=True, timeout=30 * PATIENCE)
        if p.returncode != 0:
            raise BusError(p.stderr)
        return json.loads(p.stdout) if p.stdout.strip().startswith("{") else p.stdout

    def has_name(self):
        try:
            return self.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", "s", "org.actord1")["data"][0]
        except BusError:
            return False

    def call(self, path, interface, method, signature="", *args):
        answer = self.busctl("call", "org.actord1", path, interface, method, *([signature, *args] if signature else []))
        return answer["data"] if isinstance(answer, dict) else None

    def ctl(self, *words, ok=True):
        """Runs actorctl with this daemon."""
        r = ctl(*map(str, words), "--user", env=self.env, timeout=60)
        assert not ok or r.status == 0, (words, r.err)
        return r

    def submit(self, text=JOB_TEXT, overrides=(), options=()):
        words = [text, "test.conf", len(overrides), *[w for o in overrides for w in o], 0, len(options), *[w for o in options for w in o]]
        return self.call("/org/actord1", MANAGER, "SubmitJob", "ssa(ss)a{sh}a{sv}", *words)[0]

    def get(self, job, name):
        return self.busctl("get-property", "org.actord1", f"/org/actord1/job/{job}", JOB, name)["data"]

    def jobs(self):
        return self.call("/org/actord1", MANAGER, "ListJobs")[0]

    def state(self, job):
        return next(row[2] for row in self.jobs() if row[0] == job)

    def ended(self, job, deadline=60):
        wait_for(f"job {job} ends", lambda: self.state(job) == "ended", deadline)
        return self.get(job, "Result")

    def ledger(self):
        return sqlite3.connect(f"file:{self.dir}/state/actord/ledger.sqlite?mode=ro", uri=True)

    def processes(self, *comms):
        """Processes of this daemon's jobs: descendants of spawners that have our environment, and processes with our log as standard error, since
    without namespaces a job's spawner does not stay."""
        parents, names, ours = {}, {}, set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                stat = open(f"/proc/{pid}/stat").read()
                names[pid] = stat[stat.index("(") + 1:stat.rindex(")")]
                parents[pid] = int(stat[stat.rindex(")") + 2:].split()[1])
                if names[pid] == "actord-spawn" and self.dir in open(f"/proc/{pid}/environ").read():
                    ours.add(pid)
                elif names[pid] == "actord-invoker" and os.readlink(f"/proc/{pid}/fd/2").startswith(self.dir + "/"):
                    ours.add(pid)
            except OSError:
                pass
        grew = True
        while grew:
            more = {p for p, parent in parents.items() if parent in ours} - ours
            ours |= more
            grew = bool(more)
        return sorted(p for p in ours if names[p] in comms)


class OpenBus(Bus):
    """A bus that any user may call on."""

    def __init__(self, config=""):
        super().__init__(config)
        self.broker.kill()
        self.broker.wait()
        open(self.dir + "/bus.conf", "w").write(OPEN_BUS % self.dir)
        os.chmod(self.dir, 0o711)
        if os.path.exists(self.dir + "/bus"):
            os.unlink(self.dir + "/bus")
        self.broker = subprocess.Popen(["dbus-daemon", "--nofork", "--nopidfile", "--nosyslog", f"--config-file={self.dir}/bus.conf"],
                                       stderr=subprocess.DEVNULL)


def refused(bus, *args, **kinds):
    try:
        bus.submit(*args, **kinds)
    except BusError as e:
        return e.text
    raise AssertionError(f"this job was accepted: {args} {kinds}")


def series(bus, job, after=0, most=1000000):
    names, rows = bus.call(f"/org/actord1/job/{job}", JOB, "GetSeries", "tu", after, most)
    return [dict(zip(names, row)) for row in rows]


def decisions(bus, job, after=0, most=1000000):
    names, rows = bus.call(f"/org/actord1/job/{job}", JOB, "GetDecisions", "tu", after, most)
    return [dict(zip(names, row)) for row in rows]


def check_ledger(bus, job):
    """Asserts that each record is there once, and none is missing."""
    for life, n, last in bus.ledger().execute("SELECT life, count(*), max(seq) FROM records WHERE job = ? GROUP BY life", (job,)):
        assert n == last, (life, n, last)
