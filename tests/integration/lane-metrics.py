#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actord-metrics.socket in a real system, scraped by a real Prometheus, which then answers each question of the Grafana dashboard."""
import json, os, shutil, socket, subprocess, sys, tempfile, urllib.error, urllib.parse, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import EXAMPLES, equal, story, tell, wait_for

PORT, PROMETHEUS = 9847, 9490
DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/grafana/actord.json")
CONFIG = f"""
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: actord
    honor_labels: true
    static_configs: [{{targets: ["127.0.0.1:{PORT}"]}}]
"""
VARIABLES = {"$job": ".*"}

if not shutil.which("prometheus"):
    print("1..0 # SKIP Prometheus is missing: packaging/dependencies.sh test installs it")
    sys.exit(0)


def sh(*words):
    r = subprocess.run(words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, (words, r.stdout, r.stderr)
    return r.stdout


def ask(request, seconds=30):
    """All that comes back until the peer closes."""
    with socket.create_connection(("127.0.0.1", PORT), timeout=seconds) as s:
        s.sendall(request)
        answer = b""
        while chunk := s.recv(65536):
            answer += chunk
    return answer.decode()


class Prometheus:
    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="prometheus-")
        config = os.path.join(self.directory, "prometheus.yml")
        open(config, "w").write(CONFIG)
        self.log = open(os.path.join(self.directory, "log"), "w+")
        self.process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.directory}/data",
                                         f"--web.listen-address=127.0.0.1:{PROMETHEUS}"], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        return self

    def query(self, expression):
        url = f"http://127.0.0.1:{PROMETHEUS}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as e:
            if e.code == 503: # it is still starting
                return []
            raise AssertionError(f"{expression}: {e.read().decode()}")
        except OSError:
            assert self.process.poll() is None, "Prometheus ended"
            return []

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


silent = [] # a peer that the first story meets and the last one looks at, so that its time passes beside the others


@story("the socket is off until it is enabled; then one request has one answer, whatever it is")
def answers():
    sh("systemctl", "daemon-reload")
    equal(subprocess.run(["systemctl", "is-active", "actord-metrics.socket"], capture_output=True, text=True).stdout.strip(), "inactive", "socket")
    sh("systemctl", "start", "actord-metrics.socket")
    got = ask(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
    head, text = got.split("\r\n\r\n", 1)
    assert head.startswith("HTTP/1.1 200 OK\r\n") and "application/openmetrics-text; version=1.0.0" in head, head
    assert text.endswith("# EOF\n") and f"Content-Length: {len(text.encode())}" in head, got
    for request, status in ((b"GET / HTTP/1.1\r\n\r\n", 404), (b"POST /metrics HTTP/1.1\r\n\r\n", 405), (b"\r\n\r\n", 400), (b"\0" * 100, 400),
                            (b"GET /metrics " + b"x" * 9000, 431)):
        equal(int(ask(request).split()[1]), status, request[:20])
    got = ask(b"HEAD /metrics HTTP/1.0\n\n")
    assert got.startswith("HTTP/1.1 200") and got.endswith("\r\n\r\n"), got
    silent.append(socket.create_connection(("127.0.0.1", PORT), timeout=60))
    silent[0].sendall(b"GET /met")
    assert ask(b"GET /metrics HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 200"), "a silent peer keeps another one waiting"
    silent[0].setblocking(False)
    try:
        raise AssertionError(f"a silent peer was answered: {silent[0].recv(100)}")
    except BlockingIOError:
        silent[0].settimeout(60)
    # The process runs as an ordinary user without any right: it sees what a user sees.
    words = sh("systemctl", "show", "actord-metrics@x.service", "-p", "User,CapabilityBoundingSet,PrivateNetwork")
    assert "User=_actord-metrics" in words and "CapabilityBoundingSet=\n" in words and "PrivateNetwork=yes" in words, words


@story("Prometheus reads a job as it goes on, and answers every question of the dashboard")
def prometheus():
    job = sh("actorctl", "--system", "submit", "--quiet", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopReturn=", "--set",
             "Job.StopSteps=1000000000").strip()
    number = "".join(filter(str.isdigit, job))
    with Prometheus() as p:
        try:
            steps = f'actord_job_env_steps_total{{job="{number}"}}'
            wait_for("the first scrape", lambda: p.query(steps), 60)
            first = float(p.query(steps)[0]["value"][1])
            wait_for("more steps", lambda: float(p.query(steps)[0]["value"][1]) > first, 60)
            equal(len(p.query("up == 1")), 1, "targets that are up")
            running = f'actord_job_state{{job="{number}",actord_job_state="running"}}'
            wait_for("the state", lambda: p.query(running)[0]["value"][1] == "1", 60)
            wait_for("a rate", lambda: p.query(f"rate({steps}[1m])"), 60)
            empty = []
            for panel in json.load(open(DASHBOARD))["panels"]:
                for target in panel["targets"]:
                    expression = target["expr"]
                    for name, value in VARIABLES.items():
                        expression = expression.replace(name, value)
                    assert "$" not in expression, expression
                    # A job without evaluations has no samples of them; every other question has an answer.
                    if not p.query(expression):
                        empty.append(target["expr"])
            equal([e for e in empty if "evaluation" not in e], [], "questions without an answer")
        finally:
            sh("actorctl", "--system", "stop", number)


@story("a peer that sends nothing is left after its time, and nothing failed by it")
def left():
    equal(silent[0].recv(10), b"", "what the silent peer is told")
    silent[0].close()
    failed = sh("systemctl", "list-units", "--failed", "--no-legend", "--plain")
    assert "actord-metrics" not in failed, failed
    sh("systemctl", "stop", "actord-metrics.socket")


tell()
