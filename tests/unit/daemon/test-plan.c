/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's end of the invoker's socket. The test plays the invoker: an honest one, a silent one, one
 * that sends nonsense, and one that is gone. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/plan.h"
#include "lib/fd.h"

enum { N_RECORDS = 8 };

typedef struct Fixture {
        sd_event *event;
        PlanLink *link;
        int invoker_fd, spool_fd;
        SpoolHead *head;
        Record *records;

        unsigned n_hellos, n_written, n_failed;
        Failed failed;
        struct ucred peer;
        int closed, hello_answer;
        bool over;
} Fixture;

static int on_hello(const Hello *hello, const struct ucred *peer, void *userdata) {
        Fixture *f = userdata;

        f->n_hellos++;
        f->peer = *peer;
        return f->hello_answer;
}

static int on_written(void *userdata) {
        Fixture *f = userdata;

        f->n_written++;
        return 0;
}

static void on_closed(int error, void *userdata) {
        Fixture *f = userdata;

        f->over = true;
        f->closed = error;
}

static int on_failed(const Failed *failed, const struct ucred *peer, void *userdata) {
        Fixture *f = userdata;

        f->n_failed++;
        f->failed = *failed;
        return 0;
}

static const PlanLinkOps ops = { on_hello, on_written, on_failed, on_closed };

static void set_up(Fixture *f, const void *userdata) {
        size_t bytes = sizeof(SpoolHead) + N_RECORDS * sizeof(Record);
        int pair[2], one = 1;
        void *map;

        g_assert_cmpint(sd_event_new(&f->event), >=, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
        g_assert_cmpint(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), ==, 0);
        f->invoker_fd = pair[1];
        g_assert_cmpint(plan_link_new(f->event, pair[0], &ops, f, &f->link), ==, 0);

        f->spool_fd = memfd_make("spool", bytes);
        g_assert_cmpint(f->spool_fd, >=, 0);
        g_assert_cmpint(fd_map(f->spool_fd, bytes, true, &map), ==, 0);
        f->head = map;
        f->records = (Record *) (f->head + 1);
        f->head->magic = SPOOL_MAGIC;
        f->head->abi = RECORD_ABI;
        f->head->record_bytes = sizeof(Record);
        f->head->n_records = N_RECORDS;
}

static void tear_down(Fixture *f, const void *userdata) {
        (void) plan_link_free(f->link);
        fd_unmap(f->head, sizeof(SpoolHead) + N_RECORDS * sizeof(Record));
        (void) close(f->spool_fd);
        if (f->invoker_fd >= 0)
                (void) close(f->invoker_fd);
        (void) sd_event_unref(f->event);
}

static void turn(Fixture *f) {
        while (sd_event_run(f->event, 20 * 1000) > 0)
                ;
}

static void say_with(Fixture *f, const void *message, size_t n, const int fds[], size_t n_fds) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
        struct iovec iov = { (void *) message, n };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (n_fds > 0) {
                struct cmsghdr *c;

                msg.msg_control = control;
                msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
        }
        g_assert_cmpint(sendmsg(f->invoker_fd, &msg, 0), ==, n);
        turn(f);
}

static void say(Fixture *f, const void *message, size_t n, int fd) {
        say_with(f, message, n, &fd, fd >= 0);
}

static void say_hello(Fixture *f) {
        Hello hello = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_HELLO, .job = 1, .life = 2 };

        say(f, &hello, sizeof(hello), f->spool_fd);
}

static void write_record(Fixture *f, uint64_t seq) {
        f->records[(seq - 1) % N_RECORDS] =
                        (Record){ .seq = seq, .life = 2, .kind = RECORD_ROLLOUT, .ordinal = seq };
        atomic_store(&f->head->written, seq);
}

static void test_reading(Fixture *f, const void *userdata) {
        Record record;

        g_assert_cmpint(plan_link_next(f->link, &record), ==, 0); /* no spool yet */
        say_hello(f);
        g_assert_cmpuint(f->n_hellos, ==, 1);
        g_assert_cmpuint(f->n_written, ==, 1); /* on_written() ran for records older than the Hello */
        g_assert_cmpint(f->peer.pid, ==, getpid());

        for (uint64_t seq = 1; seq <= 3 * N_RECORDS; seq++) {
                write_record(f, seq);
                g_assert_cmpint(plan_link_next(f->link, &record), ==, 1);
                g_assert_cmpuint(record.ordinal, ==, seq);
                g_assert_cmpint(plan_link_next(f->link, &record), ==, 0);
        }
        g_assert_cmpuint(plan_link_position(f->link), ==, 3 * N_RECORDS);

        /* A restarted daemon continues after the last record in its ledger. */
        plan_link_seek(f->link, 3 * N_RECORDS - 2);
        g_assert_cmpint(plan_link_next(f->link, &record), ==, 1);
        g_assert_cmpuint(record.seq, ==, 3 * N_RECORDS - 1);
}

static void test_lost_records(Fixture *f, const void *userdata) {
        Record record;

        say_hello(f);
        for (uint64_t seq = 1; seq <= N_RECORDS + 1; seq++)
                write_record(f, seq);
        g_assert_cmpint(plan_link_next(f->link, &record), ==, -EOVERFLOW);

        plan_link_seek(f->link, N_RECORDS + 5);
        g_assert_cmpint(plan_link_next(f->link, &record), ==, -EBADMSG); /* no such record was written */
}

static void test_bad_records(Fixture *f, const void *userdata) {
        const Record bad[] = {
                { .seq = 2, .life = 2 },
                { .seq = 1, .life = 3 },
                { .seq = 1, .life = 2, .kind = _RECORD_KIND_MAX },
                { .seq = 1, .life = 2, .kind = UINT32_MAX },
                { .seq = 1, .life = 2, .fault = _FAULT_MAX },
                { .seq = 1, .life = 2, .level = 4 },
                { .seq = 1, .life = 2, .limits_missing = UINT32_MAX },
                { .seq = 1, .life = 2, .end = _PLAN_END_MAX },
                { .seq = 1, .life = 2, .metered = { .start_nsec = 2, .end_nsec = 1 } },
        };
        Record record;

        say_hello(f);
        atomic_store(&f->head->written, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                f->records[0] = bad[i];
                g_assert_cmpint(plan_link_next(f->link, &record), ==, -EBADMSG);
                g_assert_cmpuint(plan_link_position(f->link), ==, 0);
        }
}

static void test_survives_invoker(Fixture *f, const void *userdata) {
        Record record;

        say_hello(f);
        write_record(f, 1);
        (void) close(f->invoker_fd);
        f->invoker_fd = -1;
        turn(f);
        g_assert_true(f->over);
        g_assert_cmpint(f->closed, ==, 0);

        g_assert_cmpint(plan_link_next(f->link, &record), ==, 1);
        g_assert_cmpint(plan_link_send(f->link, &(Plan){}), ==, 0); /* the other end is closed */
}

static void test_plans(Fixture *f, const void *userdata) {
        Plan plan = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_PLAN, .through_round = 1 }, got;
        unsigned n = 0;

        /* Nothing is sent before the invoker's Hello; then only the newest plan. */
        g_assert_cmpint(plan_link_send(f->link, &plan), ==, 0);
        plan.through_round = 2;
        g_assert_cmpint(plan_link_send(f->link, &plan), ==, 0);
        g_assert_cmpint(recv(f->invoker_fd, &got, sizeof(got), MSG_DONTWAIT), ==, -1);
        say_hello(f);
        g_assert_cmpint(recv(f->invoker_fd, &got, sizeof(got), MSG_DONTWAIT), ==, sizeof(got));
        g_assert_cmpuint(got.through_round, ==, 2);

        /* An invoker that does not read its socket does not stop the daemon, and gets the newest plan in
         * the end. */
        for (uint64_t i = 3; i < 5000; i++) {
                plan.through_round = i;
                g_assert_cmpint(plan_link_send(f->link, &plan), ==, 0);
        }
        do {
                while (recv(f->invoker_fd, &got, sizeof(got), MSG_DONTWAIT) > 0)
                        n++;
                turn(f);
        } while (got.through_round < 4999 && n < 5000);
        g_assert_cmpuint(got.through_round, ==, 4999);
        g_assert_false(f->over);
}

static void expect_end(Fixture *f, int error) {
        turn(f);
        g_assert_true(f->over);
        g_assert_cmpint(f->closed, ==, error);
}

static void test_short_message(Fixture *f, const void *userdata) {
        say(f, "?", 1, -1);
        expect_end(f, -EBADMSG);
}

static void test_written_before_hello(Fixture *f, const void *userdata) {
        Written written = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_WRITTEN, .seq = 1 };

        say(f, &written, sizeof(written), -1);
        expect_end(f, -EBADMSG);
        g_assert_cmpuint(f->n_written, ==, 0);
}

static void test_learner_works(Fixture *f, const void *userdata) {
        Written written = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_WRITTEN };

        say_hello(f);
        g_assert_false(plan_link_learner_works(f->link));
        for (uint32_t works = 2; works-- > 0;) {
                written.learner_works = works;
                say(f, &written, sizeof(written), -1);
                g_assert_cmpuint(plan_link_learner_works(f->link), ==, works);
        }
        written.learner_works = 2;
        say(f, &written, sizeof(written), -1);
        expect_end(f, -EBADMSG);
}

static void test_failure(Fixture *f, const void *userdata) {
        Failed failed = { .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_FAILED,
                .step = INVOKER_STEP_RECORDS,
                .error = -EFBIG };

        say(f, &failed, sizeof(failed), -1);
        g_assert_cmpuint(f->n_failed, ==, 1);
        g_assert_cmpint(f->failed.step, ==, INVOKER_STEP_RECORDS);
        g_assert_cmpint(f->failed.error, ==, -EFBIG);
        (void) close(f->invoker_fd);
        f->invoker_fd = -1;
        turn(f);
        expect_end(f, 0);
}

static void test_impossible_failure(Fixture *f, const void *userdata) {
        Failed failed = {
                .abi = PLAN_ABI, .message = PLAN_MESSAGE_FAILED, .step = _INVOKER_STEP_MAX, .error = -1
        };

        say(f, &failed, sizeof(failed), -1);
        g_assert_cmpuint(f->n_failed, ==, 0);
        expect_end(f, -EBADMSG);
}

static void test_failure_after_hello(Fixture *f, const void *userdata) {
        Failed failed = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_FAILED, .error = -ENOMEM };

        say_hello(f);
        say(f, &failed, sizeof(failed), -1);
        g_assert_cmpuint(f->n_failed, ==, 0);
        expect_end(f, -EBADMSG);
}

static void test_hello_without_spool(Fixture *f, const void *userdata) {
        Hello hello = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_HELLO };

        say(f, &hello, sizeof(hello), -1);
        expect_end(f, -EBADMSG);
        g_assert_cmpuint(f->n_hellos, ==, 0);
}

static void test_two_hellos(Fixture *f, const void *userdata) {
        say_hello(f);
        say_hello(f);
        expect_end(f, -EBADMSG);
}

static unsigned count_descriptors(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* A message with two descriptors where one is expected. The daemon's buffer for one has room for two, since
 * it is aligned; the second must be closed, too. */
static void test_surplus_descriptors(Fixture *f, const void *userdata) {
        const Written written = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_WRITTEN };
        unsigned n_before;

        say_hello(f);
        n_before = count_descriptors();
        for (unsigned i = 0; i < 8; i++)
                say_with(f, &written, sizeof(written), (const int[]){ f->spool_fd, f->invoker_fd }, 2);
        g_assert_cmpuint(count_descriptors(), <=, n_before);
}

static void test_spool_of_lies(Fixture *f, const void *userdata) {
        f->head->n_records = 1 << 30;
        say_hello(f);
        expect_end(f, -EBADMSG);
}

static void test_spool_that_shrinks(Fixture *f, const void *userdata) {
        Hello hello = { .abi = PLAN_ABI, .message = PLAN_MESSAGE_HELLO };
        int fd = memfd_create("spool", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        g_assert_cmpint(ftruncate(fd, 1 << 20), ==, 0);
        say(f, &hello, sizeof(hello), fd);
        expect_end(f, -EPERM);
        (void) close(fd);
}

static void test_refused(Fixture *f, const void *userdata) {
        f->hello_answer = -EPERM;
        say_hello(f);
        expect_end(f, -EPERM);
        g_assert_cmpuint(f->n_written, ==, 0);
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*test)(Fixture *f, const void *userdata);
        } tests[] = {
                { "/plan/reading", test_reading },
                { "/plan/lost-records", test_lost_records },
                { "/plan/bad-records", test_bad_records },
                { "/plan/survives-invoker", test_survives_invoker },
                { "/plan/plans", test_plans },
                { "/plan/short-message", test_short_message },
                { "/plan/written-before-hello", test_written_before_hello },
                { "/plan/learner-works", test_learner_works },
                { "/plan/failure", test_failure },
                { "/plan/impossible-failure", test_impossible_failure },
                { "/plan/failure-after-hello", test_failure_after_hello },
                { "/plan/hello-without-spool", test_hello_without_spool },
                { "/plan/two-hellos", test_two_hellos },
                { "/plan/surplus-descriptors", test_surplus_descriptors },
                { "/plan/spool-of-lies", test_spool_of_lies },
                { "/plan/spool-that-shrinks", test_spool_that_shrinks },
                { "/plan/refused", test_refused },
        };

        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].name, Fixture, NULL, set_up, tests[i].test, tear_down);
        return g_test_run();
}
