/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_source.h - what 'antiphase web' shows: a bus as it is now, or a recording at any of
 * its times, as documents
 *
 * A recording is read from its beginning to the time that is asked for, and on from there;
 * a time before the last one begins anew.  Frames that are more than 35 s older than
 * that time are only passed over.  A second reader follows the whole recording in small steps,
 * for the course of the links.
 */
#ifndef CLI_WEB_SOURCE_H
#define CLI_WEB_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct cli_verb;
struct err;
struct loop;
struct screen_opts;
struct strbuf;
struct topo;
struct web_source;

/*
 * Opens the sources of 'opts' (borrowed).  Returns CLI_OK, or the exit status after a message.
 * Several recordings are one; with a bus, all are live.
 */
int web_source_open(const struct cli_verb *verb, const struct screen_opts *opts,
		    struct web_source **ret_source);
void web_source_close(struct web_source *source); /* Accepts NULL. */
/* Reads from 'loop' from now on; 'source' needs to be closed before it. */
void web_source_join(struct web_source *source, struct loop *loop);

const char *web_source_name(const struct web_source *source);
const struct topo *web_source_topo(const struct web_source *source); /* NULL: none. */
bool web_source_is_recording(const struct web_source *source);
/* The first and the last frame of a recording, microseconds since 1970. */
int64_t web_source_begin_us(const struct web_source *source);
int64_t web_source_end_us(const struct web_source *source);

/*
 * Documents as of 'at_us', which does not matter for a bus.  All but the last return 0, or
 * a negative errno with 'err' filled.
 */
/* Appends antiphase.top/1: all links and jobs. */
int web_source_top(struct web_source *source, int64_t at_us, struct strbuf *out,
		   struct err *err);
/* Appends antiphase.circle/1 of a link; -ENOENT if nothing is known of it. */
int web_source_circle(struct web_source *source, int64_t at_us, const char *link,
		      struct strbuf *out, struct err *err);
/* The same for antiphase.link_series/1. */
int web_source_series(struct web_source *source, int64_t at_us, const char *link,
		      struct strbuf *out, struct err *err);
/* Appends antiphase.link_history/2, as far as the recording has been followed. */
void web_source_history(const struct web_source *source, struct strbuf *out);

#endif
