#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stands in for actord-cluster (include/cluster.h): its nodes are invokers on this host, at once, without a network. A test puts it
beside the programs under that name. cluster.json there describes the cluster, and cluster.log records the events."""
import json, os, select, socket, struct, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
SOCKET, SETTINGS, LAUNCH, PLUGIN = 3, 4, 5, 7
ABI = 2
WANT, RELEASE, END = 1, 2, 3
PENDING, UP, LOST, GONE, COST, REFUSED = 1, 2, 3, 4, 5, 6
UID_RANGE_FIRST, UIDS = 0x40000000, 65536
AT_UID, AT_MOUNTS, AT_OWNER = 32, 72, 84  # of Launch: uid_first and n_uids; n_mounts; owner and submitter

with open(os.path.join(HERE, "cluster.json")) as f:
    CLUSTER = json.load(f)


def log(*words):
    with open(os.path.join(HERE, "cluster.log"), "a") as f:
        f.write(" ".join(str(w) for w in words) + "\n")


def content(fd):
    return os.pread(fd, os.fstat(fd).st_size, 0)


def sealed(name, data):
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    import fcntl
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    return fd


class Node:
    def __init__(self, number):
        self.number, self.asked, self.began, self.ended, self.told = number, time.monotonic(), None, None, 0
        self.stream = self.pid_fd = None

    def settings(self):
        data = bytearray(content(SETTINGS))
        if "kernel_class" in CLUSTER:
            at, value = CLUSTER["kernel_class"]
            struct.pack_into("<I", data, at, value)
        return sealed("settings", bytes(data))

    def start(self):
        """Hands a launch to a spawner, as actord-cluster does on a node."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        asks, spawner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        launch = bytearray(content(LAUNCH))
        ranges = os.geteuid() == 0
        struct.pack_into("<II", launch, AT_UID, UID_RANGE_FIRST + (os.getpid() + self.number) % 1024 * UIDS if ranges else os.getuid(),
                         UIDS if ranges else 1)
        struct.pack_into("<II", launch, AT_OWNER, os.getpid(), os.getuid())
        p = subprocess.Popen([os.path.join(HERE, "actord-spawn"), f"--fd={spawner.fileno()}"], pass_fds=[spawner.fileno()])
        spawner.close()
        null = os.open("/dev/null", os.O_RDONLY)
        settings = self.settings()
        plugins = [sealed("plugin", CLUSTER["plugin"].encode() if "plugin" in CLUSTER else content(PLUGIN))] * struct.unpack_from("<I", launch, AT_MOUNTS)[0]
        socket.send_fds(asks, [bytes(launch)], [settings, 2, null, theirs.fileno(), null, *plugins])
        answer = asks.recv(4096)
        error, pid = struct.unpack_from("<i", answer, 8)[0], struct.unpack_from("<i", answer, 20)[0]
        for fd in (settings, null, *plugins):
            os.close(fd)
        # The node alone holds its end, so that the stream ends with it.
        theirs.close()
        self.stream = ours
        self.began = time.monotonic()
        self.pid = pid
        self.spawner = p
        assert error >= 0, answer
        log("node", self.number, pid)

    def stop(self):
        self.ended = self.ended or time.monotonic()
        if self.stream:
            try:
                self.stream.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.stream.close()
            self.stream = None


class Head:
    def __init__(self):
        self.socket = socket.socket(fileno=os.dup(SOCKET))
        self.nodes, self.n, self.wanted, self.ending = {}, 0, 0, False

    def say(self, kind, node=0, name="", words="", final=0, fds=()):
        cost = struct.pack("<QQQIIdII", 0, 0, 0, 0, 0, 0.0, 0, 0)
        if kind == COST:
            n = self.nodes[node]
            usec = int(((n.ended or time.monotonic()) - n.began) * 1e6) if n.began else 0
            waited = int((n.began - n.asked) * 1e6) if n.began else 0
            cost = struct.pack("<QQQIIdII", usec, waited, 2 << 30, CLUSTER.get("cpus", 2), 0, CLUSTER.get("billing", 0), final, 0)
        data = struct.pack("<IIIIQ", ABI, kind, node, CLUSTER.get("cpus", 2), 2 << 30) + cost
        data += name.encode().ljust(64, b"\0") + words.encode().ljust(256, b"\0")
        log("say", kind, node, words)
        socket.send_fds(self.socket, [data], fds)

    def drop(self, number, kind, words):
        self.nodes[number].stop()
        self.say(kind, number, words=words)
        self.say(COST, number, final=1)
        del self.nodes[number]

    def ask_for_more(self):
        while len(self.nodes) < min(self.wanted, CLUSTER.get("nodes", 8)):
            self.n += 1
            self.nodes[self.n] = Node(self.n)
            self.say(PENDING, self.n, words=CLUSTER.get("reason", "Priority"))

    def start_due(self):
        for n in list(self.nodes.values()):
            if n.began is None and time.monotonic() - n.asked >= CLUSTER.get("delay", 0):
                n.start()
                self.say(UP, n.number, name=f"n{n.number}", fds=[n.stream.fileno()])

    def hear(self):
        data = self.socket.recv(64)
        if len(data) != 16:
            return False
        abi, kind, n_nodes, node = struct.unpack("<IIII", data)
        log("hear", kind, n_nodes, node)
        assert abi == ABI
        if kind == WANT:
            if "refuse" in CLUSTER:
                self.say(REFUSED, words=CLUSTER["refuse"])
                return True
            self.wanted = n_nodes
            for n in [n for n in self.nodes.values() if n.began is None]:
                if len(self.nodes) > self.wanted:
                    self.drop(n.number, GONE, "withdrawn")
        elif kind == RELEASE and node in self.nodes:
            self.drop(node, GONE, "released")
        elif kind == END:
            for number in list(self.nodes):
                self.drop(number, GONE, "the job has ended")
            return False
        return True

    def tell_costs(self):
        for n in self.nodes.values():
            if n.began and time.monotonic() - max(n.began, n.told) > 0.25:
                n.told = time.monotonic()
                self.say(COST, n.number)

    def obey_test(self):
        """A test cuts a node's stream by creating a file of a certain name."""
        for number, n in list(self.nodes.items()):
            if os.path.exists(os.path.join(HERE, f"cut-{number}")) and n.stream:
                os.unlink(os.path.join(HERE, f"cut-{number}"))
                n.stop()

    def run(self):
        going = True
        while going:
            self.ask_for_more()
            self.start_due()
            self.tell_costs()
            self.obey_test()
            if select.select([self.socket], [], [], 0.02)[0]:
                going = self.hear()
        for n in self.nodes.values():
            n.stop()


try:
    Head().run()
except (ConnectionError, BrokenPipeError):
    pass
