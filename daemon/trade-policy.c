/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the file of a policy. The daemon itself parses this file, and every user who may write into the
 * folder can put any file there. So every size is checked before it is used, as in a user's checkpoint, and
 * each refusal says what is wrong. Only layers that act are read. */
#include "daemon/trade-policy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "include/environments.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/cleanup.h"
#include "lib/company.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/settings/print.h"
#include "lib/settings/shares-text.h"
#include "lib/shares.h"
#include "lib/slot.h"

#define FOLDER_OF_HOST "/etc/actord/shares"
#define HOW_TO_MAKE \
        "`actorctl run` with examples/shares-simppo.conf and `actorctl export RUN --weights-only` make one"

/* A refusal lists at most NAMES_MAX policies. To find them, the daemon looks at no more than
 * NAMES_LOOKED_MAX files of each folder. */
enum { NAMES_MAX = 20, NAMES_LOOKED_MAX = 1000 };

struct TradePolicy {
        unsigned n_users;
        struct stat file; /* the file from which the policy was read */
        Network network;
        PolicyLayout layout;
        Forward *forward;
        uint8_t *bank;
};

DEFINE_CLEANUP(TradePolicy *, trade_policy_free)

/* All policies that jobs use. Jobs that trade by the same file share one. */
static GList *policies;

GStrv trade_directories(bool system) {
        g_autoptr(GPtrArray) paths = g_ptr_array_new();

        if (!system)
                g_ptr_array_add(paths, g_build_filename(g_get_user_config_dir(), "actord", "shares", NULL));
        g_ptr_array_add(paths, g_strdup(FOLDER_OF_HOST));
        g_ptr_array_add(paths, NULL);
        return (GStrv) g_ptr_array_steal(paths, NULL);
}

static int refuse(char **ret_reason, int error, const char *format, ...)
                __attribute__((format(printf, 3, 4)));
static int refuse(char **ret_reason, int error, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        *ret_reason = g_strdup_vprintf(format, ap);
        va_end(ap);
        return error;
}

/* Reads the sizes of layers, such as "64 64". Returns whether the text is such a list within the limits. */
static bool read_layers(const char *text, setting_u32list *ret) {
        g_auto(GStrv) words = g_strsplit(text, " ", SHARES_LAYERS_MAX + 2);
        setting_u32list list = {};

        for (char **word = words; *word; word++) {
                guint64 n;

                if (list.n >= SHARES_LAYERS_MAX ||
                                !g_ascii_string_to_unsigned(*word, 10, 0, SHARES_UNITS_MAX, &n, NULL))
                        return false;
                list.values[list.n++] = (uint32_t) n;
        }
        *ret = list;
        return list.n > 0;
}

/* Reads the settings of the training job that determine the network. */
static int read_settings(const Checkpoint *c, JobSettings *ret, char **ret_reason) {
        const char *environment = safetensors_metadata(c->file, METADATA_ENVIRONMENT);
        const char *algorithm = safetensors_metadata(c->file, "Job.Algorithm");
        const char *layers = safetensors_metadata(c->file, "Learner.HiddenLayers");
        const char *activation = safetensors_metadata(c->file, "Learner.Activation");
        const char *clip = safetensors_metadata(c->file, "Learner.ObservationClip");
        const char *shared = safetensors_metadata(c->file, "Learner.SharedNetwork");
        int word;

        if (!c->parameters)
                return refuse(ret_reason, -EBADMSG,
                                "it is a whole checkpoint; `actorctl export FILE --weights-only` makes a "
                                "policy of it");
        if (!environment || strcmp(environment, "shares") != 0 || !algorithm ||
                        strcmp(algorithm, choice_algorithm_to_string(ALGORITHM_SIMPPO)) != 0)
                return refuse(ret_reason, -EBADMSG,
                                "it is not a policy that Algorithm=simppo learned on Environment=shares:N; "
                                "%s",
                                HOW_TO_MAKE);
        if (safetensors_metadata(c->file, METADATA_INPUTS))
                return refuse(ret_reason, -EBADMSG,
                                "it was trained with PolicyInputAugmentation=, which Shares= does not "
                                "support; %s",
                                HOW_TO_MAKE);
        word = activation ? choice_activation_from_string(activation) : -EINVAL;
        if (!layers || !read_layers(layers, &ret->hidden_layers) || word < 0)
                return refuse(ret_reason, -EBADMSG,
                                "its HiddenLayers= or Activation= is missing or too large: at most %u "
                                "layers of at most %u units are read here; %s",
                                SHARES_LAYERS_MAX, SHARES_UNITS_MAX, HOW_TO_MAKE);
        ret->algorithm = ALGORITHM_SIMPPO;
        ret->activation = (uint32_t) word;
        ret->shared_network = shared && strcmp(shared, "yes") == 0;
        ret->observation_clip = clip ? g_ascii_strtod(clip, NULL) : 0;
        return 0;
}

static int make_network(const JobSettings *settings, TradePolicy *policy) {
        ActordEnvSpec spec = { .name = "shares", .n_agents = 1 };
        int r;

        shares_spaces(&spec);
        r = company_spec(settings, &spec, &spec);
        if (r < 0)
                return r;
        r = network_derive(settings, &spec, &policy->network);
        if (r < 0)
                return r;
        assert(policy->network.n_observation == SHARES_N_INPUTS);
        r = policy_layout(&policy->network, NULL, POLICY_BANKS, &policy->layout);
        if (r < 0)
                return r;
        policy->bank = aligned_alloc(64, (policy->layout.bank_bytes + 63) / 64 * 64);
        if (!policy->bank)
                return -ENOMEM;
        memset(policy->bank, 0, policy->layout.bank_bytes);
        return forward_new(&policy->network, &spec, &policy->forward);
}

/* Whether the tensor belongs to a layer that computes actions. */
static bool acts(const Network *network, const char *tensor) {
        uint64_t acting = network_acting_layers(network);

        for (uint32_t i = 0; i < network->n_layers; i++) {
                size_t n = strlen(network->layers[i].name);

                if (strncmp(tensor, network->layers[i].name, n) == 0 && strchr(".", tensor[n]))
                        return acting >> i & 1;
        }
        return false;
}

static int read_row(const Checkpoint *c, TensorRow *row, char **ret_reason) {
        char reason[SAFETENSORS_REASON_MAX];
        const float *numbers = row->data;
        int r;

        r = checkpoint_read(c, row, reason);
        if (r < 0)
                return refuse(ret_reason, r, "%s; " HOW_TO_MAKE, reason);
        for (uint64_t i = 0; i < tensor_bytes(row) / sizeof(float); i++)
                if (!isfinite(numbers[i]))
                        return refuse(ret_reason, -EBADMSG,
                                        "\"%s\" holds a number that is not finite; train it anew",
                                        row->name);
        return 0;
}

/* Reads the means and deviations of observations, which the file has with NormalizeObservations=yes. */
static int read_scales(const Checkpoint *c, double clip, TradePolicy *policy, char **ret_reason) {
        TensorRow rows[] = { { .name = "observation.mean",
                                             .dtype = "F32",
                                             .n_dims = 1,
                                             .shape = { SHARES_N_INPUTS },
                                             .data = policy->bank + policy->layout.mean_at },
                { .name = "observation.inverse_sd",
                                .dtype = "F32",
                                .n_dims = 1,
                                .shape = { SHARES_N_INPUTS },
                                .data = policy->bank + policy->layout.inverse_sd_at } };
        const char *normalised = safetensors_metadata(c->file, "Learner.NormalizeObservations");
        int r;

        if (!normalised || strcmp(normalised, "yes") != 0)
                return 0;
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                r = read_row(c, &rows[i], ret_reason);
                if (r < 0)
                        return r;
        }
        if (!(clip >= 0 && clip <= 1e9))
                return refuse(ret_reason, -EBADMSG, "its ObservationClip= is not a number; " HOW_TO_MAKE);
        ((PolicyHead *) (void *) policy->bank)->observation_clip = clip > 0 ? clip : 1e9;
        return 0;
}

static int read_tensors(const Checkpoint *c, TradePolicy *policy, char **ret_reason) {
        g_autofree TensorRow *rows = g_new0(TensorRow, 2 * LAYERS_MAX);
        size_t n = checkpoint_network_rows(c->format, NETWORK_POLICY, &policy->network,
                        (float *) (void *) (policy->bank + policy->layout.parameters_at), rows);

        for (size_t i = 0; i < n; i++) {
                int r = acts(&policy->network, rows[i].name) ? read_row(c, &rows[i], ret_reason) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

static bool is_same(struct timespec a, struct timespec b) {
        return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The policy that was read from this file, if a job uses it and the file has not changed since. */
static TradePolicy *find_used(const struct stat *st) {
        for (GList *i = policies; i; i = i->next) {
                TradePolicy *policy = i->data;
                const struct stat *file = &policy->file;

                if (file->st_dev == st->st_dev && file->st_ino == st->st_ino &&
                                file->st_size == st->st_size && is_same(file->st_mtim, st->st_mtim) &&
                                is_same(file->st_ctim, st->st_ctim))
                        return policy;
        }
        return NULL;
}

static int check_file(int fd, struct stat *ret, char **ret_reason) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return refuse(ret_reason, -errno, "it cannot be read: %s", g_strerror(errno));
        if (!S_ISREG(st.st_mode))
                return refuse(ret_reason, -EBADMSG,
                                "it is not a regular file; put the policy's own file there");
        if (st.st_size > (off_t) SHARES_FILE_MAX)
                return refuse(ret_reason, -EFBIG,
                                "it has %" G_GUINT64_FORMAT
                                " bytes, and such a policy has at most %u; " HOW_TO_MAKE,
                                (guint64) st.st_size, SHARES_FILE_MAX);
        *ret = st;
        return 0;
}

static int read_file(int fd, const struct stat *st, TradePolicy **ret, char **ret_reason) {
        _cleanup_(trade_policy_freep) TradePolicy *policy = g_new0(TradePolicy, 1);
        _cleanup_(checkpoint_close) Checkpoint c = {};
        g_autofree JobSettings *settings = g_new0(JobSettings, 1);
        char reason[SAFETENSORS_REASON_MAX];
        int r;

        policy->file = *st;
        r = checkpoint_open(fd, &c, reason);
        if (r < 0)
                return refuse(ret_reason, r, "%s; copy it again, or train it anew", reason);
        r = read_settings(&c, settings, ret_reason);
        if (r < 0)
                return r;
        r = make_network(settings, policy);
        if (r < 0)
                return refuse(ret_reason, r, "its network cannot be made: %s; " HOW_TO_MAKE, g_strerror(-r));
        r = read_tensors(&c, policy, ret_reason);
        if (r < 0)
                return r;
        r = read_scales(&c, settings->observation_clip, policy, ret_reason);
        if (r < 0)
                return r;

        forward_load(policy->forward, (const PolicyHead *) (const void *) policy->bank, &policy->layout);
        *ret = TAKE_PTR(policy);
        return 0;
}

int trade_policy_read(int fd, TradePolicy **ret, char **ret_reason) {
        TradePolicy *policy;
        struct stat st;
        int r;

        assert(fd >= 0);
        assert(ret);
        assert(ret_reason);

        r = check_file(fd, &st, ret_reason);
        if (r < 0)
                return r;
        policy = find_used(&st);
        if (!policy) {
                r = read_file(fd, &st, &policy, ret_reason);
                if (r < 0)
                        return r;
                policies = g_list_prepend(policies, policy);
        }
        policy->n_users++;
        *ret = policy;
        return 0;
}

TradePolicy *trade_policy_free(TradePolicy *policy) {
        if (!policy)
                return NULL;
        if (policy->n_users > 1) {
                policy->n_users--;
                return NULL;
        }

        policies = g_list_remove(policies, policy);
        (void) forward_free(policy->forward);
        free(policy->bank);
        g_free(policy);
        return NULL;
}

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The names of the policies in the folders, such as "eight, four"; "none" if there is none. A list that is
 * too long ends with "and more". */
static char *names_in(GStrv directories) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        bool all = true;

        for (char **path = directories; *path; path++) {
                g_autoptr(GDir) directory = g_dir_open(*path, 0, NULL);
                unsigned n_looked = 0;
                const char *file;

                while (directory && all && (file = g_dir_read_name(directory))) {
                        g_autofree char *bare = NULL;

                        all = n_looked++ < NAMES_LOOKED_MAX;
                        if (!all || !g_str_has_suffix(file, SHARES_SUFFIX))
                                continue;
                        bare = g_strndup(file, strlen(file) - strlen(SHARES_SUFFIX));
                        if (!shares_name_valid(bare) ||
                                        g_ptr_array_find_with_equal_func(names, bare, g_str_equal, NULL))
                                continue;
                        all = names->len < NAMES_MAX;
                        if (all)
                                g_ptr_array_add(names, g_steal_pointer(&bare));
                }
        }
        if (names->len == 0 && all)
                return g_strdup("none");
        g_ptr_array_sort(names, by_name);
        if (!all)
                g_ptr_array_add(names, g_strdup("and more"));
        g_ptr_array_add(names, NULL);
        return g_strjoinv(", ", (GStrv) names->pdata);
}

int trade_policy_find(GStrv directories, const char *name, TradePolicy **ret, char **ret_reason) {
        g_autofree char *known = NULL, *folders = NULL;

        assert(directories);
        assert(shares_name_valid(name));

        for (char **path = directories; *path; path++) {
                g_autofree char *file = g_strconcat(*path, "/", name, SHARES_SUFFIX, NULL), *reason = NULL;
                _cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
                int r;

                if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
                        continue;
                if (fd < 0)
                        return refuse(ret_reason, -errno,
                                        "%s cannot be opened: %s; actord must be able to read it", file,
                                        g_strerror(errno));
                r = trade_policy_read(fd, ret, &reason);
                return r < 0 ? refuse(ret_reason, r, "%s cannot be used: %s", file, reason) : 0;
        }
        known = names_in(directories);
        folders = g_strjoinv(" or ", directories);
        return refuse(ret_reason, -ENOENT,
                        "no policy of this name is installed (installed: %s); put the file that "
                        "`actorctl export RUN --weights-only` wrote into %s, as %s%s",
                        known, folders, name, SHARES_SUFFIX);
}

SharesAction trade_policy_choose(const TradePolicy *policy, const float inputs[SHARES_N_INPUTS]) {
        float logits[SHARES_N_ACTIONS * 2];
        int32_t choice;

        assert(policy);
        assert(forward_parameters(&policy->network) <= G_N_ELEMENTS(logits));

        forward_row(policy->forward, inputs, logits);
        action_sample(&policy->network, logits, true, NULL, &choice, NULL);
        return (SharesAction) choice;
}
