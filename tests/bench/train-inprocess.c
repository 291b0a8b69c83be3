/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole job in one process, without sandbox, meters or wake-ups: what acting and learning alone take, and whether they learn.
 *
 *     train-inprocess FILE [Section.Key=VALUE]... */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "actor/host.h"
#include "lib/sibling.h"
#include "tests/unit/learner-fixture.h"

static double now_sec(clockid_t clock) {
        struct timespec ts;

        (void) clock_gettime(clock, &ts);
        return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static void read_settings(int argc, char *argv[], JobSettings *ret) {
        g_autofree SettingOverride *overrides = g_new0(SettingOverride, argc);
        g_autofree char *text = NULL, *message = NULL;

        if (!g_file_get_contents(argv[1], &text, NULL, NULL))
                g_error("%s: cannot be read", argv[1]);
        for (int i = 2; i < argc; i++) {
                char *value = strchr(argv[i], '=');

                g_assert(value);
                *value = '\0';
                overrides[i - 2] = (SettingOverride){ argv[i], value + 1 };
        }
        if (settings_parse(text, argv[1], overrides, argc - 2, NULL, ret, &message) < 0)
                g_error("%s", message);
}

typedef struct Training {
        Bed bed;
        ActorContext context;
        Host *host;
        uint64_t update;
        double start, acting, taking, learning;
        Answer learned;
} Training;

static void training_open(Training *t) {
        const char *module = getenv("ACTORD_MODULES");
        char directory[SIBLING_DIRECTORY_MAX];
        const JobSettings *s = &t->bed.settings;
        const ActordEnv *env;
        ActordEnvSpec spec;

        if (!module) {
                g_assert_cmpint(sibling_directory(directory), >=, 0);
                module = directory;
        }
        if (environment_load(s->environment, module, &env) < 0)
                g_error("%s does not load", s->environment);
        g_assert_cmpint(env->spec(s->options, s->n_options, &spec), ==, 0);

        bed_open(&t->bed, &spec, -1, -1);
        t->context = (ActorContext){
                .settings = s,
                .page = &t->bed.page,
                .worker = &t->bed.worker,
                .env = env,
                .n_containers = 1,
                .segments = t->bed.segments,
                .policy = t->bed.policy,
        };
        g_assert_cmpint(host_new(&t->context, env, &t->host), ==, 0);
        bed_restore(&t->bed);
}

static void training_round(Training *t) {
        uint32_t n_actors = t->bed.settings.n_actors, bank = t->update & 1;
        double acted, taken, start = now_sec(CLOCK_MONOTONIC);

        for (uint32_t a = 0; a < n_actors; a++) {
                Order order = { .kind = ORDER_ROLLOUT,
                        .actor = a,
                        .ordinal = t->update,
                        .policy_version = t->update,
                        .snapshot_bank = bank };
                Answer answer = {};

                invocation_run(t->host, &order, &answer);
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        }
        acted = now_sec(CLOCK_MONOTONIC);
        for (uint32_t a = 0; a < n_actors; a++)
                bed_take(&t->bed, a, bank);
        taken = now_sec(CLOCK_MONOTONIC);
        t->learned = bed_learn(&t->bed, t->update++, n_actors);

        t->acting += acted - start;
        t->taking += taken - acted;
        t->learning += now_sec(CLOCK_MONOTONIC) - taken;
}

static bool training_goes_on(const Training *t) {
        const JobSettings *s = &t->bed.settings;

        return t->learned.statistics.n_env_steps < s->stop_steps &&
               !(settings_present(s, SETTING_Job_StopReturn) &&
                               t->learned.statistics.return_mean >= s->stop_return);
}

static void training_print(const Training *t) {
        const Statistics *s = &t->learned.statistics;

        printf("seed %" PRIu64 ": return %.1f after %" PRIu64 " steps in %.3f s: ", t->bed.settings.seed,
                        s->return_mean, s->n_env_steps, now_sec(CLOCK_MONOTONIC) - t->start);
        printf("act %.3f, take %.3f, learn %.3f (%.3f ms a round), CPU %.3f; policy ", t->acting, t->taking,
                        t->learning, t->learning / (double) t->update * 1e3,
                        now_sec(CLOCK_PROCESS_CPUTIME_ID));
        for (unsigned i = 0; i < 8; i++)
                printf("%02x", t->learned.sha256[i]);
        printf("\n");
        (void) fflush(stdout);
}

int main(int argc, char *argv[]) {
        Training training = { .start = now_sec(CLOCK_MONOTONIC) };

        if (argc < 2) {
                (void) fprintf(stderr, "usage: train-inprocess FILE [Section.Key=VALUE]...\n");
                return 2;
        }
        read_settings(argc, argv, &training.bed.settings);
        training_open(&training);
        do
                training_round(&training);
        while (training_goes_on(&training));
        training_print(&training);

        host_free(training.host);
        bed_close(&training.bed);
        return 0;
}
