# SPDX-License-Identifier: LGPL-2.1-or-later
"""A file system that a test fills. The test may mount, in a namespace of its own."""
import contextlib, os, subprocess, tempfile, threading

DISK_BYTES = 8 << 20


class SmallDisk:
    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="actord-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.dir], check=True)
        return self

    def __exit__(self, *error):
        subprocess.run(["umount", "-l", self.dir], check=True)
        os.rmdir(self.dir)

    def fill(self, leave=0):
        """Fills the disk except for `leave` bytes."""
        with open(self.dir + "/fill", "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError as e:
                assert e.errno == 28, e
            f.truncate(max(0, f.tell() - leave))

    @contextlib.contextmanager
    def stays_full(self):
        """What becomes free is filled at once. A checkpoint may need less than its reserved place, and the daemon tries again each second."""
        over = threading.Event()

        def fill():
            with open(self.dir + "/fill", "ab", buffering=0) as f:
                while not over.wait(0.001):
                    with contextlib.suppress(OSError):
                        f.write(bytes(4096))

        thread = threading.Thread(target=fill)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def free(self):
        if os.path.exists(self.dir + "/fill"):
            os.unlink(self.dir + "/fill")
