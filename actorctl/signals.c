/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

const int ending_signals[N_ENDING_SIGNALS] = { SIGINT, SIGTERM, SIGHUP };

static sigset_t set_of_all(void) {
        sigset_t set;

        (void) sigemptyset(&set);
        for (size_t i = 0; i < N_ENDING_SIGNALS; i++)
                (void) sigaddset(&set, ending_signals[i]);
        return set;
}

void ending_signals_block(void) {
        sigset_t set = set_of_all();

        (void) sigprocmask(SIG_BLOCK, &set, NULL);
}

int ending_signals_open(int flags) {
        sigset_t set = set_of_all();

        return signalfd(-1, &set, SFD_CLOEXEC | flags);
}
