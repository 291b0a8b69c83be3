/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The shared words of a Turn (include/turn.h), with two threads and with two processes: every order gets
 * exactly one answer, its own, no matter when a side sleeps. */
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/turn.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { ROUNDS = 10000 };
#else
enum { ROUNDS = 20000 }; /* of twelve cases */
#endif

/* A side that misses a wake-up waits for ever. A wait that is longer than any scheduler delays a process
 * counts as endless. */
enum { LOST_MSEC = 20000 };

typedef struct Pair {
        Turn *turn;
        int bell_fd;
        uint64_t spin_nsec, await_nsec; /* of the worker; of the invoker */
} Pair;

/* The round alone determines an order and its answer. Their first and last members are set, so that the
 * reader would notice a half-written order or answer. */
static Order order_of(uint64_t round) {
        return (Order){ .kind = ORDER_LEARN, .round = round, .remote = (uint32_t) (round * 7) };
}

static Answer answer_to(const Order *order) {
        Answer answer = { .policy_version = order->round + 1 };

        memset(answer.sha256, (int) (order->remote & 0xff), sizeof(answer.sha256));
        return answer;
}

static void *worker_run(void *argument) {
        const Pair *pair = argument;

        for (;;) {
                Answer answer;
                Order order;

                turn_wait(pair->turn, pair->spin_nsec, &order);
                answer = answer_to(&order);
                turn_reply(pair->turn, &answer, pair->bell_fd);
                if (order.kind == ORDER_END)
                        return NULL;
        }
}

static void bell_await(int bell_fd) {
        struct pollfd poll_fd = { .fd = bell_fd, .events = POLLIN };
        uint64_t rung;

        if (poll(&poll_fd, 1, LOST_MSEC) != 1)
                g_error("a bell was lost");
        g_assert_cmpint(read(bell_fd, &rung, sizeof(rung)), ==, sizeof(rung));
}

/* Waits for an answer as the invoker does: it says that it sleeps, looks for the answer once more, and then
 * sleeps. */
static void answer_await(Pair *pair, Answer *ret) {
        if (pair->await_nsec > 0) {
                turn_asleep(pair->turn, false);
                (void) turn_await(pair->turn, pair->await_nsec);
        }
        turn_asleep(pair->turn, true);
        while (turn_answer(pair->turn, ret) == -EAGAIN)
                bell_await(pair->bell_fd);
        turn_asleep(pair->turn, false);
}

static void answer_spin(Pair *pair, Answer *ret) {
        gint64 end = g_get_monotonic_time() + LOST_MSEC * 1000;

        for (unsigned i = 0; turn_answer(pair->turn, ret) == -EAGAIN; i++)
                if (i % 1000 == 999) {
                        (void) g_thread_yield();
                        if (g_get_monotonic_time() > end)
                                g_error("a wake-up was lost");
                }
}

static void order_and_check(Pair *pair, const Order *order, bool expect_sleeper, bool sleep) {
        Answer expected = answer_to(order), got;

        turn_order(pair->turn, order, expect_sleeper);
        if (sleep)
                answer_await(pair, &got);
        else
                answer_spin(pair, &got);
        g_assert_cmpuint(got.policy_version, ==, expected.policy_version);
        g_assert_cmpmem(got.sha256, sizeof(got.sha256), expected.sha256, sizeof(expected.sha256));
}

static void conduct(Pair *pair, bool sleep) {
        Order end = { .kind = ORDER_END };

        for (uint64_t i = 0; i < ROUNDS; i++) {
                Order order = order_of(i);

                /* Whether the invoker thinks that the worker sleeps must not matter. */
                order_and_check(pair, &order, i % 3 == 0, sleep);
        }
        order_and_check(pair, &end, false, sleep);
}

static void pair_make(Pair *ret, uint64_t spin_nsec, uint64_t await_nsec) {
        *ret = (Pair){
                .turn = mmap(NULL, sizeof(Turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
                .bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                .spin_nsec = spin_nsec,
                .await_nsec = await_nsec,
        };
        g_assert_true(ret->turn != MAP_FAILED);
        g_assert_cmpint(ret->bell_fd, >=, 0);
}

static void pair_done(Pair *pair) {
        (void) munmap(pair->turn, sizeof(Turn));
        (void) close(pair->bell_fd);
}

typedef struct Case {
        const char *path;
        uint64_t spin_nsec;
        bool sleep;
        uint64_t await_nsec;
} Case;

static const Case cases[] = {
        { "sleep-sleep", 0, true },
        { "spin-sleep", 1000000, true },
        { "sleep-spin", 0, false },
        { "brink-sleep", 2000,
                        /* the worker spins about as long as an order takes to come, so that orders come
                         * before, while and after the worker falls asleep */
                        true },
        { "spin-await", 1000000, true, 1000000 },
        { "brink-brink", 2000, true, 2000 },
};

static void test_threads(gconstpointer data) {
        const Case *c = data;
        pthread_t thread;
        Pair pair;

        pair_make(&pair, c->spin_nsec, c->await_nsec);
        g_assert_cmpint(pthread_create(&thread, NULL, worker_run, &pair), ==, 0);
        conduct(&pair, c->sleep);
        g_assert_cmpint(pthread_join(thread, NULL), ==, 0);
        pair_done(&pair);
}

static void test_processes(gconstpointer data) {
        const Case *c = data;
        Pair pair;
        int status;
        pid_t pid;

        pair_make(&pair, c->spin_nsec, c->await_nsec);
        pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                (void) worker_run(&pair);
                _exit(0);
        }
        conduct(&pair, c->sleep);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(status, ==, 0);
        pair_done(&pair);
}

static void test_bell_only_for_sleepers(void) {
        struct pollfd poll_fd;
        Answer answer = {};
        Order order = order_of(1), got;
        Pair pair;

        pair_make(&pair, 0, 0);
        poll_fd = (struct pollfd){ .fd = pair.bell_fd, .events = POLLIN };

        turn_order(pair.turn, &order, false);
        g_assert_false(turn_answered(pair.turn));
        g_assert_cmpint(turn_answer(pair.turn, &answer), ==, -EAGAIN);
        turn_wait(pair.turn, 0, &got);
        g_assert_cmpmem(&got, sizeof(got), &order, sizeof(order));
        turn_reply(pair.turn, &answer, pair.bell_fd);
        g_assert_true(turn_answered(pair.turn));
        g_assert_cmpint(poll(&poll_fd, 1, 0), ==, 0);

        turn_order(pair.turn, &order, false);
        turn_asleep(pair.turn, true);
        turn_wait(pair.turn, 0, &got);
        turn_reply(pair.turn, &answer, pair.bell_fd);
        g_assert_cmpint(poll(&poll_fd, 1, 0), ==, 1);

        /* A write to an eventfd whose counter is almost full must not block the worker. */
        (void) !write(pair.bell_fd, &(uint64_t){ UINT64_MAX - 2 }, 8);
        turn_order(pair.turn, &order, false);
        turn_wait(pair.turn, 0, &got);
        turn_reply(pair.turn, &answer, pair.bell_fd);
        g_assert_true(turn_answered(pair.turn));
        pair_done(&pair);
}

/* After a worker has died with an order, the next worker waits for an order of its own. */
static void test_reset(void) {
        Order order = order_of(5), got;
        Answer answer = {};
        Pair pair;

        pair_make(&pair, 0, 0);
        turn_order(pair.turn, &order, true);
        turn_asleep(pair.turn, true);
        turn_reset(pair.turn);
        g_assert_true(turn_answered(pair.turn));
        g_assert_cmpuint(pair.turn->asleep, ==, 0);
        g_assert_cmpuint(pair.turn->order.kind, ==, ORDER_NONE);

        order = order_of(6);
        turn_order(pair.turn, &order, false);
        g_assert_false(turn_answered(pair.turn));
        turn_wait(pair.turn, 0, &got);
        g_assert_cmpuint(got.round, ==, 6);
        turn_reply(pair.turn, &answer, -EBADF);
        g_assert_true(turn_answered(pair.turn));
        pair_done(&pair);
}

/* A worker may write any numbers into both words. Still, the invoker's next order is first unanswered and
 * then answered, and neither side waits for ever. */
static void test_hostile_words(void) {
        static const uint32_t words[] = { 0, 1, 2, UINT32_MAX, 0x80000000u };
        Order order = order_of(1), got;
        Answer answer = {};
        Pair pair;

        pair_make(&pair, 0, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(words); k++) {
                        atomic_store(&pair.turn->go, words[i]);
                        atomic_store(&pair.turn->done, words[k]);
                        turn_order(pair.turn, &order, false);
                        g_assert_false(turn_answered(pair.turn));
                        turn_wait(pair.turn, 0, &got);
                        turn_reply(pair.turn, &answer, -EBADF);
                        g_assert_true(turn_answered(pair.turn));
                }
        pair_done(&pair);
}

/* The invoker spins as long as it was told to, and not if the answer is there. */
static void test_await(void) {
        Order order = order_of(1), got;
        Answer answer = {};
        gint64 begun_usec;
        Pair pair;

        pair_make(&pair, 0, 0);
        turn_order(pair.turn, &order, false);
        begun_usec = g_get_monotonic_time();
        g_assert_false(turn_await(pair.turn, 3000000));
        g_assert_cmpint(g_get_monotonic_time() - begun_usec, >=, 2999);

        turn_wait(pair.turn, 0, &got);
        turn_reply(pair.turn, &answer, pair.bell_fd);
        g_assert_true(turn_await(pair.turn, UINT64_MAX));
        pair_done(&pair);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *threads = g_strdup_printf("/turn/threads/%s", cases[i].path);
                g_autofree char *processes = g_strdup_printf("/turn/processes/%s", cases[i].path);

                g_test_add_data_func(threads, &cases[i], test_threads);
                g_test_add_data_func(processes, &cases[i], test_processes);
        }
        g_test_add_func("/turn/bell", test_bell_only_for_sleepers);
        g_test_add_func("/turn/await", test_await);
        g_test_add_func("/turn/reset", test_reset);
        g_test_add_func("/turn/hostile", test_hostile_words);

        return g_test_run();
}
