/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints a graph of fragments (parts of a job's training loop) to standard output as a picture. */
#pragma once

#include "include/fragment.h"

/* Prints the graph in the language of Graphviz; each kind of process is a cluster. */
void graph_print_dot(const Graph *graph, const char *title);
/* Prints the graph as SVG; each kind of process is a box, with its fragments in the order of a round. */
void graph_print_svg(const Graph *graph, const char *title);
