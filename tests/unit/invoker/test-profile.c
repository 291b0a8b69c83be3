/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a profile add up to the wall time, whatever workers report. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "invoker/profile.h"
#include "lib/boottime.h"

static uint64_t sum_of(const uint64_t nsec[_PROFILE_PART_MAX]) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                sum += nsec[i];
        return sum;
}

/* Two actors work at the same time, each for 1,000 ns from order to answer, while the invoker sleeps for
 * 1,200 ns. */
static void test_divide(void) {
        ProfileSums sums = {
                .n_rounds = 1,
                .awake_nsec = 500,
                .metering_nsec = 200,
                .slept_nsec = { [SLEEP_ROLLOUT] = 1200, [SLEEP_OTHER] = 70 },
                .ordered_nsec = { [SLEEP_ROLLOUT] = 2000 },
        };
        uint64_t nsec[_PROFILE_PART_MAX];

        sums.spent[SLEEP_ROLLOUT].busy_nsec = 1800;
        sums.spent[SLEEP_ROLLOUT].nsec[PROFILE_environment] = 1000;
        sums.spent[SLEEP_ROLLOUT].nsec[PROFILE_forward] = 600;
        profile_divide(&sums, nsec);
        g_assert_cmpuint(nsec[PROFILE_environment], ==, 600);
        g_assert_cmpuint(nsec[PROFILE_forward], ==, 360);
        g_assert_cmpuint(nsec[PROFILE_wake], ==, 120);
        g_assert_cmpuint(nsec[PROFILE_rest], ==, 120);
        g_assert_cmpuint(nsec[PROFILE_wait], ==, 70);
        g_assert_cmpuint(nsec[PROFILE_control], ==, 300);
        g_assert_cmpuint(nsec[PROFILE_metering], ==, 200);
        g_assert_cmpuint(sum_of(nsec), ==, 1770);
}

/* If the answer to an order has not come when the round ends, the whole time counts as waiting. */
static void test_unanswered(void) {
        ProfileSums sums = { .n_rounds = 1, .slept_nsec = { [SLEEP_LEARN] = 900 } };
        uint64_t nsec[_PROFILE_PART_MAX];

        profile_divide(&sums, nsec);
        g_assert_cmpuint(nsec[PROFILE_wait], ==, 900);
        g_assert_cmpuint(sum_of(nsec), ==, 900);
}

static void test_hostile(void) {
        Profile profile = { .on = true };
        uint64_t nsec[_PROFILE_PART_MAX], ordered_nsec;
        Spent lie = { .busy_nsec = UINT64_MAX };

        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                lie.nsec[i] = UINT64_MAX - i;
        profile_begin(&profile);
        ordered_nsec = clock_boottime();
        profile_fall_asleep(&profile);
        g_usleep(2000);
        profile_wake(&profile, SLEEP_ROLLOUT);
        for (int i = 0; i < 3; i++)
                profile_answered(&profile, SLEEP_ROLLOUT, ordered_nsec, &lie);
        profile_round(&profile);

        profile_divide(&profile.closed, nsec);
        g_assert_cmpuint(profile.closed.slept_nsec[SLEEP_ROLLOUT], >=, 2000000);
        g_assert_cmpuint(sum_of(nsec), ==,
                        profile.closed.awake_nsec + profile.closed.slept_nsec[SLEEP_ROLLOUT]);
}

static void test_off(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-XXXXXX", NULL);
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        Profile profile = {};
        Spent spent = { .busy_nsec = 5 };

        profile_begin(&profile);
        profile_fall_asleep(&profile);
        profile_wake(&profile, SLEEP_TAKE);
        profile_answered(&profile, SLEEP_TAKE, 1, &spent);
        profile_round(&profile);
        g_assert_cmpuint(profile.since_nsec, ==, 0);
        g_assert_cmpuint(profile.closed.n_rounds, ==, 0);
        g_assert_cmpint(profile_write(&profile, fd), ==, 0);
        g_assert_cmpint(faccessat(fd, PROFILE_NAME, F_OK, 0), ==, -1);
        close(fd);
        g_rmdir(directory);
}

/* Time after the end of the last round belongs to no round. */
static void test_write(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(directory, PROFILE_NAME, NULL);
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(GKeyFile) file = g_key_file_new();
        Profile profile = { .on = true };

        g_assert_cmpint(profile_write(&profile, fd), ==, 0);
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));

        profile_begin(&profile);
        profile_round(&profile);
        profile_fall_asleep(&profile);
        g_usleep(1000);
        profile_wake(&profile, SLEEP_OTHER);
        g_assert_cmpint(profile_write(&profile, fd), ==, 0);
        g_assert_true(g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL));
        g_assert_cmpuint(g_key_file_get_uint64(file, "Profile", "rounds", NULL), ==, 1);
        g_assert_cmpuint(g_key_file_get_uint64(file, "Profile", "wait_nsec", NULL), ==, 0);
        g_assert_cmpuint(g_key_file_get_uint64(file, "Profile", "wall_nsec", NULL), ==,
                        profile.closed.awake_nsec);
        g_assert_true(g_key_file_has_key(file, "Profile", "gradient_operations", NULL));
        close(fd);
        g_unlink(path);
        g_rmdir(directory);
}

/* A profile that an earlier life of the job wrote under another user id cannot be opened, so it is replaced.
 * Here a dangling link stands for this file, since root can open any file. */
static void test_leftover(void) {
        g_autofree char *directory = g_dir_make_tmp("actord-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(directory, PROFILE_NAME, NULL);
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(GKeyFile) file = g_key_file_new();
        Profile profile = { .on = true };

        g_assert_cmpint(symlinkat("nowhere", fd, PROFILE_NAME), ==, 0);
        profile_begin(&profile);
        profile_round(&profile);
        g_assert_cmpint(profile_write(&profile, fd), ==, 0);
        g_assert_false(g_file_test(path, G_FILE_TEST_IS_SYMLINK));
        g_assert_true(g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL));
        close(fd);
        g_unlink(path);
        g_rmdir(directory);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/profile/divide", test_divide);
        g_test_add_func("/profile/unanswered", test_unanswered);
        g_test_add_func("/profile/hostile", test_hostile);
        g_test_add_func("/profile/off", test_off);
        g_test_add_func("/profile/write", test_write);
        g_test_add_func("/profile/leftover", test_leftover);
        return g_test_run();
}
