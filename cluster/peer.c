/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cluster/credential.h"
#include "cluster/pump.h"
#include "cluster/tls.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"
#include "lib/words.h"

static int report(int channel, PeerReport *said, PeerStep step) {
        said->step = step;
        words_clean(said->words, sizeof(said->words));
        return message_send(channel, said, sizeof(*said), NULL, 0);
}

__attribute__((format(printf, 4, 5))) static int refuse(
                int channel, PeerReport *said, PeerStep step, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(said->words, sizeof(said->words), format, ap);
        va_end(ap);
        (void) report(channel, said, step);
        return -EPROTO;
}

/* Receives a node's hello and its credential, and gets the key from the credential. Only a node of this user
 * and this job is accepted. */
static int take_hello(int tcp_fd, int channel, const PeerTerms *terms, PeerReport *said, Hello *ret_hello,
                Sealed *ret) {
        uint64_t deadline = clock_boottime() + HELLO_CREDENTIAL_SECONDS * 1000000000ull;
        char credential[HELLO_CREDENTIAL_MAX + 1], words[256] = "";
        const char *reason;
        Hello hello;
        int r;

        r = socket_receive_full(tcp_fd, &hello, sizeof(hello), deadline);
        if (r < 0)
                return refuse(channel, said, PEER_REFUSED, "it sent no greeting: %s", strerror(-r));
        reason = hello_check(&hello, terms->token);
        if (reason)
                return refuse(channel, said, PEER_REFUSED, "%s", reason);
        said->claimed = hello.node;
        r = socket_receive_full(tcp_fd, credential, hello.n_credential, deadline);
        if (r < 0)
                return refuse(channel, said, PEER_REFUSED, "its credential did not arrive: %s",
                                strerror(-r));
        credential[hello.n_credential] = 0;
        r = credential_open(credential, &hello, ret, words);
        if (r < 0)
                return refuse(channel, said, PEER_REFUSED, "%s", words[0] ? words : strerror(-r));
        said->node = hello.node;
        *ret_hello = hello;
        return 0;
}

static int send_file(const Tls *tls, int fd, uint32_t n, uint64_t deadline) {
        _cleanup_free_ char *content = malloc(n > 0 ? n : 1);
        int r;

        if (!content)
                return -ENOMEM;
        r = pread_full(fd, content, n, 0);
        if (r < 0)
                return r;
        return tls_send_full(tls, content, n, deadline);
}

static int send_work(const Tls *tls, const PeerTerms *terms, uint64_t deadline) {
        Work work = { .abi = HELLO_ABI, .n_plugin = terms->plugin.n_bytes };
        uint64_t n_settings, n_launch;
        int r;

        r = fd_size(terms->settings_fd, &n_settings);
        if (r < 0)
                return r;
        r = fd_size(terms->launch_fd, &n_launch);
        if (r < 0)
                return r;
        if (n_settings > HELLO_SETTINGS_MAX || n_launch > HELLO_LAUNCH_MAX)
                return -EFBIG;
        work.n_settings = (uint32_t) n_settings;
        work.n_launch = (uint32_t) n_launch;
        memcpy(work.plugin_digest, terms->plugin.digest, DIGEST_BYTES);
        r = tls_send_full(tls, &work, sizeof(work), deadline);
        if (r < 0)
                return r;
        r = send_file(tls, terms->settings_fd, work.n_settings, deadline);
        if (r < 0)
                return r;
        r = send_file(tls, terms->launch_fd, work.n_launch, deadline);
        return r < 0 ? r : plugin_send(tls, terms->plugin_fd, &terms->plugin, deadline);
}

/* Receives the head's consent to this node, with this process's end of the stream. */
static int take_consent(int channel, int *ret) {
        char word;
        size_t n, n_fds;
        int fd, r;

        r = message_receive(channel, (int) HELLO_SECONDS * 1000, &word, sizeof(word), &n, &fd, 1, &n_fds);
        if (r < 0)
                return r;
        if (n_fds != 1)
                return -EPROTO;
        *ret = fd;
        return 0;
}

static int agree(const Tls *tls, int channel, const PeerTerms *terms, PeerReport *said, int *ret_stream) {
        uint64_t deadline = clock_boottime() + HELLO_SECONDS * 1000000000ull;
        NodeReady ready;
        int r;

        r = tls_receive_full(tls, &said->facts, sizeof(said->facts), deadline);
        if (r < 0)
                return refuse(channel, said, PEER_REFUSED, "it did not report its resources: %s",
                                strerror(-r));
        if (!node_facts_check(&said->facts))
                return refuse(channel, said, PEER_REFUSED, "it reported resources that no host can have");
        r = report(channel, said, PEER_NAMED);
        if (r < 0)
                return r;
        r = take_consent(channel, ret_stream);
        if (r < 0)
                return r;
        r = send_work(tls, terms, deadline);
        if (r < 0)
                return refuse(channel, said, PEER_REFUSED, "the job cannot be sent to it: %s", strerror(-r));
        r = tls_receive_full(tls, &ready, sizeof(ready), deadline);
        if (r < 0)
                return refuse(channel, said, PEER_REFUSED, "its invoker did not start: %s", strerror(-r));
        if (!node_ready_check(&ready))
                return refuse(channel, said, PEER_REFUSED, "its answer is not valid");
        if (ready.error < 0)
                return refuse(channel, said, PEER_REFUSED, "its invoker did not start: %s", ready.words);
        return report(channel, said, PEER_READY);
}

static void serve(int tcp_fd, int channel, const PeerTerms *terms) {
        static const char *const ends[] = {
                [PUMP_LOCAL] = "the job has closed its stream",
                [PUMP_PEER] = "the node has ended the connection: Slurm ended the node's program, or the "
                              "invoker there ended",
                [PUMP_CUT] = "the connection is cut: the node's host or the network does not answer",
                [PUMP_STOPPED] = "it was stopped",
        };
        uint64_t deadline = clock_boottime() + HELLO_CREDENTIAL_SECONDS * 2000000000ull;
        _cleanup_close_ int stream = -EBADF;
        PeerReport said = {};
        Sealed sealed;
        Hello hello;
        Tls tls = TLS_NONE;
        int r;

        r = pump_watch(tcp_fd);
        if (r < 0)
                return;
        r = take_hello(tcp_fd, channel, terms, &said, &hello, &sealed);
        if (r < 0)
                return;
        r = tls_start(&tls, true, tcp_fd, sealed.key, deadline);
        explicit_bzero(&sealed, sizeof(sealed));
        if (r < 0)
                /* A stranger with a copied credential knows the node's number, but not its key. So the
                 * number and the build in the hello are believed only after the handshake. */
                said.node = 0;
        if (r < 0)
                (void) refuse(channel, &said, PEER_REFUSED, "it does not know the key in its credential: %s",
                                strerror(-r));
        else if (!hello_is_ours(&hello))
                (void) refuse(channel, &said, PEER_OTHER_BUILD,
                                "actord there is %.31s of another build, here it is " ACTORD_VERSION
                                "; install the same one on both",
                                hello.version);
        else if (agree(&tls, channel, terms, &said, &stream) >= 0 &&
                        fcntl(stream, F_SETFL, O_NONBLOCK) >= 0) {
                PumpEnd end = pump_run(&tls, stream, -EBADF);

                (void) refuse(channel, &said, end == PUMP_LOCAL ? PEER_CLOSED : PEER_ENDED, "%s", ends[end]);
        }
        tls_done(&tls);
}

pid_t peer_start(int tcp_fd, const PeerTerms *terms, int *ret_channel) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int fds[5], pair[2], r;
        pid_t pid, parent = getpid();

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid > 0) {
                *ret_channel = TAKE_FD(ours);
                return pid;
        }
        /* The process ends with the head, and has no descriptor of another node. */
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_FAILURE);
        fds[0] = tcp_fd;
        fds[1] = TAKE_FD(theirs);
        fds[2] = terms->settings_fd;
        fds[3] = terms->launch_fd;
        fds[4] = terms->plugin_fd;
        r = fd_keep_only(fds, ELEMENTSOF(fds));
        if (r < 0)
                _exit(EXIT_FAILURE);
        PeerTerms own = *terms;
        own.settings_fd = fds[2];
        own.launch_fd = fds[3];
        own.plugin_fd = fds[4];
        serve(fds[0], fds[1], &own);
        _exit(EXIT_SUCCESS);
}

int peer_receive(int channel, PeerReport *ret) {
        PeerReport said;
        size_t n, n_fds;
        int r;

        r = message_receive(channel, 0, &said, sizeof(said), &n, NULL, 0, &n_fds);
        if (r == -ETIMEDOUT || r == -EAGAIN)
                return 0;
        if (r < 0)
                return r;
        if (n != sizeof(said) || said.step >= _PEER_STEP_MAX)
                return -EBADMSG;
        *ret = said;
        return 1;
}

int peer_consent(int channel, int *ret_stream) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        r = message_send(channel, "y", 1, &theirs, 1);
        if (r < 0)
                return r;
        *ret_stream = TAKE_FD(ours);
        return 0;
}
