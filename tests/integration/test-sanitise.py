#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Text that drives a terminal or hides what is written, sent through every string that a user can set. On the way to a terminal, a pipe, a log or JSON
it is shown by its numbers; `--json` stays JSON, and means the same."""
import pty, select, shutil
from sanitise_strings import *
from story import *


def harmless(what, data):
    text = data.decode()                                     # it is UTF-8, or this says so
    found = FORBIDDEN.search(text)
    assert not found, (what, found, text[:800])
    return text


def ctl_bytes(*args, cwd=None, env=None):
    r = subprocess.run([CTL, *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=120, cwd=cwd,
                       env=dict(environment(), LC_ALL="C.UTF-8", **(env or {})))
    for data in (r.stdout, r.stderr):
        harmless(args, data)
    return r


def on_terminal(*args):
    """What a terminal gets: the same, apart from the carriage return that it adds itself."""
    parent, child = pty.openpty()
    p = subprocess.Popen([CTL, *args], stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=dict(environment(), LC_ALL="C.UTF-8", TERM="xterm"))
    os.close(child)
    data = b""
    while True:
        try:
            piece = os.read(parent, 65536) if select.select([parent], [], [], 60)[0] else b""
        except OSError:
            piece = b""
        if not piece:
            break
        data += piece
    os.close(parent)
    p.wait(60)
    return harmless(args, data.replace(b"\r\n", b"\n"))


def file_with(name, text):
    path = os.path.join(STATE, "texts", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text)
    return path


@story("every setting that holds a text, by --set and in a job file")
def settings():
    example = os.path.join(EXAMPLES, "cartpole.conf")
    for section, key in strings():
        for name, evil in GROUPS.items():
            value = b"a" + evil
            r = ctl_bytes("verify", example, b"--set=" + f"{section}.{key}=".encode() + value)
            assert key == "Description" or r.returncode != 0 or name == "beyond", (section, key, name)
            text = b"[Job]\nEnvironment=CartPole-v1\n" if (section, key) != ("Job", "Environment") else b"[Job]\n"
            text += (b"" if section == "Job" else f"[{section}]\n".encode()) + key.encode() + b"=" + value + b"\n"
            ctl_bytes("verify", file_with("job.conf", text))


@story("sections, keys and values of job files and experiments that do not exist")
def unknown_keys():
    for evil in GROUPS.values():
        for text in (b"[" + evil + b"]\na=b\n", b"[Job]\n" + evil + b"=1\n", evil, b"[Job]\nEnvironment=" + evil + b"\n"):
            assert ctl_bytes("verify", file_with("job.conf", text)).returncode != 0
            assert ctl_bytes("experiment", file_with("x.exp", text), "--dry-run").returncode != 0
        for key in (evil, b"Job." + evil, evil + b".Seed"):
            assert ctl_bytes("verify", os.path.join(EXAMPLES, "cartpole.conf"), b"--set=" + key.replace(b"=", b"") + b"=1").returncode != 0


@story("names of files, missing and there, and arguments of every verb")
def names():
    verbs = re.findall(r'\{ VERB_\w+, "([\w-]+)",', open(os.path.join(ROOT, "actorctl", "main.c")).read())
    assert "run" in verbs and "eval" in verbs, verbs
    for evil in GROUPS.values():
        evil = evil.replace(b"/", b"")
        for verb in verbs:
            ctl_bytes(verb, b"x" + evil)
        assert ctl_bytes(evil).returncode != 0
        assert ctl_bytes(b"--" + evil).returncode != 0
        place = os.path.join(STATE, "texts").encode()
        os.makedirs(place, exist_ok=True)
        for name, content in ((b"a" + evil + b".conf", b"[Job]\nSeed=x\n"), (b"a" + evil + b".safetensors", b"no checkpoint"),
                              (b"a" + evil + b".exp", b"[?]\n")):
            with open(os.path.join(place, name), "wb") as f:
                f.write(content)
            ctl_bytes("experiment" if name.endswith(b".exp") else "eval" if name.endswith(b"tensors") else "verify", os.path.join(place, name))


def checkpoint_with(metadata):
    header = json.dumps({"__metadata__": metadata}, ensure_ascii=False).encode()
    return len(header).to_bytes(8, "little") + header


@story("metadata of a checkpoint: shown by its numbers, and the same again in JSON")
def metadata():
    text = "a" + ESCAPE + DEL + C1 + TURNS + BREAKS + HIDES
    for metadata in ({"format": text}, {"format": "actord-checkpoint-1", "Job.Environment": text, text: text},
                     {"format": "actord-parameters-1", "Job.Description": text, "job.environment": text, "round": text}):
        path = file_with("evil.safetensors", checkpoint_with(metadata))
        for verb in ("show", "eval"):
            ctl_bytes(verb, path)
            ctl_bytes(verb, path, "--json")
    text = text.replace("\r", "") # which no value may have
    path = file_with("evil.safetensors", checkpoint_with({"format": "actord-checkpoint-1", "Job.Environment": text}))
    assert b"Environment=a\\x1b]0;owned\\x07" in ctl_bytes("show", path).stdout
    rows = json.loads(ctl_bytes("show", path, "--json").stdout)
    equal([row["value"] for row in rows if row["key"] == "Environment"], [text], "values")


@story("a job that runs: its description and the name of its file, on a pipe, on a terminal and as JSON that means the same")
def runs():
    evil = "x" + C1 + TURNS + BREAKS + HIDES
    path = file_with("job " + evil + ".conf", b"[Job]\nEnvironment=CartPole-v1\nStopSteps=300\nDescription=" + evil.encode() + b"\n")
    state = os.path.join(STATE, "state " + evil)
    r = ctl_bytes("run", path, "--json", env={"XDG_STATE_HOME": state})
    equal(r.returncode, 0, r.stderr)
    assert json.loads(r.stdout)["state_directory"].startswith(state + "/"), r.stdout
    assert b"\\xc2\\x9b" in ctl_bytes("run", path, env={"XDG_STATE_HOME": state}).stdout
    for form in "--html", "--md":
        report = os.path.join(STATE, "report")
        equal(ctl_bytes("report", "r1", form, f"--output={report}", env={"XDG_STATE_HOME": state}).returncode, 0, form)
        text = open(report, encoding="utf-8").read()
        assert "Description=x\\xc2\\x9b" in text and not FORBIDDEN.search(text), text
    wrong = json.loads(ctl_bytes("run", file_with("wrong.conf", b"[Job]\nEnvironment=" + evil.encode() + b"\n"), "--json").stdout or b"{}")
    assert wrong.get("environment", evil) == evil, wrong
    on_terminal("run", path.replace(".conf", ".none"))
    assert "verify" not in on_terminal("verify", path)


@story("variables of the environment")
def variables():
    evil = b"/none/" + GROUPS["C0"] + GROUPS["beyond"]
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "TMPDIR", "PAGER", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
        for args in (("run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=300"), ("--user", "list")):
            ctl_bytes(*args, env={name: evil})


@story("accents, other scripts and emoji are printed as they are, for another program in every locale")
def letters():
    name = "/none/größe-данные-模型-😀.conf"
    assert name in ctl_bytes("verify", name).stderr.decode()
    # No terminal: another program may know what this locale does not.
    state = os.path.join(STATE, "größe")
    r = subprocess.run([CTL, "run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=300"], capture_output=True,
                       env=dict(environment(), LC_ALL="C", XDG_STATE_HOME=state))
    assert state.encode() in r.stdout, (r.stdout, r.stderr)


tell()
