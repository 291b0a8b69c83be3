#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One caller's flood of calls does not hold up another's: turns go round, whatever came first. What is asserted is an order, never a time."""
from bus import *
from wire import Refused, Wire

FLOOD = 600


class Answers:
    """Who was answered, in the order in which the bus passed the answers on."""

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


@story("a call behind a flood of another's is answered before most of the flood is, and each caller's answers keep their order")
def flood():
    with Bus() as bus, Answers(bus) as answers:
        address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
        with Wire(address) as many, Wire(address) as one:
            # While the daemon stands still everything queues up before it, the one call last.
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
            assert n <= FLOOD // 4, f"{n} of the flood's {FLOOD} calls were answered before another caller's only one"
            answers.before(many.name, floods[-1])
            equal([s for name, s in answers.seen if name == many.name and s in set(floods)], floods, "the order of a connection's answers")


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
                    assert e.name == "org.actord1.Error.Busy" and "1024 calls of user" in e.text, e
            assert 0 < refused <= 400, refused
            equal(many.answer(ask(many)), [[]], "afterwards")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
