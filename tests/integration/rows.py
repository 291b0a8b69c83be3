# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a ledger with many ended jobs by copying one."""
import sqlite3


def fill(bus, job, n):
    """Copies an ended job's row, as if it had been submitted n times more; the daemon must not run."""
    db = sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite")
    columns = [row[1] for row in db.execute("PRAGMA table_info(jobs)") if row[1] not in ("id", "uid")]
    db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO jobs (uid, {', '.join(columns)}) "
               f"SELECT i % 3, {', '.join(columns)} FROM n, jobs WHERE id = ? ORDER BY i", (n, job))
    db.commit()
    db.close()
