/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actorctl, the client: a table of verbs, each with a file of its own. This file finds the verb. For a
 * misspelt verb it suggests a similar one. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/actorctl.h"
#include "actorctl/view/streams.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/settings/settings.h"

static ExitStatus verb_help(const Options *options, char **arguments, size_t n);

#define RUN_IS "RUN is a run of `actorctl run`: r7, or its directory.\n"

/* clang-format off */
const Verb verbs[] = {
        { VERB_RUN, "run", "FILE", "train a job here and now, without a daemon", 1, 1, verb_run,
                        "Starts a private daemon for one job, shows its progress and ends with its bill.\n"
                        "Nothing needs to be installed or running. Ctrl-C ends the job cleanly: ledger\n"
                        "and checkpoint are written. A second Ctrl-C ends it at once. With --from it goes\n"
                        "on from that checkpoint, to the policy that it would have had.\n\n"
                        "Exit status: 0 finished or target reached, 1 failed, 2 wrong usage or job file,\n"
                        "3 budget exhausted before the target, 4 left before its records could be written\n"
                        "(`actorctl recover`), 130 interrupted.\n" },
        { VERB_SUBMIT, "submit", "FILE", "give a job to the daemon and print its number", 1, 1, verb_submit,
                        "The file, and a plugin that it names, are opened here and now: later changes to\n"
                        "them do not change the job. With --wait, ends with the job, as `run` does. With\n"
                        "--from it goes on from a checkpoint: of another job, or a file.\n" },
        { VERB_RUNS, "runs", "", "list the runs of `actorctl run`", 0, 0, verb_runs,
                        "The newest 20 that trained and 20 others are kept. STATE is running; left, if a\n"
                        "run has no end (`actorctl recover` gives it one); or how it ended. `status`,\n"
                        "`bill`, `rounds`, `decisions`, `show`, `cat`, `graph`, `eval`, `export` and\n"
                        "--from= take a run where they take a job.\n" },
        { VERB_LIST, "list", "", "list jobs (the default verb)", 0, 0, verb_list, "" },
        { VERB_STATUS, "status", "[JOB|RUN...]", "how a job, or the daemon, is doing", 0, 64, verb_status,
                        RUN_IS },
        { VERB_SHOW, "show", "JOB|RUN|FILE", "every setting of a job, including defaults", 1, 1, verb_show,
                        "The output is a job file again. FILE is a checkpoint (.safetensors) of\n"
                        "any job. " RUN_IS },
        { VERB_CAT, "cat", "JOB|RUN", "the job file as it was submitted", 1, 1, verb_cat, RUN_IS },
        { VERB_STOP, "stop", "JOB...", "end a job: a checkpoint is written first", 1, 64, verb_stop,
                        "A job whose last checkpoint cannot be written waits, and `status` says for what.\n"
                        "Stopped a second time, it ends without a checkpoint.\n" },
        { VERB_FREEZE, "freeze", "JOB...", "keep a job in the queue, where it costs nothing", 1, 64,
                        verb_freeze,
                        "A job that runs ends its round and writes a checkpoint first. `actorctl thaw`\n"
                        "lets it go on from there, to the same policy. It stays frozen across restarts.\n" },
        { VERB_THAW, "thaw", "JOB...", "let a frozen job go on", 1, 64, verb_thaw, "" },
        { VERB_WATCH, "watch", "JOB", "follow a job: progress, return, cost", 1, 1, verb_watch,
                        "Ctrl-C ends the watching, not the job.\n" },
        { VERB_TOP, "top", "[JOB]", "what jobs use now: CPU, memory, steps, cost", 0, 1, verb_top,
                        "For each job that has not ended, or each process of one job. CPU is a share of\n"
                        "one core. On a terminal it is refreshed each second: keys sort it, q quits.\n" },
        { VERB_BILL, "bill", "[JOB|RUN]", "what a job costs, by kind; what all jobs cost", 0, 1, verb_bill,
                        "Without a job: what all jobs of the daemon cost, by owner (the default), tag,\n"
                        "month or job, or several of them, like --by=month,owner. --owner=, --tag= and\n"
                        "--since= choose jobs; those that have not ended count with their cost so far.\n\n"
                        "paper: execution only, as in publications. full: start-up, warm pool,\n"
                        "requests and retries as well, which is the amount that you pay.\n\n"
                        "Below the bill, by estimate: the same rounds under other distributions, and on\n"
                        "the fleets of servers that price sheets name in the same currency. A fleet is\n"
                        "paid for idle or not: below EVEN AT, the share of its time in which it trains,\n"
                        "functions are cheaper.\n\n"
                        "--prices=SHEET: what the same records cost by another price sheet. The job's\n"
                        "time on the emulated clock is the same under all sheets.\n"
                        "--beside: a table of what the rounds cost as functions, on servers (--fleet=\n"
                        "names the sheet of others) and on nodes, by the job's prices or --prices=.\n"
                        "--format=focus: the charges as CSV in FOCUS 1.2, for FinOps tools.\n\n" RUN_IS },
        { VERB_TOTALS, "totals", "", "what ended jobs did and cost, by user and month", 0, 0, verb_totals,
                        "A line for each user, month, tag, currency and price sheet, kept for ever: jobs,\n"
                        "money, environment steps, CPU time. Only root sees the lines of others.\n" },
        { VERB_ROUNDS, "rounds", "JOB|RUN", "all figures of a job's rounds", 1, 1, verb_rounds,
                        "A screen gets a few columns; --csv and --json have all of them: counts, what the\n"
                        "learner and evaluations measured, clocks, CPU time and cost since the beginning.\n"
                        "org.actord1(5), GetSeries(), explains each.\n\n" RUN_IS },
        { VERB_METRICS, "metrics", "[JOB|RUN]", "a job's rounds as files; all jobs as OpenMetrics", 0, 1,
                        verb_metrics,
                        "Without --metrics it prints the figures of all jobs that the daemon remembers,\n"
                        "or of one, as OpenMetrics text, which Prometheus reads; with --http, as the\n"
                        "answer to one request. With --metrics it writes the rounds that a job has had\n"
                        "until now.\n\n" RUN_IS },
        { VERB_DECISIONS, "decisions", "JOB|RUN", "how many actors each round had, and why", 1, 1,
                        verb_decisions,
                        "Each number with what the scheduler saw of the round before. The output of\n"
                        "--json, kept in a file, is what Policy=replay:FILE repeats. --check lets the\n"
                        "policy decide again from what is written down.\n\n" RUN_IS },
        { VERB_LOGS, "logs", "JOB", "the journal of a job and of its actors", 1, 1, verb_logs, "" },
        { VERB_VERIFY, "verify", "FILE", "check a job file and load its environment", 1, 1, verb_verify,
                        "The environment is loaded in the sandbox in which the job would run it.\n" },
        { VERB_KEYS, "keys", "[SECTION|KEY]", "keys of a job file, their values and defaults", 0, 1,
                        verb_keys,
                        "Of one section (Learner), of one key (Learner.Gamma, or Gamma), or all of them.\n"
                        "job.conf(5) says more about each; `env show NAME` has those of [Environment].\n" },
        { VERB_GRAPH, "graph", "FILE|JOB|RUN", "which part of a job runs in which process", 1, 1, verb_graph,
                        "The training loop as fragments and the tensors between them, as the job's\n"
                        "distribution policy maps them to processes. A shape that only the\n"
                        "environment knows is a word.\n" RUN_IS },
        { VERB_EXPORT, "export", "JOB|RUN|FILE", "copy a checkpoint, or export its policy", 1, 1,
                        verb_export,
                        "FILE is a checkpoint (.safetensors). Without --format the newest checkpoint is\n"
                        "copied as it is. onnx and header hold only the policy, with its normalisation;\n"
                        "the environment is loaded in a sandbox, as the network's shape follows from it.\n\n"
                        RUN_IS },
        { VERB_REMOVE, "remove", "JOB...", "remove the files of ended jobs: checkpoints", 1, 64, verb_remove,
                        "The policy goes with the checkpoints: `actorctl export JOB` copies it before.\n"
                        "The records of a job stay, and can still be shown. Runs of `actorctl run` are\n"
                        "not jobs of the daemon; the newest 20 are kept.\n" },
        { VERB_RECOVER, "recover", "RUN|DIR", "complete the ledger of a run that was left early", 1, 1,
                        verb_recover,
                        "A run whose disk is full waits before it ends. If it is left then, the records\n"
                        "that its ledger lacks go to a directory, whose name is printed; this command\n"
                        "adds them. It also ends a run whose daemon was killed. RUN is the number of its\n"
                        "directory in ~/.local/state/actord/runs. Repeating it does no harm.\n" },
        { VERB_EVAL, "eval", "JOB|RUN|FILE", "play episodes with a policy, without learning", 1, 1,
                        verb_eval,
                        "FILE is a checkpoint (.safetensors). Actions are the policy's most likely ones\n"
                        "(Evaluation.Stochastic=yes: drawn), on random streams of their own: equal\n"
                        "policies give equal episodes.\n\n" RUN_IS "\n"
                        "--gif, --video or --frames records the first ones, one by default, as pictures\n"
                        "at the speed of the task.\n\n"
                        "--state=V1,V2,... plays one episode from this physical state, --grid one from\n"
                        "each state of a grid, as --grid=-0.9:0.9:40,0,-0.8:0.8:40,0. With an envelope\n"
                        "(EnvelopeP=) it says how many stayed inside.\n" },
        { VERB_EXPERIMENT, "experiment", "FILE.exp", "compare settings over seeds: a matrix of jobs", 1, 1,
                        verb_experiment,
                        "Runs each cell of a matrix (arms x factors x seeds) as a job, and writes tables\n"
                        "with bootstrap intervals and plots into FILE.results. What is finished is kept:\n"
                        "the same command goes on after Ctrl-C; after you edit the file, it reruns only\n"
                        "the cells that changed.\n"
                        "A private daemon runs the jobs, unless --system or --user names one. It runs as\n"
                        "many at once as there are CPUs for (each job keeps its learner's threads or its\n"
                        "actors busy), or --jobs=N.\n"
                        "With a section [Sweep], the file looks for good settings within a budget.\n" },
        { VERB_CALIBRATE, "calibrate", "FILE", "what steps and starts take here, for Clock=model", 1, 1,
                        verb_calibrate,
                        "Makes two short runs of the job with a private daemon, and prints medians of\n"
                        "metered CPU time as lines of [Billing]. The file is not changed: copy what you\n"
                        "want.\n" },
        { VERB_ENV, "env", "WORD [NAME]", "environments: list, show, check, bench, rollout", 0, 2, verb_env,
                        "NAME is one that `env list` shows, ./FILE.so (a plugin, as actord/env.h has it),\n"
                        "gym:ID (any of Gymnasium's, with --set Actor.Python=DIRECTORY),\n"
                        "pettingzoo:MODULE (several agents, likewise), or mujoco:FILE.xml (a model, with\n"
                        "--set Reward=TERMS). A user's own environment runs in a sandbox.\n\n"
                        "  list           all that have a name: size of observation and action,\n"
                        "                 registered threshold (\"of 2\": one of two choices)\n"
                        "  show NAME      the environment's own description\n"
                        "  check NAME     whether it keeps the rules of actord/env.h: a line for each\n"
                        "  bench NAME     steps a second, inside and outside of the sandbox\n"
                        "  rollout NAME   its steps as JSON lines, with every digit\n\n"
                        "--set KEY=VALUE is an option of the environment: a row of [Environment].\n" },
        { VERB_PRICE, "price", "list|show", "price sheets: `list`, `show NAME`", 0, 2, verb_price, "" },
        { VERB_QUOTA, "quota", "[USER]", "what a user's jobs use, and may use", 0, 1, verb_quota,
                        "Your own, or with the right to manage jobs another user's. Administrators set\n"
                        "limits in actord.conf(5).\n" },
        { VERB_SCHEDULER, "scheduler", "WORD [NAME]", "list, show, train, export or remove schedulers", 0,
                        3, verb_scheduler,
                        "list              your own, and those that came with actord\n"
                        "show NAME         what one was trained on, and what that cost\n"
                        "train FILE        learn what each round of a job is worth (MinionsRL)\n"
                        "export NAME FILE  copy one into a file, for another user\n"
                        "remove NAME       remove your own one of this name\n\n"
                        "A job uses one by Policy=minions:NAME in [Scaling]. NAME may be a file (./FILE).\n"
                        "Your own scheduler comes before one of the same name that came with actord.\n"
                        "Training runs the job in FILE --episodes times, each run with a seed of its own,\n"
                        "up to --rounds rounds or until a round's return reaches --target. --set changes\n"
                        "that job; without MaxActors= it has 8. Its Budget= and RuntimeMaxSec= are\n"
                        "ignored. With --from it begins with another one: a tenth of the runs may then be\n"
                        "enough, and its bill is added. Ctrl-C keeps the result as NAME.unfinished.\n" },
        { VERB_REPORT, "report", "JOB|RUN...|FILE.exp", "one file about jobs: curves, cost, settings", 1, 16,
                        verb_report,
                        "How far a job came, its learning curve, actors and why their number changed, its\n"
                        "cost by kind, where the time went, and all settings. Of several jobs also a\n"
                        "picture of all curves. The file is complete: it has no script and loads nothing\n"
                        "from elsewhere. It is printed, or written by --output=FILE.\n"
                        "Of an experiment: the tables and plots of what is finished.\n" RUN_IS },
        { VERB_IMPORT, "import", "zoo|cleanrl FILE [NAME]", "hyper-parameters of others as a job file", 2, 3,
                        verb_import,
                        "cleanrl FILE.py: the defaults of a script of CleanRL, which is read and never\n"
                        "executed. It keeps its name: ppo.py, ppo_continuous_action.py, dqn.py,\n"
                        "ddpg_continuous_action.py, td3_continuous_action.py, sac_continuous_action.py.\n\n"
                        "zoo FILE.yml [NAME]: an entry of RL Zoo's hyperparams/, whose files are named\n"
                        "after their algorithms: ppo, a2c, dqn, ddpg, td3, sac. For keys that it\n"
                        "lacks, the job has the defaults of Stable-Baselines3.\n\n"
                        "Settings that a job file lacks are listed in a comment at its top. The job file\n"
                        "is printed, or written by --output=FILE.\n" },
        { VERB_HELP, "help", "[VERB]", "this help, or a verb's", 0, 1, verb_help, "" },
        {},
};
/* clang-format on */

static const Verb *find_verb(const char *name) {
        for (const Verb *verb = verbs; verb->name; verb++)
                if (strcmp(verb->name, name) == 0)
                        return verb;
        return NULL;
}

static void complain_verb(const char *name) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *nearest;

        for (const Verb *verb = verbs; verb->name; verb++)
                g_ptr_array_add(names, (gpointer) verb->name);
        g_ptr_array_add(names, NULL);
        nearest = nearest_word(name, (const char *const *) names->pdata);
        if (nearest)
                complain("unknown verb %s; did you mean `actorctl %s`?", name, nearest);
        else
                complain("unknown verb %s; `actorctl --help` lists them", name);
}

static void print_help(void) {
        printf("actorctl [OPTION...] [VERB] [ARGUMENT...]\n\n"
               "Train deep-reinforcement-learning policies with metered, sandboxed actors.\n\n"
               "Verbs:\n");
        for (const Verb *verb = verbs; verb->name; verb++) {
                g_autofree char *left = g_strdup_printf("%s %s", verb->name, verb->arguments);

                printf("  %-24s %s\n", left, verb->help);
        }
        printf("\nOptions:\n");
        options_print_help(0);
        printf("\n`actorctl VERB --help` says more; see also actorctl(1) and job.conf(5).\n");
}

static void print_verb_help(const Verb *verb) {
        printf("actorctl %s [OPTION...]%s%s\n\n%c%s.\n", verb->name, verb->arguments[0] ? " " : "",
                        verb->arguments, g_ascii_toupper(verb->help[0]), verb->help + 1);
        if (verb->details[0])
                printf("\n%s", verb->details);
        printf("\nOptions:\n");
        options_print_help(verb->id);
}

static ExitStatus verb_help(const Options *options, char **arguments, size_t n) {
        const Verb *verb = n > 0 ? find_verb(arguments[0]) : NULL;

        if (n > 0 && !verb) {
                complain_verb(arguments[0]);
                return STATUS_USAGE;
        }
        if (verb)
                print_verb_help(verb);
        else
                print_help();
        return STATUS_OK;
}

static ExitStatus run_verb(const Options *options, const Verb *verb, char **arguments) {
        size_t n = g_strv_length(arguments);
        ExitStatus status;

        if (options->help) {
                print_verb_help(verb);
                return STATUS_OK;
        }
        status = options_check(options, verb);
        if (status != STATUS_OK)
                return status;
        if (n < verb->least || n > verb->most) {
                complain("%s takes %s: actorctl %s%s%s", verb->name,
                                n < verb->least ? "one more argument" : "fewer arguments", verb->name,
                                verb->arguments[0] ? " " : "", verb->arguments);
                return STATUS_USAGE;
        }
        return verb->run(options, arguments, n);
}

static ExitStatus dispatch(const Options *options, char **arguments) {
        const char *name = arguments[0] ? arguments[0] : "list";
        const Verb *verb = find_verb(name);

        if (options->version) {
                printf("actorctl %s\n", ACTORD_VERSION);
                return STATUS_OK;
        }
        if (options->help && !arguments[0]) {
                print_help();
                return STATUS_OK;
        }
        if (!verb) {
                complain_verb(name);
                return STATUS_USAGE;
        }
        return run_verb(options, verb, arguments[0] ? arguments + 1 : arguments);
}

/* Opens /dev/null for standard streams that are closed, so that no other file gets their numbers. */
static void keep_standard_descriptors(void) {
        int fd;

        do
                fd = open("/dev/null", O_RDONLY);
        while (fd >= 0 && fd <= STDERR_FILENO);
        (void) close_fd(fd);
}

int main(int argc, char **argv) {
        Options options = {};
        g_auto(GStrv) arguments = NULL;
        ExitStatus status;

        keep_standard_descriptors();
        /* Text follows the user's locale, but numbers keep their decimal point. */
        (void) setlocale(LC_CTYPE, "");
        /* If the program that reads the output ends, only the output ends, and not the job. */
        (void) signal(SIGPIPE, SIG_IGN);
        limits_prepare();
        streams_sanitise();

        status = options_parse(argc, argv, &options, &arguments);
        if (status == STATUS_OK)
                status = dispatch(&options, arguments);
        options_done(&options);
        if (fflush(stdout) != 0 && errno != EPIPE && status == STATUS_OK) {
                complain("standard output cannot be written: %s", g_strerror(errno));
                status = STATUS_FAILED;
        }
        return (int) status;
}
