#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One caller's flood of calls does not hold up another's call: callers take turns, whatever came first. The tests assert an order, never a time."""
import contextlib, resource

from bus import *
from wire import Refused, Wire

FLOOD = 600


class Answers:
    """The names of those that were answered, in the order in which the bus passed the answers on."""

    def __init__(self, bus):
        self.seen = []
        self.process = subprocess.Popen(["stdbuf", "-oL", "busctl", "--user", "--json=short", "monitor", "org.actord1"], env=bus.env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "Monitoring" in self.process.stderr.readline()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            m = json.loads(line)
            if m["type"] in ("method_return", "error"):
                self.seen.append((m["destination"], m["reply_cookie"]))

    def before(self, name, serial):
        """Names that were answered before this call."""
        wait_for("the answer is seen", lambda: (name, serial) in self.seen)
        return [n for n, _ in self.seen[:self.seen.index((name, serial))]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def ask(wire, member="ListJobs", signature="", *values):
    return wire.send("org.actord1", "/org/actord1", MANAGER, member, signature, *values)


def calls_before(bus, many, one, answers):
    """How many calls of a flood are answered before another caller's only one, which came last."""
    # While the daemon is stopped all calls queue up.
    os.kill(bus.daemon.pid, signal.SIGSTOP)
    floods = [ask(many) for _ in range(FLOOD)]
    mark = many.send("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
    many.answer(mark)  # the bus has passed on what came before
    call = ask(one)
    one.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
    os.kill(bus.daemon.pid, signal.SIGCONT)
    equal(one.answer(call), [[]], "the answer")
    for serial in floods:
        equal(many.answer(serial), [[]], "an answer of the flood")
    n = answers.before(one.name, call).count(many.name)
    answers.before(many.name, floods[-1])
    equal([s for name, s in answers.seen if name == many.name and s in set(floods)], floods, "the order of a connection's answers")
    return n


@story("a call behind a flood of another's is answered before most of the flood is, and each caller's answers keep their order")
def flood():
    # The daemon reads 256 calls for each one that it serves, as far as the bus has passed them on: where the bus is not
    # scheduled meanwhile, the one call arrives after most of the flood was served. So the best of a few is looked at.
    for _ in range(16):
        with Bus() as bus, Answers(bus) as answers:
            address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
            with Wire(address) as many, Wire(address) as one:
                for wire in many, one:
                    wire.answer(ask(wire))  # from now on it knows whose calls these are
                n = calls_before(bus, many, one, answers)
        if n <= FLOOD // 4:
            return
    raise AssertionError(f"{n} of the flood's {FLOOD} calls were answered before another caller's only one")


@story("calls beyond what a user may have waiting are refused in words, and the others are answered")
def too_many():
    with Bus() as bus:
        with Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as many:
            os.kill(bus.daemon.pid, signal.SIGSTOP)
            calls = [ask(many) for _ in range(1024 + 400)]
            os.kill(bus.daemon.pid, signal.SIGCONT)
            refused = 0
            for serial in calls:
                try:
                    equal(many.answer(serial), [[]], "an answer")
                except Refused as e:
                    refused += 1
                    assert e.name == "org.actord1.Error.Busy" and "1024 of each user" in e.text, e
            # Each call may bring eight descriptors, and half of the daemon's are for calls that wait.
            room = min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 16)
            assert 0 < refused <= 1024 + 400 - room, refused
            equal(many.answer(ask(many)), [[]], "afterwards")


def make_longer(bus, job, times):
    """Copies the records of an ended job many times, so that it has as many as a job of a week."""
    path = bus.dir + "/state/actord/ledger.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(records)")]
        last, = db.execute("SELECT max(seq) FROM records WHERE job = ?", (job,)).fetchone()
        same = ", ".join(c for c in columns if c != "seq")
        for i in range(1, times):
            db.execute(f"INSERT INTO records (seq, {same}) SELECT seq + ?, {same} FROM records WHERE job = ? AND seq < ?", (i * last, job, last))
        db.commit()


@story("while a long job's bill is made by another price sheet other calls are answered, and a user has room for some such calls")
def long_calls():
    with Bus() as bus:
        job, small = (bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", n), ("Actor.RolloutSteps", "4"),
                                            ("Learner.MinibatchSize", "32"), ("Learner.Epochs", "1")])
                      for n in ("6000", "200"))
        equal((bus.ended(job), bus.ended(small)), ("finished", "finished"), "results")
        long_path, path = f"/org/actord1/job/{job}", f"/org/actord1/job/{small}"
        short = bus.call(long_path, JOB, "GetBillUnder", "s", "azure-aci")
        bus.stop()
        make_longer(bus, job, 300)
        bus.start()
        address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
        with Answers(bus) as answers, Wire(address) as long, Wire(address) as other:
            for wire in long, other:
                wire.answer(ask(wire))
            bill = long.send("org.actord1", long_path, JOB, "GetBillUnder", "s", "azure-aci")
            # One more may be answered before it is begun with, or while the bus passes it on.
            for _ in range(6):
                other.answer(ask(other))
            made = long.answer(bill)
            assert made[3] > 10 * short[3], (made, short)
            equal(answers.before(long.name, bill).count(other.name), 7, "calls that were answered before the bill was made")

            os.kill(bus.daemon.pid, signal.SIGSTOP)
            bills = [long.send("org.actord1", path, JOB, "GetBillUnder", "s", "azure-aci") for _ in range(40)]
            long.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
            os.kill(bus.daemon.pid, signal.SIGCONT)
            refused = []
            for call in bills:
                try:
                    assert long.answer(call)[3] > 0
                except Refused as e:
                    refused.append(e)
            # Where the bus or the gate is slow, some are answered before the last ones come.
            assert 0 < len(refused) <= 24 and all(e.name == "org.actord1.Error.Busy" and "16 of your calls" in e.text for e in refused), refused


@story("while the many records of an ended job are read for its rounds, faults or estimates, other calls are answered")
def records_read():
    with Bus() as bus:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "6000"), ("Actor.RolloutSteps", "4"), ("Learner.MinibatchSize", "32"),
                                    ("Learner.Epochs", "1")])
        equal(bus.ended(job), "finished", "result")
        path, address = f"/org/actord1/job/{job}", bus.env["DBUS_SESSION_BUS_ADDRESS"]
        bus.stop()
        make_longer(bus, job, 60)
        for words in ("GetSeries", "tu", 0, 40), ("GetFaults", "u", 9), ("GetEstimates",):
            bus.start()
            with Answers(bus) as answers, Wire(address) as long, Wire(address) as other:
                for wire in long, other:
                    wire.answer(ask(wire))
                calls = [long.send("org.actord1", path, JOB, *words) for _ in range(2)]
                for _ in range(6):
                    other.answer(ask(other))
                made = [long.answer(call) for call in calls]
                equal(answers.before(long.name, calls[0]).count(other.name), 7, f"calls that were answered before {words[0]}")
                equal(repr(made[0]), repr(made[1]), "two answers")
                equal(repr(long.answer(long.send("org.actord1", path, JOB, *words))), repr(made[0]), "a later answer")
            bus.stop()
        bus.start()


@story("a bill by another price sheet is made while another caller's calls keep the daemon busy")
def long_call_in_flood():
    with Bus() as bus, Answers(bus) as answers:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "4000"), ("Actor.RolloutSteps", "4"), ("Learner.MinibatchSize", "32"),
                                    ("Learner.Epochs", "1")])
        equal(bus.ended(job), "finished", "result")
        path, address = f"/org/actord1/job/{job}", bus.env["DBUS_SESSION_BUS_ADDRESS"]
        with Wire(address) as many, Wire(address) as one:
            for wire in many, one:
                wire.answer(ask(wire))
            os.kill(bus.daemon.pid, signal.SIGSTOP)
            floods = [many.send("org.actord1", path, JOB, "GetSeries", "tu", 0, 40) for _ in range(FLOOD)]
            many.answer(many.send("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
            call = one.send("org.actord1", path, JOB, "GetBillUnder", "s", "azure-aci")
            one.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")
            os.kill(bus.daemon.pid, signal.SIGCONT)
            assert one.answer(call)[3] > 0
            for serial in floods:
                many.answer(serial)
            n = answers.before(one.name, call).count(many.name)
            answers.before(many.name, floods[-1])
            print(f"# {n} of {FLOOD} were answered before it", flush=True)
            assert n < FLOOD, f"all {FLOOD} calls of the flood were answered before another caller's only one"


def gate_of(bus):
    return wait_for("the gate", lambda: descendants(bus.daemon.pid, "actord-gate"))[0]


def pause(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_for("the process stands still", lambda: open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T")


def refused_submission(wire, null):
    """A text with mistakes in it, and a descriptor that a keeper holds until the answer."""
    return wire.submit("[Job]\nEnvironment=None\n", files=[("environment", null)])


def passed(wire):
    """The bus has passed on what came before."""
    wire.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId")


def turned_down(wire, serial):
    try:
        wire.answer(serial)
    except Refused as e:
        return e
    raise AssertionError("the call was taken")


@story("a user's one message with descriptors is answered after a few of another user's sixty, and each connection's keep their order")
def descriptors():
    # Another user's where we may be one; else another connection's, as they take turns, too.
    other = 65534 if os.geteuid() == 0 else None
    with OpenBus() as bus, Answers(bus) as answers, open("/dev/null") as null, contextlib.ExitStack() as stack:
        address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
        crowd = [stack.enter_context(Wire(address, other)) for _ in range(6 if other else 1)]
        one = stack.enter_context(Wire(address))
        for wire in (*crowd, one):
            turned_down(wire, refused_submission(wire, null.fileno()))
        gate = gate_of(bus)
        pause(gate)
        calls = [(wire, refused_submission(wire, null.fileno())) for _ in range(60 // len(crowd)) for wire in crowd]
        for wire in crowd:
            passed(wire)
        call = refused_submission(one, null.fileno())
        passed(one)
        os.kill(gate, signal.SIGCONT)
        turned_down(one, call)
        for wire, serial in calls:
            turned_down(wire, serial)
        answers.before(calls[-1][0].name, calls[-1][1])
        order = answers.seen[:answers.seen.index((one.name, call))]
        n = len({(wire.name, serial) for wire, serial in calls} & set(order))
        print(f"# {n} of 60 were answered before it", flush=True)
        # Each message may bring eight descriptors, and half of the gate's are for those that wait.
        room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 16
        assert n <= 10 + max(0, 61 - room), f"{n} of another's 60 were answered before one's only call"
        for wire in crowd:
            seen = [s for name, s in answers.seen if name == wire.name]
            equal(seen, sorted(seen), "the order of a connection's answers")


@story("a message without descriptors is passed on at once, between messages that bring some")
def without_descriptors():
    with OpenBus() as bus, Answers(bus) as answers, open("/dev/null") as null:
        address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
        with Wire(address) as many, Wire(address) as one:
            for wire in many, one:
                turned_down(wire, refused_submission(wire, null.fileno()))
            gate = gate_of(bus)
            pause(gate)
            calls = [refused_submission(many, null.fileno()) for _ in range(15)]
            passed(many)
            call = ask(one)
            passed(one)
            calls += [refused_submission(many, null.fileno()) for _ in range(15)]
            passed(many)
            os.kill(gate, signal.SIGCONT)
            equal(one.answer(call), [[]], "the answer")
            for serial in calls:
                turned_down(many, serial)
            before = answers.before(one.name, call)
            answers.before(many.name, calls[-1])
            n = len(set(calls) & {serial for name, serial in answers.seen[:len(before)] if name == many.name})
            equal(n, 0, "calls with descriptors that were answered before it")


@story("a process that held descriptors holds others afterwards, and ends when none come")
def keepers():
    with Bus() as bus, open("/dev/null") as null, Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as wire:
        def keepers():
            return set(descendants(bus.daemon.pid, "actord-keep"))

        def used_again():
            before = keepers()
            turned_down(wire, refused_submission(wire, null.fileno()))
            return before and keepers() <= before
        wait_for("a message that needs no other process", used_again)
        wait_for("they end when no message comes", lambda: not keepers(), 40)
        turned_down(wire, refused_submission(wire, null.fileno()))
        equal(wire.answer(ask(wire)), [[]], "an answer")


@story("a message with more descriptors than a process may have loses them, and the daemon goes on")
def too_many_descriptors():
    with OpenBus() as bus, open("/dev/null") as null, Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as wire:
        resource.prlimit(gate_of(bus), resource.RLIMIT_NOFILE, (80, 80))
        for _ in range(3):
            serial = wire.send("org.actord1", "/org/actord1", MANAGER, "ListJobs", fds=[null.fileno()] * 120)
            equal(wire.answer(serial), [[]], "an answer")
        turned_down(wire, refused_submission(wire, null.fileno()))
        equal(bus.daemon.poll(), None, "the daemon's end")


@story("a message whose header is too long is left out, and the daemon goes on")
def long_header():
    with Bus() as bus, open("/dev/null") as null, Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as wire:
        gate = gate_of(bus)
        for n, fds in (1200000, []), (1200000, [null.fileno()]), (20000000, []):
            wire.send("org.actord1", "/" + "a" * n, MANAGER, "ListJobs", fds=fds, flags=1)
            equal(wire.answer(ask(wire)), [[]], "an answer")
        turned_down(wire, refused_submission(wire, null.fileno()))
        equal((bus.daemon.poll(), gate_of(bus)), (None, gate), "the daemon's end, and its gate")


def asking_name(bus, wire):
    """By this connection the gate asks the bus who a sender is."""
    def of_bus(method, *words):
        return wire.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", method, *words)[0]

    owner = of_bus("GetNameOwner", "s", "org.actord1")
    for name in of_bus("ListNames"):
        try:
            if name[0] == ":" and name != owner and of_bus("GetConnectionUnixProcessID", "s", name) == bus.daemon.pid:
                return name
        except Refused:
            pass  # it is gone


@story("the connection by which the bus is asked takes no descriptors, and other messages sent to it do not stay")
def asking_connection():
    with Bus() as bus, tempfile.TemporaryFile() as file, Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as wire:
        gate, name = gate_of(bus), wait_for("the connection", lambda: asking_name(bus, wire))
        inode = os.fstat(file.fileno()).st_ino

        def has_file():
            return any(os.stat(f"/proc/{gate}/fd/{fd}").st_ino == inode for fd in os.listdir(f"/proc/{gate}/fd"))
        for _ in range(5):
            refusal = turned_down(wire, wire.send(name, "/", MANAGER, "ListJobs", fds=[file.fileno()]))
            assert "does not support" in refusal.text or "doesn't support" in refusal.text, refusal
        calls = [wire.send(name, "/", MANAGER, "ListJobs") for _ in range(300)]
        passed(wire)
        with Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as other:
            turned_down(other, refused_submission(other, file.fileno()))
        assert not has_file(), "the gate has a descriptor that a stranger sent"
        for call in calls:
            turned_down(wire, call)


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
