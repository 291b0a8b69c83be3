#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The money that a user's jobs may spend a day (MaxMoneyPerDayPerUser=): which costs count, which jobs wait, and until when."""
import contextlib, datetime, functools

from bus import *

LONG = [("Job.StopReturn", ""), ("Job.StopSteps", "60000"), ("Checkpoint.IntervalSec", "0.2")]
EURO = ENDLESS + [("Billing.PriceSheet", "local")]


def zone(seconds, day=None):
    """A time zone in which the local day ends after so many seconds; day: which day that is."""
    end = int(time.time() + seconds)
    east = (datetime.date.fromisoformat(day).toordinal() - datetime.date(1970, 1, 1).toordinal() + 1) * 86400 - end if day else (43200 - end) % 86400 - 43200
    sign, east = "-" if east >= 0 else "+", abs(east)
    return f"XST{sign}{east // 3600}:{east // 60 % 60:02}:{east % 60:02}"


class Days(Bus):
    """A daemon whose local time the test chooses."""

    def __init__(self, config, seconds=40000):
        super().__init__(config)
        self.move(seconds)

    def move(self, seconds, day=None):
        self.env["TZ"] = zone(seconds, day)

    def configure(self, config):
        open(self.dir + "/config/actord/actord.conf", "w").write(config)

    def restart(self, how=signal.SIGTERM, then=lambda: None):
        self.stop(how)
        then()
        self.start()

    def pass_day(self):
        """Makes it a day later for the ledger."""
        with contextlib.closing(sqlite3.connect(self.dir + "/state/actord/ledger.sqlite")) as ledger, ledger:
            days = [row[0] for row in ledger.execute("SELECT day FROM spending ORDER BY day")]
            for n, day in enumerate(days):
                ledger.execute("UPDATE spending SET day = ? WHERE day = ?", (str(datetime.date(1970, 1, 1 + n)), day))

    def spending(self):
        with contextlib.closing(self.ledger()) as ledger:
            return ledger.execute("SELECT day, currency, nano FROM spending ORDER BY day").fetchall()

    def money(self):
        return [(r["used"], r["limit"], r["unit"]) for r in self.ctl("quota", "--json").json if r["quota"] == "money"]

    def totals(self):
        with contextlib.closing(self.ledger()) as ledger:
            return ledger.execute("SELECT currency, sum(full_nano) FROM totals GROUP BY currency").fetchall()


@functools.cache
def undisturbed():
    with Days("") as bus:
        equal(bus.money(), [(0, None, None)], "nothing was spent")
        job = bus.submit(overrides=LONG)
        equal(bus.ended(job), "finished", "result")
        (currency, nano), = bus.totals()
        equal([row[1:] for row in bus.spending()], [(currency, nano)], "each billionth was counted once")
        equal(bus.money(), [(nano / 1e9, None, currency)], "also without a quota")
        assert not bus.ledger().execute("SELECT * FROM counted").fetchall()
        return bus.get(job, "PolicySHA256"), nano


@story("at a user's limit running jobs go back to the queue, queued ones say why, and the next day they go on to the same policy; "
       "each billionth counts once")
def days():
    policy, nano = undisturbed()
    limit = nano // 3
    with Days(f"MaxMoneyPerDayPerUser={limit / 1e9:.9f}USD\n") as bus:
        job = bus.submit(overrides=LONG)
        wait_for("it goes back", lambda: bus.get(job, "Preempted") == 1 and bus.state(job) == "queued", 60)
        words = wait_for("words", lambda: bus.get(job, "Waiting"))
        (day, _, spent), = bus.spending()
        tomorrow = datetime.date.fromisoformat(day) + datetime.timedelta(1)
        assert f"it waits until {tomorrow} 00:00 XST" in words and "MaxMoneyPerDayPerUser= is 0.0" in words and f"{spent / 1e9:.9f}".rstrip("0") in words, words
        assert spent >= limit, (spent, limit)
        second = bus.submit(overrides=LONG)
        equal(wait_for("words of the second", lambda: bus.get(second, "Waiting")), words, "both wait for it")
        equal(bus.money(), [(spent / 1e9, limit / 1e9, "USD")], "actorctl quota --json")
        assert re.search(rf"money +{spent / 1e9:.9f}".rstrip("0") + r"0* USD +0\.\d+ USD", bus.ctl("quota").out), bus.ctl("quota").out
        bus.call("/org/actord1", MANAGER, "StopJob", "t", second)

        bus.restart(signal.SIGKILL)
        equal((bus.state(job), bus.get(job, "Waiting")), ("queued", words), "a restart changes nothing")
        # The daemon's timer meets the end of the day; on a slow machine the daemon meets it at its start.
        bus.restart(then=lambda: bus.move(6, day))
        print(f"# before the end of the day the job is {bus.state(job)}")
        wait_for("it goes on", lambda: bus.state(job) != "queued", 30)
        wait_for("and back again", lambda: bus.state(job) in ("queued", "ended"), 60)
        n = 1
        while bus.state(job) != "ended":
            # Other days, and a daemon that is killed anywhere in them.
            n += 1
            assert n < 20, "days enough"
            bus.restart(then=bus.pass_day)
            wait_for("it runs", lambda: bus.state(job) != "queued")
            time.sleep(0.2)
            bus.stop(signal.SIGKILL)
            bus.start()
            wait_for("the limit, or the end", lambda: bus.state(job) in ("queued", "ended"), 60)
        equal((bus.get(job, "Result"), bus.get(job, "PolicySHA256")), ("finished", policy), "the same policy")
        equal(sum(row[2] for row in bus.spending()), sum(row[1] for row in bus.totals()), "each billionth was counted once")


@story("a job in another currency than its user's limit is refused; one from before the limit ends with a reason, if it runs with a checkpoint")
def currencies():
    with Days("MaxJobs=1\n") as bus:
        running, queued = bus.submit(overrides=EURO), bus.submit(overrides=EURO)
        wait_for("some rounds", lambda: bus.get(running, "Round") > 2)
        bus.restart(then=lambda: bus.configure(f"[Daemon]\nMaxJobs=1\n[User {os.getuid()}]\nMaxMoneyPerDayPerUser=5USD\n"))
        for job in queued, running:
            equal(bus.ended(job), "failed", f"job {job}")
            fault = bus.get(job, "Fault")
            assert "price sheet local is in EUR, and its user may spend 5 USD a day (MaxMoneyPerDayPerUser=)" in fault, fault
        rounds, = bus.ledger().execute("SELECT max(round) FROM checkpoints WHERE job = ?", (running,)).fetchone()
        equal(rounds, bus.get(running, "Round"), "its last round has a checkpoint")
        e = refused(bus, overrides=EURO)
        assert "The job cannot run: its price sheet local is in EUR" in e and "PriceSheet= in [Billing]" in e, e
        used, limit = {}, {}
        for spent, most, unit in bus.money():
            used[unit], limit[unit] = spent, most
        equal((limit, used["USD"]), ({"EUR": None, "USD": 5}, 0), "actorctl quota")
        assert used["EUR"] > 0, used
        job = bus.submit(overrides=ENDLESS)
        wait_for("one in the limit's currency runs", lambda: bus.state(job) == "running")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
