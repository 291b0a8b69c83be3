/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/verify.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cluster/credential.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

/* Waits until the engine's checks are over. Each of their commands has a deadline, so this wait ends. */
static void await_answer(Engine *engine, struct pollfd *p) {
        while (engine->open == ENGINE_CHECKING) {
                uint64_t now = clock_boottime();
                int timeout_msec = -1;
                size_t n = engine->kind->poll(engine, p, &timeout_msec, now);

                if (n > 0 && poll(p, n, timeout_msec) < 0 && errno != EINTR)
                        engine_refuse(engine, "poll: %s", strerror(errno));
                else
                        engine->kind->step(engine, clock_boottime());
        }
}

int verify_main(const EngineKind *kind, const EngineTerms *terms) {
        EngineNode none = { .state = ENGINE_FREE };
        Engine engine = { .kind = kind, .terms = *terms, .nodes = &none, .n_nodes = 1 };
        _cleanup_free_ struct pollfd *p = calloc(ENGINE_FDS_MAX, sizeof(*p));
        int r;

        r = p ? kind->init(&engine) : -ENOMEM;
        if (r < 0)
                engine_refuse(&engine, "%s", strerror(-r));
        else if (engine.open == ENGINE_CHECKING && credential_try(engine.words) < 0)
                engine.open = ENGINE_REFUSED;
        if (engine.open == ENGINE_CHECKING)
                await_answer(&engine, p);
        kind->done(&engine);
        if (engine.open == ENGINE_REFUSED)
                (void) printf("%s\n", engine.words);
        return engine.open == ENGINE_OPEN ? EXIT_SUCCESS : EXIT_FAILURE;
}
