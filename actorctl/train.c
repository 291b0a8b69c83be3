/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A scheduler is trained by a job like any other, whose environment is the job that it will decide over. Its hyper-parameters are those that
 * MinionsRL's paper chose for its scheduler's PPO (table 1; Yu et al., AAAI 2024). Where this differs: the paper updates after each run, this after
 * the two runs that two actors bring at once, by whole batches and in four epochs, since there are half as many updates; it uses the
 * discounted return less the value (Lambda=1), as the authors' code does. */
#include "actorctl/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "actorctl/checkpoint.h"
#include "actorctl/follow.h"
#include "actorctl/submission.h"
#include "actorctl/table.h"
#include "actorctl/trained.h"
#include "include/bus.h"
#include "include/environments.h"
#include "lib/cleanup.h"
#include "lib/minions.h"

#define ACTORS_DEFAULT 8 /* MaxActors= of an inner job that does not say */

#define OUTER                                                                                           \
        "[Job]\nDescription=Scheduler of %s\nEnvironment=" ENVIRONMENT_JOB_PREFIX "%s\nAlgorithm=ppo\n" \
        "Seed=%" G_GUINT64_FORMAT "\nStopSteps=%" G_GUINT64_FORMAT "\n"                                 \
        "[Environment]\nRounds=%" G_GUINT64_FORMAT "\n%s%s%s"                                           \
        "[Scaling]\nActors=2\n"                                                                         \
        "[Actor]\nRolloutSteps=%" G_GUINT64_FORMAT "\nCarry=reset\nTimeoutSec=24h\n"                    \
        "[Learner]\nLearningRate=0.005\nGamma=0.99\nLambda=1\nClip=0.2\nEntropyWeight=0.01\n"           \
        "ValueWeight=0.5\nEpochs=4\nUpdates=full-batch\nHiddenLayers=64 64\nActivation=tanh\n[Billing]\nPriceSheet=%s\n"

/* The inner job, checked: what the user wrote, but for what an inner job cannot have. */
static ExitStatus load_inner(const Options *options, const char *file, Submission *ret) {
        g_autoptr(GPtrArray) sets = g_ptr_array_new();
        ExitStatus status;

        for (guint i = 0; i < options->sets->len; i++)
                g_ptr_array_add(sets, options->sets->pdata[i]);
        g_ptr_array_add(sets, (gpointer) "Job.Budget=");
        g_ptr_array_add(sets, (gpointer) "Job.RuntimeMaxSec=");
        status = submission_load(ret, file, sets);
        if (status != STATUS_OK || settings_present(&ret->settings, SETTING_Scaling_MaxActors) ||
                        ret->settings.n_actors > ACTORS_DEFAULT)
                return status;

        submission_done(ret);
        g_ptr_array_add(sets, (gpointer) "Scaling.MaxActors=" G_STRINGIFY(ACTORS_DEFAULT));
        return submission_load(ret, file, sets);
}

static ExitStatus load_outer(
                const Options *options, const char *file, const JobSettings *inner, Submission *ret) {
        g_autofree char *base = g_path_get_basename(file), *sections = settings_print_inner(inner),
                        *text = NULL;
        uint64_t n_steps = (options->n_episodes > 0 ? options->n_episodes : EPISODES_DEFAULT) *
                           options->n_rounds;

        text = g_strdup_printf(OUTER "%s", base, base, inner->seed, n_steps, options->n_rounds,
                        options->target ? "Target=" : "", options->target ? options->target : "",
                        options->target ? "\n" : "", options->n_rounds, inner->price_sheet, sections);
        return submission_load_text(ret, base, text, NULL);
}

/* The actor's half of the network, from its first layer to its last. */
static int read_network(int fd, uint32_t n_choices, float *ret, char **ret_message) {
        const struct {
                const char *weight, *bias;
                size_t n_in, n_out;
        } layers[] = {
                { "actor.0.weight", "actor.0.bias", MINIONS_N_FEATURES, MINIONS_UNITS },
                { "actor.2.weight", "actor.2.bias", MINIONS_UNITS, MINIONS_UNITS },
                { "actor.4.weight", "actor.4.bias", MINIONS_UNITS, n_choices },
        };
        int r;

        for (size_t i = 0; i < G_N_ELEMENTS(layers); i++) {
                r = checkpoint_floats(fd, "the training's checkpoint", layers[i].weight,
                                layers[i].n_in * layers[i].n_out, ret, ret_message);
                if (r < 0)
                        return r;
                ret += layers[i].n_in * layers[i].n_out;
                r = checkpoint_floats(fd, "the training's checkpoint", layers[i].bias, layers[i].n_out, ret,
                                ret_message);
                if (r < 0)
                        return r;
                ret += layers[i].n_out;
        }
        return 0;
}

/* As much of them as there is room for, and not half a character. */
static void put_words(char *to, size_t size, const char *words) {
        const char *end;

        (void) g_strlcpy(to, words, size);
        if (!g_utf8_validate(to, -1, &end))
                memset(to + (end - to), 0, size - (size_t) (end - to));
}

static void *make_file(const Options *options, const char *file, const JobSettings *inner,
                const JobStatus *status, const JobBill *bill, int checkpoint_fd, size_t *ret_n,
                char **ret_message) {
        uint32_t n_choices = settings_actors_max(inner);
        size_t n = sizeof(MinionsModel) + MINIONS_PARAMETERS(n_choices) * sizeof(float);
        g_autofree MinionsModel *model = g_malloc0(n);
        g_autofree char *base = g_path_get_basename(file);

        *model = (MinionsModel){
                .magic = MINIONS_MAGIC,
                .abi = MINIONS_ABI,
                .struct_bytes = sizeof(MinionsModel),
                .n_choices = n_choices,
                .target = options->target ? g_ascii_strtod(options->target, NULL) : minions_target(inner),
                .seed = inner->seed,
                .n_episodes = status->n_episodes,
                .n_rounds = status->n_env_steps,
                .wall_nsec = status->wall_nsec,
                .emulated_nsec = status->emulated_nsec,
                .trained_usec = status->ended_usec,
                .beta = JOB_BETA_DEFAULT,
                .cost_paper = bill->paper,
                .cost_full = bill->full,
        };
        put_words(model->job, sizeof(model->job), base);
        put_words(model->environment, sizeof(model->environment), inner->environment);
        put_words(model->currency, sizeof(model->currency), bill->currency);
        put_words(model->price_sheet, sizeof(model->price_sheet), bill->price_sheet);
        if (read_network(checkpoint_fd, n_choices, (float *) (model + 1), ret_message) < 0)
                return NULL;
        *ret_n = n;
        return g_steal_pointer(&model);
}

static ExitStatus store(const Options *options, const char *name, const void *data, size_t n) {
        g_autofree char *path = trained_own_path(name), *message = NULL;
        g_autoptr(Trained) trained = NULL;
        int r;

        r = trained_write(path, data, n);
        if (r < 0) {
                complain("the scheduler cannot be written to %s: %s", path, g_strerror(-r));
                return STATUS_FAILED;
        }
        trained = trained_open(name, ".", &message);
        if (!trained) {
                complain("%s", message);
                return STATUS_FAILED;
        }
        trained_print(trained, options);
        return STATUS_OK;
}

static ExitStatus keep(const Options *options, Connection *connection, const char *path, const char *file,
                const char *name, const JobSettings *inner, const JobStatus *status) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autofree char *message = NULL;
        g_autofree void *data = NULL;
        g_autoptr(JobBill) bill = NULL;
        size_t n;
        int fd;

        job_result_complain(status);
        if (job_exit_status(status) != STATUS_OK)
                return job_exit_status(status);
        if (job_bill_fetch(connection, path, &bill) < 0 ||
                        connection_call(connection, path, BUS_INTERFACE_JOB, "OpenCheckpoint", &reply,
                                        NULL) < 0)
                return STATUS_FAILED;
        if (sd_bus_message_read(reply, "h", &fd) < 0) {
                complain("the training's checkpoint cannot be received");
                return STATUS_FAILED;
        }
        data = make_file(options, file, inner, status, bill, fd, &n, &message);
        if (!data) {
                complain("%s", message);
                return STATUS_FAILED;
        }
        return store(options, name, data, n);
}

static ExitStatus run(const Options *options, const char *file, const char *name, const Submission *outer,
                const JobSettings *inner) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        JobStatus job;
        ExitStatus status;

        if (connection_open_private(true, &connection) < 0)
                return STATUS_FAILED;
        job_status_init(&job);
        status = submission_follow(connection, options, outer, &path, &job);
        if (status == STATUS_OK)
                status = keep(options, connection, path, file, name, inner, &job);
        job_status_done(&job);
        return status;
}

static char *name_of(const Options *options, const char *file) {
        g_autofree char *base = g_path_get_basename(file);

        if (options->name)
                return g_strdup(options->name);
        if (g_str_has_suffix(base, ".conf"))
                base[strlen(base) - strlen(".conf")] = '\0';
        return g_steal_pointer(&base);
}

ExitStatus train(const Options *options, const char *file) {
        g_autofree char *name = name_of(options, file), *message = NULL;
        Submission inner = {}, outer = {};
        ExitStatus status;

        if (!trained_name_valid(name)) {
                complain("--name=%s: a scheduler's name has letters, digits, '.', '_' and '-'", name);
                return STATUS_USAGE;
        }
        follow_prepare();
        status = load_inner(options, file, &inner);
        if (status == STATUS_OK)
                status = load_outer(options, file, &inner.settings, &outer);
        outer.with_stderr = true;
        if (status == STATUS_OK)
                status = run(options, file, name, &outer, &inner.settings);
        submission_done(&outer);
        submission_done(&inner);
        return status;
}
