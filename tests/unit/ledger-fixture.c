/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/ledger-fixture.h"

void assert_ok(int r) {
        if (r < 0)
                g_error("unexpected error: %s", g_strerror(-r));
}

LedgerJob ledger_row_running(void) {
        return (LedgerJob){
                .uid = 1000,
                .life = 1,
                .state = (char *) "running",
                .result = (char *) "running",
                .text = (char *) "",
                .file_name = (char *) "",
                .overrides = (char *) "",
                .sheet = (char *) "",
                .files = (char *) "",
        };
}

uint64_t ledger_add_running(Ledger *ledger) {
        LedgerJob row = ledger_row_running();

        assert_ok(ledger_job_add(ledger, &row));
        return row.id;
}
