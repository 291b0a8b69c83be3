/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon actord reads options and configuration, checks them, makes the manager and runs the event
 * loop. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/rest.h"
#include "lib/cleanup.h"
#include "lib/limits.h"

/* Exit statuses of a start that failed, as systemd names them (systemd.exec(5), "Process Exit Codes"). After
 * all but FAILURE_OTHER, actord.service does not restart, since every further start would fail in the same
 * way. */
enum {
        FAILURE_OTHER = 1,   /* FAILURE: another try may succeed, as on a full disk or without a bus */
        FAILURE_USAGE = 2,   /* INVALIDARGUMENT: the command line */
        FAILURE_SECOND = 69, /* UNAVAILABLE: another actord has the ledger or the bus name */
        FAILURE_CONFIG = 78, /* CONFIG: a file, a directory or the rules of the bus need an administrator */
};

static DaemonMode arg_mode = DAEMON_SYSTEM;
static const char *arg_state = NULL;
static int arg_run_fd = -EBADF;
static bool arg_recover = false;
static bool arg_inspect = false;
static bool arg_temporary = false;

DEFINE_CLEANUP(Manager *, manager_free)

static int failure_exit_status(int error) {
        assert(error < 0);

        switch (-error) {
        case EBUSY:
        case EEXIST: return FAILURE_SECOND;
        case EACCES:
        case EPERM:
        case EROFS:
        case ENOTDIR:
        case EINVAL:
        case EBADMSG:
        case EUCLEAN: return FAILURE_CONFIG;
        default: return FAILURE_OTHER; /* any other error may be temporary */
        }
}

/* Tells systemd why the start failed. `systemctl status` shows this errno and the newest error in the
 * log. */
static void failure_notify(int error) {
        assert(error < 0);

        (void) sd_notifyf(false, "STATUS=%s\nERRNO=%d", log_last_error(), -error);
}

static int help(void) {
        puts("actord [OPTIONS]\n"
             "\n"
             "Trains reinforcement-learning policies, serverless, on this host.\n"
             "\n"
             "  --system        Serve the system bus (default)\n"
             "  --user          Serve the bus of this user's session\n"
             "  --run-fd=FD     Serve one caller on an inherited socket, for one job\n"
             "  --state=DIR     Directory of the ledger and the jobs\n"
             "  --inspect       With --run-fd=: show the jobs of the ledger, and start none\n"
             "  --temporary     With --run-fd=: the caller removes the state directory\n"
             "  --recover       Add the records that a run kept aside to its ledger\n"
             "  --version       Print the version\n"
             "  -h, --help      Print this text\n"
             "\n"
             "See actord(8); jobs are submitted with actorctl(1).");
        return 0;
}

static int wrong_usage(const char *sentence, const char *word) {
        (void) fprintf(stderr, "actord: %s%s; see actord --help.\n", sentence, word);
        return -EINVAL;
}

/* Parses the number of a descriptor. This must be a socket: any other one would be closed or written to by
 * mistake. */
static int parse_run_fd(const char *text) {
        struct stat st;
        char *end;
        long fd;

        errno = 0;
        fd = strtol(text, &end, 10);
        if (errno != 0 || end == text || *end || fd < 3 || fd > 1 << 20 || fstat((int) fd, &st) < 0 ||
                        !S_ISSOCK(st.st_mode))
                return wrong_usage("--run-fd= needs the number of an inherited socket, not ", text);
        arg_run_fd = (int) fd;
        arg_mode = DAEMON_RUN;
        return fcntl(arg_run_fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}

/* Parses the command line. 1: go on; 0: there is nothing more to do (--help, --version); negative: the
 * command line is wrong. */
static int parse_options(int argc, char **argv) {
        enum {
                OPTION_SYSTEM = 256,
                OPTION_USER,
                OPTION_RUN_FD,
                OPTION_STATE,
                OPTION_RECOVER,
                OPTION_INSPECT,
                OPTION_TEMPORARY,
                OPTION_VERSION
        };
        static const struct option options[] = {
                { "system", no_argument, NULL, OPTION_SYSTEM },
                { "user", no_argument, NULL, OPTION_USER },
                { "run-fd", required_argument, NULL, OPTION_RUN_FD },
                { "state", required_argument, NULL, OPTION_STATE },
                { "inspect", no_argument, NULL, OPTION_INSPECT },
                { "temporary", no_argument, NULL, OPTION_TEMPORARY },
                { "recover", no_argument, NULL, OPTION_RECOVER },
                { "version", no_argument, NULL, OPTION_VERSION },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        int c, r;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case OPTION_SYSTEM: arg_mode = DAEMON_SYSTEM; break;
                case OPTION_USER: arg_mode = DAEMON_USER; break;
                case OPTION_RUN_FD:
                        r = parse_run_fd(optarg);
                        if (r < 0)
                                return r;
                        break;
                case OPTION_STATE: arg_state = optarg; break;
                case OPTION_INSPECT: arg_inspect = true; break;
                case OPTION_TEMPORARY: arg_temporary = true; break;
                case OPTION_RECOVER: arg_recover = true; break;
                case OPTION_VERSION: puts("actord " ACTORD_VERSION); return 0;
                case 'h': return help();
                default: return -EINVAL;
                }

        if (optind < argc)
                return wrong_usage("only options are allowed, but there are arguments: ", argv[optind]);
        if (arg_recover && !arg_state)
                return wrong_usage("--recover needs --state=DIR", "");
        if (arg_mode == DAEMON_RUN && !arg_state)
                return wrong_usage("--run-fd= needs --state=DIR", "");
        if (arg_inspect && arg_mode != DAEMON_RUN)
                return wrong_usage("--inspect needs --run-fd=FD", "");
        if (arg_temporary && arg_mode != DAEMON_RUN)
                return wrong_usage("--temporary needs --run-fd=FD", "");
        return 1;
}

/* In run mode, begins a session of its own, so that Ctrl-C on a terminal reaches only the caller. Also makes
 * this process the parent of all the job's processes whose own parent has ended. */
static int detach(void) {
        if (arg_mode != DAEMON_RUN)
                return 0;
        (void) setsid();
        return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) < 0 ? -errno : 0;
}

static int run(void) {
        _cleanup_(manager_freep) Manager *manager = NULL;
        int r;

        r = detach();
        if (r < 0)
                return r;
        r = manager_new(arg_mode, arg_state, arg_run_fd, &manager);
        if (r < 0)
                return r;
        manager->inspects = arg_inspect;
        manager->temporary = arg_temporary;
        (void) sd_event_set_watchdog(manager->context.event, true);
        r = manager_start(manager);
        if (r < 0)
                return r;
        return sd_event_loop(manager->context.event);
}

int main(int argc, char **argv) {
        int r;

        r = parse_options(argc, argv);
        if (r <= 0)
                return r < 0 ? FAILURE_USAGE : EXIT_SUCCESS;

        (void) umask(0077);
        limits_prepare();
        /* In run mode the caller prints messages for the user, and reads the daemon's events on the bus. */
        log_open(arg_mode == DAEMON_RUN ? LOG_ERR : LOG_INFO);
        if (arg_recover)
                return rest_recover(arg_state) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        r = run();
        if (r >= 0)
                return r;
        failure_notify(r);
        return failure_exit_status(r);
}
