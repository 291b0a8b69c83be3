/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends one SEQPACKET record with descriptors to the spawner, and receives one LaunchAnswer. */
#include "daemon/launch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "daemon/sources.h"
#include "lib/cleanup.h"
#include "lib/message.h"
#include "lib/sibling.h"

extern char **environ;

struct LaunchCall {
        int fd;
        sd_event_source *io, *timer;
        unsigned timeout_msec;
        launch_answered_t answered;
        void *userdata;
};

DEFINE_CLEANUP(LaunchCall *, launch_call_free)

static int connect_spawner(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(fd);
}

/* The spawner starts with one descriptor besides the usual three and no signal blocked: it inherits nothing
 * else of the daemon. */
static int prepare_spawn(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int fd) {
        sigset_t none, all;
        int r;

        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        r = posix_spawn_file_actions_adddup2(actions, fd, 3);
        if (r == 0)
                r = posix_spawn_file_actions_addclosefrom_np(actions, 4);
        if (r == 0)
                r = posix_spawnattr_setsigmask(attributes, &none);
        if (r == 0)
                r = posix_spawnattr_setsigdefault(attributes, &all);
        if (r == 0)
                r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        return -r;
}

/* Starts a spawner. The daemon's SIGCHLD source reaps it, like every child. */
static int start_spawner(void) {
        char directory[SIBLING_DIRECTORY_MAX], path[SIBLING_DIRECTORY_MAX + 16];
        char *argv[] = { (char *) "actord-spawn", (char *) "--fd=3", NULL };
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int r, pair[2];
        pid_t pid;

        r = sibling_directory(directory);
        if (r < 0)
                return r;
        (void) snprintf(path, sizeof(path), "%s/actord-spawn", directory);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
                return -errno;

        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attributes) != 0) {
                (void) posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }
        r = prepare_spawn(&actions, &attributes, theirs);
        if (r == 0)
                r = -posix_spawn(&pid, path, &actions, &attributes, argv, environ);
        (void) posix_spawnattr_destroy(&attributes);
        (void) posix_spawn_file_actions_destroy(&actions);
        return r < 0 ? r : TAKE_FD(ours);
}

/* Receives the spawner's answer. -EPIPE: the spawner ended without one; -EBADMSG: the message is not an
 * answer. */
static int receive_answer(int fd, LaunchAnswer *ret, int *ret_pid_fd) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        struct iovec iov = { ret, sizeof(*ret) };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        _cleanup_close_ int pid_fd = -EBADF;
        ssize_t n;

        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0)
                return -errno;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && pid_fd < 0)
                        memcpy(&pid_fd, CMSG_DATA(c), sizeof(pid_fd));
        if (n == 0)
                return -EPIPE;
        if ((size_t) n != sizeof(*ret) || (msg.msg_flags & MSG_TRUNC) || ret->abi != LAUNCH_ABI ||
                        ret->step >= _LAUNCH_STEP_MAX)
                return -EBADMSG;

        ret->unit[sizeof(ret->unit) - 1] = 0;
        ret->control_group[sizeof(ret->control_group) - 1] = 0;
        ret->message[sizeof(ret->message) - 1] = 0;
        *ret_pid_fd = TAKE_FD(pid_fd);
        return 0;
}

static LaunchAnswer failed_answer(int error, const char *sentence) {
        LaunchAnswer answer = { .abi = LAUNCH_ABI, .step = LAUNCH_STEP_MESSAGE, .error = error };

        (void) snprintf(answer.message, sizeof(answer.message), "%s", sentence);
        return answer;
}

static int on_answer(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        LaunchCall *call = userdata;
        LaunchAnswer answer = {};
        int r, pid_fd = -EBADF;

        r = receive_answer(fd, &answer, &pid_fd);
        if (r == -EAGAIN || r == -EINTR)
                return 0;
        if (r == -EBADMSG)
                answer = failed_answer(-EPROTO,
                                "the spawner's answer cannot be read: actord and actord-spawn are of "
                                "different versions");
        else if (r < 0)
                answer = failed_answer(r, "the spawner ended without an answer; its messages say why");
        call->answered(&answer, pid_fd, call->userdata);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        LaunchCall *call = userdata;
        LaunchAnswer answer;
        char sentence[96];

        (void) snprintf(sentence, sizeof(sentence),
                        "the spawner did not answer within %u s; its messages may say why",
                        call->timeout_msec / 1000);
        answer = failed_answer(-ETIMEDOUT, sentence);
        call->answered(&answer, -EBADF, call->userdata);
        return 0;
}

int launch_call(sd_event *event, const char *socket_path, const LaunchRequest *request,
                launch_answered_t answered, void *userdata, LaunchCall **ret) {
        _cleanup_(launch_call_freep) LaunchCall *call = NULL;
        int r;

        assert(event);
        assert(request && request->launch.n_mounts <= LAUNCH_MOUNTS_MAX);
        assert(answered);
        assert(ret);

        call = malloc(sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (LaunchCall){
                .fd = -EBADF,
                .timeout_msec = LAUNCH_ANSWER_MSEC(request->launch.scope_each),
                .answered = answered,
                .userdata = userdata,
        };

        call->fd = socket_path ? connect_spawner(socket_path) : start_spawner();
        if (call->fd < 0)
                return call->fd;
        r = message_send(call->fd, &request->launch, sizeof(request->launch), request->fds,
                        request->launch.purpose >= LAUNCH_SETTLE
                                        ? 0
                                        : _LAUNCH_FD_FIXED + request->launch.n_mounts);
        if (r < 0)
                return r;

        r = reading_start(event, &call->io, "spawner", call->fd, on_answer, call);
        if (r < 0)
                return r;
        r = deadline_start(event, &call->timer, "spawner-timeout", call->timeout_msec * 1000ull, on_timeout,
                        call);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(call);
        return 0;
}

LaunchCall *launch_call_free(LaunchCall *call) {
        if (!call)
                return NULL;

        (void) sd_event_source_disable_unref(call->timer);
        (void) sd_event_source_disable_unref(call->io);
        (void) close_fd(call->fd);
        free(call);
        return NULL;
}
