/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An algorithm that is nothing but this file and its row (as in lib/algorithm-traits.c). It has three
 * networks: a policy, an ensemble of two critics, and one that refines an action in two passes. It takes the
 * place of DDPG. The learner makes everything else from the row. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "include/launch.h"
#include "learner/algorithm/algorithm.h"
#include "tests/unit/learner-fixture.h"

/* The row */

enum { NET_JUDGE = NET_OF(1), NET_JUDGE_2 = NET_OF(2), NET_REFINER = NET_OF(3), N_NETS = NET_OF(4) };

const AlgorithmRow *algorithm_row(uint32_t algorithm) {
        static const AlgorithmRow row = {
                .store = STORE_REPLAY,
                .stale = true,
                .acting = ACTING_DETERMINISTIC,
                .networks = {
                        { .name = "policy", .reads = READS_OBSERVATION, .n = 1, .passes = 1,
                          .follows = FOLLOWS_AVERAGE },
                        { .name = "judge", .layers = "j", .reads = READS_OBSERVATION | READS_ACTION,
                          .tells = OUTPUT_VALUE, .n = 2, .passes = 1, .follows = FOLLOWS_AVERAGE },
                        { .name = "refiner", .layers = "r", .reads = READS_OBSERVATION | READS_ACTION,
                          .tells = OUTPUT_ACTION, .n = 1, .passes = 2, .follows = FOLLOWS_COPY },
                },
        };

        (void) algorithm;
        return &row;
}

bool algorithm_uses(uint32_t algorithm, Setting setting) {
        (void) algorithm;
        (void) setting;
        return true;
}

/* The file */

static Node joined(Tape *t, Node action) {
        return tape_join(t, tape_input(t, INPUT_OBSERVATION), action);
}

static Node refined(Tape *t, Net net, Node action) {
        return tape_output(t, tape_network(t, net, joined(t, action)), OUTPUT_ACTION);
}

static Node judged(Tape *t, Net net, Node action) {
        return tape_output(t, tape_network(t, net, joined(t, action)), OUTPUT_VALUE);
}

static Node acted(Tape *t, Net net) {
        return tape_output(t, tape_network(t, net, tape_input(t, INPUT_OBSERVATION)), OUTPUT_ACTION);
}

static void target(Tape *t, const void *arg) {
        Node action = refined(t, net_target_of(NET_REFINER), acted(t, NET_TARGET)), value;

        (void) arg;
        value = tape_min(t, judged(t, net_target_of(NET_JUDGE), action),
                        judged(t, net_target_of(NET_JUDGE_2), action));
        tape_result(t, tape_add(t, tape_column(t, COLUMN_REWARD),
                                       tape_multiply(t, tape_column(t, COLUMN_DISCOUNT), value)));
}

static void judge_loss(Tape *t, const void *arg) {
        Node error = tape_subtract(t, judged(t, *(const Net *) arg, tape_input(t, INPUT_ACTION)),
                        tape_column(t, COLUMN_TARGET));

        tape_loss(t, tape_half_square(t, error), 1);
        tape_sum(t, 0, tape_half_square(t, error), 1);
}

/* The loss of the refiner: two passes of its network turn noise into an action, which should be the one that
 * was taken. */
static void refiner_loss(Tape *t, const void *arg) {
        Node action = refined(t, NET_REFINER, refined(t, NET_REFINER, tape_input(t, INPUT_NORMAL)));
        Node error = tape_subtract(t, action, tape_input(t, INPUT_ACTION));
        Node loss = tape_total(t, tape_half_square(t, error));

        (void) arg;
        tape_loss(t, loss, 1);
        tape_sum(t, 0, loss, 1);
}

static void policy_loss(Tape *t, const void *arg) {
        Node value = judged(t, NET_JUDGE, refined(t, NET_REFINER, acted(t, NET_POLICY)));

        (void) arg;
        tape_loss(t, value, -1);
        tape_sum(t, 0, value, -1);
}

static int move(Runtime *runtime, Net net, Rows rows, Loss loss, double *ret) {
        double norm;
        int r;

        r = runtime_gradient(runtime, net, rows, loss, &net, ret, 1);
        if (r < 0)
                return r;
        return runtime_apply(runtime, net, runtime_settings(runtime)->learning_rate, 0, &norm);
}

static int learn(Runtime *runtime) {
        static const struct {
                Net net;
                Loss loss;
        } moves[] = {
                { NET_JUDGE, judge_loss },
                { NET_JUDGE_2, judge_loss },
                { NET_REFINER, refiner_loss },
                { NET_POLICY, policy_loss },
        };
        double lost[G_N_ELEMENTS(moves)] = {};

        (void) runtime_store(runtime);
        for (uint32_t draw = 0; draw < 4; draw++) {
                Rows rows = runtime_replay(runtime, draw, 0.9);

                runtime_targets(runtime, rows, target, NULL);
                for (size_t i = 0; i < G_N_ELEMENTS(moves); i++) {
                        int r = move(runtime, moves[i].net, rows, moves[i].loss, &lost[i]);

                        if (r < 0)
                                return r;
                }
                runtime_follow(runtime);
        }
        runtime_statistics(runtime)->loss_value = lost[2];
        return 0;
}

const Algorithm algorithm_DDPG = { .name = "ddpg", .learn = learn };

/* The test */

enum { ACTORS = 2, ROUNDS = 6 };

static void open_bed(Bed *bed, uint32_t n_threads, int state_fd, int checkpoint_fd) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=ddpg\n[Scaling]\nActors=%u\n[Actor]\nEnvsPerActor=4\nRolloutSteps=32\n"
                        "[Learner]\nHiddenLayers=12 8\nThreads=%u\nMinibatchSize=160\nReplaySize=2000\n"
                        "LearningRate=0.01\nTau=0.1\n",
                        ACTORS, n_threads);
        ActordEnvSpec spec = bed_spec_box(5, 2, 0);

        bed_settings("CartPole-v1", sections, &bed->settings);
        bed_open(bed, &spec, state_fd, checkpoint_fd);
        bed_restore(bed);
}

/* Plays rounds first to end - 1. Round `first` reads the snapshots of bank 0, so `first` must be even. */
static double play(Bed *bed, uint32_t first, uint32_t end) {
        for (uint32_t round = first; round < end; round++) {
                bed_take_all(bed, ACTORS, (round - first) & 1, round);
                bed_learn(bed, round, ACTORS);
        }
        return bed->learner->statistics.loss_value;
}

static void assert_equal(const Bed *a, const Bed *b) {
        for (Net net = 0; net < NETS_MAX; net++) {
                const Adam *x = a->learner->runtime->nets[net], *y = b->learner->runtime->nets[net];

                g_assert_true(!x == (net >= N_NETS) && !y == (net >= N_NETS));
                if (!x)
                        continue;
                g_assert_cmpmem(x->parameters, x->n * sizeof(float), y->parameters, y->n * sizeof(float));
                g_assert_cmpmem(x->m, x->n * sizeof(float), y->m, y->n * sizeof(float));
                g_assert_cmpuint(x->step, ==, y->step);
        }
}

static void test_threads(void) {
        Bed one = {}, three = {};

        open_bed(&one, 1, -1, -1);
        open_bed(&three, 3, -1, -1);
        play(&one, 0, ROUNDS);
        play(&three, 0, ROUNDS);
        assert_equal(&one, &three);
        g_assert_cmpuint(one.learner->runtime->nets[NET_REFINER]->step, ==, 4 * ROUNDS);
        bed_close(&one);
        bed_close(&three);
}

/* Trained through both of its passes, the refiner makes smaller errors. They cannot fall below the variance
 * of the random actions. */
static void test_learns(void) {
        Bed bed = {};
        double first, last;

        open_bed(&bed, 1, -1, -1);
        first = play(&bed, 0, 2);
        last = play(&bed, 2, 2 * ROUNDS);
        g_assert_cmpfloat(last, <, 0.9 * first);
        bed_close(&bed);
}

static void test_checkpoint(void) {
        g_autofree char *directory = g_dir_make_tmp("throwaway-XXXXXX", NULL);
        int state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
        static const char *const names[] = {
                "\"networks.policy.actor.mu.0.weight\"",
                "\"networks.target.actor.mu.0.weight\"",
                "\"networks.judge.j.0.weight\"",
                "\"networks.judge-target.j.4.bias\"",
                "\"networks.judge-2.j.2.weight\"",
                "\"networks.judge-2-target.j.0.bias\"",
                "\"networks.refiner.r.4.weight\"",
                "\"networks.refiner.adam.v\"",
                "\"networks.refiner-target.r.4.bias\"",
        };
        Bed before = {}, after = {};
        char header[1 << 16] = {}; /* the start of the file: its table of tensor names */
        Answer answer;

        open_bed(&before, 1, state_fd, -1);
        play(&before, 0, 4);
        answer = bed_order(&before, (Order){ .kind = ORDER_CHECKPOINT, .round = 4 });
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        fd = openat(state_fd, "checkpoint-4.safetensors", O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);

        g_assert_cmpint(read(fd, header, sizeof(header) - 1), >, 8);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                g_assert_nonnull(strstr(header + 8, names[i]));

        open_bed(&after, 2, -1, fd);
        assert_equal(&before, &after);
        play(&before, 4, ROUNDS);
        play(&after, 4, ROUNDS);
        assert_equal(&before, &after);

        bed_close(&before);
        bed_close(&after);
        (void) close(fd);
        g_assert_cmpint(unlinkat(state_fd, "checkpoint-4.safetensors", 0), ==, 0);
        /* The learner made this file if the file system can reserve space. */
        (void) unlinkat(state_fd, CHECKPOINT_RESERVE, 0);
        (void) close(state_fd);
        g_assert_cmpint(g_rmdir(directory), ==, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/throwaway/threads", test_threads);
        g_test_add_func("/throwaway/learns", test_learns);
        g_test_add_func("/throwaway/checkpoint", test_checkpoint);
        return g_test_run();
}
