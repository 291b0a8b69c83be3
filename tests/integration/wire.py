# SPDX-License-Identifier: LGPL-2.1-or-later
"""D-Bus by hand: a connection that sends many calls before it reads an answer, as another user if need be, and that can leave at once."""
import array, os, socket, struct

ALIGN = {"y": 1, "g": 1, "b": 4, "u": 4, "i": 4, "h": 4, "s": 4, "o": 4, "a": 4, "t": 8, "x": 8, "d": 8, "(": 8, "{": 8, "v": 1}
PLAIN = {"y": "B", "b": "I", "u": "I", "i": "i", "h": "I", "t": "Q", "x": "q", "d": "d"}


def first(signature):
    """Returns the first complete type of a signature, and the rest."""
    if signature[0] == "a":
        one, rest = first(signature[1:])
        return "a" + one, rest
    if signature[0] in "({":
        depth = 0
        for i, c in enumerate(signature):
            depth += (c in "({") - (c in ")}")
            if depth == 0:
                return signature[:i + 1], signature[i + 1:]
    return signature[0], signature[1:]


def pad(data, n):
    data.extend(b"\0" * (-len(data) % n))


def put(data, signature, *values):
    """Marshals values. A variant is (signature, value)."""
    for value in values:
        one, signature = first(signature)
        pad(data, ALIGN[one[0]])
        if one in PLAIN:
            data += struct.pack("<" + PLAIN[one], value)
        elif one in "so":
            data += struct.pack("<I", len(value.encode())) + value.encode() + b"\0"
        elif one == "g":
            data += bytes([len(value)]) + value.encode() + b"\0"
        elif one == "v":
            put(data, "g", value[0])
            put(data, *value)
        elif one[0] == "a":
            at = len(data)
            data += bytes(4)
            pad(data, ALIGN[one[1]])
            begin = len(data)
            for item in value:
                put(data, one[1:], item)
            data[at:at + 4] = struct.pack("<I", len(data) - begin)
        else:
            put(data, one[1:-1], *value)


def get(data, at, signature):
    """Returns the values, and the position after them."""
    values = []
    while signature:
        one, signature = first(signature)
        at += -at % ALIGN[one[0]]
        if one in PLAIN:
            values += struct.unpack_from("<" + PLAIN[one], data, at)
            at += struct.calcsize("<" + PLAIN[one])
        elif one in "sog":
            n, = struct.unpack_from("<B" if one == "g" else "<I", data, at)
            at += 1 if one == "g" else 4
            values.append(bytes(data[at:at + n]).decode())
            at += n + 1
        elif one == "v":
            (inner,), at = get(data, at, "g")
            (value,), at = get(data, at, inner)
            values.append(value)
        elif one[0] == "a":
            n, = struct.unpack_from("<I", data, at)
            at += 4
            at += -at % ALIGN[one[1]]
            end, items = at + n, []
            while at < end:
                (item,), at = get(data, at, one[1:])
                items.append(item)
            values.append(items)
        else:
            value, at = get(data, at, one[1:-1])
            values.append(tuple(value))
    return values, at


class Refused(Exception):
    def __init__(self, name, text):
        super().__init__(f"{name}: {text}")
        self.name, self.text = name, text


class Wire:
    def __init__(self, address, uid=None):
        """uid: the user of the connection; only root may take another user's."""
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        own = os.geteuid()
        try:
            if uid is not None and uid != own:
                os.seteuid(uid)
            self.socket.connect(address.split("path=")[1].split(",")[0])
            self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
            assert b"OK" in self.socket.recv(256)
            self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
            assert b"AGREE" in self.socket.recv(256)
        finally:
            os.seteuid(own)
        self.socket.sendall(b"BEGIN\r\n")
        self.serial, self.data, self.answers, self.calls = 0, bytearray(), {}, []
        self.name = self.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "Hello")[0]

    def send(self, destination, path, interface, member, signature="", *values, fds=(), flags=0):
        """Sends a call. Returns its number, for answer()."""
        self.serial += 1
        body, head = bytearray(), bytearray()
        put(body, signature, *values)
        fields = [(1, ("o", path)), (2, ("s", interface)), (3, ("s", member)), (6, ("s", destination))]
        fields += [(8, ("g", signature))] if signature else []
        fields += [(9, ("u", len(fds)))] if fds else []
        head += struct.pack("<cBBBII", b"l", 1, flags, 1, len(body), self.serial)
        put(head, "a(yv)", fields)
        pad(head, 8)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        message = head + body
        n = self.socket.sendmsg([message], rights)
        self.socket.sendall(message[n:])
        return self.serial

    def receive(self, n):
        while len(self.data) < n:
            data, fds, *_ = socket.recv_fds(self.socket, 65536, 16)
            if not data:
                raise ConnectionError("the bus has closed the connection")
            for fd in fds:
                os.close(fd)
            self.data += data

    def read(self):
        """Reads one message; an answer is kept."""
        self.receive(16)
        kind, n_body, n_fields = self.data[1], *struct.unpack_from("<I4xI", self.data, 4)
        begin = 16 + n_fields + -n_fields % 8
        self.receive(begin + n_body)
        message, self.data = self.data[:begin + n_body], self.data[begin + n_body:]
        fields = dict(get(message, 12, "a(yv)")[0][0])
        values = get(message[begin:], 0, fields.get(8, ""))[0]
        if kind == 1:
            self.calls.append((int.from_bytes(message[8:12], "little"), fields[7], fields[3], values))
        if kind in (2, 3):
            self.answers[fields[5]] = values if kind == 2 else Refused(fields[4], values[0] if values else "")

    def answer(self, serial):
        while serial not in self.answers:
            self.read()
        found = self.answers.pop(serial)
        if isinstance(found, Refused):
            raise found
        return found

    def serve(self, signature, *values):
        """Waits for a call, answers with these values, and returns the call's member and arguments."""
        while not self.calls:
            self.read()
        serial, sender, member, arguments = self.calls.pop(0)
        self.serial += 1
        body, head = bytearray(), bytearray()
        put(body, signature, *values)
        head += struct.pack("<cBBBII", b"l", 2, 1, 1, len(body), self.serial)
        put(head, "a(yv)", [(5, ("u", serial)), (6, ("s", sender)), (8, ("g", signature))])
        pad(head, 8)
        self.socket.sendall(head + body)
        return member, arguments

    def call(self, *words, **kw):
        return self.answer(self.send(*words, **kw))

    def submit(self, text, overrides=(), files=(), options=()):
        """files: (key, descriptor). The call's number."""
        return self.send("org.actord1", "/org/actord1", "org.actord1.Manager", "SubmitJob", "ssa(ss)a{sh}a{sv}", text, "test.conf",
                         list(overrides), [(key, i) for i, (key, _) in enumerate(files)], list(options), fds=[fd for _, fd in files])

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
