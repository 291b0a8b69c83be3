/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the environment's spec. An administrator's environment loads here, before any fork. A user's
 * environment is asked for its spec in a sandboxed actor, and the answer is checked. All sizes are computed
 * once from the spec. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/record.h"
#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/slot-refusal.h"

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

/* Maps the file of a mount. The descriptor cannot be read, and the mount may not be attached yet. So the
 * file is opened through /proc. */
static int map_file(const Placement *place, int fd, uint64_t *ret_bytes, const void **ret) {
        _cleanup_close_ int file = -EBADF;
        char path[32];
        struct stat st;
        void *map;
        int r;

        (void) snprintf(path, sizeof(path), "self/fd/%d", fd);
        file = openat(place->proc_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0 || fstat(file, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size <= 0)
                return -EBADMSG;
        r = fd_map(file, (uint64_t) st.st_size, false, &map);
        if (r < 0)
                return r;
        *ret_bytes = (uint64_t) st.st_size;
        *ret = map;
        return 0;
}

int probe_map_dataset(Placement *place, uint32_t *ret_fault, int32_t *ret_detail) {
        int fd = place_mount_fd(place, DATASET_FILE), r;
        char path[PATH_MAX];

        if (fd < 0)
                return 0;
        *ret_fault = FAULT_DATASET;
        *ret_detail = dataset_detail(DATASET_NO_FILE, 0);
        r = map_file(place, fd, &place->dataset_bytes, &place->dataset);
        if (r < 0)
                return invoker_complain(r, "the data set cannot be mapped");
        *ret_detail = dataset_detail(DATASET_NO_MODULE, 0);
        (void) snprintf(path, sizeof(path), "%s/" DATASET_MODULE, place->invoked->directory);
        return dataset_load(path, &place->dataset_module);
}

int probe_ask(Placement *place, ActordEnvSpec *ret, uint32_t *ret_fault, int32_t *ret_detail) {
        int r = place->env->spec(place->settings->options, place->settings->n_options, ret);

        *ret_fault = FAULT_LOAD;
        *ret_detail = -r;
        return r;
}

int probe_make_page(Placement *place, const ActordEnvSpec *spec, uint32_t *ret_fault, int32_t *ret_detail) {
        static JobPage page;
        char sentence[SIZE_SENTENCE_MAX];
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
                /* The record has room for the field, and not for sizes. */
                if (job_size_describe(place->settings, spec, sentence))
                        fprintf(stderr, "actord-invoker: %s\n", sentence);
                *ret_detail = spec_field_of_error(r);
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
