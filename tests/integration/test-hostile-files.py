#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Descriptors of a file system that does not answer, sent to the daemon: its sender waits, and no other caller does."""
import ctypes, threading
from bus import *
from hostile_fs import HostileFs
from wire import Refused, Wire

PYTHON = [("Job.Environment", "gym:CartPole-v1"), ("Actor.Python", "/opt/venv")]
OWN = [("Job.Environment", "gym:CartPole-v1"), ("Actor.PythonPath", "/opt/code")]
PLUGIN = [("Job.Environment", "./mine.so")]


class Caller:
    """A connection to the bus that passes descriptors, by libsystemd."""

    def __init__(self, bus):
        self.sd, self.bus = ctypes.CDLL("libsystemd.so.0"), ctypes.c_void_p()
        self.sd.sd_bus_new(ctypes.byref(self.bus))
        self.sd.sd_bus_set_address(self.bus, bus.env["DBUS_SESSION_BUS_ADDRESS"].encode())
        for name, on in ("bus_client", 1), ("trusted", 0):
            getattr(self.sd, "sd_bus_set_" + name)(self.bus, on)
        self.sd.sd_bus_negotiate_fds(self.bus, 1)
        assert self.sd.sd_bus_start(self.bus) >= 0

    def message(self, path, interface, method):
        m = ctypes.c_void_p()
        assert self.sd.sd_bus_message_new_method_call(self.bus, ctypes.byref(m), b"org.actord1", path, interface, method) >= 0
        return m

    def submission(self, overrides, files):
        m = self.message(b"/org/actord1", MANAGER.encode(), b"SubmitJob")
        append = lambda signature, *args: self.sd.sd_bus_message_append(m, signature, *args)
        assert append(b"ss", JOB_TEXT.encode(), b"test.conf") >= 0
        self.sd.sd_bus_message_open_container(m, ctypes.c_char(b"a"), b"(ss)")
        for key, value in overrides:
            assert append(b"(ss)", key.encode(), value.encode()) >= 0
        self.sd.sd_bus_message_close_container(m)
        self.sd.sd_bus_message_open_container(m, ctypes.c_char(b"a"), b"{sh}")
        for key, fd in files:
            assert append(b"{sh}", key.encode(), ctypes.c_int(fd)) >= 0
        self.sd.sd_bus_message_close_container(m)
        assert append(b"a{sv}", 0) >= 0
        return m

    def send(self, m):
        """Without waiting for an answer."""
        assert self.sd.sd_bus_send(self.bus, m, ctypes.byref(ctypes.c_uint64())) >= 0
        assert self.sd.sd_bus_flush(self.bus) >= 0

    def call(self, m, seconds=90):
        """The answer's error, or None."""
        class Error(ctypes.Structure):
            _fields_ = [("name", ctypes.c_char_p), ("message", ctypes.c_char_p), ("need_free", ctypes.c_int)]
        error = Error()
        r = self.sd.sd_bus_call(self.bus, m, ctypes.c_uint64(seconds * 1000000), ctypes.byref(error), None)
        return None if r >= 0 else error.message.decode()


def answers(bus):
    """Others' calls are answered, and their jobs run to their ends."""
    bus.jobs()
    job = bus.submit(overrides=[("Job.StopSteps", "512"), ("Job.StopReturn", "")])
    equal(bus.ended(job), "finished", bus.get(job, "Fault"))


@story("a file and a directory whose file system does not answer delay only their sender")
def silent():
    with Bus() as bus, HostileFs() as fs:
        caller = Caller(bus)
        for overrides, files in ((PLUGIN, [("environment", fs.file)]), (PYTHON, [("python", fs.directory)]), (PYTHON, [("python", fs.file)]),
                                 (OWN, [("python-path", fs.directory)])):
            message = caller.submission(overrides, files)
            fs.hold()
            caller.send(message)
            wait_for("a question to the file system", lambda: fs.waiting() > 0, 20)
            answers(bus)
            fs.answer()
        answers(bus)


@story("descriptors that no method asks for are not closed in the daemon either")
def unasked():
    with Bus() as bus, HostileFs() as fs:
        caller = Caller(bus)
        for method in b"ListJobs", b"NoSuchMethod":
            message = caller.message(b"/org/actord1", MANAGER.encode(), method)
            caller.sd.sd_bus_message_append(message, b"h", ctypes.c_int(fs.file))
            fs.hold()
            caller.send(message)
            wait_for("the close of a descriptor", lambda: fs.waiting() > 0, 20)
            answers(bus)
            fs.answer()


@story("who has as many descriptors that hang as one may is refused in words, and is served again when they hang no more")
def overmuch():
    with Bus() as bus, HostileFs() as fs, Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"]) as wire:
        fs.hold()
        for _ in range(20):
            for call in [wire.send("org.actord1", "/org/actord1", MANAGER, "ListJobs", fds=[fs.file]) for _ in range(30)]:
                wire.answer(call)  # it is not asked for, but has to be closed
        wait_for("many hang", lambda: fs.waiting() >= 500, 60)
        with open("/dev/null") as null:
            try:
                wire.answer(wire.submit(JOB_TEXT, PLUGIN, [("environment", null.fileno())]))
                raise AssertionError("the submission was taken")
            except Refused as e:
                assert "too many of the descriptors that you sent are on file systems that do not answer" in e.text, e.text
            answers(bus)
            fs.answer()

            def is_served():
                try:
                    wire.answer(wire.submit(JOB_TEXT, PLUGIN, [("environment", null.fileno())]))
                except Refused as e:
                    return "regular file" in e.text
            wait_for("descriptors are looked at again", is_served)


@story("a daemon that is killed while a file system does not answer leaves nothing behind that keeps the next one from starting")
def restart():
    with Bus() as bus, HostileFs() as fs:
        caller = Caller(bus)
        message = caller.submission(PLUGIN, [("environment", fs.file)])
        fs.hold()
        caller.send(message)
        wait_for("a question to the file system", lambda: fs.waiting() > 0, 20)
        bus.stop(signal.SIGKILL)
        bus.start()
        answers(bus)
        fs.answer()


@story("both of the daemon's connections have said Hello: a bus closes one that has not after a while, and could not be asked whose a descriptor is")
def connections():
    with Bus() as bus:
        def ask(method, *args):
            return bus.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", method, *args)["data"][0]

        def process(name):
            try:
                return ask("GetConnectionUnixProcessID", "s", name)
            except BusError:
                return 0  # busctl's own, which is gone

        own = ask("GetConnectionUnixProcessID", "s", "org.actord1")
        wait_for("both are there", lambda: [process(n) for n in ask("ListNames") if n[0] == ":"].count(own) == 2)


tell()
