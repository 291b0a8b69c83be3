/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The environment's spec. An administrator's environment loads here, before any fork; a user's is asked for
 * its spec in a sandboxed actor, and the answer is checked. All sizes are computed once from the spec. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "include/record.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/slot.h"

int probe_load(Placement *place, uint32_t *ret_fault, int32_t *ret_detail) {
        int r = 0;

        if (!environment_is_file(place->settings->environment))
                r = fork_load_environment(place);
        else if (place->invoked->launch.n_mounts == 0)
                r = -ENOENT;

        *ret_fault = FAULT_LOAD;
        *ret_detail = -r;
        return r;
}

int probe_ask(Placement *place, ActordEnvSpec *ret, uint32_t *ret_fault, int32_t *ret_detail) {
        int r = place->env->spec(place->settings->options, place->settings->n_options, ret);

        *ret_fault = FAULT_LOAD;
        *ret_detail = -r;
        return r;
}

/* The field of the spec for which this job's layout cannot be made. */
static int field_at_fault(int error) {
        switch (error) {
        case -EOPNOTSUPP: return SPEC_FIELD_VALUES;
        case -EPROTOTYPE: return SPEC_FIELD_CONTINUOUS;
        case -ERANGE: return SPEC_FIELD_BOUNDED;
        case -ENOSPC: return SPEC_FIELD_STORE;
        case -EDOM: return SPEC_FIELD_IMAGE;
        case -E2BIG: return SPEC_FIELD_SIZE;
        case -EFBIG: return SPEC_FIELD_BANKS;
        default: return SPEC_FIELD_ACTION_KIND;
        }
}

int probe_make_page(Placement *place, const ActordEnvSpec *spec, uint32_t *ret_fault, int32_t *ret_detail) {
        static JobPage page;
        void *map;
        int r, field;

        *ret_fault = FAULT_SPEC;
        r = spec_check(spec, &field);
        if (r < 0) {
                *ret_detail = field;
                return r;
        }
        r = job_page_make(place->settings, spec, &page);
        if (r < 0) {
                *ret_detail = field_at_fault(r);
                return r;
        }

        *ret_fault = FAULT_INTERNAL;
        place->page_fd = memfd_make_sealed("actord-job-page", &page, sizeof(page));
        r = place->page_fd < 0 ? place->page_fd : fd_map(place->page_fd, sizeof(page), false, &map);
        if (r < 0) {
                *ret_detail = -r;
                return r;
        }
        place->page = map;
        return 0;
}
