/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/seq.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "lib/wire/tele.h"

/* The last frame of one kind. */
struct last {
	bool is_known;
	uint64_t start_id, sequence;
	int64_t time_ns;
};

/* The last two starts, latest first: two processes may send under one name. */
struct sender {
	struct last of_kind[TELE_LAST_KIND + 1][2];
	unsigned n_starts;     /* Known starts: 0 to 2, for all kinds of frames. */
	uint64_t start_ids[2]; /* Latest first. */
	uint64_t gaps;
};

struct seq_book {
	struct strtab *hosts;
	VEC(struct sender) senders; /* Indexed by the host's number. */
	struct seq_counts counts;
};

struct seq_book *
seq_book_new(void)
{
	struct seq_book *book = xcalloc(1, sizeof *book);

	book->hosts = strtab_new();
	return book;
}

void
seq_book_free(struct seq_book *book)
{
	if (!book)
		return;
	strtab_free(book->hosts);
	vec_free(&book->senders);
	free(book);
}

/* Adds with saturation, because the numbers are untrusted. */
static void
add(uint64_t *sum, uint64_t n)
{
	*sum = *sum + n < n ? UINT64_MAX : *sum + n;
}

static struct sender *
sender_of(struct seq_book *book, const char *host)
{
	uint32_t id;

	if (book->senders.n >= SEQ_MAX_SENDERS &&
	    strtab_find(book->hosts, host) == STRTAB_NONE)
		return NULL;
	id = strtab_intern(book->hosts, host);
	if (id == book->senders.n) {
		vec_push(&book->senders, (struct sender){ 0 });
		book->counts.hosts++;
	}
	return &book->senders.items[id];
}

/* The previous frame of the same start, if this is one of the last two starts. */
static struct last *
last_of(struct sender *sender, const struct tele_frame *frame)
{
	struct last *two = sender->of_kind[frame->kind];
	struct last before = two[1];

	if (two[0].is_known && two[0].start_id != frame->start_id) {
		two[1] = two[0];
		if (before.is_known && before.start_id == frame->start_id)
			two[0] = before;
	}
	return two;
}

/* Records a frame's start; true if it is not one of the last two. */
static bool
is_another_start(struct sender *sender, uint64_t start_id)
{
	uint64_t *starts = sender->start_ids;
	bool is_third = sender->n_starts && start_id != starts[0] &&
			(sender->n_starts < 2 || start_id != starts[1]);

	if (sender->n_starts && start_id == starts[0])
		return false;
	starts[1] = starts[0];
	starts[0] = start_id;
	sender->n_starts += sender->n_starts < 2;
	return is_third;
}

enum seq_verdict
seq_note(struct seq_book *book, const struct tele_frame *frame, uint64_t *ret_missing)
{
	struct sender *sender = sender_of(book, frame->host);
	enum seq_verdict verdict = SEQ_NEXT;
	uint64_t missing = 0;
	struct last *last;
	bool is_new_start;

	if (ret_missing)
		*ret_missing = 0;
	if (!sender)
		return SEQ_FIRST;
	last = last_of(sender, frame);
	is_new_start = last->is_known && frame->start_id != last->start_id;
	if (!last->is_known) {
		verdict = SEQ_FIRST;
	} else if (is_new_start) {
		verdict = SEQ_RESTART;
		missing = frame->sequence;
	} else if (frame->sequence == last->sequence &&
		   frame->time_ns == last->time_ns) {
		verdict = SEQ_REPEAT;
	} else if (frame->sequence <= last->sequence) {
		verdict = SEQ_RESTART;
	} else if (frame->sequence - last->sequence > 1) {
		verdict = SEQ_GAP;
		missing = frame->sequence - last->sequence - 1;
	}

	*last = (struct last){ true, frame->start_id, frame->sequence, frame->time_ns };
	/* A restart shows in each kind of frames, but counts once. */
	book->counts.restarts += is_another_start(sender, frame->start_id) ||
				 (verdict == SEQ_RESTART && !is_new_start);
	book->counts.repeats += verdict == SEQ_REPEAT;
	add(&book->counts.gaps, missing);
	add(&sender->gaps, missing);
	if (ret_missing)
		*ret_missing = missing;
	return verdict;
}

const struct seq_counts *
seq_counts(const struct seq_book *book)
{
	return &book->counts;
}

uint64_t
seq_gaps_of(const struct seq_book *book, const char *host)
{
	uint32_t id = strtab_find(book->hosts, host);

	return id == STRTAB_NONE ? 0 : book->senders.items[id].gaps;
}
