#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of packaging/cockpit in a real Cockpit and a real browser: an ordinary user, and an administrator beside them. PICTURES= names a folder that gets
pictures of the page."""
import json, os, shutil, socket, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser
from story import EXAMPLES, equal, story, tell, wait_for

PORT, USER, CHIEF, PASSWORD = 9477, "tester", "chief", "correct horse battery"
WS = next(filter(os.path.exists, ("/usr/lib/cockpit/cockpit-ws", "/usr/libexec/cockpit-ws")), None)
PAGE = f"http://127.0.0.1:{PORT}/cockpit/@localhost/actord/index.html"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
PICTURES = os.environ.get("PICTURES")
KEYS = {"Tab": 9, "Enter": 13}

why = None
if not WS or not shutil.which("cockpit-bridge") or not os.path.exists("/usr/share/cockpit/shell/manifest.json"):
    why = "Cockpit is missing: packaging/dependencies.sh test installs cockpit-ws, cockpit-bridge and cockpit-system"
elif not browser.program():
    why = "Chromium is missing: packaging/dependencies.sh test installs chromium-headless-shell"
elif not shutil.which("sudo"):
    why = "sudo is missing, by which Cockpit gives administrative access"
if why:
    print("1..0 # SKIP " + why)
    sys.exit(0)


def call_as(user, *words):
    r = subprocess.run(["runuser", "-u", user, "--", *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, (words, r.stdout, r.stderr)
    return r.stdout


def rows():
    return json.loads(call_as(USER, "busctl", "--system", "--json=short", "call", "org.actord1", "/org/actord1", "org.actord1.Manager", "ListJobs"))["data"][0]


def state(job):
    return next(row[2] for row in rows() if row[0] == job)


def submit(user, *words):
    return int("".join(filter(str.isdigit, call_as(user, "actorctl", "--system", "submit", "--quiet", *words))))


ENDLESS = "--set", "Job.StopReturn=", "--set", "Job.StopSteps=1000000000"


def log_in(b, user, access):
    """Logs in as Cockpit's own page does. access: any, or none: whether the bridge may ask sudo for administrative access."""
    b.look(1200)
    b.go(PAGE)
    b.wait("document.readyState === 'complete' && document.getElementById('login-button') !== null")
    status = b.run(f"fetch('/cockpit/login', {{ headers: {{ Authorization: 'Basic ' + btoa('{user}:{PASSWORD}'), 'X-Superuser': '{access}' }} }}).then(r => r.status)")
    equal(status, 200, f"login of {user}")
    b.said.clear()
    b.go(PAGE)
    b.wait("document.getElementById('daemon')?.textContent.startsWith('actord ')", 30)


def see(b, name):
    if PICTURES:
        b.picture(os.path.join(PICTURES, f"cockpit-{name}.png"))


def fill_in(b, text):
    b.run(f"location.hash = '#/submit'; document.getElementById('job-file').value = {json.dumps(text)}")
    b.wait("!document.getElementById('submit').hidden")


def click(b, id):
    b.run(f"document.getElementById({json.dumps(id)}).click()")


def set_up():
    if subprocess.run(["id", CHIEF], capture_output=True).returncode != 0:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", CHIEF], check=True)
    subprocess.run(["chpasswd"], input=f"{USER}:{PASSWORD}\n{CHIEF}:{PASSWORD}\n", text=True, check=True)
    with open("/etc/sudoers.d/lane-cockpit", "w") as f:
        f.write(f"{CHIEF} ALL=(ALL:ALL) ALL\n")
    os.chmod("/etc/sudoers.d/lane-cockpit", 0o440)
    # A container has no audit: what PAM would write there for a login is left out.
    if os.path.exists("/etc/pam.d/cockpit"):
        lines = [line for line in open("/etc/pam.d/cockpit") if "pam_loginuid" not in line]
        open("/etc/pam.d/cockpit", "w").writelines(lines)
    process = subprocess.Popen([WS, "--no-tls", "--address=127.0.0.1", f"--port={PORT}"], stdin=subprocess.DEVNULL)
    wait_for("Cockpit listens", lambda: socket.socket().connect_ex(("127.0.0.1", PORT)) == 0)
    return process


@story("an ordinary user checks and submits a job, sees it learn, freezes it and stops it; what users wrote is text")
def user():
    ended = submit(CHIEF, os.path.join(EXAMPLES, "cartpole.conf"))
    other = submit(CHIEF, os.path.join(EXAMPLES, "cartpole.conf"), *ENDLESS, "--set", "Job.Description=" + HOSTILE)
    with browser.Browser() as b:
        log_in(b, USER, "none")
        b.wait("document.querySelectorAll('#rows tr').length === 2")
        see(b, "jobs")
        fill_in(b, "[Job]\nEnvironment=CartPol-v1\nNope=<b>1</b>\n")
        click(b, "check")
        equal(b.wait("[...document.querySelectorAll('#mistakes li')].map(li => li.innerText)"),
              ["job.conf:2: [Job] Environment=CartPol-v1: unknown environment; did you mean CartPole-v1?", "job.conf:3: [Job] Nope=<b>1</b>: unknown key"],
              "mistakes")
        b.run("document.querySelector('#mistakes a').click()")
        equal(b.run("(f => f.value.slice(f.selectionStart, f.selectionEnd))(document.getElementById('job-file'))"), "Environment=CartPol-v1", "selected line")
        b.look(390, 800, "dark", phone=True)
        see(b, "mistakes-phone")
        b.look(1200)
        fill_in(b, "[Job]\nEnvironment=CartPole-v1\nStopSteps=1000000000\nTag=lab\n[Evaluation]\nEpisodes=2\nEveryRounds=10\n")
        click(b, "check")
        b.wait("document.getElementById('verdict').textContent.startsWith('This job can be run here')")
        # By the keyboard alone: from the text to the buttons behind it.
        b.run("document.getElementById('job-file').focus()")
        for key in "Tab", "Tab", "Enter":
            b.key(key, KEYS[key])
        b.wait("location.hash.startsWith('#/job/')")
        job = int(b.run("location.hash.slice(6)"))
        equal([row[1] for row in rows() if row[0] == job], [int(call_as(USER, "id", "-u"))], "owner")
        b.wait("document.getElementById('job-title').textContent.endsWith('running')")
        b.wait("document.querySelectorAll('#curve svg .dot').length >= 2 && document.querySelector('#actors svg') !== null", 60)
        assert "Full total" in b.text() and "learner-execution" in b.text()
        see(b, "job")
        b.look(390, 800, "dark", phone=True)
        b.wait("document.querySelector('#curve svg').getAttribute('width') < 390")
        assert b.run("document.documentElement.scrollWidth <= 390"), "the page is wider than a phone"
        see(b, "job-phone")
        b.look(1200)
        click(b, "freeze")
        b.wait("!document.getElementById('thaw').hidden && document.getElementById('job-title').textContent.endsWith('frozen')", 30)
        click(b, "thaw")
        b.wait("document.getElementById('job-title').textContent.endsWith('running')", 30)
        click(b, "stop")
        b.wait("document.getElementById('ask').open")
        b.run("document.querySelector('#ask .danger').click()")
        b.wait("document.getElementById('job-title').textContent.endsWith('interrupted')", 30)
        equal(state(job), "ended", "the job of the user")
        # Jobs of others can be seen, not changed, and their texts never become markup.
        b.run(f"location.hash = '#/job/{other}'")
        b.wait(f"document.getElementById('job-title').textContent.startsWith('Job {other}:')")
        b.wait("document.getElementById('text').textContent.includes('belongs to')")
        equal((b.run("document.title"), HOSTILE in b.run("document.getElementById('job-words').textContent"), b.run("document.images.length")),
              ("Training jobs", True, 0), "a hostile description")
        click(b, "stop")
        b.run("document.querySelector('#ask .danger').click()")
        b.wait("document.getElementById('trouble').textContent.includes('belongs to chief')")
        equal(state(other), "running", "the job of another user")
        b.run("location.hash = '#/bills'")
        b.wait("document.querySelector('#totals tbody tr') !== null")
        text = b.run("document.getElementById('totals').innerText")
        assert USER in text and CHIEF not in text and "lab" in text, text
        see(b, "bills")
        # The next place is asked for while the one before is still being filled.
        b.run("addEventListener('hashchange', () => location.hash = '#/prices', { once: true }); location.hash = '#/jobs'")
        b.wait("document.querySelectorAll('#sheets button').length > 5")
        b.run("[...document.querySelectorAll('#sheets button')].find(x => x.textContent === 'aws-lambda-x86').click()")
        b.wait("document.getElementById('sheet').textContent.includes('GBSecond=0.0000166667')")
        see(b, "prices")
        b.run("location.hash = '#/'")
        b.wait(f"document.querySelector('#rows a[href=\"#/job/{ended}\"]') !== null")
        equal(b.complaints(), [], "what the browser complains about")


@story("the page may load nothing but its own files, and run no script that is not one of them")
def policy():
    with browser.Browser() as b:
        log_in(b, USER, "none")
        answer = next(m["params"]["response"] for m in b.said if m["method"] == "Network.responseReceived" and m["params"]["response"]["url"] == PAGE
                      and m["params"]["type"] == "Document" and "script-src" in json.dumps(m["params"]["response"]["headers"])
                      and "actord" in m["params"]["response"]["url"])
        rules = {k.lower(): v for k, v in answer["headers"].items()}["content-security-policy"]
        for rule in "default-src 'none'", "script-src 'self'", "style-src 'self'":
            assert rule in rules, rules
        assert "unsafe" not in rules, rules
        b.run("document.body.append(Object.assign(document.createElement('script'), { textContent: 'document.title = \"taken\"' }))")
        equal(b.run("document.title"), "Training jobs", "title")


@story("an administrator with administrative access sees the bills of all and stops a job of another user; their own jobs stay theirs")
def administrator():
    job = submit(USER, os.path.join(EXAMPLES, "cartpole.conf"), *ENDLESS)
    with browser.Browser() as b:
        log_in(b, CHIEF, "any")
        b.wait("document.getElementById('daemon').textContent.includes('administrative access')")
        b.run("location.hash = '#/bills'")
        b.wait(f"document.getElementById('totals').innerText.includes('{USER}') && document.getElementById('totals').innerText.includes('{CHIEF}')")
        see(b, "bills-of-all")
        b.run(f"location.hash = '#/job/{job}'")
        b.wait("document.getElementById('text').textContent.includes('Environment=CartPole-v1')")
        click(b, "stop")
        b.run("document.querySelector('#ask .danger').click()")
        b.wait("document.getElementById('job-title').textContent.endsWith('interrupted')", 30)
        fill_in(b, "[Job]\nEnvironment=CartPole-v1\nStopSteps=2000\n")
        b.run("document.getElementById('form').requestSubmit()")
        b.wait("location.hash.startsWith('#/job/')")
        mine = int(b.run("location.hash.slice(6)"))
        equal([row[1] for row in rows() if row[0] == mine], [int(call_as(CHIEF, "id", "-u"))], "owner of the administrator's job")
        equal(b.complaints(), [], "what the browser complains about")


cockpit = set_up()
try:
    with browser.Browser():
        pass
except browser.Broken as e:
    print("1..0 # SKIP Chromium cannot run here: " + str(e).replace("\n", " ")[:200])
    sys.exit(0)
try:
    tell()
finally:
    cockpit.kill()
    # Stories after this one count the daemon's places.
    live = [row[0] for row in rows() if row[2] != "ended"]
    for job in live:
        subprocess.run(["actorctl", "--system", "stop", str(job)], timeout=60)
    wait_for("the jobs' end", lambda: all(row[2] == "ended" for row in rows() if row[0] in live), 60)
