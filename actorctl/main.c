/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actorctl, the client: a table of verbs, which have files of their own. This file finds the verb. For a
 * misspelt verb it suggests a similar one. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/actorctl.h"
#include "actorctl/view/streams.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/settings/settings.h"

static ExitStatus verb_help(const Options *options, char **arguments, size_t n);

#define RUN_IS "RUN is a run of `actorctl run`: r7, or its directory.\n"

/* clang-format off */
const Verb verbs[] = {
        { VERB_RUN, "run", "FILE", "train a job here and now, without a service", 1, 1, verb_run,
                        "Starts a private daemon for one job, shows its progress and ends with its bill.\n"
                        "Nothing needs to be installed or running. Ctrl-C ends the job cleanly: ledger\n"
                        "and checkpoint are written. A second Ctrl-C ends it at once. With --from the job\n"
                        "continues from a checkpoint. An interrupted job that continues ends with the\n"
                        "policy that it would have had without the interruption.\n\n"
                        "Exit status: 0 finished or target reached, 1 failed, 2 wrong usage or job file,\n"
                        "3 budget exhausted before the target, 4 left before its records could be written\n"
                        "(see `actorctl recover`), 130 interrupted.\n" },
        { VERB_SUBMIT, "submit", "FILE", "give a job to the daemon and print its number", 1, 1, verb_submit,
                        "The file, and a plugin that it names, are opened here and now: later changes to\n"
                        "them do not change the job. With --wait the command ends when the job ends, with\n"
                        "the exit status of `run`. With --from the job continues from a checkpoint:\n"
                        "another job's, a run's, or a file.\n" },
        { VERB_RUNS, "runs", "", "list the runs of `actorctl run`", 0, 0, verb_runs,
                        "The newest 20 runs that trained are kept, and the newest 20 others. The state of\n"
                        "a run is `running`, or how it ended. It is `left` if the run was killed or left\n"
                        "before its end: `actorctl recover` ends it. `status`, `bill`, `rounds`,\n"
                        "`decisions`, `show`, `cat`, `graph`, `eval`, `export` and --from= accept a run\n"
                        "in place of a job.\n" },
        { VERB_LIST, "list", "", "list jobs (the default verb)", 0, 0, verb_list,
                        "Lists the jobs that have not ended, and the newest that have.\n" },
        { VERB_STATUS, "status", "[JOB|RUN...]", "how a job, or the daemon, is doing", 0, 64, verb_status,
                        "Without a job: the daemon. " RUN_IS },
        { VERB_SHOW, "show", "JOB|RUN|FILE", "every setting of a job, including defaults", 1, 1, verb_show,
                        "The output is a job file again. FILE is a checkpoint (.safetensors) of\n"
                        "any job. " RUN_IS },
        { VERB_CAT, "cat", "JOB|RUN", "the job file as it was submitted", 1, 1, verb_cat, RUN_IS },
        { VERB_STOP, "stop", "JOB...", "end a job: a checkpoint is written first", 1, 64, verb_stop,
                        "If the checkpoint cannot be written, as on a full disk, the job waits, and\n"
                        "`status` says why. A second `stop` ends it without the checkpoint.\n" },
        { VERB_FREEZE, "freeze", "JOB...", "keep a job in the queue, where it costs nothing", 1, 64,
                        verb_freeze,
                        "A running job first ends its round and writes a checkpoint. `actorctl thaw` lets\n"
                        "it continue from there, to the same policy. A frozen job stays frozen when the\n"
                        "daemon or the host restarts.\n" },
        { VERB_THAW, "thaw", "JOB...", "let a frozen job go on", 1, 64, verb_thaw, "" },
        { VERB_WATCH, "watch", "JOB", "follow a job: progress, return, cost", 1, 1, verb_watch,
                        "Ctrl-C ends only the watching, not the job.\n" },
        { VERB_TOP, "top", "[JOB]", "what jobs use now: CPU, memory, steps, cost", 0, 1, verb_top,
                        "Shows each job that has not ended, or each process of one job. CPU is a share of\n"
                        "one core. On a terminal the table is new each second: keys sort it, q quits.\n" },
        { VERB_BILL, "bill", "[JOB|RUN]", "what a job costs, by kind; what all jobs cost", 0, 1, verb_bill,
                        "Without a job: what all jobs of the daemon cost, by owner (the default), tag,\n"
                        "month or job, or by several of these, as in --by=month,owner. --owner=, --tag=\n"
                        "and --since= choose jobs. A job that has not ended counts with its cost so far.\n\n"
                        "paper: execution only, as in publications. full: also start-up, warm pool,\n"
                        "requests and retries; this is the amount that you pay.\n\n"
                        "Below the bill are estimates: what the same rounds would cost under other\n"
                        "distributions, and on fleets of servers, which price sheets in the same currency\n"
                        "describe. A fleet also costs money while it is idle. If it trains for a smaller\n"
                        "share of its time than EVEN AT says, functions are cheaper.\n\n"
                        "--prices=SHEET: what the same records cost by another price sheet. The job's\n"
                        "time on the emulated clock is the same under all sheets.\n"
                        "--beside: one table of what the rounds cost as functions, on servers and on\n"
                        "nodes, at the job's prices or those of --prices=. --fleet=SHEET chooses the\n"
                        "servers.\n"
                        "--format=focus: the charges as CSV in FOCUS 1.2, for FinOps tools.\n\n" RUN_IS },
        { VERB_TOTALS, "totals", "", "what ended jobs did and cost, by user and month", 0, 0, verb_totals,
                        "A line for each user, month, tag, currency and price sheet, kept for ever: jobs,\n"
                        "money, environment steps, CPU time. Only root sees the lines of others.\n" },
        { VERB_ROUNDS, "rounds", "JOB|RUN", "all figures of a job's rounds", 1, 1, verb_rounds,
                        "A terminal shows a few columns. --csv and --json have all of them: counts, what\n"
                        "learner and evaluations measured, clocks, CPU time and cost since the beginning.\n"
                        "org.actord1(5), GetSeries(), explains each.\n\n" RUN_IS },
        { VERB_METRICS, "metrics", "[JOB|RUN]", "a job's rounds as files; all jobs as OpenMetrics", 0, 1,
                        verb_metrics,
                        "Without --metrics it prints the figures of one job, or of all jobs that the\n"
                        "daemon remembers, as OpenMetrics text, which Prometheus reads. With --http the\n"
                        "text is the answer to one HTTP request. With --metrics it writes the rounds that\n"
                        "a job has had so far into files.\n\n" RUN_IS },
        { VERB_DECISIONS, "decisions", "JOB|RUN", "how many actors each round had, and why", 1, 1,
                        verb_decisions,
                        "Prints each number beside what the scheduler saw of the round before. Keep the\n"
                        "output of --json in a file, and Policy=replay:FILE repeats the decisions.\n"
                        "--check makes each decision again from its recorded inputs.\n\n" RUN_IS },
        { VERB_LOGS, "logs", "JOB", "the journal of a job and of its actors", 1, 1, verb_logs, "" },
        { VERB_VERIFY, "verify", "FILE", "check a job file and load its environment", 1, 1, verb_verify,
                        "The environment is loaded in the sandbox in which the job would run it.\n" },
        { VERB_KEYS, "keys", "[SECTION|KEY]", "keys of a job file, their values and defaults", 0, 1,
                        verb_keys,
                        "Shows one section (Learner), one key (Learner.Gamma, or Gamma), or all of them.\n"
                        "job.conf(5) says more about each; `env show NAME` has those of [Environment].\n" },
        { VERB_GRAPH, "graph", "FILE|JOB|RUN", "which part of a job runs in which process", 1, 1, verb_graph,
                        "Shows the fragments of the training loop, the process that [Distribution]\n"
                        "Policy= gives each, and the tensors between them. Where only the environment\n"
                        "knows a number, a word stands for it.\n\n"
                        RUN_IS },
        { VERB_EXPORT, "export", "JOB|RUN|FILE", "copy a checkpoint, or export its policy", 1, 1,
                        verb_export,
                        "FILE is a checkpoint (.safetensors). Without --format the newest checkpoint is\n"
                        "copied as it is. onnx and header hold only the policy, with its normalisation;\n"
                        "they load the environment in a sandbox, as the network's shape depends on it.\n\n"
                        RUN_IS },
        { VERB_REMOVE, "remove", "JOB...", "remove the checkpoints and files of ended jobs", 1, 64,
                        verb_remove,
                        "The policy is in the checkpoints: copy it first with `actorctl export JOB`. The\n"
                        "records of a job stay, and can still be shown. Runs of `actorctl run` are not\n"
                        "jobs of the daemon; old ones are removed when a new run begins.\n" },
        { VERB_RECOVER, "recover", "RUN|DIR", "complete the ledger of a run that was left early", 1, 1,
                        verb_recover,
                        "A run whose disk is full waits before it ends. If you leave it then (Ctrl-C\n"
                        "twice), it writes the records that its ledger lacks into another directory, and\n"
                        "prints its name. This command adds them to the ledger. It also ends a run that\n"
                        "was killed. RUN is the number of a directory in ~/.local/state/actord/runs.\n"
                        "Repeating the command does no harm.\n" },
        { VERB_EVAL, "eval", "JOB|RUN|FILE", "play episodes with a policy, without learning", 1, 1,
                        verb_eval,
                        "FILE is a checkpoint (.safetensors). The policy takes its most likely actions;\n"
                        "with Evaluation.Stochastic=yes it draws them. The random streams are the\n"
                        "evaluation's own, so equal policies play equal episodes.\n\n" RUN_IS "\n"
                        "--gif, --video or --frames records the first episode, or --episodes of them, at\n"
                        "the speed of the task.\n\n"
                        "--state=V1,V2,... plays one episode from this physical state, --grid one from\n"
                        "each state of a grid, as in --grid=-0.9:0.9:40,0,-0.8:0.8:40,0. For a job with\n"
                        "an envelope (EnvelopeP=) it says how many episodes stayed inside.\n" },
        { VERB_EXPERIMENT, "experiment", "FILE.exp", "compare settings over seeds: a matrix of jobs", 1, 1,
                        verb_experiment,
                        "Runs each cell of a matrix (arms x factors x seeds) as a job, and writes tables\n"
                        "with bootstrap intervals and plots into FILE.results. Finished cells are kept:\n"
                        "after Ctrl-C the same command continues, and after an edit of the file it runs\n"
                        "only the cells that changed.\n"
                        "A private daemon runs the jobs, unless --system or --user names one. It runs as\n"
                        "many at once as there are CPUs for (each job keeps its learner's threads or its\n"
                        "actors busy), or --jobs=N.\n"
                        "If the file has a section [Sweep], it searches for good settings instead.\n" },
        { VERB_CALIBRATE, "calibrate", "FILE", "measure steps and starts here, for Clock=model", 1, 1,
                        verb_calibrate,
                        "A private daemon runs the job twice, for a short time. Medians of the metered\n"
                        "CPU time are printed as lines of [Billing]. The file is not changed: copy the\n"
                        "lines that you want.\n" },
        { VERB_ENV, "env", "WORD [NAME]", "environments: list, show, check, bench, rollout", 0, 2, verb_env,
                        "NAME is one that `env list` shows, ./FILE.so (a plugin, see actord/env.h),\n"
                        "gym:ID (Gymnasium) or pettingzoo:MODULE (PettingZoo), both with\n"
                        "--set Actor.Python=DIRECTORY, or mujoco:FILE.xml (your own model) with\n"
                        "--set Reward=TERMS. A user's own environment runs in a sandbox.\n\n"
                        "  list           all that have a name, with the sizes of observation and action\n"
                        "                 (\"of 2\": one of two choices) and the return that solves them\n"
                        "  show NAME      its spaces, the length of its episodes, its options\n"
                        "  check NAME     whether it follows the rules of actord/env.h: a line for each\n"
                        "  bench NAME     steps per CPU second, inside and outside of the sandbox\n"
                        "  rollout NAME   its steps as lines of JSON, with every digit\n\n"
                        "--set KEY=VALUE is an option of the environment: a key of [Environment].\n" },
        { VERB_PRICE, "price", "list|show", "price sheets: `list`, `show NAME`", 0, 2, verb_price, "" },
        { VERB_QUOTA, "quota", "[USER]", "what a user's jobs use, and may use", 0, 1, verb_quota,
                        "Shows your own quota, or another user's if you have the right to manage jobs.\n"
                        "Administrators set the limits in actord.conf(5).\n" },
        { VERB_SCHEDULER, "scheduler", "WORD [NAME]", "list, show, train, export or remove schedulers", 0,
                        3, verb_scheduler,
                        "list              your own, and those that came with actord (shipped)\n"
                        "show NAME         what one was trained on, and what that cost\n"
                        "train FILE        learn what each round of a job is worth (MinionsRL)\n"
                        "export NAME FILE  copy one into a file, for another user\n"
                        "remove NAME       remove your own scheduler of this name\n\n"
                        "A job uses one with Policy=minions:NAME in [Scaling]. NAME may be a file\n"
                        "(./FILE). Your own scheduler is used before a shipped one of the same name.\n\n"
                        "Training runs the job in FILE at least --episodes times. Each run has a seed of\n"
                        "its own, and ends after --rounds rounds or when a round's return reaches\n"
                        "--target. --set changes that job; without MaxActors= it has at most 8 actors.\n"
                        "Its Budget= and RuntimeMaxSec= are ignored. With --from the training begins with\n"
                        "another scheduler, whose bill is added; a tenth of the runs may then be enough.\n"
                        "Ctrl-C ends the training and keeps the scheduler so far as NAME.unfinished.\n" },
        { VERB_REPORT, "report", "JOB|RUN...|FILE.exp", "one file about jobs: curves, cost, settings", 1, 16,
                        verb_report,
                        "The file shows how far a job came, its learning curve, its actors and why their\n"
                        "number changed, its cost by kind, how the CPU time was used, and all settings.\n"
                        "Several jobs also share one picture. The file has no script and loads nothing\n"
                        "from elsewhere. It is printed, or written to the file of --output=.\n"
                        "For an experiment: the tables and plots of its finished cells.\n\n" RUN_IS },
        { VERB_IMPORT, "import", "zoo|cleanrl FILE [NAME]", "settings of RL Zoo or CleanRL as a job file",
                        2, 3, verb_import,
                        "cleanrl FILE.py: the defaults of a script of CleanRL, which is read and never\n"
                        "executed. Do not rename it: ppo.py, ppo_continuous_action.py, dqn.py,\n"
                        "ddpg_continuous_action.py, td3_continuous_action.py, sac_continuous_action.py.\n\n"
                        "zoo FILE.yml [NAME]: an entry of a file of RL Zoo's hyperparams/. The file is\n"
                        "named after its algorithm: ppo, a2c, dqn, ddpg, td3 or sac. For keys that the\n"
                        "entry lacks, the job has the defaults of Stable-Baselines3.\n\n"
                        "Settings that a job file cannot express are listed in a comment at its top. The\n"
                        "job file is printed, or written to the file of --output=.\n" },
        { VERB_HELP, "help", "[VERB]", "this help, or the help of a verb", 0, 1, verb_help, "" },
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
        print_layout("actorctl [OPTION...] [VERB] [ARGUMENT...]\n\n"
                     "Train deep-reinforcement-learning policies with metered, sandboxed actors.\n\n"
                     "Verbs:\n");
        for (const Verb *verb = verbs; verb->name; verb++) {
                g_autofree char *left = g_strdup_printf("%s %s", verb->name, verb->arguments);

                /* Where the arguments are too long, the help has a line of its own. */
                if (strlen(left) > 24)
                        print_layout("  %s\n%26s %s\n", left, "", verb->help);
                else
                        print_layout("  %-24s %s\n", left, verb->help);
        }
        print_layout("\nOptions:\n");
        options_print_help(0);
        print_layout("\n`actorctl VERB --help` says more; see also actorctl(1) and job.conf(5).\n");
}

static void print_verb_help(const Verb *verb) {
        print_layout("actorctl %s [OPTION...]%s%s\n\n%c%s.\n", verb->name, verb->arguments[0] ? " " : "",
                        verb->arguments, g_ascii_toupper(verb->help[0]), verb->help + 1);
        if (verb->details[0])
                print_layout("\n%s", verb->details);
        print_layout("\nOptions:\n");
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
        int r;

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
        r = stream_end(stdout);
        if (r < 0 && status == STATUS_OK) {
                complain("standard output cannot be written: %s", g_strerror(-r));
                status = STATUS_FAILED;
        }
        return (int) status;
}
