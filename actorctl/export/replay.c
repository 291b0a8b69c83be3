/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the tensors in which the learner keeps its replay store (learner/store/replay.h): a ring of steps
 * for each slot. The oldest episode of a full ring may lack its beginning, so it is left out. The newest one
 * may still go on; the data set says that it was truncated. */
#include "actorctl/export/replay.h"

#include <math.h>
#include <stdio.h>

#include "actorctl/checkpoint.h"
#include "actorctl/export/data-set.h"
#include "actorctl/trial.h"
#include "include/slot.h"
#include "lib/algorithm-traits.h"
#include "lib/cleanup.h"
#include "lib/regulation.h"
#include "lib/slot.h"

typedef struct StoredSteps {
        uint64_t n_slots, ring;           /* ring: how many steps a slot keeps */
        uint64_t n_observation, n_action; /* numbers of each */
        uint64_t *stored;                 /* [n_slots]: how many steps the slot has made */
        float *observations, *successors; /* [n_slots][ring][n_observation] */
        float *actions;                   /* [n_slots][ring][n_action]; NULL: actions are choices */
        int32_t *choices;                 /* the same; NULL: actions are not choices */
        float *rewards;                   /* [n_slots][ring] */
        uint8_t *ends;                    /* the same; EndKind */
        double *action, *observation;     /* one of each */
} StoredSteps;

static void store_done(StoredSteps *s) {
        g_free(s->stored);
        g_free(s->observations);
        g_free(s->successors);
        g_free(s->actions);
        g_free(s->choices);
        g_free(s->rewards);
        g_free(s->ends);
        g_free(s->action);
        g_free(s->observation);
}

/* Returns in words why the store's numbers are not those of the environment's own episodes; NULL: they
 * are. */
static const char *foreign_numbers(const JobSettings *settings) {
        if (settings->normalize_observations || settings->normalize_rewards)
                return "holds numbers that NormalizeObservations= or NormalizeRewards= has changed";
        if (regulation_asked(settings))
                return "holds the policy's part of each action and the envelope's rewards (ControllerF=, "
                       "EnvelopeP=)";
        if (settings->dataset[0])
                return "holds the steps of Dataset=, cut where one slot's share ends; use that file";
        return NULL;
}

static ExitStatus check_settings(const NamedCheckpoint *from, const JobSettings *settings) {
        const char *why = foreign_numbers(settings);

        if (from->checkpoint.parameters || algorithm_row(settings->algorithm)->store != STORE_REPLAY) {
                complain("the %s has no replay store; --rollouts writes episodes of its policy", from->name);
                return STATUS_USAGE;
        }
        if (why) {
                complain("the replay store of the %s %s; --rollouts writes episodes of its policy",
                                from->name, why);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static ExitStatus check_spec(const NamedCheckpoint *from, const ActordEnvSpec *spec) {
        const ActordSpace *observation = &spec->observation;

        if (observation->kind == ACTORD_BOX && spec->stack == 0 && spec->n_agents == 1 &&
                        (observation->element == ACTORD_F32 || observation->element == ACTORD_F64))
                return STATUS_OK;
        complain("the replay store of the %s cannot be written: its environment has several agents, or "
                 "observations that are choices, images or stacks of frames; --rollouts writes episodes of "
                 "its policy",
                        from->name);
        return STATUS_USAGE;
}

/* Reads a tensor of n numbers, g_free(). NULL, with a message: it could not be read. */
static void *read_tensor(const NamedCheckpoint *from, const char *tensor, const char *dtype, uint64_t n) {
        TensorRow row = { .dtype = dtype, .n_dims = 1, .shape = { n } };
        g_autofree char *message = NULL;
        g_autofree void *data = NULL;

        (void) g_strlcpy(row.name, tensor, sizeof(row.name));
        row.data = data = g_try_malloc(tensor_bytes(&row));
        if (!data) {
                complain("the replay store of the %s does not fit in memory", from->name);
                return NULL;
        }
        if (checkpoint_tensor(&from->checkpoint, from->name, &row, &message) < 0) {
                complain("%s", message);
                return NULL;
        }
        return g_steal_pointer(&data);
}

static ExitStatus store_read(const NamedCheckpoint *from, const JobSettings *settings,
                const ActordEnvSpec *spec, StoredSteps *s) {
        uint64_t n;

        s->n_slots = (uint64_t) settings_actors_max(settings) * settings->envs_per_actor;
        s->ring = algorithm_replay_steps(settings);
        s->n_observation = space_numbers(&spec->observation);
        s->n_action = space_numbers(&spec->action);
        s->action = g_new(double, s->n_action);
        s->observation = g_new(double, s->n_observation);
        n = s->n_slots * s->ring;

        s->stored = read_tensor(from, "replay.stored", "I64", s->n_slots);
        if (!s->stored)
                return STATUS_FAILED;
        s->ends = read_tensor(from, "replay.ends", "U8", n);
        if (!s->ends)
                return STATUS_FAILED;
        s->rewards = read_tensor(from, "replay.rewards", "F32", n);
        if (!s->rewards)
                return STATUS_FAILED;
        if (spec->action.kind == ACTORD_BOX)
                s->actions = read_tensor(from, "replay.actions", "F32", n * s->n_action);
        else
                s->choices = read_tensor(from, "replay.choices", "I32", n * s->n_action);
        if (!s->actions && !s->choices)
                return STATUS_FAILED;
        s->observations = read_tensor(from, "replay.observations", "F32", n * s->n_observation);
        if (!s->observations)
                return STATUS_FAILED;
        s->successors = read_tensor(from, "replay.successors", "F32", n * s->n_observation);
        return s->successors ? STATUS_OK : STATUS_FAILED;
}

/* Checks the numbers by which the steps are found, since the file may be forged. */
static ExitStatus store_check(const NamedCheckpoint *from, const StoredSteps *s) {
        uint64_t i = 0, k = 0;

        while (i < s->n_slots && s->stored[i] <= INT64_MAX)
                i++;
        while (k < s->n_slots * s->ring && s->ends[k] <= END_TRUNCATED)
                k++;
        if (i == s->n_slots && k == s->n_slots * s->ring)
                return STATUS_OK;
        complain("the replay store of the %s has impossible numbers: the file is damaged", from->name);
        return STATUS_FAILED;
}

static const double *observation_at(StoredSteps *s, const float *all, uint64_t at) {
        for (uint64_t i = 0; i < s->n_observation; i++)
                s->observation[i] = (double) all[at * s->n_observation + i];
        return s->observation;
}

/* The store has what the policy chose. The environment got that within its bounds. */
static const double *action_at(StoredSteps *s, const ActordSpace *space, uint64_t at) {
        for (uint64_t i = 0; i < s->n_action; i++)
                s->action[i] = s->actions ? fmin(fmax((double) s->actions[at * s->n_action + i], space->low),
                                                            space->high)
                                          : (double) s->choices[at * s->n_action + i];
        return s->action;
}

static void write_slot(DataSet *set, StoredSteps *s, uint64_t slot) {
        uint64_t n = s->stored[slot], step = n > s->ring ? n - s->ring : 0;
        const uint64_t first = slot * s->ring;
        bool begins = true;

        if (step > 0) {
                while (step < n && s->ends[first + step % s->ring] == END_NOT)
                        step++;
                step++;
        }
        for (; step < n; step++) {
                uint64_t at = first + step % s->ring;
                bool terminated = s->ends[at] == END_TERMINATED;
                bool truncated = !terminated && (s->ends[at] != END_NOT || step + 1 == n);

                if (begins)
                        data_set_begin(set, observation_at(s, s->observations, at), s->n_observation);
                data_set_step(set, &(DataSetStep){
                                                   .action = action_at(s, &set->spec.action, at),
                                                   .observation = observation_at(s, s->successors, at),
                                                   .reward = (double) s->rewards[at],
                                                   .terminated = terminated,
                                                   .truncated = truncated,
                                   });
                begins = terminated || truncated;
                if (begins)
                        data_set_end(set);
        }
}

static ExitStatus write_store(const Options *options, const NamedCheckpoint *from, const JobFile *job_file,
                StoredSteps *s, DataSet *set) {
        for (uint64_t slot = 0; slot < s->n_slots; slot++)
                write_slot(set, s, slot);
        if (set->error >= 0 && set->n_episodes == 0) {
                complain("the replay store of the %s holds no episode with its beginning", from->name);
                return STATUS_FAILED;
        }
        return data_set_commit(set, &job_file->settings, options->quiet);
}

ExitStatus replay_export(const Options *options, const NamedCheckpoint *from, const char *default_name) {
        _cleanup_(data_set_done) DataSet set = DATA_SET_EMPTY;
        _cleanup_(store_done) StoredSteps store = {};
        TrialSpec said = {};
        JobFile job_file;
        ExitStatus status;

        status = job_file_load_text(&job_file, from->name, from->text, options->sets);
        if (status == STATUS_OK)
                status = check_settings(from, &job_file.settings);
        if (status == STATUS_OK)
                status = trial_spec(&job_file, &said);
        if (status == STATUS_OK)
                status = check_spec(from, &said.spec);
        if (status == STATUS_OK)
                status = store_read(from, &job_file.settings, &said.spec, &store);
        if (status == STATUS_OK)
                status = store_check(from, &store);
        if (status == STATUS_OK)
                status = data_set_open(&set, options->output ?: default_name);
        if (status == STATUS_OK) {
                data_set_describe(&set, &said.spec);
                status = write_store(options, from, &job_file, &store, &set);
        }
        job_file_done(&job_file);
        return status;
}
