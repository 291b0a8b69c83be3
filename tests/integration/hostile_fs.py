# SPDX-License-Identifier: LGPL-2.1-or-later
"""A file system that delays its answers, and that any user can mount: FUSE's protocol by hand, below an overlay, in a user namespace of its
own. The server below answers each access through one of its descriptors, through the overlay, with the
rights of the user who mounted it.

It holds `file`, `home/` and, to pass for a virtual environment, home/pyvenv.cfg and home/bin/python3. Nothing of libfuse is needed."""
import array, ctypes, errno, os, select, signal, socket, struct, sys, tempfile

from story import Skip

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 0x4000, 0x40000
LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, STATFS, RELEASE, GETXATTR, LISTXATTR, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, \
    INTERRUPT, BATCH_FORGET = 1, 2, 3, 5, 14, 15, 17, 18, 22, 23, 25, 26, 27, 28, 29, 34, 36, 42
ATTR = struct.Struct("<6Q10I")
# Requests that may be held back: all that a descriptor of such a file system can cause, except those that the kernel does not wait for.
HELD = {LOOKUP, GETATTR, OPEN, READ, STATFS, FLUSH, OPENDIR, READDIR, GETXATTR, LISTXATTR, ACCESS}
NODES = {1: ("", None), 2: ("file", b"content\n" * 64), 3: ("home", None), 4: ("pyvenv.cfg", b"home = /usr/bin\n"), 5: ("bin", None),
         6: ("python3", b"#!/bin/true\n")}
INSIDE = {1: (2, 3), 3: (4, 5), 5: (6,)}


def _attr(node):
    content = NODES[node][1]
    mode = 0o040755 if content is None else 0o100755
    size = 4096 if content is None else len(content)
    return ATTR.pack(node, size, 8, 0, 0, 0, 0, 0, 0, mode, 2 if content is None else 1, 0, 0, 0, 4096, 0)


def _answer(opcode, node, body):
    """The bytes of an answer, or an errno."""
    content = NODES[node][1] if node in NODES else None
    if opcode == INIT:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, 0)
    if opcode == LOOKUP:
        name = body.split(b"\0")[0].decode()
        for child in INSIDE.get(node, ()):
            if NODES[child][0] == name:
                return struct.pack("<QQQQII", child, 0, 0, 0, 0, 0) + _attr(child)
        return errno.ENOENT
    if opcode == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + _attr(node)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<QII", node, 0, 0)
    if opcode == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return (content or b"")[offset:offset + size]
    if opcode == READDIR:
        _, offset, _ = struct.unpack_from("<QQI", body)
        out = b""
        for i, child in enumerate(INSIDE.get(node, ()), 1):
            name = NODES[child][0].encode()
            if i > offset:
                out += struct.pack("<QQII", child, i, len(name), 4 if NODES[child][1] is None else 8) + name + bytes(-len(name) % 8)
        return out
    if opcode == STATFS:
        return struct.pack("<5Q4I24x", 1000, 500, 500, 100, 50, 4096, 255, 4096, 0)
    if opcode in (RELEASE, RELEASEDIR, FLUSH):
        return b""
    return {GETXATTR: errno.ENODATA, LISTXATTR: errno.ENODATA}.get(opcode, errno.ENOSYS)


def _is_ours(pid):
    """The bus's daemon and the test always get an answer: they close the descriptors that they pass on, and this is not under test."""
    try:
        return open(f"/proc/{pid}/comm").read().startswith("actord")
    except OSError:
        return False


def _serve(fuse, control):
    """Runs until its control socket is closed. A byte on it is an order: h, hold back what actord asks; c, answer all; n, how many questions are held back."""
    holding, held = False, []

    def reply(unique, opcode, node, body):
        answer = _answer(opcode, node, body)
        data, error = (b"", -answer) if isinstance(answer, int) else (answer, 0)
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
        except OSError:
            pass  # who asked has gone

    while True:
        for fd in select.select([fuse, control], [], [])[0]:
            if fd == fuse:
                try:
                    request = os.read(fuse, 1 << 18)
                except OSError:
                    return
                _, opcode, unique, node, _, _, pid = struct.unpack_from("<IIQQIII", request)
                if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
                    continue
                if holding and opcode in HELD and _is_ours(pid):
                    held.append((unique, opcode, node, request[40:]))
                    continue
                reply(unique, opcode, node, request[40:])
            else:
                word = os.read(control, 1)
                if not word:
                    return
                if word == b"n":
                    os.write(control, struct.pack("<I", len(held)))
                    continue
                holding = word == b"h"
                while not holding and held:
                    reply(*held.pop(0))
                os.write(control, b"k")


def _check(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _mount(libc, source, at, kind, flags, options):
    _check(libc.mount(source.encode(), at.encode(), kind and kind.encode(), flags, options and options.encode()), f"mount of {source}")


def _own_namespaces(libc):
    uid, gid = os.getuid(), os.getgid()
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open("/proc/self/" + name, "w") as f:
            f.write(text)
    _mount(libc, "none", "/", None, MS_REC | MS_PRIVATE, None)


def _child(out, control, base):
    """Mounts, sends descriptors of the file and of the directory, and stays so that the mounts stay."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        _own_namespaces(libc)
        _mount(libc, "tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, None)
        for name in ("fuse", "empty", "seen"):
            os.mkdir(f"{base}/{name}")
        fuse = os.open("/dev/fuse", os.O_RDWR)
        _mount(libc, "hostile", base + "/fuse", "fuse", MS_NOSUID | MS_NODEV, f"fd={fuse},rootmode=40000,user_id=0,group_id=0")
        server = os.fork()
        if server == 0:
            out.close()
            _serve(fuse, control.fileno())
            os._exit(0)
        os.close(fuse)
        _mount(libc, "overlay", base + "/seen", "overlay", 0, f"lowerdir={base}/fuse:{base}/empty,userxattr")
        fds = [os.open(base + "/seen/file", os.O_RDONLY), os.open(base + "/seen/home", os.O_RDONLY | os.O_DIRECTORY)]
        out.sendmsg([struct.pack("<I", server)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        signal.pause()
    except OSError as e:
        out.send(str(e).encode())
    os._exit(1)


class HostileFs:
    """with HostileFs() as fs: fs.file and fs.directory are descriptors; from fs.hold() on actord is not answered, until fs.answer(), or the end."""

    def __enter__(self):
        self.base = tempfile.mkdtemp(prefix="actord-hostile-")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control, control = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            self.control.close()
            _child(theirs, control, self.base)
        theirs.close()
        control.close()
        self.file = self.directory = self.server = None
        ours.settimeout(20)
        said, fds, *_ = socket.recv_fds(ours, 4096, 2)
        ours.close()
        if len(fds) != 2:
            self.__exit__()
            raise Skip(f"this host gives no user a file system of their own ({said.decode(errors='replace')})")
        (self.server,), (self.file, self.directory) = struct.unpack("<I", said), fds
        return self

    def _tell(self, word):
        self.control.settimeout(10)
        self.control.send(word)
        return self.control.recv(4)

    def hold(self):
        self._tell(b"h")

    def answer(self):
        self._tell(b"c")

    def waiting(self):
        """How many questions are held back."""
        return struct.unpack("<I", self._tell(b"n"))[0]

    def __exit__(self, *_):
        # The server first: its end closes the connection, and each process that waits on it goes on.
        self.control.close()
        if self.server:
            os.kill(self.server, signal.SIGKILL)
        for fd in (self.file, self.directory):
            try:
                os.close(fd) if fd is not None else None
            except OSError:
                pass  # there is no server that could be told
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.rmdir(self.base)
