/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A launch without a job, which tries an environment (include/trial.h), with a new actor for each thing to
 * try. Environments are loaded, and actors forked, sandboxed and ended, as in a job. There are no rounds, no
 * records and no daemon; an actor sends its rows straight to actorctl. In checks and benchmarks the invoker
 * sends them. */
#pragma once

int trial_serve(void);
