/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* export: writes a file from a checkpoint file, or from the newest checkpoint of a job or run: a copy of the
 * checkpoint, its policy alone, also in a format of other programs, episodes that the policy plays, or those
 * that the replay store holds. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/export/model.h"
#include "actorctl/export/replay.h"
#include "actorctl/export/rollouts.h"
#include "actorctl/file.h"
#include "actorctl/job-open.h"
#include "actorctl/private.h"
#include "lib/cleanup.h"
#include "lib/network.h"
#include "lib/fd.h"
#include "lib/settings/print.h"

static int copy(int from, int to) {
        g_autofree char *buffer = g_malloc(1 << 16);
        off_t at = 0;
        ssize_t n;

        /* pread() copies from the file's start, wherever the descriptor's position is */
        while ((n = pread(from, buffer, 1 << 16, at)) != 0) {
                int r = n < 0 ? -errno : write_full(to, buffer, (size_t) n);

                if (r == -EINTR)
                        continue;
                if (r < 0)
                        return r;
                at += n;
        }
        return 0;
}

/* The file gets its name when it is complete. */
static int copy_to_file(int from, const char *path) {
        _cleanup_(aside_done) Aside aside = ASIDE_EMPTY;
        int r;

        r = aside_open(path, 0666, &aside);
        if (r < 0)
                return r;
        r = copy(from, aside.fd);
        return r < 0 ? r : aside_commit(&aside, path);
}

/* The name of the file to write: "job-7.onnx", "run-7.h", "run-7-weights.safetensors"; for a checkpoint file
 * "checkpoint-79.onnx". With --rollouts or --replay it names a directory: "job-7-rollouts". */
static char *file_name_of(const char *word, const char *ending) {
        g_autofree char *directory = NULL, *name = NULL;

        if (word_names_run(word)) {
                directory = run_directory_of(word);
                name = g_path_get_basename(directory);
                return g_strconcat("run-", name, ending, NULL);
        }
        if (word[strspn(word, "0123456789")] == '\0')
                return g_strconcat("job-", word, ending, NULL);
        name = g_path_get_basename(word);
        if (g_str_has_suffix(name, ".safetensors"))
                name[strlen(name) - strlen(".safetensors")] = '\0';
        return g_strconcat(name, ending, NULL);
}

/* Writes the file, or prints it with --output=-. bytes NULL: the whole checkpoint in fd. */
static ExitStatus write_out(const Options *options, const char *word, int fd, const GByteArray *bytes,
                const char *ending) {
        g_autofree char *path = options->output ? g_strdup(options->output) : file_name_of(word, ending);
        int r;

        if (strcmp(path, "-") == 0) {
                if (isatty(STDOUT_FILENO)) {
                        complain("%s is not written to a terminal; name a file with --output=FILE",
                                        bytes ? "an exported policy" : "a checkpoint");
                        return STATUS_USAGE;
                }
                r = bytes ? write_full(STDOUT_FILENO, bytes->data, bytes->len) : copy(fd, STDOUT_FILENO);
        } else {
                if (!may_replace(path))
                        return STATUS_USAGE;
                r = bytes ? file_write(path, bytes->data, bytes->len) : copy_to_file(fd, path);
        }
        if (r < 0) {
                complain("the %s cannot be written to %s: %s", bytes ? "policy" : "checkpoint", path,
                                g_strerror(-r));
                return STATUS_FAILED;
        }
        if (!options->quiet && strcmp(path, "-") != 0)
                fprintf(stderr, "%s\n", path);
        return STATUS_OK;
}

typedef struct Format {
        const char *name, *ending;
        GByteArray *(*make)(const Model *model); /* NULL: safetensors */
        uint64_t numbers_max;                    /* a policy of any job fits in a file of tensors: 1 GiB */
} Format;

static const Format formats[] = {
        { "safetensors", ".safetensors", NULL, UINT64_MAX },
        { "onnx", ".onnx", model_to_onnx, UINT64_MAX },
        { "header", ".h", model_to_header, HEADER_NUMBERS_MAX },
};

static const Format *find_format(const char *name) {
        for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
                if (!name || strcmp(name, formats[i].name) == 0)
                        return &formats[i];
        complain("--format=%s: it must be safetensors, onnx or header", name);
        return NULL;
}

static ExitStatus check_data_set(const Options *options) {
        const char *option = options->rollouts ? "rollouts" : "replay";

        if (options->rollouts && options->replay) {
                complain("--rollouts writes episodes that the policy plays, and --replay those from which "
                         "it learned: give one of them");
                return STATUS_USAGE;
        }
        if (options->format || options->weights_only) {
                complain("--%s writes episodes, and no policy: leave out --format and --weights-only",
                                option);
                return STATUS_USAGE;
        }
        if (options->output && strcmp(options->output, "-") == 0) {
                complain("--%s writes two files: name a directory with --output=DIRECTORY", option);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus check_usage(const Options *options, const Format *format, const char *word) {
        bool whole = !format->make && !options->weights_only, file;

        if (options->n_episodes > 0 && !options->rollouts) {
                complain("--episodes is for --rollouts");
                return STATUS_USAGE;
        }
        if (options->rollouts || options->replay)
                return check_data_set(options);
        if (options->weights_only && format->make) {
                complain("--weights-only is for --format=safetensors; %s always holds only the policy",
                                format->name);
                return STATUS_USAGE;
        }
        if (whole && options->sets->len > 0) {
                complain("a whole checkpoint is copied as it is: leave out --set and --seed");
                return STATUS_USAGE;
        }
        file = word[strspn(word, "0123456789")] != '\0' && !word_names_run(word);
        if (file && !format->make && !options->output) {
                complain("%s is %s; name the new file with --output=FILE", word,
                                whole ? "a checkpoint already" : "of the same format");
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus export_model(const Options *options, const Format *format, const char *word,
                const NamedCheckpoint *checkpoint) {
        g_autoptr(GByteArray) bytes = NULL;
        g_autoptr(Model) model = NULL;
        ExitStatus status;

        status = model_read(options, checkpoint, format->numbers_max, &model);
        if (status != STATUS_OK)
                return status;
        if (format->make == model_to_header && model->settings.convolutions.n > 0) {
                complain("%s: a C header holds no convolutions; export it with --format=onnx",
                                checkpoint->name);
                return STATUS_USAGE;
        }
        if (format->make && act_is_continuous(model->network.act) && model->network.act != ACT_GAUSSIAN) {
                if (model->network.passes > 0)
                        complain("%s: its actions are made in %u passes of the network, which --format=%s "
                                 "cannot express; export the tensors alone, with --weights-only and "
                                 "without --format",
                                        checkpoint->name, model->network.passes, format->name);
                else
                        complain("%s: the actions of %s pass through tanh, which --format=%s cannot "
                                 "express; export the tensors alone, with --weights-only and without "
                                 "--format",
                                        checkpoint->name,
                                        choice_algorithm_to_string(model->settings.algorithm), format->name);
                return STATUS_USAGE;
        }
        bytes = format->make ? format->make(model) : model_to_safetensors(model, &checkpoint->checkpoint);
        if (!bytes) {
                complain("the policy of %s cannot be written to a file: %s", checkpoint->name,
                                g_strerror(errno));
                return STATUS_FAILED;
        }
        if (model->network.candidates > 1 && !options->quiet)
                complain("%s: the critics that choose one of %u candidates are not exported, so the policy "
                         "in the file makes one action",
                                checkpoint->name, model->network.candidates);
        /* this name differs from that of a copy of the whole checkpoint */
        return write_out(options, word, -EBADF, bytes,
                        format->make ? format->ending : "-weights.safetensors");
}

ExitStatus verb_export(const Options *options, char **arguments, size_t n) {
        _cleanup_(named_checkpoint_done) NamedCheckpoint checkpoint = NAMED_CHECKPOINT_NONE;
        const Format *format = find_format(options->format);
        ExitStatus status;

        if (!format)
                return STATUS_USAGE;
        status = check_usage(options, format, arguments[0]);
        if (status == STATUS_OK)
                status = named_checkpoint_open(&checkpoint, options, arguments[0]);
        if (status == STATUS_OK && !checkpoint.connection)
                status = job_needs_no_daemon(options, arguments[0], "a file");
        if (status != STATUS_OK)
                return status;
        if (options->rollouts) {
                g_autofree char *name = file_name_of(arguments[0], "-rollouts");

                return rollouts_export(options, &checkpoint, name);
        }
        if (options->replay) {
                g_autofree char *name = file_name_of(arguments[0], "-replay");

                return replay_export(options, &checkpoint, name);
        }
        if (format->make || options->weights_only)
                return export_model(options, format, arguments[0], &checkpoint);
        return write_out(options, arguments[0], checkpoint.fd, NULL, format->ending);
}
