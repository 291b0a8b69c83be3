/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/warm.h"

#include <assert.h>

WarmRest warm_rest(const JobSettings *settings) {
        bool provisioned = settings_present(settings, SETTING_Scaling_WarmActors);
        WarmRest rest = { .n_provisioned = provisioned ? settings->n_actors_warm : 0 };

        if (settings_present(settings, SETTING_Scaling_KeepAliveSec))
                rest.keep_nsec = settings->keep_alive_usec * 1000;
        else
                rest.keep_nsec = provisioned ? 0 : UINT64_MAX;
        return rest;
}

bool warm_keeps(WarmRest *rest, uint64_t idle_nsec) {
        assert(rest);

        if (rest->n_provisioned > 0) {
                rest->n_provisioned--;
                return true;
        }
        return idle_nsec < rest->keep_nsec;
}

bool imagined_arrange(Imagined *container, bool needed, WarmRest *rest, uint64_t now_nsec) {
        bool cold = needed && !container->started;

        assert(rest);

        if (container->needed)
                container->idle_nsec = now_nsec;
        container->needed = needed;
        if (needed)
                container->started = true;
        else if (container->started)
                container->started = warm_keeps(rest, now_nsec - container->idle_nsec);
        return cold;
}
