#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every command line of the pages: each exists with its options, and each is run here, or by a test that is named here, or there is a reason why no
test runs it. THERE has what a page assumes to exist (job.conf, run 7, job 1)."""
from bus import *
from pages import *

# Pages whose command lines other tests run, in their order.
ELSEWHERE = {"README.md": ("test-readme.py", "fresh-install.py"), "docs/tutorial.md": ("test-tutorial.py",), "docs/coming-from.md": ("test-readme.py",)}
# For those who develop actord: checks of the tree, and experiments that take hours.
DEVELOPERS = ("docs/HACKING.md", "docs/experiments/")
NO_INDEX, NO_CLUSTER, NO_PACKAGE = "it needs a package index", "it needs a Slurm cluster: tests/slurm", "it needs packages from an index: tests/parity"
NOT_RUN = {
    "make demo": "it installs packages; the two runs in it are README's example",
    "make check": "it runs this test",
    "python3 -m venv ~/gym-env": NO_INDEX,
    "~/gym-env/bin/pip install gymnasium": NO_INDEX,
    "systemctl enable --now actord": "it needs the system's manager: fresh-install.py starts the service",
    "systemctl enable --now actord-metrics.socket": "it needs the system's manager: lane-metrics.py starts that socket",
    "sudo mkdir -p /etc/actord/price": "it writes to /etc: fresh-install.py",
    "actorctl price show slurm-tres | sudo tee /etc/actord/price/institute.sheet": "it writes to /etc: fresh-install.py",
    "sudoedit /etc/actord/price/institute.sheet": "it opens an editor",
    "sqlite3 -readonly /var/lib/actord/ledger.sqlite": "it is the system's ledger; the queries of the page run below, on another one",
    "actorctl run examples/hopper.conf --set Distribution.Cluster=slurm --set Distribution.Nodes=0-8": NO_CLUSTER,
    "sbatch --nodes=4 --exclusive --wrap 'actorctl run job.conf'": NO_CLUSTER,
    "actorctl env show gym:Acrobot-v1 --set Actor.Python=venv": NO_PACKAGE,
    "python3 -m venv examples/venv && examples/venv/bin/pip install ale-py gymnasium opencv-python-headless": NO_INDEX,
    "actorctl run examples/pong-small.conf": NO_PACKAGE,
    "python3 -m venv venv && venv/bin/pip install swmm-toolkit": NO_INDEX,
    "venv/bin/pip install pystorms": NO_INDEX,
    "actorctl run --set Actor.Python=venv examples/stormwater.conf": "it needs packages from an index: test-stormwater.py",
}
JOB = "[Job]\nEnvironment=CartPole-v1\nStopSteps=1024\n\n[Actor]\nRolloutSteps=64\n\n[Billing]\nPriceSheet=aws-lambda-x86\n"
ARM = """<mujoco><worldbody><body><joint name="hinge" type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.05"/></body>
</worldbody><actuator><motor joint="hinge" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>"""
FIRST_RUN = 7  # and the next is 8
PLACE, HOME = os.path.join(STATE, "pages"), os.path.join(STATE, "pages-home")
RUNS = os.path.join(HOME, ".local/state/actord/runs")
SHORT_SEC, WHOLE_SEC = 1.5, 60 * PATIENCE


def newest_checkpoint(run):
    return max(glob.glob(f"{RUNS}/{run}/jobs/1/state/checkpoint-*.safetensors"), key=os.path.getmtime)


# What the pages take as there: (what, how it is made, by a function that types command lines).
THERE = [
    ("examples/", lambda typed: shutil.copytree(EXAMPLES, PLACE + "/examples")),
    ("job.conf", lambda typed: open(PLACE + "/job.conf", "w").write(JOB)),
    ("arm.xml", lambda typed: open(PLACE + "/arm.xml", "w").write(ARM)),
    ("mine.so", lambda typed: os.rename(shared_library("examples/env-template/line.c"), PLACE + "/mine.so")),
    ("six runs before", lambda typed: os.makedirs(f"{RUNS}/{FIRST_RUN - 1}")),
    ("run 7, of Hopper", lambda typed: typed("actorctl run examples/hopper.conf --set Job.StopSteps=2048")),
    ("run 8", lambda typed: typed("actorctl run job.conf --set Job.StopSteps=512")),
    ("checkpoint-120.safetensors", lambda typed: shutil.copy(newest_checkpoint(8), PLACE + "/checkpoint-120.safetensors")),
    ("job-1.safetensors", lambda typed: shutil.copy(newest_checkpoint(8), PLACE + "/job-1.safetensors")),
    ("mine, a scheduler", lambda typed: typed("actorctl scheduler train examples/cartpole.conf --name=mine --episodes=2 --rounds=3")),
]


def of_readers():
    return [page for page in PAGES if not page.startswith(DEVELOPERS)]


def is_run_here(page, command):
    return command.alone and page not in ELSEWHERE and command.text not in NOT_RUN


def simple_commands(text):
    """The words of each program that a line starts."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, parts = True, [[]]
    for word in lexer:
        if set(word) <= set("|&;"):
            parts.append([])
        elif parts[-1] or word not in ("!", "sudo", "exec"):
            parts[-1].append(word)
    return [part for part in parts if part]


class Words:
    """What actorctl knows, by its own help."""

    def __init__(self):
        self.verbs = set(re.findall(r'\{ VERB_\w+, "(\w+)"', open(os.path.join(ROOT, "actorctl", "main.c")).read()))
        self.options, self.keys = {}, {row["key"] for row in ctl("keys", "--json=short").json}

    def of(self, verb):
        if verb not in self.options:
            self.options[verb] = set(re.findall(r"(?<![\w-])--?([A-Za-z][\w-]*)", ctl(verb, "--help").out))
        return self.options[verb]

    def why_not(self, words):
        """The word that actorctl would refuse; None: it takes all of them."""
        words = words[:next((i for i, word in enumerate(words) if word.startswith((">", "<"))), len(words))]
        plain = [word for i, word in enumerate(words) if not word.startswith("-") and words[i - 1] not in ("-H", "--set", "--seed")]
        verb = plain[0] if plain else "list"
        if verb not in self.verbs:
            return verb
        for word, after in zip(words, [*words[1:], ""]):
            name, _, value = word.lstrip("-").partition("=")
            if word.startswith("-") and name not in self.of(verb):
                return word
            setting = (value or after).split("=")[0]
            if name == "set" and "." in setting and not setting.startswith("Environment.") and setting not in self.keys:
                return setting
        return None


def is_target(word):
    rules = "".join(open(path).read() for path in (ROOT + "/Makefile", ROOT + "/tests/tests.mk", ROOT + "/packaging/install.mk"))
    return "=" in word or "/" in word or bool(re.search(rf"^(?:[\w -]+ )?{re.escape(word)}(?: [\w -]+)?:|^\.PHONY:.* {re.escape(word)}\b", rules, re.M))


def wrong(words, known):
    """What is wrong with a program's words; None: nothing."""
    program = words[0]
    if os.path.basename(program) == "actorctl":
        return known.why_not(words[1:])
    if program == "make":
        return next((word for word in words[1:] if not word.startswith("-") and not is_target(word)), None)
    if program == "systemctl" and words[-1].startswith("actord"):
        return None if glob.glob(f"{ROOT}/units/**/{words[-1].removesuffix('.service')}*", recursive=True) else words[-1]
    if program.startswith(("tests/", "packaging/")):
        return None if os.path.exists(os.path.join(ROOT, program)) else program
    return None


@story("every command line of the pages is one: its verb, its options, its settings, its files of the tree, its syntax")
def exist():
    known, n = Words(), 0
    for page in PAGES:
        for command in commands(page):
            where = (f"{page}:{command.line}", command.text)
            if command.alone:
                equal(subprocess.run(["bash", "-n", "-c", command.text], capture_output=True, text=True).stderr, "", f"syntax of {where}")
            try:
                parts = simple_commands(command.text)
            except ValueError:
                continue  # words of a sentence, cut where a line ends
            for words in parts:
                # The tutorial shows how a mistake is refused: `! actorctl …`.
                assert (wrong(words, known) is None) != command.text.startswith("!"), (*where, wrong(words, known))
                for path in (word.split("=")[-1] for word in words if re.match(r"(--from=)?examples/[\w/-]+\.(conf|exp)$", word)):
                    assert os.path.exists(os.path.join(ROOT, path)) or "NAME" in path or "JOB" in path, (*where, path)
                n += 1
    assert n > 150, n


@story("a verb, an option or a setting that does not exist would be found")
def would_be_found():
    known = Words()
    for line, want in [("actorctl bil 1", "bil"), ("actorctl bill 1 --svg", "--svg"), ("actorctl run x.conf --set Scaling.Actor=8", "Scaling.Actor"),
                       ("build/actorctl run x --sed=1", "--sed=1"), ("make chek", "chek"), ("systemctl start actord-metrcs.socket", "actord-metrcs.socket")]:
        equal(wrong(simple_commands(line)[0], known), want, line)
    for line in "actorctl", "actorctl logs 1 -f", "actorctl -H HOST list", "actorctl list --tag=", "make check-vm", "sudo make install":
        equal(wrong(simple_commands(line)[0], known), None, line)


@story("no page, and no command line, is left out: it runs, or it is named with the reason")
def all_accounted():
    shown = {command.text for page in of_readers() for command in commands(page) if command.alone}
    stale = sorted(set(NOT_RUN) - shown)
    assert not stale, f"no page shows {stale}"
    assert not [test for tests in ELSEWHERE.values() for test in tests if not os.path.exists(f"{ROOT}/tests/integration/{test}")]
    here = [command for page in of_readers() for command in commands(page) if is_run_here(page, command)]
    assert len(here) > 20, here


def is_made(command):
    """The files that a command line names for what it makes."""
    return re.findall(r"(?:>|--output=|--gif=|=csv:)([\w./-]+)", command)


def queries(page):
    return [plain(text).strip() for text in re.findall(r"^\.EX\n(SELECT.*?)^\.EE", read(page), re.M | re.S)]


@story("every command line of the other pages does what it says, and so do the queries of actord-ledger(5)")
def every_line():
    os.makedirs(PLACE)
    with Bus() as bus:
        env = {key: bus.env[key] for key in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")}
        env["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={PLACE}/none"  # actorctl asks the system's daemon first, where there is one

        def typed(line, seconds=WHOLE_SEC):
            status, out, trains = type_in(line, PLACE, HOME, env, seconds)
            assert status in (INTERRUPTED if trains else (0,)), (line, status, out[-800:])
            said = out.replace("unknown for", "").replace("it refuses unknown options", "")
            assert "Traceback" not in said and "unknown" not in said, (line, out[-800:])
            return out

        for what, make in THERE:
            make(typed)
        for page in of_readers():
            for command in commands(page):
                if is_run_here(page, command):
                    typed(command.text, SHORT_SEC)
                    for name in is_made(command.text):
                        assert os.path.getsize(os.path.join(PLACE, name)) > 0, (page, command.text)
        assert len(queries("docs/actord-ledger.5")) >= 6
        for query in queries("docs/actord-ledger.5"):
            bus.ledger().execute(query).fetchall()
    assert os.listdir(PLACE + "/runs/hopper"), "TensorBoard's files"


@story("the job and the experiment that the manual pages show as examples are accepted")
def examples():
    def of(page):
        text, = re.findall(r"^\.SH EXAMPLE\n.*?^\.EX\n(.*?)^\.EE", read(page), re.M | re.S)
        return plain(text)
    place = tempfile.mkdtemp(dir=STATE)
    shutil.copy(os.path.join(EXAMPLES, "cartpole.conf"), place)
    for name, page, words in ("job.conf", "docs/job.conf.5", ["verify"]), ("one.exp", "docs/actord-experiment.5", ["experiment", "--dry-run"]):
        with open(os.path.join(place, name), "w") as f:
            f.write(of(page))
        r = ctl(*words, os.path.join(place, name))
        assert r.status == 0 and "unknown" not in r.err, (page, r.out, r.err)


tell()
