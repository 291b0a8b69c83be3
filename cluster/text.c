/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cluster/node.h"
#include "lib/cleanup.h"
#include "lib/words.h"

#define TEXT_STEP "actord-step "

enum { FIELDS = 10 };

/* Copies one field without surrounding spaces. */
static void copy_field(const char *from, size_t n, char *ret, size_t size) {
        while (n > 0 && *from == ' ') {
                from++;
                n--;
        }
        while (n > 0 && from[n - 1] == ' ')
                n--;
        if (n >= size)
                n = size - 1;
        memcpy(ret, from, n);
        ret[n] = 0;
        words_clean(ret, size);
}

int64_t text_time_parse(const char *text) {
        struct tm t = {};
        const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
        int64_t seconds;

        if (!end || *end || t.tm_year < 70 || t.tm_year > 8000)
                return 0;
        seconds = timegm(&t);
        return seconds > 0 ? seconds : 0;
}

/* Reads a number of at most six digits. Returns the place after it; NULL: there is no such number. */
static const char *take_number(const char *text, int64_t *ret) {
        size_t n = strspn(text, "0123456789");

        if (n == 0 || n > 6)
                return NULL;
        *ret = strtol(text, NULL, 10);
        return text + n;
}

int64_t text_duration_parse(const char *text) {
        int64_t value = 0, days = 0, seconds = 0;
        const char *p = take_number(text, &value);
        unsigned n = 0;

        if (p && *p == '-') {
                days = value;
                p = take_number(p + 1, &value);
        }
        for (; p; p = take_number(p + 1, &value)) {
                seconds = seconds * 60 + value;
                n++;
                if (*p != ':')
                        break;
        }
        return p && !*p && (n == 2 || n == 3) ? days * 86400 + seconds : -1;
}

/* Turns "4821M" into bytes. */
static uint64_t parse_memory(const char *text) {
        static const char units[] = "KMGTP";
        char *end = NULL;
        double value = strtod(text, &end);
        const char *unit = *end ? strchr(units, *end) : NULL;

        if (end == text || !(value >= 0) || value > 1e15)
                return 0;
        for (const char *u = units; unit && u <= unit; u++)
                value *= 1024;
        return value < 1e18 ? (uint64_t) value : 0;
}

void text_tres_parse(const char *tres, TextJob *ret) {
        for (const char *p = tres; *p; p += *p == ',') {
                size_t n = strcspn(p, ",");
                char item[64];
                char *value;

                copy_field(p, n, item, sizeof(item));
                p += n;
                value = strchr(item, '=');
                if (!value)
                        continue;
                *value++ = 0;
                if (strcmp(item, "cpu") == 0)
                        ret->n_cpus = (uint32_t) strtoul(value, NULL, 10);
                else if (strcmp(item, "gres/gpu") == 0)
                        ret->n_gpus = (uint32_t) strtoul(value, NULL, 10);
                else if (strcmp(item, "mem") == 0)
                        ret->memory_bytes = parse_memory(value);
                else if (strcmp(item, "billing") == 0) {
                        double billing = strtod(value, NULL);

                        ret->billing = billing >= 0 && billing < 1e15 ? billing : 0;
                }
        }
}

bool text_job_parse(const char *line, size_t n, TextJob *ret) {
        char fields[FIELDS][192];
        TextJob job = { .exit_status = -1 };
        char *end;

        for (size_t i = 0; i < FIELDS; i++) {
                const char *bar = memchr(line, '|', n);
                size_t length = bar ? (size_t) (bar - line) : n;

                if (!bar)
                        return false;
                copy_field(line, length, fields[i], sizeof(fields[i]));
                line += length + 1;
                n -= length + 1;
        }
        if (fields[0][0] < '1' || fields[0][0] > '9' ||
                        strspn(fields[0], "0123456789") != strlen(fields[0]) ||
                        text_state(fields[1]) == TEXT_UNKNOWN)
                return false;
        (void) snprintf(job.id, sizeof(job.id), "%.31s", fields[0]);
        (void) snprintf(job.state, sizeof(job.state), "%.31s", fields[1]);
        job.asked = text_time_parse(fields[2]);
        job.started = text_time_parse(fields[3]);
        job.ended = text_time_parse(fields[4]);
        (void) snprintf(job.name, sizeof(job.name), "%.63s", fields[5]);
        (void) snprintf(job.reason, sizeof(job.reason), "%.103s", fields[8]);
        text_tres_parse(fields[7], &job);
        job.used = text_duration_parse(fields[9]);
        /* Some releases of Slurm print the status of wait(), which has the exit status in its second
         * byte. */
        if (fields[6][0]) {
                unsigned long status = strtoul(fields[6], &end, 10);

                if (end != fields[6])
                        job.exit_status = (int) (status > 255 ? status >> 8 & 255 : status);
        }
        *ret = job;
        return true;
}

bool text_submitted_parse(const char *output, char ret[32]) {
        for (const char *line = output; *line;) {
                size_t n = strcspn(line, "\n"), digits = strspn(line, "0123456789");

                if (digits > 0 && digits < 20 && (digits == n || line[digits] == ';')) {
                        memcpy(ret, line, digits);
                        ret[digits] = 0;
                        return true;
                }
                line += n + (line[n] == '\n');
        }
        return false;
}

const char *text_step_parse(const char *output, const char *job, char ret[32]) {
        for (const char *line = output; *line;) {
                size_t n = strcspn(line, "\n"), digits;

                if (line[n] && strncmp(line, TEXT_STEP, strlen(TEXT_STEP)) == 0) {
                        line += strlen(TEXT_STEP);
                        digits = strspn(line, "0123456789");
                        if (digits > 0 && digits < 11 && line[digits] == '\n') {
                                (void) snprintf(ret, 32, "%.20s.%.*s", job, (int) digits, line);
                                return line + digits + 1;
                        }
                        n = strcspn(line, "\n");
                }
                line += n + (line[n] == '\n');
        }
        return NULL;
}

TextState text_state(const char *word) {
        static const struct {
                const char *word;
                TextState state;
        } table[] = {
                { "PENDING", TEXT_PENDING },
                { "CONFIGURING", TEXT_PENDING },
                { "REQUEUED", TEXT_PENDING },
                { "REQUEUE_HOLD", TEXT_PENDING },
                { "REQUEUE_FED", TEXT_PENDING },
                { "RESV_DEL_HOLD", TEXT_PENDING },
                { "SPECIAL_EXIT", TEXT_PENDING },
                { "RUNNING", TEXT_RUNNING },
                { "SUSPENDED", TEXT_RUNNING },
                { "STOPPED", TEXT_RUNNING },
                { "SIGNALING", TEXT_RUNNING },
                { "RESIZING", TEXT_RUNNING },
                { "STAGE_OUT", TEXT_ENDING },
                { "COMPLETING", TEXT_ENDING },
                { "COMPLETED", TEXT_OVER },
                { "CANCELLED", TEXT_OVER },
                { "FAILED", TEXT_OVER },
                { "TIMEOUT", TEXT_OVER },
                { "PREEMPTED", TEXT_OVER },
                { "NODE_FAIL", TEXT_OVER },
                { "BOOT_FAIL", TEXT_OVER },
                { "DEADLINE", TEXT_OVER },
                { "OUT_OF_MEMORY", TEXT_OVER },
                { "REVOKED", TEXT_OVER },
                { "LAUNCH_FAILED", TEXT_OVER },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strcmp(table[i].word, word) == 0)
                        return table[i].state;
        return TEXT_UNKNOWN;
}

void text_end(const TextJob *job, char words[256]) {
        const char *sentence = job->exit_status > 0 ? node_exit_sentence(job->exit_status) : "";
        const char *what = "Slurm ended its allocation";

        if (strcmp(job->state, "TIMEOUT") == 0)
                what = "its time limit has passed ([Slurm] TimeLimit=)";
        else if (strcmp(job->state, "PREEMPTED") == 0)
                what = "Slurm gave the node to another job (preempted)";
        else if (strcmp(job->state, "CANCELLED") == 0)
                what = "its allocation was cancelled (scancel)";
        else if (strcmp(job->state, "NODE_FAIL") == 0)
                what = "Slurm found the node down";
        else if (strcmp(job->state, "OUT_OF_MEMORY") == 0)
                what = "the node ran out of the memory that was allocated";
        else if (strcmp(job->state, "COMPLETED") == 0)
                what = "its program has ended";
        if (sentence[0])
                (void) snprintf(words, 256, "%s (exit status %d, Slurm job %s)", sentence, job->exit_status,
                                job->id);
        else
                (void) snprintf(words, 256, "%s (Slurm job %s, %s)", what, job->id, job->state);
}

void text_best_line(const char *output, char *ret, size_t size) {
        const char *best = output;

        for (const char *line = output; *line;) {
                size_t n = strcspn(line, "\n");
                char copy[256];

                copy_field(line, n, copy, sizeof(copy));
                if (strstr(copy, "error") || strstr(copy, "failure") || strstr(copy, "fatal"))
                        best = line;
                line += n + (line[n] == '\n');
        }
        copy_field(best, strcspn(best, "\n"), ret, size);
}

bool text_refusal(const char *output, const char *partition, const char *account, char words[256]) {
        static const struct {
                const char *contains, *advice;
                bool passes;
        } table[] = {
                { "nvalid partition", "[Slurm] Partition=: sinfo lists the partitions", false },
                { "nvalid account", "[Slurm] Account=: `sacctmgr show associations user=$USER` lists yours",
                                false },
                { "nvalid feature", "[Slurm] Constraint=: `sinfo -o %f` lists the features", false },
                { "nvalid qos", "[Slurm] Options=: `sacctmgr show qos` lists the names", false },
                { "ime limit", "[Slurm] TimeLimit=: `sinfo -o '%P %l'` lists the partitions' limits",
                                false },
                { "MaxSubmitJob", "the queue is full; actord tries again", true },
                { "MaxJobs", "the queue is full; actord tries again", true },
                { "ob violates accounting/QOS policy", "the queue may be full; actord tries again", true },
                { "emporarily unable", "actord tries again", true },
                { "imed out", "actord tries again", true },
                { "Unable to contact slurm controller", "is slurmctld running? (scontrol ping)", true },
                { "onfiguration is not available",
                                "no node has the resources that [Slurm] asks for: `sinfo -Nl` lists "
                                "those of each node",
                                false },
                { "configuration source", "this host is not part of a cluster: there is no slurm.conf",
                                false },
                { "unrecognized option", "[Slurm] Options= has a word that this sbatch does not know",
                                false },
                { "nvalid option", "[Slurm] Options= has a word that this sbatch does not know", false },
                { "rotocol authentication error", "does munge run here, with the cluster's key?", false },
                /* slurmctld says only this when it refuses a credential. */
                { "Zero Bytes were transmitted",
                                "is this host's clock right (NTP), and does it have the cluster's munge "
                                "key?",
                                false },
        };
        char line[160];

        (void) partition;
        (void) account;
        text_best_line(output, line, sizeof(line));
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strstr(output, table[i].contains)) {
                        (void) snprintf(words, 256, "Slurm refuses the job: %s; %s", line, table[i].advice);
                        return table[i].passes;
                }
        (void) snprintf(words, 256, "Slurm refuses the job: %s", line[0] ? line : "sbatch gave no reason");
        return false;
}

bool text_may_be_queued(const char *output) {
        static const char *const table[] = { "imed out", "receive failure", "Zero Bytes were transmitted" };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strstr(output, table[i]))
                        return true;
        return false;
}

bool text_reason_is_final(const char *reason, char words[256]) {
        static const struct {
                const char *reason, *advice;
        } table[] = {
                { "PartitionTimeLimit",
                                "[Slurm] TimeLimit= is too long for the partition; see `sinfo -o '%P %l'`" },
                { "PartitionNodeLimit", "the limits of [Slurm] Partition= allow no job of one node" },
                { "BadConstraints", "[Slurm] Constraint= or Options= ask for a feature that no node has" },
                { "AccountNotAllowed", "[Slurm] Account= may not use the partition" },
                { "InvalidAccount",
                                "[Slurm] Account=: `sacctmgr show associations user=$USER` lists yours" },
                { "InvalidQOS", "[Slurm] Options=: `sacctmgr show qos` lists the names" },
                { "QOSNotAllowed", "the partition does not accept the QOS in [Slurm] Options=" },
                { "AssocMaxWallDurationPerJobLimit",
                                "[Slurm] TimeLimit= is longer than your account allows" },
                { "QOSMaxWallDurationPerJobLimit", "[Slurm] TimeLimit= is longer than the QOS allows" },
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strcmp(reason, table[i].reason) == 0) {
                        (void) snprintf(words, 256, "Slurm would never start a node's job (%s): %s", reason,
                                        table[i].advice);
                        return true;
                }
        return false;
}

void text_find_address(const char *output, bool all, char ret[TEXT_ADDRESS_BYTES]) {
        bool found = false;

        ret[0] = 0;
        for (const char *line = output; *line;) {
                size_t n = strcspn(line, "\n"), name = strcspn(line, " \n");
                bool is_default = name > 0 && line[name - 1] == '*';

                if (line[name] == ' ' && n - name - 1 < TEXT_ADDRESS_BYTES && n - name > 1 &&
                                (!found || is_default)) {
                        memcpy(ret, line + name + 1, n - name - 1);
                        ret[n - name - 1] = 0;
                        ret[strcspn(ret, " ")] = 0;
                        found = ret[0];
                        if (is_default || all)
                                break;
                }
                line += n + (line[n] == '\n');
        }
        words_clean(ret, TEXT_ADDRESS_BYTES);
}

size_t text_count_nodes(const char *output, bool all) {
        size_t count = 0;

        for (const char *line = output; *line;) {
                size_t n = strcspn(line, "\n"), name = strcspn(line, " \n");

                count += name > 0 && name < n && (all || line[name - 1] == '*');
                line += n + (line[n] == '\n');
        }
        return count;
}

int text_options_split(char *text, char *ret[TEXT_OPTIONS_MAX]) {
        char *from = text;
        int n = 0;

        for (;;) {
                char *to, quote = 0;

                while (*from == ' ' || *from == '\t')
                        from++;
                if (!*from)
                        return n;
                if (n == TEXT_OPTIONS_MAX)
                        return -E2BIG;
                ret[n++] = to = from;
                for (; *from && (quote || (*from != ' ' && *from != '\t')); from++) {
                        if (quote ? *from == quote : *from == '"' || *from == '\'')
                                quote = quote ? 0 : *from;
                        else
                                *to++ = *from;
                }
                if (quote)
                        return -EINVAL;
                if (*from)
                        from++;
                *to = 0;
        }
}

/* sbatch also accepts the beginning of an option's long name, if no other name begins so. */
const char *text_option_refuse(const char *word) {
        static const struct {
                char letter;
                const char *name;
                const char *advice; /* NULL: there is nothing to use instead */
        } table[] = {
                { 'J', "job-name" },
                { 'a', "array" },
                { 'M', "clusters" },
                { 'W', "wait" },
                { 'N', "nodes", "use Nodes= of [Distribution]" },
                { 't', "time", "use TimeLimit=" },
                { 'h', "help" },
                { 'V', "version" },
                { 0, "requeue" },
                { 0, "usage" },
                { 0, "parsable" },
                { 0, "test-only" },
                { 0, "wrap" },
        };
        size_t n = strncmp(word, "--", 2) == 0 ? strcspn(word + 2, "=") : 0;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (n > 0 ? strncmp(word + 2, table[i].name, n) == 0
                          : word[0] == '-' && word[1] && word[1] == table[i].letter)
                        return table[i].advice ?: "remove this option";
        return NULL;
}

/* Appends the words of a command. */
static int add_words(char *const argv[], size_t n, char ret[TEXT_SCRIPT_MAX]) {
        for (size_t i = 0; argv[i]; i++) {
                if (strpbrk(argv[i], "'\n"))
                        return -EINVAL;
                n += (size_t) snprintf(ret + n, TEXT_SCRIPT_MAX - n, " '%s'", argv[i]);
                if (n + 2 >= TEXT_SCRIPT_MAX)
                        return -E2BIG;
        }
        ret[n++] = '\n';
        ret[n] = 0;
        return 0;
}

int text_script(char *const argv[], char ret[TEXT_SCRIPT_MAX]) {
        return add_words(argv, (size_t) snprintf(ret, TEXT_SCRIPT_MAX, "#!/bin/sh\nexec"), ret);
}

/* While the script waits for the parcel (cluster/parcel.h), a signal ends the shell. Once the parcel's
 * program runs, the signal also reaches the program, and the shell waits until the program has ended. In
 * both cases the shell removes the folder. */
int text_parcel_script(
                char *const argv[], const char *folder, const char *digest, char ret[TEXT_SCRIPT_MAX]) {
        int n = snprintf(ret, TEXT_SCRIPT_MAX,
                        "#!/bin/sh\n"
                        "umask 077\n"
                        "d='%s'\n"
                        "mkdir \"$d\" || exit %d\n"
                        "trap 'trap \"\" TERM INT USR1; rm -rf \"$d\"' EXIT\n"
                        "trap 'exit 143' TERM INT USR1\n"
                        "echo \"" TEXT_STEP "${SLURM_STEP_ID:-}\"\n"
                        "i=0\n"
                        "until [ \"$(sha256sum 2>/dev/null <\"$d/parcel\")\" = '%s  -' ]; do\n"
                        "    i=$((i + 1))\n"
                        "    [ $i -lt 1500 ] || exit %d\n"
                        "    sleep 0.2\n"
                        "done\n"
                        "tar -xf \"$d/parcel\" -C \"$d\" || exit %d\n"
                        "rm \"$d/parcel\"\n"
                        "trap : TERM INT USR1\n"
                        "\"$d/actord-cluster\"",
                        folder, NODE_EXIT_PARCEL, digest, NODE_EXIT_LATE, NODE_EXIT_PARCEL);

        return add_words(argv + 1, (size_t) n, ret);
}
