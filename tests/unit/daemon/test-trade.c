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

/* A policy of one hidden layer, written by hand. The first unit is how far input `watched` is above 0.5, the
 * second how far it is below: it moves up, stays within 0.01, or moves down. */
typedef struct Hand {
        float weight[UNITS][SHARES_N_INPUTS], bias[UNITS], head[SHARES_N_ACTIONS][UNITS],
                        head_bias[SHARES_N_ACTIONS];
        const char *environment, *algorithm, *layers, *activation, *format;
        uint64_t n_inputs;
} Hand;

static Hand hand_new(unsigned watched) {
        Hand h = { .environment = "shares",
                .algorithm = "simppo",
                .layers = "2",
                .activation = "relu",
                .format = PARAMETERS_FORMAT "1",
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
                { "Learner.HiddenLayers", h->layers }, { "Learner.Activation", h->activation } };
        const TensorRow rows[] = {
                { "actor.0.weight", "F32", 2, { UNITS, h->n_inputs }, h->weight },
                { "actor.0.bias", "F32", 1, { UNITS }, h->bias },
                { "actor.2.weight", "F32", 2, { SHARES_N_ACTIONS, UNITS }, h->head },
                { "actor.2.bias", "F32", 1, { SHARES_N_ACTIONS }, h->head_bias },
        };
        _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        uint8_t sha256[32];

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(safetensors_write(fd, rows, G_N_ELEMENTS(rows), metadata, G_N_ELEMENTS(metadata),
                                        sha256),
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

/* A job sees the mean of the others' features, and not its own. Each has its own policy. */
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

/* The share of the others that moved up in the last turn; nothing of this turn. */
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

/* A lone job is no reason to divide by zero, and neither are many. */
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

static void test_weights(void) {
        Trader traders[] = { { .job = { .weight = 1000 } }, { .job = { .weight = 10 } },
                { .job = { .weight = 100 } } };
        g_autofree Trader *many = g_new0(Trader, 200);
        g_autofree uint32_t *weights = g_new0(uint32_t, 200);

        trade_weights(traders, 3, weights);
        g_assert_cmpuint(weights[0], ==, 270);
        g_assert_cmpuint(weights[1], ==, 3);
        g_assert_cmpuint(weights[2], ==, 27); /* 300 in all */
        trade_weights(traders, 1, weights);
        g_assert_cmpuint(weights[0], ==, 100); /* alone it is as any other job */

        for (int i = 0; i < 200; i++)
                many[i].job.weight = i == 0 ? SHARES_WEIGHT_MAX : SHARES_WEIGHT_MIN;
        trade_weights(many, 200, weights);
        g_assert_cmpuint(weights[0], >, 100);
        g_assert_cmpuint(weights[0], <=, SHARES_KERNEL_MAX);
        many[0].job.weight = SHARES_WEIGHT_MIN;
        for (int i = 1; i < 200; i++)
                many[i].job.weight = SHARES_WEIGHT_MAX;
        trade_weights(many, 200, weights);
        g_assert_cmpuint(weights[0], >=, 1); /* the kernel takes no 0 */
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

/* Broken files, and things that are no files. None is waited for. */
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
                assert_refused(&f, "");
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

/* The user's folder comes before the administrator's, and the system's daemon has no user's. */
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
        g_test_add_func("/trade/weights", test_weights);
        g_test_add_func("/trade/refuses", test_refuses);
        g_test_add_func("/trade/refuses-files", test_refuses_files);
        g_test_add_func("/trade/unknown", test_unknown);
        g_test_add_func("/trade/directories", test_directories);

        return g_test_run();
}
