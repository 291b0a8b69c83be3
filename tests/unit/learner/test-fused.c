/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests a learner that also acts (learner/fused.c); the test gives the orders. If an actor's environment
 * fails, the answer names the actor, and the next order repeats only its rollout. One order may ask for
 * rollouts and for learning; the learner does not learn if a rollout failed or the invoker forbade it. The
 * policy is the same as that of fused_round(). */
#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actor/actor.h"
#include "actor/host.h"
#include "learner/job/loop.h"
#include "lib/settings/settings.h"
#include "lib/slot.h"
#include "lib/turn.h"

int actord_fused_run(const FusedStart *start);

#define N_ACTORS 3u
#define TEXT                                                                                     \
        "[Job]\nEnvironment=CartPole-v1\nSeed=3\n[Scaling]\nActors=3\n[Actor]\nEnvsPerActor=2\n" \
        "RolloutSteps=32\n"                                                                      \
        "[Learner]\nMinibatchSize=64\nEpochs=2\nThreads=2\n"

static const ActordEnv *cartpole;
static _Atomic uint32_t n_steps_to_failure; /* 0: it never fails again */

static int step_may_fail(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        if (n_steps_to_failure > 0 && --n_steps_to_failure == 0)
                return -EDOM;
        return cartpole->step(instance, action, random, ret_observation, ret);
}

static JobSettings settings;
static JobPage page;
static WorkerPage worker;
static void *segments[N_ACTORS];
static ActordEnv env;
static FusedStart start;

static void *process(void *arg) {
        return GINT_TO_POINTER(actord_fused_run(&start));
}

static Answer ask(uint32_t kind, uint32_t learns) {
        const Order order = { .kind = kind,
                .round = 1,
                .policy_bank = kind == ORDER_LEARN,
                .n_actors = N_ACTORS,
                .learns = learns,
                .next_bank = 1,
                .hashes = true };
        uint64_t rings;
        Answer answer;

        turn_order(&worker.turn, &order, true);
        turn_asleep(&worker.turn, true);
        while (!turn_answered(&worker.turn))
                (void) !read(start.bell_fd, &rings, sizeof(rings));
        turn_asleep(&worker.turn, false);
        g_assert_cmpint(turn_answer(&worker.turn, &answer), ==, 0);
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        return answer;
}

static void begin(pthread_t *ret) {
        g_autofree char *message = NULL;
        ActordEnvSpec spec = {};

        memset(&worker, 0, sizeof(worker));
        g_assert_cmpint(settings_parse(TEXT, "test.conf", NULL, 0, NULL, &settings, &message), ==, 0);
        g_assert_cmpint(environment_load("CartPole-v1", "/nowhere", &cartpole), ==, 0);
        env = *cartpole;
        env.step = step_may_fail;
        g_assert_cmpint(env.spec(NULL, 0, &spec), ==, 0);
        g_assert_cmpint(job_page_make(&settings, &spec, &page), ==, 0);
        for (uint32_t a = 0; a < N_ACTORS; a++)
                segments[a] = instance_memory_take(page.segment.segment_bytes);
        start = (FusedStart){
                .settings = &settings,
                .page = &page,
                .worker = &worker,
                .policy = instance_memory_take(page.policy.segment_bytes),
                .segments = segments,
                .env = &env,
                .state_fd = -EBADF,
                .checkpoint_fd = -EBADF,
                .bell_fd = eventfd(0, 0),
        };
        g_assert_cmpint(pthread_create(ret, NULL, process, NULL), ==, 0);
}

static void end(pthread_t thread) {
        const Order order = { .kind = ORDER_END };
        void *status;

        turn_order(&worker.turn, &order, true);
        g_assert_cmpint(pthread_join(thread, &status), ==, 0);
        g_assert_cmpint(GPOINTER_TO_INT(status), ==, 0);
        for (uint32_t a = 0; a < N_ACTORS; a++)
                instance_memory_give_back(segments[a], page.segment.segment_bytes);
        instance_memory_give_back(start.policy, page.policy.segment_bytes);
        (void) close(start.bell_fd);
}

/* Compares the policy after the first round with that of fused_round(), which runs the loop in this
 * process. */
static void compare_with_loop(const Answer *learned) {
        Statistics statistics;
        uint8_t sha256[32];
        FusedTimes times;
        Fused *fused;

        g_assert_cmpuint(learned->policy_version, ==, 1);
        g_assert_cmpint(fused_new(&settings, cartpole, &fused), ==, 0);
        g_assert_cmpint(fused_round(fused, N_ACTORS, &statistics, &times), ==, 0);
        fused_hash_policy(fused, sha256);
        g_assert_cmpmem(learned->sha256, 32, sha256, 32);
        fused_free(fused);
}

/* When the job is about to end, the invoker forbids learning. Then the learner acts, but learns only on an
 * order to learn. */
static void test_forbidden(void) {
        pthread_t thread;
        Answer learned;

        begin(&thread);
        (void) ask(ORDER_RESTORE, 0);

        atomic_store(&worker.learning_nsec, LEARNING_FORBIDDEN);
        g_assert_cmpuint(ask(ORDER_ROLLOUT, 1).learned, ==, 0);
        learned = ask(ORDER_LEARN, 0);
        end(thread);
        compare_with_loop(&learned);
}

static void test_failure(void) {
        uint32_t n_failed = 0;
        pthread_t thread;
        Answer learned;

        begin(&thread);
        g_assert_cmpuint(ask(ORDER_RESTORE, 0).policy_version, ==, 0);

        n_steps_to_failure = 40;
        g_assert_cmpuint(ask(ORDER_ROLLOUT, 1).learned, ==, 0);
        g_assert_cmpuint(atomic_load(&worker.learning_nsec), ==, 0);
        for (uint32_t a = 0; a < N_ACTORS; a++) {
                if (worker.acted[a].fault == FAULT_NONE) {
                        g_assert_cmpuint(worker.acted[a].cpu_nsec, >, 0);
                        worker.ordinals[a] = ORDINAL_NONE;
                        worker.acted[a].cpu_nsec = 0;
                        continue;
                }
                g_assert_cmpuint(worker.acted[a].fault, ==, FAULT_ENVIRONMENT);
                g_assert_cmpint(worker.acted[a].detail, ==, EDOM);
                n_failed++;
        }
        g_assert_cmpuint(n_failed, ==, 1);

        /* The failed actor's rollout is asked for again. The other actors' rollouts have been taken, so
         * these actors do not act again. */
        learned = ask(ORDER_ROLLOUT, 1);
        g_assert_cmpuint(learned.learned, ==, 1);
        g_assert_cmpuint(atomic_load(&worker.learning_nsec), >, 0);
        for (uint32_t a = 0; a < N_ACTORS; a++) {
                g_assert_cmpuint(worker.acted[a].fault, ==, FAULT_NONE);
                g_assert_cmpint(worker.acted[a].cpu_nsec > 0, ==, worker.ordinals[a] != ORDINAL_NONE);
        }
        end(thread);
        compare_with_loop(&learned);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/acting/failure", test_failure);
        g_test_add_func("/acting/forbidden", test_forbidden);
        return g_test_run();
}
