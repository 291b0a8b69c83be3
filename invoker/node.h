/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The invoker in the role of a node (LAUNCH_NODE). It forks, confines, meters and reaps actors of a job,
 * while another host conducts the job's rounds. It has no learner, no records and no daemon, and decides
 * nothing. It takes orders from a stream (invoker/frame.h) until the stream ends. */
#pragma once

int node_serve(void);
