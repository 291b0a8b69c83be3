/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job begins from a checkpoint, from the parameters of another job, or from nothing. A file may be cut
 * short, belong to another job, or be forged, so its numbers are checked before they are used. If it is
 * refused, the learner says why, and stops. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "learner/kernel/finite.h"
#include "learner/learner.h"
#include "lib/algorithm-traits.h"
#include "lib/arrival.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/cleanup.h"
#include "lib/fragment.h"
#include "lib/rng.h"
#include "lib/settings/print.h"
#include "lib/slot.h"

/* r: -EBADMSG: the checkpoint is damaged; -EPROTONOSUPPORT: it has a newer format; -ENOMSG: it is not one of
 * actord's; -EMEDIUMTYPE: it belongs to another job; or an error of reading. The sentence goes to the
 * journal. The daemon gets only the number, for which lib/string-tables.c has a sentence. */
__attribute__((format(printf, 2, 3))) static int refuse(int r, const char *format, ...) {
        va_list values;

        (void) fprintf(stderr, "actord-learner: the checkpoint is refused: ");
        va_start(values, format);
        (void) vfprintf(stderr, format, values);
        va_end(values);
        (void) fputc('\n', stderr);
        return r;
}

static int refuse_numbers(void) {
        return refuse(-EBADMSG, "some of its numbers are impossible: the file is damaged");
}

/* Another version of the arithmetic computed the rounds so far, and this one computes the rest. So the job
 * gets a policy that neither version alone would give. The learner says so, and notes it in all its
 * checkpoints from now on. */
static void note_arithmetic(Learner *l, const Checkpoint *checkpoint) {
        const char *before = safetensors_metadata(checkpoint->file, METADATA_ARITHMETIC_BEFORE);
        size_t n = sizeof(l->arithmetic_before), at;

        (void) snprintf(l->arithmetic_before, n, "%s", before ?: "");
        if (checkpoint->arithmetic == ARITHMETIC)
                return;

        at = strlen(l->arithmetic_before);
        (void) snprintf(l->arithmetic_before + at, n - at, "%s%u until round %" PRIu64, at > 0 ? ", " : "",
                        checkpoint->arithmetic, l->round);
        (void) fprintf(stderr,
                        "actord-learner: the checkpoint of round %" PRIu64 " was computed by version %u "
                        "of actord's arithmetic; the job goes on with version %u, so its policy will "
                        "differ from the policy of either version alone\n",
                        l->round, checkpoint->arithmetic, ARITHMETIC);
}

static void note_option(const char *key, const char *theirs, const char *ours) {
        (void) fprintf(stderr,
                        "actord-learner: the checkpoint has [Environment] %.32s=%.80s, but the job has "
                        "%.80s; the job goes on with its own\n",
                        key, theirs ?: " unset", ours ?: "none");
}

/* A job may go on in a harder task than the one in which it began. So options of the environment may change,
 * and the learner only says which have. */
static void note_options(const Learner *l, const Safetensors *file) {
        static const char prefix[] = "Environment.";
        const JobSettings *settings = l->context.settings;
        size_t n, n_prefix = sizeof(prefix) - 1;
        const MetadataRow *rows = safetensors_metadata_rows(file, &n);
        char key[64];

        for (size_t i = 0; i < n; i++) {
                const char *theirs = rows[i].key + n_prefix;
                const ActordOption *ours = NULL;

                if (strncmp(rows[i].key, prefix, n_prefix) != 0)
                        continue;
                ours = settings_option(settings, theirs);
                if (!ours || strcmp(ours->value, rows[i].value) != 0)
                        note_option(theirs, rows[i].value, ours ? ours->value : NULL);
        }
        for (uint32_t i = 0; i < settings->n_options; i++) {
                (void) snprintf(key, sizeof(key), "%s%.32s", prefix, settings->options[i].key);
                if (!safetensors_metadata(file, key))
                        note_option(settings->options[i].key, NULL, settings->options[i].value);
        }
}

/* The settings that decide what the parameters mean, even if tensors of the same shapes fit. */
static const Setting meaning[] = {
        SETTING_Learner_Activation,
        SETTING_Learner_Convolutions, /* strides and padding may differ while all shapes are equal */
        SETTING_Learner_InputAugmentation,
        SETTING_Learner_LinkEditing,
        SETTING_Learner_PolicyInputAugmentation,
        SETTING_Learner_PolicyLinkEditing,
        SETTING_Learner_NormalizeObservations,
        SETTING_Learner_ControllerF,
        SETTING_Learner_ControllerGain,
        SETTING_Learner_ResidualScale,
};

static const char *metadata_of(const Safetensors *file, const SettingRow *row) {
        char key[64];

        (void) snprintf(key, sizeof(key), "%s.%s", row->section, row->key);
        return safetensors_metadata(file, key);
}

/* A setting as the file and the job have it. */
typedef struct Sides {
        const SettingRow *row;
        const char *theirs; /* NULL: the file does not say */
        char ours[SETTING_TEXT_MAX];
} Sides;

/* Whether the file says that its job had another value. */
static bool differs(const Learner *l, const Safetensors *file, Setting setting, Sides *ret) {
        ret->row = setting_row(setting);
        ret->theirs = metadata_of(file, ret->row);
        (void) setting_print(l->context.settings, setting, ret->ours);
        return ret->theirs && strcmp(ret->theirs, ret->ours) != 0;
}

#define MEANS_OTHER "with which its parameters would mean something else; set it back"

/* Consistency and diffusion make actions out of noise by the same tensors, but from other outputs of the
 * network. The steps of a diffusion depend on their number; a consistency policy may act by any number. */
static int check_denoiser(const Learner *l, const Safetensors *file) {
        const JobSettings *settings = l->context.settings;
        const char *word = metadata_of(file, setting_row(SETTING_Job_Algorithm));
        const char *passes = metadata_of(file, setting_row(SETTING_Learner_Passes));
        int before = word ? choice_algorithm_from_string(word) : -EINVAL;
        const AlgorithmRow *theirs, *ours = algorithm_row(settings->algorithm);
        uint32_t n = algorithm_acting_passes(settings);
        char usual[16];

        if (before < 0 || n == 0)
                return 0;
        theirs = algorithm_row((uint32_t) before);
        if (theirs->acting_passes == 0)
                return 0;
        if (theirs->acting != ours->acting)
                return refuse(-EMEDIUMTYPE, "it has [Job] Algorithm=%s, but the job has %s, " MEANS_OTHER,
                                word, choice_algorithm_to_string(settings->algorithm));
        (void) snprintf(usual, sizeof(usual), "%" PRIu32, theirs->acting_passes);
        passes = passes && *passes ? passes : usual;
        if (ours->acting == ACTING_DIFFUSION && strtoul(passes, NULL, 10) != n)
                return refuse(-EMEDIUMTYPE,
                                "it has [Learner] Passes=%.80s, but the job has %" PRIu32 ", " MEANS_OTHER,
                                passes, n);
        return 0;
}

static int check_meaning(const Learner *l, const Safetensors *file) {
        for (size_t k = 0; k < ELEMENTSOF(meaning); k++) {
                Sides s;

                if (differs(l, file, meaning[k], &s))
                        return refuse(-EMEDIUMTYPE,
                                        "it has [%s] %s=%.80s, but the job has %.80s, " MEANS_OTHER,
                                        s.row->section, s.row->key, *s.theirs ? s.theirs : " unset",
                                        *s.ours ? s.ours : "none");
        }
        return check_denoiser(l, file);
}

static int check_metadata(const Learner *l, const Checkpoint *checkpoint) {
        const char *environment = safetensors_metadata(checkpoint->file, METADATA_ENVIRONMENT);

        if (!environment || strcmp(environment, l->context.page->spec.name) != 0)
                return refuse(-EMEDIUMTYPE, "it is of the environment \"%s\", the job's is \"%s\"",
                                environment ?: "unknown", l->context.page->spec.name);
        return check_meaning(l, checkpoint->file);
}

/* Rounds that overlap go on with policy versions that the checkpoint holds, and only a policy with several
 * candidates has critics in each version. */
static int check_candidates(const Learner *l, const Safetensors *file) {
        const SettingRow *row = setting_row(SETTING_Learner_Candidates);
        const char *theirs = metadata_of(file, row) ?: row->fallback;
        uint32_t ours = l->context.settings->candidates;

        if (!distribution_overlaps(distribution_of(l->context.settings)) ||
                        (strtoul(theirs, NULL, 10) > 1) == (ours > 1))
                return 0;
        return refuse(-EMEDIUMTYPE,
                        "it has [Learner] Candidates=%.80s, but the job has %" PRIu32
                        ": under [Distribution] Policy=async unfinished rollouts go on with earlier "
                        "policies, which hold critics only if there are several candidates; set it back",
                        theirs, ours);
}

/* The settings that, with the environment, decide which tensors there are, and their shapes. */
static const Setting shaping[] = {
        SETTING_Job_Algorithm,
        SETTING_Distribution_Policy,
        SETTING_Scaling_Actors,
        SETTING_Scaling_MaxActors,
        SETTING_Actor_EnvsPerActor,
        SETTING_Actor_RolloutSteps,
        SETTING_Learner_BufferBatches,
        SETTING_Learner_ReplaySize,
        SETTING_Learner_NoiseProcess,
        SETTING_Learner_HiddenLayers,
        SETTING_Learner_SharedNetwork,
};

static bool word_overlaps(const char *distribution) {
        int found = choice_distribution_from_string(distribution);
        const Distribution *row = found < 0 ? NULL : distribution_find((uint32_t) found);

        return row && distribution_overlaps(row);
}

/* Whether a setting's other value leaves all shapes as they are. */
static bool shapes_alike(const Sides *s) {
        return s->row == setting_row(SETTING_Distribution_Policy) &&
               word_overlaps(s->theirs) == word_overlaps(s->ours);
}

/* Prints ": the checkpoint has [Learner] ReplaySize=1000, but the job has 500; …"; "" if nothing differs. */
static void print_differences(const Learner *l, const Safetensors *file, char *ret, size_t n) {
        size_t at = 0;

        ret[0] = 0;
        for (size_t k = 0; k < ELEMENTSOF(shaping) && at < n; k++) {
                Sides s;

                if (differs(l, file, shaping[k], &s) && !shapes_alike(&s))
                        at += (size_t) snprintf(ret + at, n - at,
                                        "%s the checkpoint has [%s] %s=%.80s, but the job has %.80s",
                                        at > 0 ? ";" : ":", s.row->section, s.row->key,
                                        *s.theirs ? s.theirs : " unset", *s.ours ? s.ours : "none");
        }
}

static int refuse_shape(const Learner *l, const Safetensors *file, const char *tensor, bool missing) {
        const char *what = missing ? "is missing" : "has another shape than this job's";
        char differences[1024];

        print_differences(l, file, differences, sizeof(differences));
        if (!*differences)
                return refuse(-EMEDIUMTYPE, "its \"%s\" %s: network, actors or environments differ", tensor,
                                what);
        return refuse(-EMEDIUMTYPE, "its \"%s\" %s%s; set it back", tensor, what, differences);
}

/* An older version measured fewer statistics. The file lacks the newer ones, at the end of the list; they
 * count as not measured. */
static int read_statistics(const Safetensors *file, TensorRow *row) {
        double *numbers = row->data;
        uint64_t n = row->shape[0];
        int r;

        do
                r = safetensors_read(file, row);
        while (r == -EMEDIUMTYPE && --row->shape[0] > 0);
        for (uint64_t i = row->shape[0]; r >= 0 && i < n; i++)
                numbers[i] = NAN;
        return r;
}

/* Whether the tensor is state of the slots or of unfinished rollouts. Such state does not affect the newest
 * policy's actions in a new episode. */
static bool is_of_rollouts(const char *tensor) {
        return strncmp(tensor, "slots.", strlen("slots.")) == 0 || strcmp(tensor, "policy.banks") == 0;
}

static int read_tensors(Learner *l, const Checkpoint *checkpoint, bool plays) {
        const Safetensors *file = checkpoint->file;
        _cleanup_free_ TensorRow *rows = calloc(SAFETENSORS_ENTRIES_MAX, sizeof(TensorRow));
        size_t n;
        int r;

        if (!rows)
                return -ENOMEM;

        n = checkpoint->parameters ? learner_parameters(l, rows)
                                   : learner_tensors(l, checkpoint->format, NULL, rows);
        for (size_t i = 0; i < n; i++) {
                r = rows[i].data == &l->statistics ? read_statistics(file, &rows[i])
                                                   : safetensors_read(file, &rows[i]);
                if (r == -EMEDIUMTYPE && plays && is_of_rollouts(rows[i].name))
                        continue;
                if (r == -ENOENT || r == -EMEDIUMTYPE)
                        return refuse_shape(l, file, rows[i].name, r == -ENOENT);
                if (r < 0)
                        return refuse(r, "\"%s\" could not be read: %s", rows[i].name, strerror(-r));
        }
        return 0;
}

static bool normaliser_possible(const Normaliser *m) {
        return doubles_finite(&m->count, 1, 0.0) && doubles_finite(m->mean, m->n, -INFINITY) &&
               doubles_finite(m->m2, m->n, 0.0);
}

/* The largest value that a checkpoint may have for a counter that names random streams. Such a counter must
 * never reach the end of its range. A job that begins in the lower half is too short for that. */
#define NUMBER_MOST (RANDOM_ORDINAL_MAX / 2)

static bool streams_possible(const Learner *l) {
        for (uint32_t a = 0; a < l->batch->n_actors_max; a++)
                if (l->context.worker->ordinals[a] > NUMBER_MOST)
                        return false;
        return l->round <= NUMBER_MOST && l->policy_version <= NUMBER_MOST;
}

/* Whether this can be the state of slot s: its episode names a random stream, and a slot without an episode
 * has made no steps. */
static bool slot_possible(const Learner *l, const SlotState *state, uint32_t s) {
        return state->episode <= NUMBER_MOST && (state->episode > 0 || l->episodes->elapsed_steps[s] == 0);
}

/* An actor writes the states of its slots, and may change them until the checkpoint is written. So an
 * impossible state does not make a file useless. */
static bool slots_possible(const Learner *l) {
        const SegmentLayout *layout = &l->context.page->segment;

        for (uint32_t a = 0; a < l->batch->n_actors_max; a++)
                for (uint32_t e = 0; e < layout->envs; e++)
                        if (!slot_possible(l, segment_snapshot(l->context.segments[a], layout, 0, e),
                                            a * layout->envs + e))
                                return false;
        return true;
}

/* Checks the numbers on which later sums and indices rely. */
static bool numbers_possible(const Learner *l) {
        const Adam *net = l->runtime->nets[NET_POLICY];
        const EpisodeStatistics *episodes = l->episodes;
        bool updates = net->m != NULL;

        for (uint32_t i = 0; i < episodes->n_slots; i++)
                if (episodes->elapsed_steps[i] > INT64_MAX)
                        return false;
        return streams_possible(l) && episodes->n_env_steps <= INT64_MAX &&
               episodes->n_episodes <= INT64_MAX && net->step <= INT64_MAX &&
               floats_finite(net->parameters, net->n, -INFINITY) &&
               (!updates || (floats_finite(net->m, net->n, -INFINITY) &&
                                            floats_finite(net->v, net->n, 0.0f))) &&
               doubles_finite(episodes->running_return, episodes->n_slots, -INFINITY) &&
               doubles_finite(episodes->discounted_return, episodes->n_slots, -INFINITY) &&
               doubles_finite(episodes->returns, EPISODES_KEPT, -INFINITY) &&
               doubles_finite(l->runtime->state, ALGORITHM_STATE_MAX, -INFINITY) &&
               (!l->algorithm->possible || l->algorithm->possible(l->runtime->state)) &&
               normaliser_possible(l->observation) && normaliser_possible(l->discounted);
}

static bool net_possible(const Adam *net) {
        return net->step <= INT64_MAX && floats_finite(net->parameters, net->n, -INFINITY) &&
               floats_finite(net->m, net->n, -INFINITY) && floats_finite(net->v, net->n, 0.0f);
}

static bool stores_possible(const Runtime *rt) {
        for (Net net = NET_TARGET; net < NETS_MAX; net++)
                if (rt->nets[net] && !net_possible(rt->nets[net]))
                        return false;
        if (rt->buffer && !buffer_possible(rt->buffer))
                return false;
        if (!rt->replay)
                return true;
        /* Gaussian actions are stored before they are clipped, so they have no bounds. */
        if (rt->network->act == ACT_GAUSSIAN)
                return replay_possible(rt->replay, -INFINITY, INFINITY);
        return replay_possible(rt->replay, rt->network->action_low, rt->network->action_high);
}

static bool bank_possible(const Learner *l, uint64_t bank, uint64_t policy_version) {
        const PolicyLayout *layout = &l->context.page->policy;
        const PolicyHead *head = policy_bank(l->context.policy, layout, bank);
        size_t n = l->batch->n_observation;

        for (uint32_t k = 0; layout->judges_at > 0 && k < JUDGES; k++)
                if (!floats_finite(policy_judge(head, layout, &l->context.page->judge, k),
                                    l->context.page->judge.n_parameters, -INFINITY))
                        return false;
        return head->policy_version == policy_version && head->n_env_steps <= l->episodes->n_env_steps &&
               head->observation_clip == learner_observation_clip(l->context.settings) &&
               head->epsilon >= 0.0 && head->epsilon <= 1.0 &&
               floats_finite(policy_numbers(head, layout->mean_at), n, -INFINITY) &&
               floats_finite(policy_numbers(head, layout->inverse_sd_at), n, 0.0f) &&
               floats_finite(policy_numbers(head, layout->parameters_at), l->runtime->nets[NET_POLICY]->n,
                               -INFINITY);
}

/* Whether the actors that were acting can continue with their policy versions. plays: none will. */
static bool flights_possible(const Learner *l, bool plays) {
        const Arrival *arrival = &l->context.worker->arrival;
        uint32_t n_actors = l->batch->n_actors_max;

        if (!distribution_overlaps(distribution_of(l->context.settings)))
                return true;
        if (!arrival_possible(arrival, n_actors, l->context.page->policy.n_banks, l->policy_version))
                return false;
        for (uint32_t a = 0; a < n_actors; a++) {
                const Flight *flight = &arrival->flights[a];

                if (plays || !arrival_acts(arrival, a))
                        continue;
                /* The bank of the newest version is written again from the learner's parameters, so only the
                 * version's number is checked. */
                if (flight->policy_bank == arrival->policy_bank ? flight->policy_version != l->policy_version
                                                                : !bank_possible(l, flight->policy_bank,
                                                                                  flight->policy_version))
                        return false;
        }
        return true;
}

/* If only the clip of the earlier policies is another than this job's, the file is whole. */
static int check_flights(const Learner *l, const Safetensors *file, bool plays) {
        Sides s;

        if (flights_possible(l, plays))
                return 0;
        if (!differs(l, file, SETTING_Learner_ObservationClip, &s))
                return refuse_numbers();
        return refuse(-EMEDIUMTYPE,
                        "it has [Learner] ObservationClip=%.80s, but the job has %s: under [Distribution] "
                        "Policy=async unfinished rollouts go on with earlier policies, which clip as "
                        "before; set it back",
                        s.theirs, s.ours);
}

static int check_policy(const Learner *l, const Safetensors *file) {
        const char *said = safetensors_metadata(file, METADATA_POLICY_SHA256);
        uint8_t sha256[32];
        char text[65];

        learner_hash_policy(l, sha256);
        sha256_print(sha256, text);
        if (!said || strcmp(said, text) != 0)
                return refuse(-EBADMSG,
                                "its policy's hash is %s, but the file states %s: the file is damaged", text,
                                said ?: "nothing");
        return 0;
}

/* Whether the slots' episodes go on from the checkpoint. Recorded ones do if the job reads the next steps of
 * the same data set: which these are depends on RolloutSteps=. */
static bool slots_go_on(const Learner *l, const Safetensors *file) {
        Sides dataset, steps;

        if (differs(l, file, SETTING_Learner_Dataset, &dataset))
                return false;
        return !dataset.theirs || !*dataset.theirs || !differs(l, file, SETTING_Actor_RolloutSteps, &steps);
}

/* Otherwise slots begin new episodes, and figures of unfinished episodes are dropped. plays: no slot is
 * used. */
static void begin_slots(Learner *l, const Safetensors *file, bool plays) {
        const SegmentLayout *layout = &l->context.page->segment;
        bool possible = slots_possible(l);

        if (possible && slots_go_on(l, file))
                return;
        if (!possible && !plays && l->context.learner == 0)
                (void) fprintf(stderr,
                                "actord-learner: the checkpoint has an impossible state of an environment, "
                                "which an actor wrote; all environments begin new episodes\n");
        for (uint32_t a = 0; a < l->batch->n_actors_max; a++)
                for (uint32_t e = 0; e < layout->envs; e++)
                        memset(segment_snapshot(l->context.segments[a], layout, 0, e), 0, sizeof(SlotState));
        for (uint32_t s = 0; s < l->episodes->n_slots; s++) {
                l->episodes->running_return[s] = 0.0;
                l->episodes->discounted_return[s] = 0.0;
                l->episodes->elapsed_steps[s] = 0;
        }
        if (l->runtime->replay)
                replay_cut(l->runtime->replay);
}

/* Whether the file's algorithm begins its state as this job's does, and from the same setting. */
static bool state_goes_on(const Learner *l, const Safetensors *file) {
        const char *word = metadata_of(file, setting_row(SETTING_Job_Algorithm));
        int before = word ? choice_algorithm_from_string(word) : -EINVAL;
        Sides weight;

        if (before >= 0 && algorithm_find((uint32_t) before)->init != l->algorithm->init)
                return false;
        return !differs(l, file, SETTING_Learner_KLWeight, &weight);
}

/* A KL weight that another KLWeight= began, or the state of an algorithm that has no such weight, means
 * nothing to this job. So its own begins as in a new job. */
static void begin_state(Learner *l, const Safetensors *file) {
        if (l->algorithm->init && !state_goes_on(l, file))
                l->algorithm->init(l->context.settings, l->runtime->state);
}

/* Begins with the parameters of a file. The optimiser, statistics and counters begin as in any new job. */
static int begin_with(Learner *l, const Checkpoint *checkpoint) {
        Runtime *rt = l->runtime;
        int r;

        /* A file of another program has no settings. */
        r = check_meaning(l, checkpoint->file);
        if (r < 0)
                return r;
        r = l->context.learner == 0 ? read_tensors(l, checkpoint, false) : 0;
        if (r < 0)
                return r;
        if (!floats_finite(rt->nets[NET_POLICY]->parameters, rt->nets[NET_POLICY]->n, -INFINITY))
                return refuse(-EBADMSG, "some of its numbers are not finite");
        runtime_copy_targets(rt);
        return 0;
}

static int restore_file(Learner *l, bool plays) {
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        char reason[SAFETENSORS_REASON_MAX];
        int r;

        r = checkpoint_open(l->context.checkpoint_fd, &checkpoint, reason);
        if (r < 0)
                return refuse(r, "%s", reason);
        if (checkpoint.parameters)
                return begin_with(l, &checkpoint);

        r = check_metadata(l, &checkpoint);
        if (r < 0)
                return r;
        if (!plays) {
                r = check_candidates(l, checkpoint.file);
                if (r < 0)
                        return r;
        }
        r = read_tensors(l, &checkpoint, plays);
        if (r < 0)
                return r;
        if (!numbers_possible(l) || !stores_possible(l->runtime))
                return refuse_numbers();
        r = check_flights(l, checkpoint.file, plays);
        if (r < 0)
                return r;
        begin_slots(l, checkpoint.file, plays);
        begin_state(l, checkpoint.file);
        if (l->context.learner == 0)
                note_arithmetic(l, &checkpoint);
        if (l->context.learner == 0 && !plays)
                note_options(l, checkpoint.file);
        return l->context.learner == 0 ? check_policy(l, checkpoint.file) : 0;
}

static int restore(Learner *l, bool plays) {
        struct stat st;

        if (l->context.checkpoint_fd >= 0 && fstat(l->context.checkpoint_fd, &st) >= 0 &&
                        S_ISREG(st.st_mode))
                return restore_file(l, plays);
        runtime_copy_targets(l->runtime);
        return 0;
}

int learner_restore(Learner *l, bool plays) {
        bool first;
        int r, met;

        assert(l);

        /* Each of several learners has initialised some layers. Then the first one reads a checkpoint for
         * all of them, and the others read their part afterwards. The first one joins the barrier even if it
         * has failed, so that the others do not wait for it. */
        first = l->context.learner == 0;
        r = runtime_meet(l->runtime);
        if (r == 0 && first)
                r = restore(l, plays);
        met = runtime_meet(l->runtime);
        if (met >= 0 && !first)
                r = restore(l, plays);
        if (met < 0)
                (void) fprintf(stderr,
                                "actord-learner: another learner has stopped before the first round\n");
        if (r < 0 || met < 0)
                return r < 0 ? r : met;

        l->statistics.n_env_steps = l->episodes->n_env_steps;
        l->statistics.n_episodes = l->episodes->n_episodes;
        learner_publish(l, l->policy_version, (uint32_t) l->context.worker->arrival.policy_bank);
        return 0;
}
