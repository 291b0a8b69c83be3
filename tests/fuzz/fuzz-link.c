/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Feeds the invoker arbitrary messages in place of a daemon's. The invoker must either take a plan that
 * makes sense or close the connection. In the input each message follows its length, two bytes. If the first
 * byte of a message is odd, its bytes overwrite the start of a valid plan. */
#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "invoker/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_RECORDS = 8, ACTORS = 5, MESSAGES_MAX = 64, MESSAGE_MAX = 512 };

static void send_next(int fd, const uint8_t **data, size_t *size) {
        uint8_t bytes[MESSAGE_MAX] = {};
        const Plan good = { .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_PLAN,
                .through_round = 1,
                .decision = { .n_actors = 1 } };
        size_t n = (size_t) (*data)[0] | (size_t) (*data)[1] << 8, from = 0;
        bool laid;

        *data += 2;
        *size -= 2;
        n = MIN(MIN(n, *size), sizeof(bytes));
        laid = n > 1 && (*data)[0] & 1;
        if (laid) {
                memcpy(bytes, &good, sizeof(good));
                from = MIN((size_t) (*data)[1], sizeof(good));
                memcpy(bytes + from, *data + 2, MIN(n - 2, sizeof(good) - from));
        } else
                memcpy(bytes, *data, n);
        *data += n;
        *size -= n;
        (void) send(fd, bytes, laid ? sizeof(good) : n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void check_plan(const Link *link, const Spool *spool) {
        g_assert_cmpuint(spool->acknowledged, <=, spool->written);
        if (!link->has_plan)
                return;
        g_assert_cmpuint(link->plan.end, <, _PLAN_END_MAX);
        g_assert(link->plan.decision.n_actors >= 1 && link->plan.decision.n_actors <= ACTORS);
        g_assert_cmpuint(link->plan.decision.taken, <=, ACTORS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Link link = LINK_EMPTY;
        Spool spool = SPOOL_EMPTY;
        int pair[2], r = 0;

        g_assert_cmpint(spool_init(1, &spool), ==, 0);
        for (unsigned i = 0; i < N_RECORDS; i++)
                g_assert_cmpint(spool_append(&spool, &(Record){ .kind = RECORD_ROLLOUT }), ==, 0);
        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), ==, 0);
        link.fd = pair[0];
        link.n_actors_max = ACTORS;
        for (unsigned i = 0; i < MESSAGES_MAX && size > 2; i++) {
                send_next(pair[1], &data, &size);
                r = link_receive(&link, &spool);
                check_plan(&link, &spool);
                if (r < 0)
                        break;
                link_tell(&link, &spool, i % 2);
        }
        g_assert((r < 0) == (link.fd < 0));
        link_done(&link);
        spool_done(&spool);
        (void) close(pair[1]);
        return 0;
}
