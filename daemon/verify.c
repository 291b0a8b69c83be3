/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/verify.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/helper.h"
#include "daemon/sources.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

struct Verifier {
        sd_event *event;
        uint64_t timeout_usec;
        GQueue waiting; /* of Verify *, the next one first; at most one for each job that begins */
        unsigned n_running;
};

struct Verify {
        Verifier *verifier;
        VerifyDone done;
        void *userdata;
        int fd; /* belongs to the caller */
        uint8_t expected[32];
        bool running;
        int pid_fd, channel;
        sd_event_source *io, *timer;
};

static int compare(int fd, const uint8_t expected[32]) {
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        uint8_t digest[32];
        gsize n_digest = sizeof(digest);
        char buffer[65536];
        off_t at = 0;
        ssize_t n;

        while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
                g_checksum_update(sum, (const guchar *) buffer, n);
                at += n;
        }
        if (n < 0)
                return -errno;
        g_checksum_get_digest(sum, digest, &n_digest);
        return memcmp(digest, expected, sizeof(digest)) == 0 ? 0 : -EUCLEAN;
}

static _Noreturn void child_run(int fd, int channel, const uint8_t expected[32]) {
        int fds[] = { fd, channel }, result;

        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-verify");
        result = fd_keep_only(fds, ELEMENTSOF(fds));
        if (result >= 0)
                result = compare(fds[0], expected);
        (void) message_send(fds[1], &result, sizeof(result), NULL, 0);
        _exit(EXIT_SUCCESS);
}

static int on_result(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Verify *verify = userdata;
        int result;
        size_t n = 0, n_fds = 0;

        /* A process that ends without a result was killed, which says nothing about the file. */
        if (message_receive(fd, 0, &result, sizeof(result), &n, NULL, 0, &n_fds) < 0 || n != sizeof(result))
                result = -EAGAIN;
        verify->done(result, verify->userdata);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Verify *verify = userdata;

        verify->done(-ETIMEDOUT, verify->userdata);
        return 0;
}

static int watch(Verify *verify) {
        const Verifier *verifier = verify->verifier;
        int r;

        r = reading_start(verifier->event, &verify->io, "verify", verify->channel, on_result, verify);
        if (r < 0)
                return r;
        return deadline_start(verifier->event, &verify->timer, "verify-timeout", verifier->timeout_usec,
                        on_timeout, verify);
}

/* On failure verify_free() frees all that was made here. */
static int start(Verify *verify) {
        int r;

        verify->running = true;
        verify->verifier->n_running++;
        r = helper_start(SOCK_SEQPACKET, &verify->channel, &verify->pid_fd);
        if (r > 0)
                child_run(verify->fd, verify->channel, verify->expected);
        return r < 0 ? r : watch(verify);
}

static void start_waiting(Verifier *verifier) {
        /* The daemon is ending, and frees its jobs one by one: no further file is read. */
        if (sd_event_get_state(verifier->event) == SD_EVENT_FINISHED)
                return;
        while (verifier->n_running < VERIFY_RUNNING_MAX) {
                Verify *verify = g_queue_pop_head(&verifier->waiting);
                int r;

                if (!verify)
                        return;
                r = start(verify);
                if (r < 0)
                        verify->done(r, verify->userdata);
        }
}

static void stop_child(Verify *verify) {
        (void) sd_event_source_disable_unref(verify->io);
        (void) sd_event_source_disable_unref(verify->timer);
        helper_end(verify->channel, verify->pid_fd);
        verify->verifier->n_running--;
}

Verify *verify_free(Verify *verify) {
        Verifier *verifier;

        if (!verify)
                return NULL;

        verifier = verify->verifier;
        if (verify->running)
                stop_child(verify);
        else
                (void) g_queue_remove(&verifier->waiting, verify);
        g_free(verify);
        start_waiting(verifier);
        return NULL;
}

Verifier *verifier_new(sd_event *event, uint64_t timeout_usec) {
        Verifier *verifier;

        assert(event);

        verifier = g_new(Verifier, 1);
        *verifier = (Verifier){ .event = sd_event_ref(event), .timeout_usec = timeout_usec };
        return verifier;
}

Verifier *verifier_free(Verifier *verifier) {
        if (!verifier)
                return NULL;

        assert(verifier->n_running == 0 && g_queue_is_empty(&verifier->waiting));
        verifier->event = sd_event_unref(verifier->event);
        g_free(verifier);
        return NULL;
}

int verify_file(Verifier *verifier, int fd, const uint8_t expected[32], VerifyDone done, void *userdata,
                Verify **ret) {
        Verify *verify;
        struct stat st;
        int r;

        assert(verifier);
        assert(done);
        assert(ret);

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size <= VERIFY_AT_ONCE_BYTES)
                return compare(fd, expected);

        verify = g_new(Verify, 1);
        *verify = (Verify){ .verifier = verifier,
                .done = done,
                .userdata = userdata,
                .fd = fd,
                .pid_fd = -EBADF,
                .channel = -EBADF };
        memcpy(verify->expected, expected, sizeof(verify->expected));
        if (verifier->n_running < VERIFY_RUNNING_MAX) {
                r = start(verify);
                if (r < 0) {
                        (void) verify_free(verify);
                        return r;
                }
        } else
                g_queue_push_tail(&verifier->waiting, verify);
        *ret = verify;
        return 1;
}
