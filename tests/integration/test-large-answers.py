#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A call with a large argument, or for a large answer, does not end the daemon and does not keep it busy."""
from bus import *
from wire import Refused, Wire

SHORT = [("Job.StopReturn", ""), ("Job.StopSteps", "500")]


def cpu(pid):
    """The CPU seconds of a process."""
    words = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def copy_row(db, table, where, n, change):
    """Adds n copies of a row; change(i) has the columns in which copy i differs."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    row = dict(zip(columns, db.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE {where} LIMIT 1").fetchone()))
    db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                   ([{**row, **change(i)}[c] for c in columns] for i in range(1, n + 1)))


@story("on a bus with the limits of a system bus, the decisions of a hundred thousand rounds and the totals of as many tags do not end the daemon")
def large_answers():
    with OpenBus() as bus:
        job = bus.submit(overrides=SHORT)
        equal(bus.ended(job), "finished", "the job")
        bus.stop()
        db = sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite")
        rounds, = db.execute("SELECT max(round) FROM records WHERE kind = 6").fetchone()
        seq, = db.execute("SELECT max(seq) FROM records").fetchone()
        copy_row(db, "records", "kind = 6", 101000, lambda i: {"round": rounds + i, "seq": seq + i})
        copy_row(db, "decisions", "round = 1", 101000, lambda i: {"round": rounds + i, "id": rounds + i})
        copy_row(db, "totals", "1", 80000, lambda i: {"tag": f"{i:0200}"})
        db.commit()
        db.close()
        bus.start()
        with Wire(f"unix:path={bus.dir}/bus") as wire:
            rows = decisions(bus, job, 1, 4000000000)
            equal((len(rows), rows[0]["round"]), (50000, rounds + 1), "the number of rows, and the first round")
            try:
                wire.call("org.actord1", "/org/actord1", MANAGER, "GetTotals")
                raise AssertionError("the totals were sent")
            except Refused as e:
                assert e.name.endswith("LimitsExceeded") and "too many rows" in e.text, e
        equal(bus.daemon.poll(), None, "the daemon's status")


@story("while a daemon reads hundreds of thousands of records of one job, it tells the service manager that it is alive")
def alive():
    with Bus(kept=True) as bus:
        job = bus.submit(overrides=LONG)
        wait_for("a round", lambda: bus.get(job, "Round") > 0)
        bus.ctl("freeze", job)
        wait_for("the job is frozen", lambda: bus.state(job) == "frozen", 60)
        before = bus.get(job, "InvocationsTotal")
        bus.stop()
        db = sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite")
        seq, = db.execute("SELECT max(seq) FROM records").fetchone()
        copy_row(db, "records", "kind = 2", 150000, lambda i: {"seq": seq + i})
        db.commit()
        db.close()
        bus.start()
        bus.keeper.read()
        equal(bus.get(job, "InvocationsTotal"), before + 150000, "invocations")
        said = []
        with contextlib.suppress(BlockingIOError):
            while True:
                said.append(bus.keeper.socket.recv(4096).decode())
        equal(sum("WATCHDOG=1" in words for words in said), 5, "signs of life: after every 65,536 records, read twice")


@story("two hundred thousand words in a filter take no time in the square of their number, and a value of a wrong type gets a sentence")
def large_filter():
    with OpenBus() as bus, Wire(f"unix:path={bus.dir}/bus") as wire:
        def ask(*wish):
            return wire.call("org.actord1", "/org/actord1", MANAGER, "ListJobsFiltered", "a{sv}tu", [wish], 0, 10)
        before = cpu(bus.daemon.pid)
        equal(ask("states", ("as", ["frozen"] * 200000)), [[], 0], "the jobs")
        took = cpu(bus.daemon.pid) - before
        assert took < 2, took  # 0.02 s; each word was compared with all words before it, which took 6 s
        for key, value, kind in ("states", ("u", 1), "as"), ("user", ("s", "x"), "u"), ("tag", ("t", 1), "s"):
            try:
                ask(key, value)
                raise AssertionError(f"{key} was taken")
            except Refused as e:
                assert e.name.endswith("InvalidArgs") and f"`{key}` is of another type than `{kind}`" in e.text, e


tell()
