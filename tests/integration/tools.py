# SPDX-License-Identifier: LGPL-2.1-or-later
"""Other projects' programs, which read back what we write in their formats. They come from the package index into a virtual
environment of the build folder, once; without an index the stories are skipped."""
import fcntl

from story import *

REQUIREMENTS = "requirements-tools.txt"
VENV = os.path.join(BUILD, "venv-tools")
PYTHON = os.path.join(VENV, "bin", "python")
AGENTS_VENV = os.path.join(BUILD, "venv-agents")


def named(requirements):
    """Returns the file of requirements, and the one beside it, whose packages are installed without their dependencies."""
    return [path for path in (requirements, requirements.removesuffix(".txt") + "-alone.txt") if os.path.exists(path)]


def text_of(paths):
    return "".join(open(path).read() for path in paths)


def is_installed(venv, requirements):
    try:
        return text_of([os.path.join(venv, "installed")]) == text_of(named(requirements))
    except FileNotFoundError:
        return False


def install(venv, requirements):
    """Installs the packages. Returns why that failed; None: they are there. Modules are not compiled now, since most are never imported."""
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    pip = [os.path.join(venv, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    for words in ([python, "-m", "venv", "--clear", venv],
                  *(pip + (["--no-deps", "--ignore-requires-python"] if path != requirements else []) + ["-r", path] for path in named(requirements))):
        p = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if p.returncode != 0:
            return (p.stdout.strip().splitlines() or ["no reason given"])[-1]
    with open(os.path.join(venv, "installed"), "w") as copy:
        copy.write(text_of(named(requirements)))
    return None


def virtual(venv, requirements):
    """Makes, once, a virtual environment with the packages that a file beside this one names."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), requirements)
    with open(venv + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reason = None if is_installed(venv, path) else install(venv, path)
    if reason:
        raise Skip(f"the package index did not give what {requirements} names: {reason}")


def bridged():
    """The virtual environment of jobs with several agents in Python, for a build that has the bridge to Python."""
    if not os.path.exists(os.path.join(BUILD, "env-gym.so")):
        raise Skip("env-gym.so is not built: there was no python3-dev")
    virtual(AGENTS_VENV, "requirements-agents.txt")
    return AGENTS_VENV


def foreign(code, *words, timeout=60):
    """Runs Python code under the virtual environment; returns its last line, which is JSON."""
    virtual(VENV, REQUIREMENTS)
    p = subprocess.run([PYTHON, "-c", code, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=timeout * PATIENCE)
    assert p.returncode == 0, p.stderr[-3000:]
    return json.loads(p.stdout.splitlines()[-1])
