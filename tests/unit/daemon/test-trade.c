/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The trade of CPU weight, without a daemon: what a policy's file must be, what each job sees of the others,
 * and which weights the kernel gets. */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/trade.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/cleanup.h"

enum { UNITS = 2 };

/* A policy of one hidden layer, written by hand. It moves a bid up if input `watched` is above 0.51, and
 * down if it is below 0.49. The first unit is how far the input is above 0.5, the second how far it is
 * below. */
typedef struct Hand {
        float weight[UNITS][SHARES_N_INPUTS], bias[UNITS], head[SHARES_N_ACTIONS][UNITS],
                        head_bias[SHARES_N_ACTIONS];
        const char *environment, *algorithm, *layers, *activation, *format, *normalised;
        uint64_t n_inputs;
        float mean[SHARES_N_INPUTS], inverse_sd[SHARES_N_INPUTS];
} Hand;

static Hand hand_new(unsigned watched) {
        Hand h = { .environment = "shares",
                .algorithm = "simppo",
                .layers = "2",
                .activation = "relu",
                .format = PARAMETERS_FORMAT "1",
                .normalised = "no",
                .n_inputs = SHARES_N_INPUTS };

        h.weight[0][watched] = 1;
        h.weight[1][watched] = -1;
        h.bias[0] = -0.5f;
        h.bias[1] = 0.5f;
        h.head[SHARES_UP][0] = h.head[SHARES_DOWN][1] = 1;
        h.head_bias[SHARES_SAME] = 0.01f;
        return h;
}

static void hand_write(Hand *h, const char *path) {
        const MetadataRow metadata[] = { { METADATA_FORMAT, h->format },
                { METADATA_ENVIRONMENT, h->environment }, { "Job.Algorithm", h->algorithm },
                { "Learner.HiddenLayers", h->layers }, { "Learner.Activation", h->activation },
                { "Learner.NormalizeObservations", h->normalised } };
        const TensorRow rows[] = {
                { "actor.0.weight", "F32", 2, { UNITS, h->n_inputs }, h->weight },
                { "actor.0.bias", "F32", 1, { UNITS }, h->bias },
                { "actor.2.weight", "F32", 2, { SHARES_N_ACTIONS, UNITS }, h->head },
                { "actor.2.bias", "F32", 1, { SHARES_N_ACTIONS }, h->head_bias },
                { "observation.mean", "F32", 1, { SHARES_N_INPUTS }, h->mean },
                { "observation.inverse_sd", "F32", 1, { SHARES_N_INPUTS }, h->inverse_sd },
        };
        bool scales = strcmp(h->normalised, "yes") == 0;
        _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        uint8_t sha256[32];

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(safetensors_write(fd, rows, G_N_ELEMENTS(rows) - (scales ? 0 : 2), metadata,
                                        G_N_ELEMENTS(metadata), sha256),
                        ==, 0);
}

typedef struct Folder {
        char *path, *file;
        GStrv paths;
} Folder;

static void folder_open(Folder *f) {
        f->path = g_dir_make_tmp("actord-trade-XXXXXX", NULL);
        g_assert_nonnull(f->path);
        f->file = g_build_filename(f->path, "hand.safetensors", NULL);
        f->paths = g_strsplit(f->path, ":", 0);
}

static void folder_close(Folder *f) {
        g_autoptr(GDir) directory = g_dir_open(f->path, 0, NULL);
        const char *name;

        while ((name = g_dir_read_name(directory))) {
                g_autofree char *file = g_build_filename(f->path, name, NULL);

                (void) g_remove(file);
        }
        (void) g_rmdir(f->path);
        g_free(f->path);
        g_free(f->file);
        g_strfreev(f->paths);
}

static TradePolicy *policy_of(Hand *h) {
        TradePolicy *policy = NULL;
        g_autofree char *reason = NULL;
        Folder f;

        folder_open(&f);
        hand_write(h, f.file);
        if (trade_policy_find(f.paths, "hand", &policy, &reason) < 0)
                g_error("%s", reason);
        folder_close(&f);
        return policy;
}

/* The file is refused, with a sentence that names it and holds these words. */
static void assert_refused(const Folder *f, const char *words) {
        g_autofree char *reason = NULL;
        TradePolicy *policy = NULL;

        g_assert_cmpint(trade_policy_find(f->paths, "hand", &policy, &reason), <, 0);
        g_assert_null(policy);
        if (!strstr(reason, f->file) || !strstr(reason, words))
                g_error("\"%s\" does not name the file and say \"%s\"", reason, words);
}

static Trader trader_of(const TradePolicy *policy, double needed, double got, uint32_t weight) {
        return (Trader){ .policy = policy,
                .job = { .time_left = 0.5,
                                .work_left = 0.5,
                                .needed = needed,
                                .got = got,
                                .demand = 2,
                                .weight = weight },
                .last = TRADE_NO_ACTION };
}

static void test_own(void) {
        Hand h = hand_new(SHARES_PACE);
        TradePolicy *policy = policy_of(&h);
        Trader traders[] = { trader_of(policy, 3, 1, 100), trader_of(policy, 1, 3, 100),
                trader_of(policy, 1, 1, 100) };

        trade(traders, 3, 2);
        g_assert_cmpuint(traders[0].job.weight, ==, 150); /* it will be late */
        g_assert_cmpuint(traders[1].job.weight, ==, 67);
        g_assert_cmpuint(traders[2].job.weight, ==, 100);
        g_assert_cmpint(traders[0].last, ==, SHARES_UP);
        g_assert_cmpint(traders[1].last, ==, SHARES_DOWN);
        for (int i = 0; i < 30; i++)
                trade(traders, 3, 2);
        g_assert_cmpuint(traders[0].job.weight, ==, SHARES_WEIGHT_MAX);
        g_assert_cmpuint(traders[1].job.weight, ==, SHARES_WEIGHT_MIN);
        trade_policy_free(policy);
}

/* A policy may also see the mean of the other jobs' features, without those of its own job. Jobs may have
 * different policies. */
static void test_others(void) {
        Hand h = hand_new(SHARES_N_FEATURES + SHARES_PACE), blind = hand_new(SHARES_PACE);
        TradePolicy *policy = policy_of(&h), *own = policy_of(&blind);
        Trader traders[] = { trader_of(policy, 1, 99, 100), trader_of(own, 3, 1, 100),
                trader_of(own, 3, 1, 100) };

        trade(traders, 3, 2);
        g_assert_cmpuint(traders[0].job.weight, ==, 150); /* the others are late */
        traders[1] = traders[2] = trader_of(own, 1, 3, 100);
        traders[0] = trader_of(policy, 99, 1, 100); /* only it is late */
        trade(traders, 3, 2);
        g_assert_cmpuint(traders[0].job.weight, ==, 67);
        trade_policy_free(policy);
        trade_policy_free(own);
}

/* A policy sees which share of the other jobs moved up in the last turn, but no move of the present turn. */
static void test_actions(void) {
        Hand h = hand_new(2 * SHARES_N_FEATURES + SHARES_UP), late = hand_new(SHARES_PACE);
        TradePolicy *policy = policy_of(&h), *own = policy_of(&late);
        Trader traders[] = { trader_of(own, 3, 1, 100), trader_of(policy, 1, 1, 100) };

        trade(traders, 2, 2);
        g_assert_cmpint(traders[1].last, ==, SHARES_DOWN); /* none has moved yet */
        trade(traders, 2, 2);
        g_assert_cmpint(traders[1].last, ==, SHARES_UP);
        trade_policy_free(policy);
        trade_policy_free(own);
}

/* No job, a single job and a thousand jobs can trade, without a division by zero. */
static void test_any_number(void) {
        Hand h = hand_new(SHARES_N_FEATURES + SHARES_CROWD);
        TradePolicy *policy = policy_of(&h);
        g_autofree Trader *traders = g_new0(Trader, 1000);

        trade(NULL, 0, 2);
        traders[0] = trader_of(policy, 1, 1, 100);
        trade(traders, 1, 2);
        g_assert_cmpint(traders[0].last, ==, SHARES_DOWN);
        for (int i = 0; i < 1000; i++)
                traders[i] = trader_of(policy, 1, 1, 100);
        trade(traders, 1000, 2);
        for (int i = 0; i < 1000; i++)
                g_assert_cmpint(traders[i].last, ==, SHARES_UP); /* the host is crowded */
        trade_policy_free(policy);
}

/* A policy normalises its inputs by the means and deviations in its file: here a pace by 0.1 and 0.1. */
static void test_scales(void) {
        Hand h = hand_new(SHARES_PACE);
        TradePolicy *policy;
        Trader traders[] = { trader_of(NULL, 1, 3, 100), trader_of(NULL, 1, 99, 100) };

        h.normalised = "yes";
        for (size_t i = 0; i < SHARES_N_INPUTS; i++)
                h.inverse_sd[i] = 1;
        h.mean[SHARES_PACE] = 0.1f;
        h.inverse_sd[SHARES_PACE] = 10;
        policy = policy_of(&h);
        traders[0].policy = traders[1].policy = policy;
        trade(traders, 2, 2);
        /* the pace is 0.25, so the input is (0.25 - 0.1) 10, above 0.5 */
        g_assert_cmpint(traders[0].last, ==, SHARES_UP);
        g_assert_cmpint(traders[1].last, ==, SHARES_DOWN);
        trade_policy_free(policy);
}

static Trader bidder(uint32_t user, uint32_t bid, double demand) {
        return (Trader){ .job = { .weight = bid, .demand = demand }, .user = user, .weight = 100 };
}

static void test_weights(void) {
        Trader traders[] = { bidder(0, 300, 2), bidder(0, 100, 2), bidder(0, 200, 2) };
        uint32_t weights[3];

        trade_weights(traders, 3, weights);
        g_assert_cmpuint(weights[0], ==, 150);
        g_assert_cmpuint(weights[1], ==, 50);
        g_assert_cmpuint(weights[2], ==, 100); /* 300 in all */
        trade_weights(traders, 1, weights);
        g_assert_cmpuint(weights[0], ==, 100); /* a job that trades alone has the default weight */
        traders[0].weight = 98;
        trade_weights(traders, 1, weights);
        g_assert_cmpuint(weights[0], ==, 100);
}

/* A job has at least a quarter of the default weight, and at most four times the default. The other jobs
 * share the weight that these limits add or remove. */
static void test_weights_bounds(void) {
        Trader traders[] = { bidder(0, 1000, 2), bidder(0, 10, 2) };
        g_autofree Trader *many = g_new0(Trader, 200);
        g_autofree uint32_t *weights = g_new0(uint32_t, 200);

        trade_weights(traders, 2, weights);
        g_assert_cmpuint(weights[0], ==, 175);
        g_assert_cmpuint(weights[1], ==, 25);
        for (int i = 0; i < 10; i++) /* one job bids the most, and nine bid the least */
                many[i] = bidder(0, i == 0 ? SHARES_WEIGHT_MAX : SHARES_WEIGHT_MIN, 1);
        trade_weights(many, 10, weights);
        g_assert_cmpuint(weights[0], ==, 400);
        g_assert_cmpuint(weights[1], ==, 67);
        for (int i = 0; i < 200; i++)
                many[i] = bidder(0, i == 0 ? SHARES_WEIGHT_MIN : SHARES_WEIGHT_MAX, 1);
        trade_weights(many, 200, weights);
        g_assert_cmpuint(weights[0], ==, 25);
        g_assert_cmpuint(weights[1], ==, 100);
}

/* Weight moves only between the jobs of one user. Their mean, weighted by the CPUs that each can use, is
 * 100. */
static void test_weights_users(void) {
        Trader traders[] = { bidder(7, 1000, 4), bidder(8, 10, 1), bidder(8, 20, 4), bidder(9, 10, 1) };
        uint32_t weights[4];

        trade_weights(traders, 4, weights);
        g_assert_cmpuint(weights[0], ==, 100);
        g_assert_cmpuint(weights[1], ==, 56); /* 56 + 4 times 111 is 5 times 100 */
        g_assert_cmpuint(weights[2], ==, 111);
        g_assert_cmpuint(weights[3], ==, 100);
}

/* If bids change little, no weight changes. If one weight would change by 5 % or more, all weights of the
 * user's jobs change, so that their mean stays. */
static void test_weights_move(void) {
        Trader traders[] = { bidder(0, 310, 1), bidder(0, 300, 1), bidder(0, 200, 1), bidder(5, 103, 1),
                bidder(5, 100, 1) };
        uint32_t weights[5];

        traders[0].weight = 109;
        traders[1].weight = 116;
        traders[2].weight = 74;
        trade_weights(traders, 5, weights);
        g_assert_cmpuint(weights[0], ==, 115); /* this weight moves by more than 5 %, so all move */
        g_assert_cmpuint(weights[1], ==, 111);
        g_assert_cmpuint(weights[3], ==, 100);
        traders[0].weight = 113;
        trade_weights(traders, 5, weights);
        g_assert_cmpuint(weights[0], ==, 113);
        g_assert_cmpuint(weights[1], ==, 116);
        g_assert_cmpuint(weights[2], ==, 74);
}

/* Measures the speed of a job every 2 s, from `first` to 3000 s after its start. Each second until `stall`
 * it does a share of 0.0001 of its work, but this shows only at the ends of its rounds of `round` seconds.
 * Returns the last speed, and the slowest and the fastest from `settled` on, in units of that share. */
static double look(double first, double round, double settled, double stall, double *ret_slowest,
                double *ret_fastest) {
        TradeSpeed speed = {};
        double last = 0;

        *ret_slowest = INFINITY;
        *ret_fastest = 0;
        for (double t = first; t < 3000; t += 2) {
                double done = 0.0001 * round * floor(fmin(t, stall) / round);

                last = trade_speed(&speed, 5000 + t, done, t) / 0.0001;
                if (t < settled)
                        continue;
                *ret_slowest = fmin(*ret_slowest, last);
                *ret_fastest = fmax(*ret_fastest, last);
        }
        return last;
}

/* The measured speed of a job is the same whether its rounds are short or take many turns of the trade, and
 * at any time in a round. */
static void test_speed(void) {
        static const double rounds[] = { 0.5, 2, 3, 15, 61, 240, 900 };
        double slowest, fastest;

        for (size_t i = 0; i < G_N_ELEMENTS(rounds); i++)
                for (double first = 1; first < 400; first += 133) {
                        (void) look(first, rounds[i], first + 2 * rounds[i], INFINITY, &slowest, &fastest);
                        g_assert_cmpfloat(slowest, >, rounds[i] > 4 ? 0.85 : 0.65);
                        g_assert_cmpfloat(fastest, <, rounds[i]> 4 ? 1.2 : 1.5);
                }
}

/* The measured speed of a job that stands still falls steadily. If a job becomes faster, its speed soon
 * shows it. */
static void test_speed_changes(void) {
        double slowest, fastest, last = look(1, 60, 100, 1500, &slowest, &fastest);
        TradeSpeed speed = {};
        double now = 0;

        g_assert_cmpfloat(last, <, 0.05);
        g_assert_cmpfloat(last, >, 0.02); /* the job stood still for 1500 s; its rounds take 60 s */
        g_assert_cmpfloat(trade_speed(&speed, now, 0, now), ==, 0);
        for (int i = 1; i <= 20; i++) {
                now += i <= 10 ? 30 : 3;
                last = trade_speed(&speed, now, 0.01 * i, now);
        }
        g_assert_cmpfloat(last, >, 0.0028);
        now += 2;
        g_assert_cmpfloat(trade_speed(&speed, now, 0.15, now), <, 0.0016); /* a round was lost */
}

/* After a failed question to the spawner the weight is doubtful, and the daemon asks again. The trade ends
 * only after several failures in a row. */
static void test_answers(void) {
        TradeState state = { .trains = true, .running = true, .weight = 100 };

        g_assert_false(trade_note(&state, 0, 100));
        g_assert_false(trade_is_unequal(&state));
        for (int i = 0; i < 3; i++) {
                for (int k = 0; k < 4; k++)
                        g_assert_false(trade_note(&state, -ETIMEDOUT, 0));
                g_assert_cmpuint(state.weight, ==, 100);
                g_assert_true(trade_is_unequal(&state));
                g_assert_false(trade_note(&state, 0, 100));
                g_assert_false(trade_is_unequal(&state));
        }
        for (int k = 0; k < 4; k++)
                g_assert_false(trade_note(&state, -ETIMEDOUT, 0));
        g_assert_true(trade_note(&state, -ETIMEDOUT, 0));
        state.off = true;
        g_assert_true(trade_is_left(&state));
        (void) trade_note(&state, 0, 100); /* this answer says that the job has the default weight */
        g_assert_false(trade_is_left(&state));

        state = (TradeState){ .trains = true, .running = true };
        g_assert_true(trade_note(&state, -EOPNOTSUPP, 0)); /* one such error ends the trade at once */
        state.off = true;
        g_assert_false(trade_is_left(&state));
}

/* For each state of a job: whether it may trade (may), may have another weight than the default (unequal),
 * and must get the default back (left). */
static void test_states(void) {
        static const struct {
                TradeState state;
                bool may, unequal, left;
        } rows[] = {
                { { .running = true, .weight = 25 }, false, false, false }, /* it has no Shares= */
                { { .trains = true }, false, false, false },                /* it is queued */
                { { .trains = true, .weight = 25 }, false, false, false },  /* its process is gone */
                { { .trains = true, .running = true, .weight = 100 }, true, false, false },
                { { .trains = true, .running = true, .weight = 25 }, true, true, false },
                { { .trains = true, .running = true, .weight = 175 }, true, true, false },
                { { .trains = true, .running = true }, true, true, false }, /* a new life: unknown weight */
                { { .trains = true, .running = true, .weight = 100, .stale = true }, true, true, false },
                { { .trains = true, .running = true, .off = true }, false, false, false },
                { { .trains = true, .running = true, .off = true, .weight = 100 }, false, false, false },
                { { .trains = true, .running = true, .off = true, .weight = 25 }, false, false, true },
                { { .trains = true, .running = true, .off = true, .weight = 100, .stale = true }, false,
                                false, true },
                { { .trains = true, .running = true, .off = true, .weight = 25, .n_resets = 4 }, false,
                                false, true },
                { { .trains = true, .running = true, .off = true, .weight = 25, .n_resets = 5 }, false,
                                false, false },
                { { .trains = true, .ending = true, .weight = 25 }, false, false, true },
                { { .trains = true, .ending = true, .weight = 100 }, false, false, false },
                { { .trains = true, .ending = true }, false, false, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_test_message("row %zu", i);
                g_assert_cmpint(trade_may(&rows[i].state), ==, rows[i].may);
                g_assert_cmpint(trade_is_unequal(&rows[i].state), ==, rows[i].unequal);
                g_assert_cmpint(trade_is_left(&rows[i].state), ==, rows[i].left);
        }
}

static void test_refuses(void) {
        struct {
                const char *words;
                Hand hand;
        } rows[] = { { "not a policy that Algorithm=simppo learned", hand_new(0) },
                { "not a policy that Algorithm=simppo learned", hand_new(0) },
                { "HiddenLayers=", hand_new(0) }, { "HiddenLayers=", hand_new(0) },
                { "HiddenLayers=", hand_new(0) }, { "in the shape", hand_new(0) },
                { "not finite", hand_new(0) }, { "does not hold \"actor.4.weight\"", hand_new(0) },
                { "whole checkpoint", hand_new(0) } };
        Folder f;

        rows[0].hand.environment = "faas";
        rows[1].hand.algorithm = "ppo";
        rows[2].hand.layers = "513";
        rows[3].hand.layers = "2 2 2 2 2";
        rows[4].hand.activation = "sine";
        rows[5].hand.n_inputs = SHARES_N_INPUTS - 1;
        rows[6].hand.bias[1] = NAN;
        rows[7].hand.layers = "2 3";
        rows[8].hand.format = CHECKPOINT_FORMAT "1";
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                folder_open(&f);
                hand_write(&rows[i].hand, f.file);
                assert_refused(&f, rows[i].words);
                folder_close(&f);
        }
}

/* Truncated and damaged files are refused. So are a pipe and a directory, and the daemon does not wait for
 * the pipe. */
static void test_refuses_files(void) {
        g_autofree char *bytes = NULL;
        Hand h = hand_new(0);
        gsize n;
        Folder f;

        folder_open(&f);
        hand_write(&h, f.file);
        g_assert_true(g_file_get_contents(f.file, &bytes, &n, NULL));
        for (gsize cut = 0; cut < n; cut += 97) {
                g_assert_true(g_file_set_contents(f.file, bytes, (gssize) cut, NULL));
                assert_refused(&f, cut < 8 ? "too short" : "cut short");
        }
        bytes[n - 100] = (char) (bytes[n - 100] ^ 1);
        g_assert_true(g_file_set_contents(f.file, bytes, (gssize) n, NULL));
        assert_refused(&f, "damaged");
        g_assert_cmpint(truncate(f.file, SHARES_FILE_MAX + 1), ==, 0);
        assert_refused(&f, "at most 4194304");
        g_assert_cmpint(g_remove(f.file), ==, 0);
        g_assert_cmpint(mkfifo(f.file, 0600), ==, 0);
        assert_refused(&f, "not a regular file");
        g_assert_cmpint(g_remove(f.file), ==, 0);
        g_assert_cmpint(g_mkdir(f.file, 0700), ==, 0);
        assert_refused(&f, "not a regular file");
        folder_close(&f);
}

static void test_unknown(void) {
        g_autofree char *reason = NULL, *none = NULL;
        g_auto(GStrv) nowhere = g_strsplit("/nowhere/at/all", ":", 0);
        TradePolicy *policy = NULL;
        Hand h = hand_new(0);
        Folder f;

        folder_open(&f);
        hand_write(&h, f.file);
        g_assert_cmpint(trade_policy_find(f.paths, "hnad", &policy, &reason), ==, -ENOENT);
        g_assert_nonnull(strstr(reason, "installed: hand"));
        g_assert_nonnull(strstr(reason, f.path));
        g_assert_cmpint(trade_policy_find(nowhere, "hand", &policy, &none), ==, -ENOENT);
        g_assert_nonnull(strstr(none, "installed: none"));
        folder_close(&f);
}

/* Jobs that name the same file share its policy, until the file is changed. */
static void test_shared(void) {
        TradePolicy *one = NULL, *two = NULL, *changed = NULL;
        g_autofree char *reason = NULL;
        Hand h = hand_new(SHARES_PACE);
        Trader traders[] = { trader_of(NULL, 3, 1, 100), trader_of(NULL, 1, 3, 100) };
        Folder f;

        folder_open(&f);
        hand_write(&h, f.file);
        g_assert_cmpint(trade_policy_find(f.paths, "hand", &one, &reason), ==, 0);
        g_assert_cmpint(trade_policy_find(f.paths, "hand", &two, &reason), ==, 0);
        g_assert_true(one == two);
        /* The new text is longer, so the file's size changes even if its time does not. */
        h.normalised = "no, not at all";
        hand_write(&h, f.file);
        g_assert_cmpint(trade_policy_find(f.paths, "hand", &changed, &reason), ==, 0);
        g_assert_true(one != changed);
        trade_policy_free(one);
        traders[0].policy = traders[1].policy = two; /* it is still there */
        trade(traders, 2, 2);
        g_assert_cmpuint(traders[0].job.weight, ==, 150);
        trade_policy_free(two);
        trade_policy_free(changed);
        folder_close(&f);
}

/* A refusal lists up to 20 policies, and a policy that two folders have only once. */
static void test_names(void) {
        TradePolicy *policy = NULL;
        char *twice[3] = {};
        Folder f;

        folder_open(&f);
        twice[0] = twice[1] = f.path;
        for (int i = 0; i < 22; i++) {
                g_autofree char *file = g_strdup_printf("%s/p%02d.safetensors", f.path, i), *reason = NULL;

                g_assert_cmpint(trade_policy_find(twice, "hand", &policy, &reason), ==, -ENOENT);
                g_assert_cmpint(strstr(reason, ", and more)") != NULL, ==, i > 20);
                g_assert_true(g_file_set_contents(file, "", 0, NULL));
        }
        folder_close(&f);
}

/* A user's daemon looks in the user's folder, then in the administrator's. The system's daemon looks only in
 * the administrator's. */
static void test_directories(void) {
        g_auto(GStrv) user = trade_directories(false), host = trade_directories(true);

        g_assert_cmpuint(g_strv_length(user), ==, 2);
        g_assert_true(g_str_has_prefix(user[0], g_get_user_config_dir()));
        g_assert_cmpstr(user[1], ==, "/etc/actord/shares");
        g_assert_cmpuint(g_strv_length(host), ==, 1);
        g_assert_cmpstr(host[0], ==, "/etc/actord/shares");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/trade/own", test_own);
        g_test_add_func("/trade/others", test_others);
        g_test_add_func("/trade/actions", test_actions);
        g_test_add_func("/trade/any-number", test_any_number);
        g_test_add_func("/trade/scales", test_scales);
        g_test_add_func("/trade/weights", test_weights);
        g_test_add_func("/trade/weights-bounds", test_weights_bounds);
        g_test_add_func("/trade/weights-users", test_weights_users);
        g_test_add_func("/trade/weights-move", test_weights_move);
        g_test_add_func("/trade/speed", test_speed);
        g_test_add_func("/trade/speed-changes", test_speed_changes);
        g_test_add_func("/trade/answers", test_answers);
        g_test_add_func("/trade/states", test_states);
        g_test_add_func("/trade/refuses", test_refuses);
        g_test_add_func("/trade/refuses-files", test_refuses_files);
        g_test_add_func("/trade/unknown", test_unknown);
        g_test_add_func("/trade/shared", test_shared);
        g_test_add_func("/trade/names", test_names);
        g_test_add_func("/trade/directories", test_directories);

        return g_test_run();
}
