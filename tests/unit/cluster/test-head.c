/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the head. The test is the head's invoker, and the head's cluster starts no node. */
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/head.h"
#include "include/cluster.h"
#include "lib/cleanup.h"
#include "lib/message.h"

enum { PATIENCE_MSEC = 60000, STEP_MSEC = 20 };

static int abandoned_fd;

static int still_init(Engine *engine) {
        engine->open = ENGINE_OPEN;
        (void) snprintf(engine->address, sizeof(engine->address), "127.0.0.1");
        return 0;
}

static void still_done(Engine *engine) {
        (void) engine;
}

static size_t still_poll(const Engine *engine, struct pollfd *ret, int *timeout_msec, uint64_t now) {
        (void) engine;
        (void) ret;
        (void) now;
        *timeout_msec = STEP_MSEC;
        return 0;
}

/* The cluster never starts a node. */
static void still_step(Engine *engine, uint64_t now) {
        (void) now;
        for (size_t i = 0; i < engine->n_nodes; i++)
                if (engine->nodes[i].state == ENGINE_WANTED && engine->nodes[i].stop)
                        engine_node_over(engine->nodes + i, "");
}

static void still_abandon(Engine *engine) {
        (void) engine;
        g_assert_cmpint(write(abandoned_fd, "a", 1), ==, 1);
}

static const EngineKind engine_still = { "still", still_init, still_done, still_poll, still_step,
        still_abandon };

typedef struct HeadFixture {
        pid_t pid;
        int fd, abandoned_fd;
} HeadFixture;

static void setup(HeadFixture *f, gconstpointer data) {
        int pair[2], abandoned[2];

        (void) data;
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
        g_assert_cmpint(pipe(abandoned), ==, 0);
        f->pid = fork();
        g_assert_cmpint(f->pid, >=, 0);
        if (f->pid == 0) {
                const HeadTerms terms = {
                        .socket_fd = pair[1],
                        .peers = { .settings_fd = -1, .launch_fd = -1, .plugin_fd = -1 },
                        .engine = &engine_still,
                };

                (void) close(pair[0]);
                (void) close(abandoned[0]);
                abandoned_fd = abandoned[1];
                _exit(head_main(&terms));
        }
        (void) close(pair[1]);
        (void) close(abandoned[1]);
        f->fd = pair[0];
        f->abandoned_fd = abandoned[0];
}

static void teardown(HeadFixture *f, gconstpointer data) {
        (void) data;
        (void) close_fd(f->fd);
        (void) close(f->abandoned_fd);
        (void) kill(f->pid, SIGKILL);
        (void) waitpid(f->pid, NULL, 0);
}

static void request(const HeadFixture *f, ClusterRequestKind kind, uint32_t n) {
        const ClusterRequest request = { .abi = CLUSTER_ABI, .kind = kind, .n_nodes = n };

        g_assert_cmpint(message_send(f->fd, &request, sizeof(request), NULL, 0), ==, 0);
}

static ClusterEvent next_event(const HeadFixture *f) {
        ClusterEvent event;
        size_t n, n_fds;

        g_assert_cmpint(message_receive(f->fd, PATIENCE_MSEC, &event, sizeof(event), &n, NULL, 0, &n_fds),
                        ==, 0);
        g_assert_cmpuint(n, ==, sizeof(event));
        return event;
}

/* Checks that the head abandons its engine's nodes and then ends. */
static void assert_ends(HeadFixture *f) {
        struct pollfd p = { .fd = f->abandoned_fd, .events = POLLIN };
        char byte;

        g_assert_cmpint(poll(&p, 1, PATIENCE_MSEC), ==, 1);
        g_assert_cmpint(read(f->abandoned_fd, &byte, 1), ==, 1);
        g_assert_cmpint(poll(&p, 1, PATIENCE_MSEC), ==, 1);
        g_assert_cmpint(read(f->abandoned_fd, &byte, 1), ==, 0);
}

/* The head reports each node at once, in the order of their numbers, before the cluster says anything: the
 * invoker ignores a node whose number is lower than one that it knows. */
static void test_numbers(HeadFixture *f, gconstpointer data) {
        (void) data;
        request(f, CLUSTER_WANT, 3);
        for (uint32_t i = 1; i <= 3; i++) {
                ClusterEvent event = next_event(f);

                g_assert_cmpuint(event.kind, ==, CLUSTER_PENDING);
                g_assert_cmpuint(event.node, ==, i);
                g_assert_cmpstr(event.words, !=, "");
        }
        /* The head withdraws node 3, the newest; the next node that is wanted gets a new number. */
        request(f, CLUSTER_WANT, 2);
        g_assert_cmpuint(next_event(f).kind, ==, CLUSTER_GONE);
        g_assert_cmpuint(next_event(f).kind, ==, CLUSTER_COST);
        request(f, CLUSTER_WANT, 3);
        g_assert_cmpuint(next_event(f).node, ==, 4);
        request(f, CLUSTER_END, 0);
        assert_ends(f);
}

static void test_closed(HeadFixture *f, gconstpointer data) {
        (void) data;
        request(f, CLUSTER_WANT, 1);
        g_assert_cmpuint(next_event(f).kind, ==, CLUSTER_PENDING);
        f->fd = close_fd(f->fd);
        assert_ends(f);
}

/* The head ends if it can send no event to the invoker, even if the invoker has not closed the socket. */
static void test_deaf(HeadFixture *f, gconstpointer data) {
        (void) data;
        g_assert_cmpint(shutdown(f->fd, SHUT_RD), ==, 0);
        request(f, CLUSTER_WANT, 1);
        assert_ends(f);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/head/numbers", HeadFixture, NULL, setup, test_numbers, teardown);
        g_test_add("/head/closed", HeadFixture, NULL, setup, test_closed, teardown);
        g_test_add("/head/deaf", HeadFixture, NULL, setup, test_deaf, teardown);
        return g_test_run();
}
