#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""On one node, in place of actord-spawn: it changes a number of the job's settings and hands the launch to the real one, actord-spawn-real
beside it. other-width.json there says which number, and where each launch is noted."""
import fcntl, json, os, socket, struct, subprocess, sys

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))


def sealed(data):
    fd = os.memfd_create("settings", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    return fd


with open(os.path.join(HERE, "other-width.json")) as f:
    change = json.load(f)
asks = socket.socket(fileno=3)
launch, fds, *_ = socket.recv_fds(asks, 65536, 16)
settings = bytearray(os.pread(fds[0], os.fstat(fds[0]).st_size, 0))
struct.pack_into("<I", settings, change["at"], change["value"])
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
spawner = subprocess.Popen([os.path.join(HERE, "actord-spawn-real"), f"--fd={theirs.fileno()}"], pass_fds=[theirs.fileno()])
theirs.close()
socket.send_fds(ours, [launch], [sealed(settings), *fds[1:]])
answer, pid_fds, *_ = socket.recv_fds(ours, 65536, 1)
socket.send_fds(asks, [answer], pid_fds)
with open(change["log"], "a") as f:
    f.write("launched\n")
sys.exit(spawner.wait())
