/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From an environment's name to a learner that starts: everything that is made once for a job, in the order in which one needs the
 * other. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "invoker/invoker.h"
#include "lib/fd.h"
#include "lib/words.h"

#define PAGE_BYTES 4096u

static int choose_level(Invoker *i) {
        uint32_t choice = i->invoked->launch.sandbox;

        i->level = choice == SANDBOX_CHOICE_AUTO ? i->invoked->level : sandbox_choice_level(choice);
        if (i->level > i->invoked->level)
                return invoker_complain(-EPERM, "this host does not allow the level that Sandbox= demands");
        return 0;
}

/* The level that this host allows may still turn out to be too much (a container that forbids some mount). */
static int choose_sandboxes(Invoker *i) {
        int r;

        r = pool_make_sandboxes(i);
        if (r < 0 && i->invoked->launch.sandbox == SANDBOX_CHOICE_AUTO && i->level > SANDBOX_LEVEL_PROCESS) {
                (void) invoker_complain(
                                r, "the full sandbox cannot be built here, actors run at level process");
                pool_free_sandboxes(i);
                i->level = SANDBOX_LEVEL_PROCESS;
                r = pool_make_sandboxes(i);
        }
        if (r < 0)
                return invoker_complain(r, "no sandbox can be built");
        return pool_leave_host();
}

int invoker_seal_policy(Invoker *i) {
        int r;

        r = memfd_seal_future_write(i->policy_fd);
        if (r < 0)
                return r;
        if (i->policy_read_fd < 0)
                i->policy_read_fd = i->policy_fd;
        return 0;
}

/* Opened a second time, for reading: whoever maps this one cannot make it writable, sealed or not. */
static int reopen_for_reading(const Invoker *i, int fd) {
        char path[32];

        if (i->proc_fd < 0)
                return -EBADF;
        (void) snprintf(path, sizeof(path), "self/fd/%d", fd);
        fd = openat(i->proc_fd, path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -EBADF : fd;
}

static int make_memory(Invoker *i) {
        char name[32];

        i->policy_fd = memfd_make("actord-policy", i->page->policy.segment_bytes);
        if (i->policy_fd < 0)
                return i->policy_fd;
        i->policy_read_fd = reopen_for_reading(i, i->policy_fd);

        i->segment_fds = malloc(i->n_actors * sizeof(int));
        i->round = malloc(sizeof(Round));
        if (i->n_evaluators > 0)
                i->returns = calloc(i->n_episodes, sizeof(double));
        if (!i->segment_fds || !i->round || (i->n_evaluators > 0 && !i->returns))
                return -ENOMEM;
        memset(i->segment_fds, 0xff, i->n_actors * sizeof(int)); /* -1: none yet */
        round_init(i->round, i->n_actors, i->n_containers);

        for (uint32_t a = 0; a < i->n_actors; a++) {
                (void) snprintf(name, sizeof(name), "actord-segment-%u", a);
                i->segment_fds[a] = memfd_make(name, i->page->segment.segment_bytes);
                if (i->segment_fds[a] < 0)
                        return i->segment_fds[a];
                if (fcntl(i->segment_fds[a], F_ADD_SEALS, F_SEAL_SEAL) < 0)
                        return -errno;
        }
        return 0;
}

static int give_back(struct dl_phdr_info *object, size_t size, void *userdata) {
        for (unsigned k = 0; k < object->dlpi_phnum; k++) {
                const ElfW(Phdr) *part = &object->dlpi_phdr[k];
                uintptr_t first = object->dlpi_addr + part->p_vaddr, last = first + part->p_memsz;

                /* Only what is the file's own content: everything else would be lost. */
                if (part->p_type != PT_LOAD || part->p_flags & PF_W)
                        continue;
                first = (first + PAGE_BYTES - 1) & ~(uintptr_t) (PAGE_BYTES - 1);
                last &= ~(uintptr_t) (PAGE_BYTES - 1);
                if (last > first)
                        (void) madvise((void *) first, last - first, MADV_DONTNEED);
        }
        return 0;
}

/* Most code ran once, to start. Its pages come back from the page cache if they are needed again; until then this process is as small
 * as what it does. */
static void forget_the_start(void) {
        (void) malloc_trim(0);
        (void) dl_iterate_phdr(give_back, NULL);
}

/* From the environment's name to a learner that starts. *ret_fault: what the job ends with when this fails. */
int prepare_job(Invoker *i, uint32_t *ret_fault, int32_t *ret_detail) {
        int r;

        *ret_fault = FAULT_SANDBOX;
        *ret_detail = SANDBOX_STEP_namespaces;
        r = choose_level(i);
        if (r < 0)
                return r;
        r = probe_load(i, ret_fault, ret_detail);
        if (r < 0)
                return r;
        r = i->fused ? fused_load(i) : 0;
        if (r < 0) {
                *ret_fault = FAULT_INTERNAL;
                *ret_detail = -r;
                return r;
        }

        *ret_fault = FAULT_SANDBOX;
        *ret_detail = SANDBOX_STEP_root;
        r = choose_sandboxes(i);
        if (r < 0)
                return r;

        *ret_fault = FAULT_INTERNAL;
        r = pool_init(i);
        if (r >= 0)
                r = learner_make_bells(i);
        *ret_detail = -r;
        if (r < 0)
                return r;

        report_started(i);
        r = probe_environment(i, ret_fault, ret_detail);
        if (r < 0)
                return r;

        *ret_fault = FAULT_INTERNAL;
        r = make_memory(i);
        if (r >= 0 && i->invoked->launch.purpose != LAUNCH_VERIFY)
                r = learner_start(i);
        *ret_detail = -r;
        forget_the_start();
        return r;
}
