/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why the daemon could not start, for who started it: an exit status that systemd names (systemd.exec(5),
 * "Process Exit Codes"), and the sentence. */
#pragma once

/* FAILURE_CONFIG and FAILURE_SECOND stay the same however often it is tried: actord.service does not
 * restart on them. */
enum {
        FAILURE_OTHER = 1,   /* FAILURE: worth another try, as a full disk or a bus that is not there yet */
        FAILURE_USAGE = 2,   /* INVALIDARGUMENT: the command line */
        FAILURE_SECOND = 69, /* UNAVAILABLE: another actord has the ledger or the bus name */
        FAILURE_CONFIG =
                        /* CONFIG: an administrator has to change a file, a directory or the rules of the
                         * bus */
        78,
};

/* The exit status of a start that ended with this negative errno. */
int failure_exit_status(int error);

/* Tells the service manager this errno and the newest error that was logged: `systemctl status` shows
 * both. */
void failure_notify(int error);
