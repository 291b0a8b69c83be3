#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another build of actord is installed while a daemon has jobs: what is told, and that the jobs go on after a restart."""
import bus as fixture
from bus import *

# As a spawner of a build with another version of the launch record: it refuses the record.
OTHER_SPAWNER = rb"""#!/usr/bin/env python3
import socket, struct

s = socket.socket(fileno=3)
s.recvmsg(1 << 16, 4096)
words = b"the daemon's launch record is refused: its version is wrong (are actord and actord-spawn from the same version?)"
s.send(struct.pack("<IIiIIiQIIQ128s256s256s", 6, 1, -74, 0, 0, 0, 0, 0, 0, 0, b"", b"", words))
"""


@contextlib.contextmanager
def installed():
    """A directory with actord's programs, from which the daemon is started."""
    directory, build = tempfile.mkdtemp(prefix="actord-installed-"), fixture.BUILD
    for name in os.listdir(build):
        if name in ("actord", "actord-spawn"):
            shutil.copy(f"{build}/{name}", directory)
        elif name in ("share", "actorctl") or name.startswith("actord-") or name.endswith(".so"):
            os.symlink(f"{os.path.abspath(build)}/{name}", f"{directory}/{name}")
    fixture.BUILD = directory
    try:
        yield directory
    finally:
        fixture.BUILD = build
        shutil.rmtree(directory)


def replace(path, content):
    """As an installation does it: a new file gets the name."""
    with open(path + ".new", "wb") as f:
        f.write(content)
    os.chmod(path + ".new", 0o755)
    os.rename(path + ".new", path)


@story("a daemon whose programs were replaced by another build keeps its jobs, says that it must be restarted, and then they go on")
def daemon():
    with installed() as directory, Bus() as bus:
        started = bus.submit(overrides=ENDLESS)
        wait_for("a round", lambda: bus.get(started, "Round") > 0 and bus.state(started) == "running")
        bus.ctl("freeze", started)
        wait_for("it is frozen", lambda: bus.state(started) == "frozen", 60)
        actord, spawner = (open(f"{directory}/{name}", "rb").read() for name in ("actord", "actord-spawn"))
        replace(directory + "/actord", actord)
        replace(directory + "/actord-spawn", OTHER_SPAWNER)
        bus.ctl("thaw", started)
        new = bus.submit(overrides=ENDLESS)
        for job in started, new:
            words = wait_for("words", lambda job=job: bus.get(job, "Waiting"))
            assert "was replaced by another build while it ran: restart it with systemctl --user restart actord" in words, words
        time.sleep(2)
        equal([bus.state(job) for job in (started, new)], ["starting"] * 2, "they wait")
        lives = [bus.get(job, "Life") for job in (started, new)]
        assert lives[0] <= 2 and lives[1] <= 1, f"a launch that is put off is no life: {lives}"
        replace(directory + "/actord-spawn", spawner)
        bus.stop()
        bus.start()
        for job in started, new:
            wait_for("it goes on", lambda job=job: bus.state(job) == "running")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
