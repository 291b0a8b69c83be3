/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The far end of actord-trial: started with its request at fixed descriptors, read until it closes its pipe. */
#include "actorctl/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "actorctl/relay.h"
#include "include/record.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/sibling.h"
#include "lib/slot.h"
#include "lib/words.h"

enum { FD_ABOVE = 32 }; /* where no number of TrialFd is */

extern char **environ;

static const char *const problem_sentences[] = {
#define X(name, sentence) sentence,
        TRIAL_PROBLEMS(X)
#undef X
};

uint64_t trial_space_numbers(const ActordSpace *space) {
        return space_numbers(space);
}

uint32_t trial_state_numbers(const TrialSpec *spec) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < spec->n_parts; i++)
                n += spec->parts[i].n_numbers;
        return n;
}

/* What the rest of actorctl prints and counts with. */
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
        n_observation = space_numbers(&row->spec->spec.observation);
        n_action = space_numbers(&row->spec->spec.action);
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

/* Until the pipe ends; -EBADMSG: what came is no record. */
static int read_rows(int fd, const TrialRequest *request, TrialTake take, void *userdata) {
        g_autofree uint8_t *body = NULL;
        TrialSpec spec;
        bool has_spec = false;
        TrialRecord record;

        while (read_full(fd, &record, sizeof(record)) >= 0) {
                size_t n_head = head_bytes(record.kind);
                TrialRow row = { .kind = record.kind, .spec = has_spec ? &spec : NULL };

                if (record.kind >= _TRIAL_RECORD_MAX || record.n_bytes > TRIAL_RECORD_BYTES_MAX ||
                                record.n_bytes < n_head)
                        return -EBADMSG;
                body = g_realloc(body, MAX(record.n_bytes, 1u));
                if (read_full(fd, body, record.n_bytes) < 0)
                        return 0; /* the child was ended while it wrote: the verdict says why */
                row.head = body;
                row.numbers = (const double *) (body + n_head);
                row.shapes = (const ActordShape *) row.numbers;
                row.pixels = body + n_head;
                row.n_shapes = (record.n_bytes - n_head) / sizeof(ActordShape);
                row.n_numbers = (record.n_bytes - n_head) / sizeof(double);
                if (!row_is_sane(request, &row, record.n_bytes))
                        return -EBADMSG;
                if (row.kind == TRIAL_SPEC) {
                        memcpy(&spec, body, sizeof(spec));
                        has_spec = true;
                        row.spec = &spec;
                }
                take(&row, userdata);
        }
        return 0;
}

char *trial_directory(void) {
        char directory[SIBLING_DIRECTORY_MAX];

        /* Beside this program as in a build tree, else where it is installed. */
        if (sibling_directory(directory) >= 0) {
                g_autofree char *path = g_build_filename(directory, "actord-trial", NULL);

                if (access(path, X_OK) == 0)
                        return g_strdup(directory);
        }
        return g_strdup(ACTORD_LIBEXECDIR);
}

static char *trial_path(void) {
        g_autofree char *directory = trial_directory();

        return g_build_filename(directory, "actord-trial", NULL);
}

/* fds: {ours, TrialFd} pairs; ours may be below FD_ABOVE and is moved out of the way. */
static int spawn(const char *path, int stderr_fd, const int fds[][2], size_t n, pid_t *ret) {
        char *argv[] = { (char *) "actord-trial", NULL };
        posix_spawn_file_actions_t actions;
        int moved[8], r = 0;

        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        (void) posix_spawn_file_actions_adddup2(&actions, stderr_fd, STDERR_FILENO);
        (void) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        for (size_t i = 0; i < n; i++) {
                moved[i] = fds[i][0] < 0 ? -EBADF : fcntl(fds[i][0], F_DUPFD_CLOEXEC, FD_ABOVE);
                if (moved[i] >= 0)
                        (void) posix_spawn_file_actions_adddup2(&actions, moved[i], fds[i][1]);
                else if (fds[i][0] >= 0)
                        r = -errno;
        }
        if (r >= 0)
                r = -posix_spawn(ret, path, &actions, NULL, argv, environ);
        for (size_t i = 0; i < n; i++)
                (void) close_fd(moved[i]);
        (void) posix_spawn_file_actions_destroy(&actions);
        return r;
}

static int start(const TrialRequest *request, const Submission *submission, const GArray *numbers,
                int verdict_fd, int stderr_fd, int *ret_rows, pid_t *ret_pid) {
        static const JobSettings none = { .abi = SETTINGS_ABI, .struct_bytes = sizeof(JobSettings) };
        static const double zero;
        int brought_fd = !submission                       ? -EBADF
                         : submission->environment_fd >= 0 ? submission->environment_fd
                                                           : submission->directory_fd;
        bool has = numbers && numbers->len > 0;
        _cleanup_close_ int request_fd = memfd_make_sealed("trial", request, sizeof(*request));
        _cleanup_close_ int settings_fd = memfd_make_sealed(
                        "settings", submission ? &submission->settings : &none, sizeof(JobSettings));
        _cleanup_close_ int numbers_fd = memfd_make_sealed("numbers", has ? numbers->data : (void *) &zero,
                        has ? numbers->len * sizeof(double) : sizeof(zero));
        g_autofree char *path = trial_path();
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int pair[2], r;

        if (request_fd < 0 || settings_fd < 0 || numbers_fd < 0 || pipe2(pair, O_CLOEXEC) < 0) {
                complain("no memory for a request can be had: %s", g_strerror(errno));
                return -ENOMEM;
        }
        ours = pair[0];
        theirs = pair[1];
        const int fds[][2] = {
                { request_fd, TRIAL_FD_REQUEST },
                { settings_fd, TRIAL_FD_SETTINGS },
                { numbers_fd, TRIAL_FD_NUMBERS },
                { theirs, TRIAL_FD_ROWS },
                { verdict_fd, TRIAL_FD_VERDICT },
                { brought_fd, TRIAL_FD_PLUGIN },
        };
        r = spawn(path, stderr_fd, fds, G_N_ELEMENTS(fds), ret_pid);
        if (r < 0) {
                complain("%s cannot be started: %s", path, g_strerror(-r));
                return r;
        }
        *ret_rows = TAKE_FD(ours);
        return 0;
}

ExitStatus trial_call(const TrialRequest *request, const Submission *submission, const GArray *numbers,
                TrialTake take, void *userdata, TrialVerdict *ret) {
        _cleanup_close_ int rows = -EBADF, verdict_fd = memfd_make("verdict", sizeof(TrialVerdict));
        g_autoptr(Relay) relay = relay_new();
        TrialRequest filled = *request;
        TrialVerdict verdict;
        int r, status = 0;
        pid_t pid;

        filled.abi = TRIAL_ABI;
        filled.struct_bytes = sizeof(filled);
        if (!relay || start(&filled, submission, numbers, verdict_fd, relay_fd(relay), &rows, &pid) < 0)
                return STATUS_FAILED;
        r = read_rows(rows, &filled, take, userdata);
        rows = close_fd(rows);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        g_clear_pointer(&relay, relay_free);
        if (r < 0) {
                complain("%s answered nonsense: its process may have written over its own memory",
                                submission ? submission->settings.environment : "actord-trial");
                return STATUS_FAILED;
        }
        if (pread_full(verdict_fd, &verdict, sizeof(verdict), 0) < 0 || !verdict.done) {
                complain("actord-trial ended early (%s %d)", WIFSIGNALED(status) ? "signal" : "status",
                                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
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
                /* Not "its TimeoutSec=": people do not wait that long for one step. */
                complain("%s did not answer within %d s", environment, verdict->detail);
        else if (verdict->problem == TRIAL_PROBLEM_FAULT)
                complain("%s %s", environment, fault_describe(verdict->fault, verdict->detail, words));
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

ExitStatus trial_submission(const Options *options, const char *environment, Submission *ret) {
        g_autoptr(GPtrArray) sets = g_ptr_array_new_with_free_func(g_free);

        *ret = SUBMISSION_NONE;
        if (strpbrk(environment, "\r\n")) {
                complain("a name with a line break cannot stand in a job file");
                return STATUS_USAGE;
        }
        g_ptr_array_add(sets, g_strconcat("Job.Environment=",
                                              is_file(environment) && !strchr(environment, '/') ? "./" : "",
                                              environment, NULL));
        /* A key without its section is one of the environment's own. */
        for (guint i = 0; i < options->sets->len; i++) {
                const char *set = options->sets->pdata[i];
                bool whole = memchr(set, '.', strcspn(set, "=")) != NULL;

                g_ptr_array_add(sets, g_strconcat(whole ? "" : "Environment.", set, NULL));
        }
        return submission_load_text(ret, NULL, "[Job]\n", sets);
}
