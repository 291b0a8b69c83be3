/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The spawner's checks of a record that any program may have written. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "spawner/spawner.h"

static Launch good_launch(void) {
        Launch launch = { .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = 1,
                .life = 1,
                .uid_first = UID_RANGE_FIRST,
                .n_uids = UIDS_MAX,
                .n_mounts = 2 };

        strcpy(launch.mounts[0].at, "/plugin/mine.so");
        strcpy(launch.mounts[1].at, MODEL_DIRECTORY);
        launch.mounts[0].read_only = launch.mounts[1].read_only = 1;
        return launch;
}

static int check(const Launch *launch, uid_t uid) {
        LaunchAnswer answer = {};
        int r;

        r = launch_check(launch, sizeof(*launch), _LAUNCH_FD_FIXED + 2, uid, &answer);
        if (r < 0) {
                g_assert_cmpint(answer.error, ==, r);
                g_assert_cmpuint(answer.step, !=, LAUNCH_STEP_NONE);
                g_assert_cmpuint(strlen(answer.message), >, 20);
        }
        return r;
}

static void test_good(void) {
        Launch launch = good_launch();

        g_assert_cmpint(check(&launch, 0), ==, 0);
        launch.uid_first = 1000;
        launch.n_uids = 1;
        g_assert_cmpint(check(&launch, 1000), ==, 0);
}

static void test_fields(void) {
#define REFUSED(change)                                           \
        do {                                                      \
                Launch launch = good_launch();                    \
                change;                                           \
                g_assert_cmpint(check(&launch, 0), ==, -EBADMSG); \
        } while (0)
        REFUSED(launch.abi++);
        REFUSED(launch.struct_bytes--);
        REFUSED(launch.job = 0);
        REFUSED(launch.life = 0);
        REFUSED(launch.purpose = LAUNCH_WEIGH + 1);
        REFUSED(launch.purpose = LAUNCH_WEIGH);  /* no mounts are allowed */
        REFUSED(launch.cpu_weight = 1);          /* a launch that trains sets no weight */
        REFUSED(launch.purpose = LAUNCH_SETTLE); /* no mounts are allowed */
        REFUSED(launch.purpose = LAUNCH_TRIAL);  /* a trial may not ask systemd for a cgroup */
        REFUSED(launch.owner = UINT32_MAX);
        REFUSED(launch.manager = 3);
        REFUSED(launch.sandbox = _SANDBOX_CHOICE_MAX);
        REFUSED(launch.sandbox = UINT32_MAX);
        REFUSED(launch.scope_each = ACTORS_MAX + 1);
        REFUSED(launch.exit_with_daemon = 2);
        REFUSED(launch.has_checkpoint = 2);
        REFUSED(launch.journal = 2);
        REFUSED(launch.n_mounts = 1);
        REFUSED(launch.n_mounts = UINT32_MAX);
        REFUSED(launch.mounts[1].read_only = 2);
        REFUSED(launch.mounts[1].read_only = 0);
        REFUSED(launch.uid_first++);
        REFUSED(launch.mounts[1].reserved = 1);
#undef REFUSED
        LaunchAnswer answer = {};
        Launch launch = good_launch(), settle = { .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = 1,
                .life = 1,
                .purpose = LAUNCH_SETTLE,
                .owner = 7 };
        g_assert_cmpint(launch_check(&settle, sizeof(settle), 0, 0, &answer), ==, 0);
        g_assert_cmpint(launch_check(&settle, sizeof(settle), 1, 0, &answer), ==, -EBADMSG);
        settle.cpu_weight = 100;
        g_assert_cmpint(launch_check(&settle, sizeof(settle), 0, 0, &answer), ==, -EBADMSG);
        for (settle.purpose = LAUNCH_REMOVE; settle.purpose <= LAUNCH_WEIGH; settle.purpose++) {
                settle.cpu_weight = 0; /* LAUNCH_WEIGH with 0 only reads the weight */
                g_assert_cmpint(launch_check(&settle, sizeof(settle), 0, 0, &answer), ==, 0);
                settle.cpu_weight = 10000;
                g_assert_cmpint(launch_check(&settle, sizeof(settle), 0, 0, &answer), ==, 0);
                settle.cpu_weight = 10001; /* more than the kernel takes */
                g_assert_cmpint(launch_check(&settle, sizeof(settle), 0, 0, &answer), ==, -EBADMSG);
        }
        g_assert_cmpint(launch_check(&launch, sizeof(launch) - 1, 7, 0, &answer), ==, -EBADMSG);
        g_assert_cmpint(launch_check(&launch, sizeof(launch), 8, 0, &answer), ==, -EBADMSG);
        g_assert_cmpint(launch_check(&launch, 0, 0, 0, &answer), ==, -EBADMSG);
}

static void test_ids(void) {
        static const struct {
                uint32_t first, n;
                uid_t uid;
                bool good;
        } rows[] = {
                { UID_RANGE_FIRST, 1, 0, true },
                { UID_RANGE_END - UIDS_MAX, UIDS_MAX, 0, true },
                { 0, 1, 0, false },
                { 0, UIDS_MAX, 0, false },
                { 1000, 1, 0, false },
                { UID_RANGE_FIRST - 1, 10, 0, false },
                { UID_RANGE_END - 1, 2, 0, false },
                { UID_RANGE_END, 1, 0, false },
                { UID_RANGE_FIRST, UIDS_MAX + 1, 0, false },
                { UID_RANGE_FIRST, UINT32_MAX, 0, false },
                { UID_RANGE_FIRST, 0, 0, false },
                { 1000, 1, 1001, false },
                { 1000, 2, 1000, false },
                { UID_RANGE_FIRST, UIDS_MAX, 1000, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Launch launch = good_launch();

                launch.uid_first = rows[i].first;
                launch.n_uids = rows[i].n;
                g_assert_cmpint(check(&launch, rows[i].uid), ==, rows[i].good ? 0 : -EBADMSG);
        }
}

static void test_places(void) {
        static const char *const bad[] = { "", "/", "a", "a/b", "//a", "/a//b", "/a/", "/.", "/..", "/a/./b",
                "/a/../b", "/a/..", "../a", "/plugin/a\nb", "/plugin/a\x7f", "/a", "/usr", "/plugin",
                "/plugin/", "/plugin/a/b", "/plugin/..", "/plugins/a", "/model/a", "/modell", "/python/",
                "/pythonx", "/python/bin" };
        static const char *const good[] = { "/python", "/model", "/plugin/...", "/plugin/.a", "/plugin/a..b",
                "/plugin/mine-2.so" };
        Launch launch = good_launch();

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                strcpy(launch.mounts[1].at, bad[i]);
                g_assert_cmpint(check(&launch, 0), ==, -EBADMSG);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                strcpy(launch.mounts[1].at, good[i]);
                g_assert_cmpint(check(&launch, 0), ==, 0);
        }
        strcpy(launch.mounts[1].at, launch.mounts[0].at);
        g_assert_cmpint(check(&launch, 0), ==, -EBADMSG);
        memset(launch.mounts[1].at, 'a', sizeof(launch.mounts[1].at));
        launch.mounts[1].at[0] = '/';
        g_assert_cmpint(check(&launch, 0), ==, -EBADMSG);
}

/* A launch record cannot ask actord-spawn for more than the command line of its unit allows (Terms). */
static void test_terms(void) {
        static const Terms system = { .system = true, .least_sandbox = SANDBOX_LEVEL_USERNS }, own = {};
        static const struct {
                uint32_t sandbox, manager, exit_with_daemon, purpose;
                int r;
        } rows[] = {
                { SANDBOX_CHOICE_AUTO, LAUNCH_MANAGER_SYSTEM, 0, LAUNCH_TRAIN, 0 },
                { SANDBOX_CHOICE_FULL, LAUNCH_MANAGER_SYSTEM, 0, LAUNCH_TRAIN, 0 },
                { SANDBOX_CHOICE_USERNS, LAUNCH_MANAGER_SYSTEM, 0, LAUNCH_TRAIN, 0 },
                { SANDBOX_CHOICE_PROCESS, LAUNCH_MANAGER_SYSTEM, 0, LAUNCH_TRAIN, -EPERM },
                { SANDBOX_CHOICE_NONE, LAUNCH_MANAGER_SYSTEM, 0, LAUNCH_TRAIN, -EPERM },
                { SANDBOX_CHOICE_NONE, LAUNCH_MANAGER_SYSTEM, 0, LAUNCH_SETTLE, 0 },
                { SANDBOX_CHOICE_FULL, LAUNCH_MANAGER_USER, 0, LAUNCH_TRAIN, -EBADMSG },
                { SANDBOX_CHOICE_FULL, LAUNCH_MANAGER_NONE, 0, LAUNCH_TRAIN, -EBADMSG },
                { SANDBOX_CHOICE_FULL, LAUNCH_MANAGER_NONE, 0, LAUNCH_SETTLE, -EBADMSG },
                { SANDBOX_CHOICE_FULL, LAUNCH_MANAGER_NONE, 0, LAUNCH_TRIAL, -EBADMSG },
                { SANDBOX_CHOICE_FULL, LAUNCH_MANAGER_SYSTEM, 1, LAUNCH_TRAIN, -EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Launch launch = good_launch();
                LaunchAnswer answer = {};

                launch.sandbox = rows[i].sandbox;
                launch.manager = rows[i].manager;
                launch.exit_with_daemon = rows[i].exit_with_daemon;
                launch.purpose = rows[i].purpose;
                g_assert_cmpint(launch_check_terms(&launch, &system, &answer), ==, rows[i].r);
                g_assert_cmpint(launch_check_terms(&launch, &own, &answer), ==, 0);
        }
}

/* If a random record passes the checks, it has all properties on which the rest of the program relies. */
static void test_random(void) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(3);
        unsigned n_good = 0;

        for (int i = 0; i < 200000; i++) {
                Launch launch = good_launch();
                int n_changes = g_rand_int_range(rand, 0, 4);

                for (int k = 0; k < n_changes; k++)
                        ((uint8_t *) &launch)[g_rand_int_range(rand, 0, 400)] = (uint8_t) g_rand_int(rand);
                if (check(&launch, 0) < 0)
                        continue;
                n_good++;
                g_assert_cmpuint(launch.uid_first, >=, UID_RANGE_FIRST);
                g_assert_cmpuint((uint64_t) launch.uid_first + launch.n_uids, <=, UID_RANGE_END);
                g_assert_cmpuint(launch.n_mounts, ==, 2);
                g_assert_cmpuint(launch.sandbox, <, _SANDBOX_CHOICE_MAX);
                for (int k = 0; k < 2; k++) {
                        g_assert_nonnull(memchr(launch.mounts[k].at, 0, sizeof(launch.mounts[k].at)));
                        g_assert_null(strstr(launch.mounts[k].at, "/../"));
                        g_assert_cmpint(launch.mounts[k].at[0], ==, '/');
                        g_assert_cmpuint(launch.mounts[k].read_only, ==, 1);
                }
        }
        g_assert_cmpuint(n_good, >, 1000);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/launch-check/good", test_good);
        g_test_add_func("/launch-check/fields", test_fields);
        g_test_add_func("/launch-check/ids", test_ids);
        g_test_add_func("/launch-check/places", test_places);
        g_test_add_func("/launch-check/terms", test_terms);
        g_test_add_func("/launch-check/random", test_random);
        return g_test_run();
}
