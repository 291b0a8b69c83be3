/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An ordinary job trains a scheduler. The environment of this job is the job for which the scheduler will
 * decide. The hyper-parameters are those of the PPO in MinionsRL's paper (table 1; Yu et al., AAAI 2024),
 * with two differences. First, the paper updates after each run. Here an update follows two runs, which two
 * actors make at once. It uses whole batches and four epochs, since there are half as many updates. Second,
 * the advantage is the discounted return minus the value (Lambda=1), as in the authors' code.
 *
 * With --from the training begins with the actor and critic of another scheduler, as the paper does to reuse
 * a scheduler for another task. Adam's state starts from zero, and the cost of the earlier training is part
 * of the new bill. */
#include "actorctl/checkpoint-open.h"
#include "actorctl/scheduler/train.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "actorctl/file.h"
#include "actorctl/follow.h"
#include "actorctl/job-file.h"
#include "actorctl/view/table.h"
#include "actorctl/scheduler/trained-network.h"
#include "actorctl/scheduler/trained.h"
#include "include/bus.h"
#include "include/environments.h"
#include "lib/cleanup.h"
#include "lib/minions.h"

#define UNFINISHED     ".unfinished"
#define ACTORS_DEFAULT 8 /* MaxActors= of an inner job that does not set it */

#define OUTER                                                                                             \
        "[Job]\nDescription=Scheduler of %s\nEnvironment=" ENVIRONMENT_JOB_PREFIX "%s\nAlgorithm=ppo\n"   \
        "Seed=%" G_GUINT64_FORMAT "\nStopSteps=%" G_GUINT64_FORMAT "\n"                                   \
        "[Environment]\nRounds=%" G_GUINT64_FORMAT "\n%s%s%s"                                             \
        "[Scaling]\nActors=2\n"                                                                           \
        "[Actor]\nRolloutSteps=%" G_GUINT64_FORMAT "\nCarry=reset\nTimeoutSec=24h\n"                      \
        "[Learner]\nLearningRate=0.005\nGamma=0.99\nLambda=1\nClip=0.2\nEntropyWeight=0.01\n"             \
        "ValueWeight=0.5\nEpochs=4\nUpdates=full-batch\nHiddenLayers=64 64\nActivation=tanh\n[Billing]\n" \
        "PriceSheet=%s\n"

/* Reads and checks the inner job: the user's file without settings that an inner job cannot have. */
static ExitStatus load_inner(const Options *options, const char *file, JobFile *ret) {
        g_autoptr(GPtrArray) sets = g_ptr_array_new();
        ExitStatus status;

        for (guint i = 0; i < options->sets->len; i++)
                g_ptr_array_add(sets, options->sets->pdata[i]);
        g_ptr_array_add(sets, (gpointer) "Job.Budget=");
        g_ptr_array_add(sets, (gpointer) "Job.RuntimeMaxSec=");
        status = job_file_load(ret, file, sets);
        if (status != STATUS_OK || settings_present(&ret->settings, SETTING_Scaling_MaxActors) ||
                        ret->settings.n_actors > ACTORS_DEFAULT)
                return status;

        job_file_done(ret);
        g_ptr_array_add(sets, (gpointer) "Scaling.MaxActors=" G_STRINGIFY(ACTORS_DEFAULT));
        return job_file_load(ret, file, sets);
}

static uint64_t n_asked(const Options *options) {
        return options->n_episodes > 0 ? options->n_episodes : EPISODES_DEFAULT;
}

/* The price sheet of the outer job. A sheet that is a file may lie beside the user's file, but the outer job
 * has no file. */
static char *sheet_of(const JobFile *inner) {
        const char *name = inner->settings.price_sheet;

        return strchr(name, '/') ? job_file_path(inner, "Billing.PriceSheet", name) : g_strdup(name);
}

static ExitStatus load_outer(const Options *options, const char *file, const JobFile *inner, JobFile *ret) {
        g_autofree char *base = g_path_get_basename(file), *sheet = sheet_of(inner), *text = NULL;
        g_autofree char *sections = settings_print_inner(&inner->settings);
        uint64_t n_steps = n_asked(options) * options->n_rounds;

        text = g_strdup_printf(OUTER "%s", base, base, inner->settings.seed, n_steps, options->n_rounds,
                        options->target ? "Target=" : "", options->target ? options->target : "",
                        options->target ? "\n" : "", options->n_rounds, sheet, sections);
        return job_file_load_text(ret, base, text, NULL);
}

/* Refuses settings that an inner job cannot have. Messages have the lines of the user's file, since the
 * submitted text differs from this file. */
static ExitStatus check_inner(const Options *options, const JobFile *inner) {
        g_autofree JobSettings *outer = g_new0(JobSettings, 1);
        g_autofree char *message = NULL;

        if (options->target) {
                outer->options[0] = (ActordOption){ .key = "Target" };
                outer->n_options = 1;
        } else if (!isfinite(minions_target(&inner->settings))) {
                complain("%s: the return that a run must reach is not known: give it with "
                         "--target=RETURN, or with StopReturn= in [Job]",
                                inner->file_name);
                return STATUS_USAGE;
        }
        if (settings_check_inner(outer, &inner->settings, inner->text, inner->file_name, &message) >= 0)
                return STATUS_OK;
        (void) fflush(stdout);
        fprintf(stderr, "%s\n", message);
        return STATUS_USAGE;
}

/* Warns that the new scheduler will replace the user's own of this name, or hide one that came with actord:
 * in jobs, a name refers first to the user's own scheduler. */
static void say_replaced(const char *name, const char *own) {
        g_autofree char *shipped = trained_shipped_path(name);

        if (g_file_test(own, G_FILE_TEST_EXISTS))
                complain("this replaces your scheduler %s (%s); --name= chooses another name", name, own);
        else if (shipped)
                complain("minions:%s will then mean this scheduler instead of %s, which came with "
                         "actord; --name= chooses another name",
                                name, shipped);
}

/* Tries early whether the result can be written, so that hours of training are not lost. */
static ExitStatus check_place(const Options *options, const char *name) {
        g_autofree char *path = trained_own_path(name);
        int r = trained_try_write(path);

        if (r < 0) {
                complain("the scheduler could not be written to %s: %s; set XDG_DATA_HOME to use another "
                         "directory",
                                path, g_strerror(-r));
                return STATUS_FAILED;
        }
        if (!options->quiet)
                say_replaced(name, path);
        return STATUS_OK;
}

/* Copies as many bytes as there is room for, and cuts between characters. */
static void put_words(char *to, size_t size, const char *words) {
        const char *end;

        (void) g_strlcpy(to, words, size);
        if (!g_utf8_validate(to, -1, &end))
                memset(to + (end - to), 0, size - (size_t) (end - to));
}

/* Adds the cost of the scheduler with which this training began, and of the schedulers before that. */
static void put_start(const Trained *from, MinionsModel *model) {
        put_words(model->start, sizeof(model->start), from->name);
        put_words(model->start_environment, sizeof(model->start_environment), from->model.environment);
        model->start_episodes = from->model.start_episodes + from->model.n_episodes;
        model->start_wall_nsec = from->model.start_wall_nsec + from->model.wall_nsec;
        model->start_paper = from->model.start_paper + from->model.cost_paper;
        model->start_full = from->model.start_full + from->model.cost_full;
}

/* A training of a scheduler with this name, for this job. from: the scheduler with which it begins; NULL: it
 * begins with random numbers. */
typedef struct Training {
        const Options *options;
        const char *file, *name;
        const JobSettings *inner;
        const Trained *from;
} Training;

static bool was_interrupted(const JobStatus *status) {
        return job_exit_status(status) == STATUS_INTERRUPTED;
}

static void *make_file(const Training *t, const JobStatus *status, const JobBill *bill, bool finished,
                int checkpoint_fd, size_t *ret_n, char **ret_message) {
        uint32_t n_choices = settings_actors_max(t->inner);
        size_t n = sizeof(MinionsModel) + MINIONS_PARAMETERS(n_choices) * sizeof(float);
        g_autofree MinionsModel *model = g_malloc0(n);
        g_autofree char *base = g_path_get_basename(t->file);

        *model = (MinionsModel){
                .magic = MINIONS_MAGIC,
                .abi = MINIONS_ABI,
                .struct_bytes = sizeof(MinionsModel),
                .n_choices = n_choices,
                .n_asked = finished ? 0 : (uint32_t) n_asked(t->options),
                .target = t->options->target ? g_ascii_strtod(t->options->target, NULL)
                                             : minions_target(t->inner),
                .seed = t->inner->seed,
                .n_episodes = status->n_episodes,
                .n_rounds = status->n_env_steps,
                .wall_nsec = status->wall_nsec,
                .emulated_nsec = status->emulated_nsec,
                .trained_usec = status->ended_usec > 0 ? status->ended_usec : (uint64_t) g_get_real_time(),
                .beta = JOB_BETA_DEFAULT,
                .cost_paper = bill->paper,
                .cost_full = bill->full,
        };
        put_words(model->job, sizeof(model->job), base);
        put_words(model->environment, sizeof(model->environment), t->inner->environment);
        put_words(model->currency, sizeof(model->currency), bill->currency);
        put_words(model->price_sheet, sizeof(model->price_sheet), bill->price_sheet);
        if (t->from)
                put_start(t->from, model);
        if (trained_network_read(checkpoint_fd, n_choices, (float *) (model + 1), ret_message) < 0)
                return NULL;
        *ret_n = n;
        return g_steal_pointer(&model);
}

static ExitStatus store(const Options *options, const char *name, const void *data, size_t n) {
        g_autofree char *path = trained_own_path(name), *message = NULL;
        g_autoptr(Trained) trained = NULL;
        int r;

        r = file_write(path, data, n);
        if (r < 0) {
                complain("the scheduler cannot be written to %s: %s", path, g_strerror(-r));
                return STATUS_FAILED;
        }
        trained = trained_open(name, &message);
        if (!trained) {
                complain("%s", message);
                return STATUS_FAILED;
        }
        trained_print(trained, options);
        return STATUS_OK;
}

/* Keeps the result of an interrupted training as NAME.unfinished, so that no job uses it by mistake:
 * minions:NAME keeps its old meaning. */
static ExitStatus store_unfinished(const Training *t, const JobStatus *status, const void *data, size_t n) {
        g_autofree char *name = g_strdup_printf(
                        "%.*s" UNFINISHED, (int) (TRAINED_NAME_MAX - strlen(UNFINISHED)), t->name);
        ExitStatus stored = store(t->options, name, data, n);

        if (stored != STATUS_OK)
                return stored;
        complain("interrupted after %" PRIu64 " of at least %" PRIu64 " runs: the scheduler learned so "
                 "far is kept as %s; to train it further, use --from=%s",
                        status->n_episodes, n_asked(t->options), name, name);
        return STATUS_INTERRUPTED;
}

static ExitStatus store_of(const Training *t, Connection *connection, const char *path,
                const JobStatus *status, bool finished, int checkpoint_fd) {
        g_autofree char *message = NULL;
        g_autofree void *data = NULL;
        g_autoptr(JobBill) bill = NULL;
        size_t n;

        if (job_bill_fetch(connection, path, NULL, &bill) < 0)
                return STATUS_FAILED;
        data = make_file(t, status, bill, finished, checkpoint_fd, &n, &message);
        if (!data) {
                complain("%s", message);
                return STATUS_FAILED;
        }
        return finished ? store(t->options, t->name, data, n) : store_unfinished(t, status, data, n);
}

static ExitStatus keep(
                const Training *t, Connection *connection, const char *path, const JobStatus *status) {
        _cleanup_close_ int fd = -EBADF;
        ExitStatus received;

        job_result_complain(status);
        if (job_exit_status(status) != STATUS_OK && !was_interrupted(status))
                return job_exit_status(status);
        if (status->n_env_steps == 0) {
                complain("interrupted before the first runs had ended: nothing was learned or kept");
                return STATUS_INTERRUPTED;
        }
        received = job_checkpoint_receive(connection, path, "training's checkpoint", &fd);
        if (received != STATUS_OK)
                return received;
        return store_of(t, connection, path, status, !was_interrupted(status), fd);
}

/* Keeps what there is of a training that the user left while its records waited for disk space. The last
 * checkpoint is a file already, unless there was no space for it. */
static ExitStatus leave(const Training *t, Connection *connection, const char *path, JobStatus *status) {
        g_autofree char *rest = NULL, *checkpoint = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (follow_keep_rest(connection, &rest) < 0 || job_status_fetch(status, connection, path) < 0)
                return STATUS_FAILED;
        checkpoint = run_checkpoint_path(connection, status);
        if (status->n_env_steps == 0) {
                complain("interrupted before the first runs had ended: nothing was learned or kept");
                return STATUS_ENDING;
        }
        fd = open(checkpoint, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                (void) store_of(t, connection, path, status, status->n_episodes >= n_asked(t->options), fd);
        else
                complain("no scheduler of this training is kept: its last checkpoint was not written");
        return STATUS_ENDING;
}

static ExitStatus compare_currency(const char *currency, const Trained *from) {
        if (strcmp(currency, from->model.currency) == 0)
                return STATUS_OK;
        complain("--from=%s: that training was paid for in %s, and this one would be in %s, so their bills "
                 "cannot be added up; name a price sheet in %s with --set Billing.PriceSheet=",
                        from->name, from->model.currency, currency, from->model.currency);
        return STATUS_USAGE;
}

/* A sheet without a currency is accepted here, and refused by the daemon. */
static ExitStatus check_sheet(const char *sheet, const Trained *from) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autofree char *currency = NULL;

        if (g_key_file_load_from_data(file, sheet, (gsize) -1, G_KEY_FILE_NONE, NULL))
                currency = g_key_file_get_value(file, "Sheet", "Currency", NULL);
        return currency ? compare_currency(g_strstrip(currency), from) : STATUS_OK;
}

/* Checks that the bill of this training and that of --from= will be in one currency, since only then can
 * they be added. The check comes before the training costs money. */
static ExitStatus check_currency(Connection *connection, const JobFile *outer, const Trained *from) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *name, *currency;
        int r;

        if (outer->sheet)
                return check_sheet(outer->sheet, from);
        if (connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "ListPriceSheets", &reply, NULL) <
                        0)
                return STATUS_FAILED;
        r = sd_bus_message_enter_container(reply, 'a', "(sssss)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(sssss)", &name, NULL, NULL, &currency, NULL)) > 0)
                if (strcmp(name, outer->settings.price_sheet) == 0)
                        return compare_currency(currency, from);
        if (r < 0)
                complain("the list of price sheets cannot be read: %s", g_strerror(-r));
        return r < 0 ? STATUS_FAILED : STATUS_OK;
}

static ExitStatus run(const Training *t, const JobFile *outer) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        if (connection_open_private(true, &connection) < 0)
                return STATUS_FAILED;
        status = t->from ? check_currency(connection, outer, t->from) : STATUS_OK;
        if (status != STATUS_OK)
                return status;
        status = job_file_follow(connection, t->options, outer, NULL, &path, &job);
        if (status == STATUS_INTERRUPTED)
                complain("ended at once: nothing of this training is kept");
        if (status == STATUS_ENDING)
                return leave(t, connection, path, &job);
        return status == STATUS_OK ? keep(t, connection, path, &job) : status;
}

static char *name_of(const Options *options, const char *file) {
        g_autofree char *base = g_path_get_basename(file);

        if (options->name)
                return g_strdup(options->name);
        if (g_str_has_suffix(base, ".conf"))
                base[strlen(base) - strlen(".conf")] = '\0';
        return g_steal_pointer(&base);
}

/* Reads the network with which the training begins. It has one output for each number of actors, so it fits
 * only a job with the same MaxActors=. */
static ExitStatus begin_with(
                const Options *options, const JobSettings *inner, Trained **ret_from, int *ret_fd) {
        g_autoptr(Trained) from = NULL;
        g_autofree char *message = NULL;

        if (!options->from)
                return STATUS_OK;
        from = trained_open(options->from, &message);
        if (!from) {
                complain("--from=%s: %s", options->from, message);
                return STATUS_USAGE;
        }
        if (from->model.n_choices != settings_actors_max(inner)) {
                complain("--from=%s: this scheduler was trained for up to %" PRIu32
                         " actors, but the job allows %" PRIu32 "; use --set Scaling.MaxActors=%" PRIu32,
                                options->from, from->model.n_choices, settings_actors_max(inner),
                                from->model.n_choices);
                return STATUS_USAGE;
        }
        *ret_fd = trained_network_open(from);
        if (*ret_fd < 0) {
                complain("--from=%s: its network cannot be sent: %s", options->from, g_strerror(-*ret_fd));
                return STATUS_FAILED;
        }
        *ret_from = g_steal_pointer(&from);
        return STATUS_OK;
}

ExitStatus train(const Options *options, const char *file) {
        g_autofree char *name = name_of(options, file);
        g_autoptr(Trained) from = NULL;
        JobFile inner = JOB_FILE_NONE, outer = JOB_FILE_NONE;
        ExitStatus status;

        if (!trained_name_valid(name)) {
                complain("--name=%s: a scheduler's name may have only letters, digits, '.', '_' and '-'",
                                name);
                return STATUS_USAGE;
        }
        follow_prepare();
        status = load_inner(options, file, &inner);
        if (status == STATUS_OK)
                status = check_inner(options, &inner);
        if (status == STATUS_OK)
                status = load_outer(options, file, &inner, &outer);
        if (status == STATUS_OK)
                status = begin_with(options, &inner.settings, &from, &outer.checkpoint_fd);
        if (status == STATUS_OK)
                status = check_place(options, name);
        outer.with_stderr = true;
        outer.n_runs = n_asked(options);
        if (status == STATUS_OK)
                status = run(&(Training){ options, file, name, &inner.settings, from }, &outer);
        job_file_done(&outer);
        job_file_done(&inner);
        return status;
}
