/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole job in one process, without sandbox, meters or wake-ups: what acting and learning alone take, and whether they learn.
 *
 *     train-inprocess FILE [Section.Key=VALUE]... */
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

int main(int argc, char *argv[]) {
        double start = now_sec(CLOCK_MONOTONIC), acting = 0, taking = 0, learning = 0, reached = NAN,
               reported = 0;
        uint64_t reached_steps = 0, update = 0;
        const ActordEnv *env;
        Bed bed = {};
        ActordEnvSpec spec;
        ActorContext context;
        Host *host;
        Answer learned = {};
        char directory[SIBLING_DIRECTORY_MAX];
        const char *module;

        g_assert(argc >= 2);
        read_settings(argc, argv, &bed.settings);
        module = getenv("ACTORD_MODULES");
        if (!module) {
                g_assert(sibling_directory(directory) >= 0);
                module = directory;
        }
        if (environment_load(bed.settings.environment, module, &env) < 0)
                g_error("%s does not load", bed.settings.environment);
        g_assert(env->spec(bed.settings.options, bed.settings.n_options, &spec) == 0);

        bed_open(&bed, &spec, -1, -1);
        context = (ActorContext){
                .settings = &bed.settings,
                .page = &bed.page,
                .worker = &bed.worker,
                .env = env,
                .n_containers = 1,
                .segments = bed.segments,
                .policy = bed.policy,
        };
        g_assert(host_new(&context, env, &host) == 0);
        bed_restore(&bed);

        while (bed.learner->books->n_env_steps < bed.settings.stop_steps) {
                double t0 = now_sec(CLOCK_MONOTONIC), t1, t2, t3;

                for (uint32_t a = 0; a < bed.settings.n_actors; a++) {
                        Order order = { .kind = ORDER_ROLLOUT,
                                .actor = a,
                                .ordinal = update,
                                .policy_version = update,
                                .snapshot_bank = update & 1 };
                        Answer answer = {};

                        invocation_run(host, &order, &answer);
                        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                }
                t1 = now_sec(CLOCK_MONOTONIC);
                for (uint32_t a = 0; a < bed.settings.n_actors; a++)
                        bed_take(&bed, a, update & 1);
                t2 = now_sec(CLOCK_MONOTONIC);
                learned = bed_learn(&bed, update, bed.settings.n_actors);
                t3 = now_sec(CLOCK_MONOTONIC);
                acting += t1 - t0;
                taking += t2 - t1;
                learning += t3 - t2;
                update++;

                if (t3 - reported > 5 && getenv("VERBOSE")) {
                        reported = t3;
                        printf("  %8lu steps %7.2f s return %9.2f length %7.1f kl %.5f clip %.3f ev %.3f\n",
                                        (unsigned long) learned.statistics.n_env_steps, t3 - start,
                                        learned.statistics.return_mean, learned.statistics.episode_steps,
                                        learned.statistics.kl, learned.statistics.clip_fraction,
                                        learned.statistics.explained_variance);
                }
                if (settings_present(&bed.settings, SETTING_Job_StopReturn) && isnan(reached) &&
                                learned.statistics.return_mean >= bed.settings.stop_return) {
                        reached = t3 - start;
                        reached_steps = learned.statistics.n_env_steps;
                        break;
                }
        }

        printf("seed %lu: return %.1f at %lu steps, %lu rounds; ", (unsigned long) bed.settings.seed,
                        learned.statistics.return_mean, (unsigned long) learned.statistics.n_env_steps,
                        (unsigned long) update);
        if (!isnan(reached))
                printf("target at %lu steps in %.3f s; ", (unsigned long) reached_steps, reached);
        printf("act %.3f take %.3f learn %.3f (%.3f ms a round) wall %.3f s cpu %.3f s\n", acting, taking,
                        learning, learning / (double) update * 1e3, now_sec(CLOCK_MONOTONIC) - start,
                        now_sec(CLOCK_PROCESS_CPUTIME_ID));
        for (unsigned i = 0; i < 32; i++)
                printf("%02x%s", learned.sha256[i], i == 31 ? " policy_sha256\n" : "");
        host_free(host);
        bed_close(&bed);
        return 0;
}
