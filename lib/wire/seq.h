/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seq.h - frames missing from the sequences of senders
 *
 * Each receiver, of a bus or of a file, keeps one book with the last frame of each host and
 * kind.  Pure.
 */
#ifndef LIB_WIRE_SEQ_H
#define LIB_WIRE_SEQ_H

#include <stdint.h>

struct seq_book;
struct tele_frame;

/*
 * Further senders are not counted. Chosen: twice the hosts of the largest cluster; 16 MB,
 * which any sender can fill, as none is forgotten.
 */
#define SEQ_MAX_SENDERS 32768

enum seq_verdict {
	SEQ_FIRST,   /* Of this sender: nothing is known of what was before. */
	SEQ_NEXT,    /* As it has to be. */
	SEQ_GAP,     /* Frames before it are missing. */
	SEQ_RESTART, /* The sender began anew, or an earlier recording is played. */
	SEQ_REPEAT,  /* A repetition of the last one: it arrived on two paths. */
};

struct seq_counts {
	uint64_t gaps; /* Frames that are missing. */
	uint64_t restarts, repeats;
	uint32_t hosts; /* That were ever heard of. */
};

struct seq_book *seq_book_new(void);
void seq_book_free(struct seq_book *book); /* Accepts NULL. */

/* Notes a frame.  'ret_missing' (may be NULL) gets how many are missing before it. */
enum seq_verdict seq_note(struct seq_book *book, const struct tele_frame *frame,
			  uint64_t *ret_missing);

const struct seq_counts *seq_counts(const struct seq_book *book);
/* Frames of this host that are missing, of all kinds. */
uint64_t seq_gaps_of(const struct seq_book *book, const char *host);

#endif
