/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page as HTML or as Markdown. Every text is escaped for the format, since users choose names and
 * descriptions. */
#pragma once

#include <glib.h>

#include "actorctl/experiment/plot.h"

typedef enum PageFormat { PAGE_HTML, PAGE_MD } PageFormat;

typedef struct Page Page;

Page *page_new(PageFormat format, const char *title);
/* level 1: a job; 2: a part of a job. */
void page_heading(Page *page, unsigned level, const char *text);
void page_paragraph(Page *page, const char *text);
/* Adds an item to a list. The first item begins the list, and anything else ends it. */
void page_item(Page *page, const char *text);
/* Cells, `columns` in each row; the first row is the heading. Columns from 1 on are right-aligned, except in
 * HTML if there are two columns and no shares. HTML shows share[row] (0 to 1; NULL: none) as a bar in the
 * last cell. */
void page_table(Page *page, const GPtrArray *cells, guint columns, const double *share);
/* The plot is left out of Markdown, which cannot contain pictures, and if it has no data. */
void page_plot(Page *page, const Plot *plot);
/* Adds a picture that is drawn already; Markdown leaves it out, too. */
void page_svg(Page *page, const char *svg);
/* A long text, which HTML hides until a reader opens it. */
void page_fold(Page *page, const char *summary, const char *text);
/* The whole page, g_free(). */
char *page_finish(Page *page);
Page *page_free(Page *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Page, page_free)
