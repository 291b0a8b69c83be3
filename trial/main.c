/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-trial: tries one environment. Started by actorctl alone, with a request at its descriptors (include/trial.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "trial/trial.h"

static int map_sealed(int fd, size_t bytes, const void **ret) {
        void *map;
        int r;

        r = memfd_check_sealed(fd);
        if (r >= 0)
                r = fd_map(fd, bytes, false, &map);
        if (r < 0)
                return r;
        *ret = map;
        return 0;
}

static int receive(Trial *trial) {
        const void *request, *settings, *numbers;
        uint64_t n;
        int r;

        r = map_sealed(TRIAL_FD_REQUEST, sizeof(TrialRequest), &request);
        if (r >= 0)
                r = map_sealed(TRIAL_FD_SETTINGS, sizeof(JobSettings), &settings);
        if (r < 0)
                return r;
        trial->request = request;
        trial->settings = settings;
        if (trial->request->abi != TRIAL_ABI || trial->request->struct_bytes != sizeof(TrialRequest) ||
                        trial->request->kind >= _TRIAL_KIND_MAX ||
                        trial->request->actions >= _TRIAL_ACTIONS_MAX ||
                        trial->settings->abi != SETTINGS_ABI ||
                        trial->settings->struct_bytes != sizeof(JobSettings))
                return -EBADMSG;

        if (__builtin_mul_overflow(trial->request->n_actions, trial->request->action_numbers, &n) ||
                        n > (UINT64_MAX >> 4))
                return -EOVERFLOW;
        if (__builtin_add_overflow(n, trial->request->n_policy, &n) || n > (UINT64_MAX >> 4))
                return -EOVERFLOW;
        n += trial->request->n_state;
        r = map_sealed(TRIAL_FD_NUMBERS, (n > 0 ? n : 1) * sizeof(double), &numbers);
        if (r < 0)
                return r;
        trial->numbers = numbers;
        for (int fd = TRIAL_FD_REQUEST; fd <= TRIAL_FD_PLUGIN; fd++)
                (void) fd_set_cloexec(fd, true);
        return 0;
}

static void conduct(Trial *trial, TrialVerdict *ret) {
        switch ((TrialKind) trial->request->kind) {
        case TRIAL_SHOW: ret->fault = trial_run(trial, true, trial_show, NULL, &ret->detail); break;
        case TRIAL_ROLLOUT: ret->fault = trial_run(trial, true, trial_rollout, NULL, &ret->detail); break;
        case TRIAL_CHECK: trial_check(trial); break;
        case TRIAL_BENCH: ret->fault = trial_bench(trial, &ret->detail); break;
        case TRIAL_PLAY: ret->fault = trial_run(trial, true, trial_play, NULL, &ret->detail); break;
        case TRIAL_CATALOGUE:
        case _TRIAL_KIND_MAX: break;
        }
        ret->problem = ret->fault != FAULT_NONE                    ? TRIAL_PROBLEM_FAULT
                       : trial->page->problem < _TRIAL_PROBLEM_MAX ? trial->page->problem
                                                                   : TRIAL_PROBLEM_SETUP;
        if (ret->fault == FAULT_NONE)
                ret->detail = trial->page->detail;
}

int main(int argc, char **argv) {
        TrialVerdict verdict = { .done = 1 };
        Trial trial = {};
        int r;

        if (argc > 1) {
                fprintf(stderr, "actord-trial is started by actorctl, with a request; it takes no arguments.\n");
                return strcmp(argv[1], "--help") == 0 ? EXIT_SUCCESS : 2;
        }
        r = receive(&trial);
        if (r < 0) {
                fprintf(stderr,
                                "actord-trial: no request of this version lies at its descriptors (%s); actorctl and "
                                "actord-trial belong to one build\n",
                                strerror(-r));
                return EXIT_FAILURE;
        }

        if (trial.request->kind == TRIAL_CATALOGUE)
                trial_catalogue();
        else {
                verdict.problem = trial_prepare(&trial, &verdict.detail);
                if (verdict.problem == TRIAL_PROBLEM_NONE)
                        conduct(&trial, &verdict);
                else if (trial.page)
                        verdict.fault = trial.page->fault;
        }
        if (pwrite(TRIAL_FD_VERDICT, &verdict, sizeof(verdict), 0) != sizeof(verdict))
                return EXIT_FAILURE;
        trial_done(&trial);
        return EXIT_SUCCESS;
}
