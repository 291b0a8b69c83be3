/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the learner's program. It is started as the invoker starts it: its descriptors have their fixed
 * numbers, and orders come through the worker page. It must compute the same policy as a learner in the
 * test's own process. */
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/launch.h"
#include "include/sandbox.h"
#include "lib/fd.h"
#include "lib/turn.h"
#include "tests/unit/learner-fixture.h"

#define SECTIONS                                                                                     \
        "[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=2\nRolloutSteps=16\n[Learner]\nHiddenLayers=8\n" \
        "MinibatchSize=32\nThreads=2\n"

enum { ANSWER_WITHIN_MSEC = 20000, FDS_MAX = LEARNER_FD_SEGMENTS + 2 };

typedef struct Program {
        Bed bed; /* shares its segments and its policy with the program */
        WorkerPage *worker;
        char *state;
        int fds[FDS_MAX];
        pid_t pid;
} Program;

static char *program_path;

static void *map_memory(int *fd, uint64_t bytes) {
        void *map;

        *fd = memfd_make("test", bytes);
        g_assert_cmpint(*fd, >=, 0);
        g_assert_cmpint(fd_map(*fd, bytes, true, &map), ==, 0);
        return map;
}

/* Moves the descriptors above all numbers that the program expects, so that moving them down again
 * overwrites none. */
static void fds_lift(int fds[FDS_MAX]) {
        for (int i = 3; i < FDS_MAX; i++)
                if (fds[i] > 0) {
                        int high = fcntl(fds[i], F_DUPFD_CLOEXEC, 200);

                        (void) close(fds[i]);
                        fds[i] = high;
                }
}

static void program_start(Program *p, const ActordEnvSpec *spec) {
        Bed *bed = &p->bed;

        bed_settings("CartPole-v1", SECTIONS, &bed->settings);
        g_assert_cmpint(job_page_make(&bed->settings, spec, &bed->page), ==, 0);
        p->state = g_dir_make_tmp("learner-XXXXXX", NULL);
        p->fds[LEARNER_FD_SETTINGS] = memfd_make_sealed("settings", &bed->settings, sizeof(bed->settings));
        p->fds[LEARNER_FD_JOB_PAGE] = memfd_make_sealed("page", &bed->page, sizeof(bed->page));
        bed->policy = map_memory(&p->fds[LEARNER_FD_POLICY], bed->page.policy.segment_bytes);
        p->worker = map_memory(&p->fds[LEARNER_FD_WORKER_PAGE], sizeof(WorkerPage));
        p->fds[LEARNER_FD_BELL] = eventfd(0, EFD_CLOEXEC);
        p->fds[LEARNER_FD_STATE] = open(p->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        p->fds[LEARNER_FD_CHECKPOINT] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        bed->segments = g_new0(void *, 2);
        for (unsigned a = 0; a < 2; a++)
                bed->segments[a] = map_memory(
                                &p->fds[LEARNER_FD_SEGMENTS + a], bed->page.segment.segment_bytes);
        fds_lift(p->fds);

        p->pid = fork();
        g_assert_cmpint(p->pid, >=, 0);
        if (p->pid == 0) {
                for (int i = 3; i < FDS_MAX; i++)
                        if (p->fds[i] > 0)
                                (void) dup2(p->fds[i], i);
                (void) execl(program_path, "actord-learner", NULL);
                _exit(127);
        }
}

static Answer program_order(Program *p, Order order) {
        struct pollfd bell = { .fd = p->fds[LEARNER_FD_BELL], .events = POLLIN };
        Answer answer;

        turn_order(&p->worker->turn, &order, false);
        turn_asleep(&p->worker->turn, true);
        while (!turn_answered(&p->worker->turn)) {
                uint64_t rung;

                g_assert_cmpint(poll(&bell, 1, ANSWER_WITHIN_MSEC), ==, 1);
                g_assert_cmpint(read(bell.fd, &rung, sizeof(rung)), ==, sizeof(rung));
        }
        turn_asleep(&p->worker->turn, false);
        g_assert_cmpint(turn_answer(&p->worker->turn, &answer), ==, 0);
        return answer;
}

static int program_end(Program *p) {
        int status;

        turn_order(&p->worker->turn, &(Order){ .kind = ORDER_END }, true);
        g_assert_cmpint(waitpid(p->pid, &status, 0), ==, p->pid);
        for (int i = 3; i < FDS_MAX; i++)
                if (p->fds[i] > 0)
                        (void) close(p->fds[i]);
        for (unsigned a = 0; a < 2; a++)
                fd_unmap(p->bed.segments[a], p->bed.page.segment.segment_bytes);
        fd_unmap(p->bed.policy, p->bed.page.policy.segment_bytes);
        fd_unmap(p->worker, sizeof(WorkerPage));
        g_free(p->bed.segments);
        g_free(p->state);
        return status;
}

static void test_program(void) {
        ActordEnvSpec spec = bed_spec_box(3, 2, 3);
        g_autofree char *checkpoint = NULL, *reserve = NULL;
        Program p = {};
        Bed bed = {};
        Answer answer;

        bed_settings("CartPole-v1", SECTIONS, &bed.settings);
        bed_open(&bed, &spec, -1, -1);
        program_start(&p, &spec);

        answer = program_order(&p, (Order){ .kind = ORDER_RESTORE });
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        g_assert_cmpmem(answer.sha256, 32, bed_restore(&bed).sha256, 32);

        for (uint32_t round = 0; round < 3; round++) {
                for (uint32_t a = 0; a < 2; a++) {
                        bed_fill(&p.bed, a, round & 1, round);
                        bed_fill(&bed, a, round & 1, round);
                        bed_take(&bed, a, round & 1);
                        answer = program_order(&p, (Order){ .kind = ORDER_TAKE,
                                                                   .actor = a,
                                                                   .ordinal = round,
                                                                   .policy_version = round,
                                                                   .policy_bank = round,
                                                                   .snapshot_bank = round & 1 });
                        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                }
                answer = program_order(&p, (Order){ .kind = ORDER_LEARN,
                                                           .round = round + 1,
                                                           .ordinal = round,
                                                           .policy_version = round,
                                                           .policy_bank = round + 1,
                                                           .n_actors = 2,
                                                           .hashes = true });
                g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
                g_assert_cmpuint(answer.policy_version, ==, round + 1);
                g_assert_cmpuint(policy_bank(p.bed.policy, &p.bed.page.policy, round + 1)->policy_version,
                                ==, round + 1);
                g_assert_cmpmem(answer.sha256, 32, bed_learn(&bed, round, 2).sha256, 32);
        }

        answer = program_order(&p, (Order){ .kind = ORDER_CHECKPOINT, .round = 3, .policy_version = 3 });
        g_assert_cmpuint(answer.fault, ==, FAULT_NONE);
        checkpoint = g_build_filename(p.state, "checkpoint-3.safetensors", NULL);
        reserve = g_build_filename(p.state, CHECKPOINT_RESERVE, NULL);
        g_assert_cmpint(unlink(checkpoint), ==, 0);
        (void) unlink(reserve); /* exists if the file system can reserve space */
        g_assert_cmpint(rmdir(p.state), ==, 0);
        g_assert_cmpint(program_end(&p), ==, 0);
        bed_close(&bed);
}

/* Without its descriptors the program prints a reason and ends with its own status. */
static void test_alone(void) {
        g_autofree char *errors = NULL;
        const char *argv[] = { program_path, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &errors,
                        &status, NULL));
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, EXIT_LEARNER_SETUP);
        g_assert_nonnull(strstr(errors, "settings"));
}

int main(int argc, char *argv[]) {
        g_autofree char *directory = g_path_get_dirname(argv[0]);

        program_path = g_build_filename(directory, "..", "actord-learner", NULL);
        g_test_init(&argc, &argv, NULL);
        if (access(program_path, X_OK) < 0) {
                g_print("1..0 # SKIP actord-learner is not built\n");
                return 77;
        }
        g_test_add_func("/learner/program", test_program);
        g_test_add_func("/learner/alone", test_alone);
        return g_test_run();
}
