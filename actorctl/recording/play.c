/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records evaluation episodes (eval --gif, --video, --frames). This program reads the policy from the
 * checkpoint. An actor plays it without a job, and sends each state as shapes or as pixels. This program
 * paints the shapes. */
#include "actorctl/recording/play.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/recording/policy.h"
#include "actorctl/recording/recording.h"
#include "actorctl/recording/starts.h"
#include "actorctl/view/table.h"
#include "actorctl/trial.h"

#define EPISODES_RECORDED_MAX 100

typedef struct Play {
        const Options *options;
        const char *environment;
        Recording *recording;
        uint64_t n_episodes;
        GArray *episodes; /* TrialEpisodes */
} Play;

static void take_row(const TrialRow *row, void *userdata) {
        const TrialEpisode *episode = row->head;
        Play *play = userdata;

        if (row->kind == TRIAL_PICTURE)
                recording_state(play->recording, row->head, row->shapes);
        if (row->kind == TRIAL_FRAME)
                recording_frame(play->recording, row->head, row->pixels);
        if (row->kind != TRIAL_EPISODE)
                return;
        recording_episode_end(play->recording);
        g_array_append_vals(play->episodes, episode, 1);
        if (play->options->json == JSON_OFF)
                printf("%s: episode %u: return %.2f, %" G_GUINT64_FORMAT " steps\n", play->environment,
                                play->episodes->len, episode->episode_return, episode->n_steps);
}

static void print_json(const Play *play, const RecordingFacts *facts) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        JsonArray *returns = json_array_new(), *steps = json_array_new();
        double sum = 0;

        for (guint i = 0; i < play->episodes->len; i++) {
                const TrialEpisode *episode = &g_array_index(play->episodes, TrialEpisode, i);

                sum += episode->episode_return;
                json_array_add_element(returns, json_real(episode->episode_return));
                json_array_add_element(steps, json_unsigned(episode->n_steps));
        }
        json_object_set_string_member(object, "environment", play->environment);
        json_object_set_member(object, "episodes", json_unsigned(play->episodes->len));
        /* computed as in evaluations, so that results are equal to the last digit */
        json_object_set_member(object, "return_mean", json_real(sum / play->episodes->len));
        json_object_set_array_member(object, "returns", returns);
        json_object_set_array_member(object, "steps", steps);
        json_object_set_string_member(object, "file", facts->path);
        json_object_set_member(object, "pictures", json_unsigned(facts->n_pictures));
        json_object_set_member(object, "pictures_per_s", json_real(facts->pictures_per_second));
        json_object_set_member(object, "width", json_unsigned(facts->width));
        json_object_set_member(object, "height", json_unsigned(facts->height));
        json_print(node, play->options->json);
        json_object_unref(object);
}

static ExitStatus play_episodes(
                Play *play, const JobFile *job_file, const NamedCheckpoint *from, const GArray *states) {
        const TrialRequest request = {
                .kind = TRIAL_PLAY,
                .n_episodes = play->n_episodes,
                .n_steps = play->options->n_steps,
        };
        RecordingFacts facts;
        ExitStatus status;

        status = policy_play(from, job_file, &request, states, take_row, play);
        if (status == STATUS_OK)
                status = recording_end(play->recording, &facts);
        if (status != STATUS_OK)
                return status;
        if (play->options->json != JSON_OFF)
                print_json(play, &facts);
        else if (!play->options->quiet)
                recording_print(&facts);
        return STATUS_OK;
}

/* Decides how many episodes are recorded, and from which states; *ret_states NULL: from states that the
 * environment chooses. */
static ExitStatus choose_episodes(const Options *options, GArray **ret_states, uint64_t *ret_n) {
        g_autoptr(GArray) states = NULL;
        uint64_t n = MAX(options->n_episodes, 1);
        ExitStatus status;

        status = starts_read(options, &states, &n);
        if (status != STATUS_OK)
                return status;
        if (n > EPISODES_RECORDED_MAX) {
                if (states)
                        complain("--grid=%s: it has %" G_GUINT64_FORMAT
                                 " states, and a recording holds at most %d episodes",
                                        options->grid, n, EPISODES_RECORDED_MAX);
                else
                        complain("--episodes=%" G_GUINT64_FORMAT ": a recording holds at most %d", n,
                                        EPISODES_RECORDED_MAX);
                return STATUS_USAGE;
        }
        *ret_states = g_steal_pointer(&states);
        *ret_n = n;
        return STATUS_OK;
}

ExitStatus play_record(const Options *options, const NamedCheckpoint *from) {
        g_autoptr(GArray) episodes = g_array_new(FALSE, FALSE, sizeof(TrialEpisode)), states = NULL;
        g_autoptr(Recording) recording = NULL;
        Play play = { .options = options, .episodes = episodes };
        JobFile job_file;
        ExitStatus status;

        status = choose_episodes(options, &states, &play.n_episodes);
        if (status == STATUS_OK)
                status = recording_new(options, &recording);
        if (status != STATUS_OK)
                return status;

        status = job_file_load_text(&job_file, from->name, from->text, options->sets);
        play.environment = job_file.settings.environment;
        play.recording = recording;
        if (status == STATUS_OK)
                job_file_want_pictures(&job_file);
        if (status == STATUS_OK && g_str_has_prefix(play.environment, "job:")) {
                complain("%s: an environment that is itself a job cannot be recorded", play.environment);
                status = STATUS_USAGE;
        }
        if (status == STATUS_OK)
                status = play_episodes(&play, &job_file, from, states);
        job_file_done(&job_file);
        return status;
}
