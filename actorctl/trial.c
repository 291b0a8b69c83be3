/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends a launch to a spawner of its own, and reads the invoker's rows until the invoker closes the pipe. */
#include "actorctl/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "actorctl/private.h"
#include "actorctl/signals.h"
#include "actorctl/view/relay.h"
#include "include/launch.h"
#include "include/record.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/limits.h"
#include "lib/message.h"
#include "lib/slot.h"
#include "lib/string-tables.h"

enum { ANSWER_MSEC = 30000 };

static const char *const problem_sentences[] = {
#define X(name, sentence) sentence,
        TRIAL_PROBLEMS(X)
#undef X
};

uint32_t trial_state_numbers(const TrialSpec *spec) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < spec->n_parts; i++)
                n += spec->parts[i].n_numbers;
        return n;
}

/* Checks the parts of a spec that other files of actorctl print, or calculate with. */
static bool spec_is_sane(const TrialSpec *said) {
        uint64_t n = 0;
        int field;

        if (spec_check(&said->spec, &field) < 0 || said->n_parts > ACTORD_STATE_PARTS ||
                        said->level >= _SANDBOX_LEVEL_MAX)
                return false;
        for (uint32_t i = 0; i < said->n_parts; i++) {
                const ActordStatePart *part = &said->parts[i];

                if (!memchr(part->name, 0, sizeof(part->name)) || !part->name[0])
                        return false;
                for (const char *p = part->name; *p; p++)
                        if (!g_ascii_isalnum(*p) && *p != '_')
                                return false;
                n += part->n_numbers;
        }
        return n <= ACTORD_STATE_NUMBERS_MAX;
}

static bool row_is_sane(const TrialRequest *request, const TrialRow *row, uint32_t n_bytes) {
        uint64_t n_observation, n_action, n_state;

        switch (row->kind) {
        case TRIAL_SPEC: return n_bytes == sizeof(TrialSpec) && spec_is_sane(row->head);
        case TRIAL_POINT:
                return n_bytes == sizeof(TrialPoint) &&
                       ((const TrialPoint *) row->head)->point < _TRIAL_POINT_MAX &&
                       ((const TrialPoint *) row->head)->finding < _TRIAL_FINDING_MAX;
        case TRIAL_RATE: return n_bytes == sizeof(TrialRate);
        case TRIAL_PICTURE:
                return n_bytes == sizeof(ActordView) + row->n_shapes * sizeof(ActordShape) &&
                       ((const ActordView *) row->head)->n_shapes == row->n_shapes &&
                       picture_check(row->head, row->shapes) >= 0;
        case TRIAL_FRAME:
                return frame_check(row->head) >= 0 &&
                       n_bytes == sizeof(ActordFrame) + frame_bytes(row->head);
        case TRIAL_EPISODE: return n_bytes == sizeof(TrialEpisode);
        case TRIAL_RESET:
        case TRIAL_STEP: break;
        case _TRIAL_RECORD_MAX: return false;
        }
        if (!row->spec)
                return false;
        n_observation = row->spec->spec.n_agents * space_numbers(&row->spec->spec.observation);
        n_action = row->spec->spec.n_agents * space_numbers(&row->spec->spec.action);
        n_state = trial_state_numbers(row->spec);
        if (row->kind == TRIAL_RESET)
                return row->n_numbers == n_state + n_observation && n_bytes % sizeof(double) == 0;
        return row->n_numbers == n_action + n_observation + (request->each_state ? n_state : 0) &&
               n_bytes % sizeof(double) == 0;
}

static size_t head_bytes(uint32_t kind) {
        switch ((TrialRecordKind) kind) {
        case TRIAL_SPEC: return sizeof(TrialSpec);
        case TRIAL_STEP: return sizeof(TrialStep);
        case TRIAL_POINT: return sizeof(TrialPoint);
        case TRIAL_RATE: return sizeof(TrialRate);
        case TRIAL_PICTURE: return sizeof(ActordView);
        case TRIAL_FRAME: return sizeof(ActordFrame);
        case TRIAL_EPISODE: return sizeof(TrialEpisode);
        case TRIAL_RESET:
        case _TRIAL_RECORD_MAX: break;
        }
        return 0;
}

/* Waits until there is something to read. 0; or -EINTR: there is a signal, which stays pending. */
static int wait_for_rows(int fd, int signals_fd) {
        struct pollfd p[] = { { fd, POLLIN, 0 }, { signals_fd, POLLIN, 0 } };
        int r;

        do
                r = poll(p, ELEMENTSOF(p), -1);
        while (r < 0 && errno == EINTR);
        return r > 0 && p[1].revents ? -EINTR : 0;
}

int trial_rows_read(int fd, const TrialRequest *request, TrialTake take, void *userdata) {
        _cleanup_close_ int signals_fd = ending_signals_open(0);
        g_autofree uint8_t *body = NULL;
        uint64_t n_episodes = 0;
        TrialSpec spec;
        bool has_spec = false;
        TrialRecord record;

        for (;;) {
                size_t n_head;
                TrialRow row;

                if (wait_for_rows(fd, signals_fd) < 0)
                        return -EINTR;
                if (read_full(fd, &record, sizeof(record)) < 0)
                        return 0;
                n_head = head_bytes(record.kind);
                row = (TrialRow){ .kind = record.kind, .spec = has_spec ? &spec : NULL };
                if (record.kind >= _TRIAL_RECORD_MAX || record.n_bytes > TRIAL_RECORD_BYTES_MAX ||
                                record.n_bytes < n_head)
                        return -EBADMSG;
                body = g_realloc(body, MAX(record.n_bytes, 1u));
                if (read_full(fd, body, record.n_bytes) < 0)
                        return 0; /* the child was ended while it wrote, and the verdict says why */
                row.head = body;
                row.numbers = (const double *) (body + n_head);
                row.shapes = (const ActordShape *) row.numbers;
                row.pixels = body + n_head;
                row.n_shapes = (record.n_bytes - n_head) / sizeof(ActordShape);
                row.n_numbers = (record.n_bytes - n_head) / sizeof(double);
                if (!row_is_sane(request, &row, record.n_bytes))
                        return -EBADMSG;
                /* More episodes would fill memory or a data set without end. */
                if (row.kind == TRIAL_EPISODE && n_episodes++ >= request->n_episodes)
                        return -EBADMSG;
                if (row.kind == TRIAL_SPEC) {
                        /* Only a catalogue has several specs. Otherwise the sizes in the spec are those of
                         * all rows that follow. */
                        if (has_spec && request->kind != TRIAL_CATALOGUE)
                                return -EBADMSG;
                        memcpy(&spec, body, sizeof(spec));
                        has_spec = true;
                        row.spec = &spec;
                }
                take(&row, userdata);
        }
}

/* Makes the launch as in run mode, but without a daemon. If this user may give away a range of user ids, the
 * launch gets one, as a private daemon's job would. */
static void fill_launch(const JobSettings *settings, Launch *ret) {
        bool ranges = geteuid() == 0;

        *ret = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = 1,
                .life = 1,
                .purpose = LAUNCH_TRIAL,
                .manager = LAUNCH_MANAGER_NONE,
                .uid_first = ranges ? UID_RANGE_FIRST + (uint32_t) getpid() % UID_RANGES * UIDS_MAX
                                    : (uint32_t) getuid(),
                .n_uids = ranges ? UIDS_MAX : 1,
                .sandbox = settings->sandbox,
                .owner = (uint32_t) getpid(),
                .submitter = (uint32_t) getuid(),
        };
}

static void add_mount(Launch *launch, int fds[], int fd, const char *directory, const char *name) {
        LaunchMount *mount = launch->mounts + launch->n_mounts;

        if (fd < 0)
                return;
        fds[_LAUNCH_FD_FIXED + launch->n_mounts++] = fd;
        mount->read_only = 1;
        (void) snprintf(mount->at, sizeof(mount->at), "%s%s", directory, name);
}

static int ask(int fd, const Launch *launch, const int fds[], LaunchAnswer *ret) {
        _cleanup_close_ int pid_fd = -EBADF;
        size_t n, n_fds;
        int r;

        r = message_send(fd, launch, sizeof(*launch), fds, _LAUNCH_FD_FIXED + launch->n_mounts);
        if (r < 0)
                return r;
        r = message_receive(fd, ANSWER_MSEC, ret, sizeof(*ret), &n, &pid_fd, 1, &n_fds);
        if (r < 0)
                return r;
        return n == sizeof(*ret) && ret->abi == LAUNCH_ABI ? 0 : -EBADMSG;
}

/* Starts a spawner and sends it the launch. STATUS_OK: an invoker has begun; or another status, with a
 * message. */
static ExitStatus hand_over(const char *environment, const Launch *launch, const int fds[], int stderr_fd) {
        static const char *const argv[] = { "actord-spawn", "--fd=3", NULL };
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        LaunchAnswer answer = {};
        int pair[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                complain("no socket can be made for actord-spawn: %s%s", g_strerror(errno),
                                limit_advice(-errno));
                return STATUS_FAILED;
        }
        ours = pair[0];
        theirs = pair[1];
        r = private_spawn("actord-spawn", argv, theirs, stderr_fd, &pid);
        if (r < 0)
                return STATUS_FAILED;
        (void) close_fd(TAKE_FD(theirs));
        r = ask(ours, launch, fds, &answer);
        if (r < 0)
                (void) kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
        if (r < 0) {
                complain("actord-spawn gave no answer (%s); are actord-spawn and actorctl from the same "
                         "build?",
                                g_strerror(-r));
                return STATUS_FAILED;
        }
        if (answer.error >= 0)
                return STATUS_OK;
        answer.message[sizeof(answer.message) - 1] = 0;
        complain("%s: %s", environment, answer.message);
        /* Sandbox= asks for something that this host cannot do. */
        if (answer.step == LAUNCH_STEP_NAMESPACES || answer.step == LAUNCH_STEP_IDENTITY)
                return STATUS_USAGE;
        return STATUS_FAILED;
}

/* Returns sealed memory with the request, followed by the array `numbers`. */
static int seal_request(const TrialRequest *request, const GArray *numbers) {
        size_t n = numbers ? numbers->len * sizeof(double) : 0;
        g_autofree uint8_t *both = g_malloc(sizeof(*request) + n);

        memcpy(both, request, sizeof(*request));
        if (n > 0)
                memcpy(both + sizeof(*request), numbers->data, n);
        return memfd_make_sealed("trial", both, sizeof(*request) + n);
}

static ExitStatus start(const TrialRequest *request, const JobFile *job_file, const GArray *numbers,
                int verdict_fd, int stderr_fd, int *ret_rows) {
        const JobSettings *settings = &job_file->settings;
        _cleanup_close_ int request_fd = seal_request(request, numbers);
        _cleanup_close_ int settings_fd = memfd_make_sealed("settings", settings, sizeof(*settings));
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int fds[_LAUNCH_FD_FIXED + LAUNCH_MOUNTS_MAX], pair[2];
        ExitStatus status;
        Launch launch;

        if (request_fd < 0 || settings_fd < 0 || verdict_fd < 0 || pipe2(pair, O_CLOEXEC) < 0) {
                complain("the request cannot be written to memory: %s%s", g_strerror(errno),
                                limit_advice(errno));
                return STATUS_FAILED;
        }
        ours = pair[0];
        theirs = pair[1];
        fds[LAUNCH_FD_SETTINGS] = settings_fd;
        fds[LAUNCH_FD_STDERR] = stderr_fd;
        fds[LAUNCH_FD_STATE] = verdict_fd;
        fds[LAUNCH_FD_SOCKET] = theirs;
        fds[LAUNCH_FD_CHECKPOINT] = request_fd;
        fill_launch(settings, &launch);
        add_mount(&launch, fds, job_file->environment_fd, PLUGIN_DIRECTORY, "environment.so");
        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX; kind++)
                add_mount(&launch, fds, job_file->directories.fds[kind], directory_row(kind)->at, "");
        status = hand_over(settings->environment, &launch, fds, stderr_fd);
        if (status == STATUS_OK)
                *ret_rows = TAKE_FD(ours);
        return status;
}

ExitStatus trial_call(const TrialRequest *request, const JobFile *job_file, const GArray *numbers,
                TrialTake take, void *userdata, TrialVerdict *ret) {
        _cleanup_close_ int rows = -EBADF, verdict_fd = memfd_make("verdict", sizeof(TrialVerdict));
        g_autoptr(Relay) relay = relay_new();
        TrialRequest filled = *request;
        TrialVerdict verdict;
        ExitStatus status;
        int r;

        if (environment_is_job(job_file->settings.environment)) {
                complain("%s: an environment that is a job cannot be tried alone: `actorctl verify FILE` "
                         "tries a job file that uses it",
                                job_file->settings.environment);
                return STATUS_USAGE;
        }
        if (!relay)
                return STATUS_FAILED;
        filled.abi = TRIAL_ABI;
        filled.struct_bytes = sizeof(filled);
        status = start(&filled, job_file, numbers, verdict_fd, relay_fd(relay), &rows);
        if (status != STATUS_OK)
                return status;
        r = trial_rows_read(rows, &filled, take, userdata);
        rows = close_fd(rows);
        g_clear_pointer(&relay, relay_free);
        if (r == -EINTR) {
                complain("interrupted: no result is kept");
                return STATUS_INTERRUPTED;
        }
        if (r < 0) {
                complain("%s sent an invalid answer: its process may have overwritten its own memory",
                                job_file->settings.environment);
                return STATUS_FAILED;
        }
        /* The invoker writes the verdict before it closes its end of the pipe. */
        if (pread_full(verdict_fd, &verdict, sizeof(verdict), 0) < 0 || !verdict.done) {
                complain("%s: actord-invoker ended early", job_file->settings.environment);
                return STATUS_FAILED;
        }
        *ret = verdict;
        return STATUS_OK;
}

ExitStatus trial_judge(const char *environment, const TrialVerdict *verdict) {
        char words[256];

        if (verdict->problem == TRIAL_PROBLEM_NONE)
                return STATUS_OK;
        if (verdict->problem == TRIAL_PROBLEM_FAULT && verdict->fault == FAULT_TIMEOUT)
                /* Except in Python, a trial has a limit of its own if TimeoutSec= is longer, since a user
                 * waits for the answer. */
                complain("%s did not answer within %d s", environment, verdict->detail);
        else if (verdict->problem == TRIAL_PROBLEM_FAULT)
                complain("%s %s", environment, fault_describe(verdict->fault, verdict->detail, words));
        else if (verdict->problem == TRIAL_PROBLEM_SETUP)
                complain("%s: the trial could not be set up: %s%s", environment, g_strerror(verdict->detail),
                                limit_advice(verdict->detail));
        else {
                g_autofree char *sentence = g_strdup_printf(
                                problem_sentences[MIN(verdict->problem, _TRIAL_PROBLEM_MAX - 1)],
                                verdict->detail);

                complain("%s: %s", environment, sentence);
        }
        return verdict->problem == TRIAL_PROBLEM_FAULT && verdict->fault != FAULT_LOAD &&
                                               verdict->fault != FAULT_SPEC
                               ? STATUS_FAILED
                               : STATUS_USAGE;
}

static bool is_file(const char *environment) {
        return environment_is_file(environment) ||
               (g_str_has_suffix(environment, ".so") && !environment_find(environment));
}

static void take_spec(const TrialRow *row, void *userdata) {
        if (row->kind == TRIAL_SPEC)
                memcpy(userdata, row->head, sizeof(TrialSpec));
}

ExitStatus trial_spec(const JobFile *job_file, TrialSpec *ret) {
        const TrialRequest show = { .kind = TRIAL_SHOW };
        TrialVerdict verdict;
        TrialSpec spec = {};
        ExitStatus status;

        status = trial_call(&show, job_file, NULL, take_spec, &spec, &verdict);
        if (status != STATUS_OK)
                return status;
        status = trial_judge(job_file->settings.environment, &verdict);
        if (status != STATUS_OK)
                return status;
        *ret = spec;
        return STATUS_OK;
}

ExitStatus trial_submission(const Options *options, const char *environment, JobFile *ret) {
        g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);

        *ret = JOB_FILE_NONE;
        if (strpbrk(environment, "\r\n")) {
                complain("a name with a line break cannot be in a job file");
                return STATUS_USAGE;
        }
        g_ptr_array_add(sets, g_strconcat("Job.Environment=",
                                              is_file(environment) && !strchr(environment, '/') ? "./" : "",
                                              environment, NULL));
        /* A key without a section names an option of the environment. */
        for (guint i = 0; i < options->sets->len; i++) {
                const char *set = options->sets->pdata[i];
                bool whole = memchr(set, '.', strcspn(set, "=")) != NULL;

                g_ptr_array_add(sets, g_strconcat(whole ? "" : "Environment.", set, NULL));
        }
        return job_file_load_text(ret, NULL, "[Job]\n", sets);
}
