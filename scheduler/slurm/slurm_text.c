/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_text.c - reader of squeue's output: jobs. */
#include "scheduler/slurm/slurm_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"
#include "scheduler/slurm/slurm_fields.h"

#define ROWS_A_STEP 500

/* Fields of a job, in the order of names[]; what users write comes last. */
enum job_field {
	JOB_ID,
	JOB_LOCAL_ID,
	JOB_STATE,
	JOB_N_NODES,
	JOB_NODES,
	JOB_REASON,
	JOB_PRIORITY,
	JOB_REQUIRED,
	JOB_PREFERRED,
	JOB_PARTITION,
	JOB_USER,
	JOB_ELIGIBLE,
	JOB_START,
	JOB_RESTARTS,
	JOB_REQUEUE,
	JOB_FEATURES,
	JOB_RECORD,
	JOB_COMMENT,
	JOB_NAME,
	N_JOB_FIELDS,
};

static const char *const names[N_JOB_FIELDS] = {
	"JobArrayID", "JobID",         "State",     "NumNodes",   "NodeList",
	"Reason",     "PriorityLong",  "ReqNodes",  "Prefer",     "Partition",
	"UserName",   "EligibleTime",  "StartTime", "RestartCnt", "Requeue",
	"Feature",    "admin_comment", "Comment",   "Name",
};

/* States of squeue -O State, and our states. */
struct state_name {
	const char *name;
	enum sched_job_state state;
};

static const struct state_name state_names[] = {
	{ "PENDING", SCHED_WAITING },      { "REQUEUED", SCHED_WAITING },
	{ "REQUEUE_HOLD", SCHED_WAITING }, { "REQUEUE_FED", SCHED_WAITING },
	{ "SPECIAL_EXIT", SCHED_WAITING }, { "RESV_DEL_HOLD", SCHED_WAITING },
	{ "CONFIGURING", SCHED_STARTING }, { "POWER_UP_NODE", SCHED_STARTING },
	{ "RUNNING", SCHED_RUNNING },      { "SUSPENDED", SCHED_RUNNING },
	{ "RESIZING", SCHED_RUNNING },     { "SIGNALING", SCHED_RUNNING },
	{ "STOPPED", SCHED_RUNNING },      { "UPDATE_DB", SCHED_RUNNING },
	{ "EXPEDITING", SCHED_ENDING },    { "COMPLETING", SCHED_ENDING },
	{ "STAGE_OUT", SCHED_ENDING },
};

static const char *const ended_states[] = {
	"BOOT_FAIL",     "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
	"NODE_FAIL",     "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT",
	"LAUNCH_FAILED", "RECONFIG_FAIL", NULL,
};

/* ---- Pieces ---------------------------------------------------------------------- */

char *
slurm_piece_value(struct slurm_piece piece)
{
	static const char *const nothing[] = { "(null)", "N/A", "n/a", "None", NULL };

	for (size_t i = 0; nothing[i]; i++) {
		if (slurm_piece_is(piece, nothing[i]))
			return xstrdup("");
	}
	return slurm_piece_clean(piece);
}

char *
slurm_piece_clean(struct slurm_piece piece)
{
	char *copy = xstrndup(piece.text, piece.n), *to = copy;
	const char *from = copy;

	while (*from) {
		size_t n = utf8_length(from);

		if (n == 0 || iscntrl((unsigned char)*from)) {
			*to++ = '?';
			from++;
			continue;
		}
		memmove(to, from, n);
		to += n;
		from += n;
	}
	*to = '\0';
	return copy;
}

bool
slurm_piece_is(struct slurm_piece piece, const char *word)
{
	return piece.n == strlen(word) && memcmp(piece.text, word, piece.n) == 0;
}

bool
slurm_piece_number(struct slurm_piece piece, uint64_t max, uint64_t *ret_number,
		   size_t *ret_n)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; i < piece.n && isdigit((unsigned char)piece.text[i]); i++) {
		number = number * 10 + (uint64_t)(piece.text[i] - '0');
		if (number > max)
			return false;
	}
	if (i == 0)
		return false;
	*ret_number = number;
	*ret_n = i;
	return true;
}

/* "2026-11-21T00:46:12", UTC, in microseconds; 0 for all else ("N/A", "Unknown"). */
static int64_t
read_time_us(struct slurm_piece piece)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";
	char text[sizeof form];
	struct tm tm = { .tm_isdst = 0 };

	if (piece.n != sizeof form - 1)
		return 0;
	for (size_t i = 0; i < piece.n; i++) {
		if (form[i] == 'd' ? !isdigit((unsigned char)piece.text[i])
				   : piece.text[i] != form[i])
			return 0;
	}
	memcpy(text, piece.text, piece.n);
	text[piece.n] = '\0';
	tm.tm_year = atoi(text) - 1900;
	tm.tm_mon = atoi(text + 5) - 1;
	tm.tm_mday = atoi(text + 8);
	tm.tm_hour = atoi(text + 11);
	tm.tm_min = atoi(text + 14);
	tm.tm_sec = atoi(text + 17);
	return (int64_t)timegm(&tm) * 1000000;
}

/* ---- Jobs ------------------------------------------------------------------------ */

void
slurm_jobs_format(const char *mark, struct strbuf *out)
{
	strbuf_puts(out, "SQUEUE_FORMAT2=");
	for (int i = 0; i < N_JOB_FIELDS; i++)
		strbuf_printf(out, "%s%s:%s", i ? "," : "", names[i], mark);
}

/*
 * The id of "4711", "4711_2", "4711+0", and of "4711_[3-9%2]" or "4711_[3,5,...]",
 * which becomes "4711_3". NULL for all else.
 */
static char *
read_id(struct slurm_piece piece)
{
	uint64_t job, task;
	size_t n, n_task;
	bool is_list;
	char kind;

	if (!slurm_piece_number(piece, UINT32_MAX, &job, &n))
		return NULL;
	if (n == piece.n)
		return xasprintf("%u", (unsigned)job);
	kind = piece.text[n++];
	is_list = kind == '_' && n < piece.n && piece.text[n] == '[';
	n += is_list;
	piece.text += n;
	piece.n -= n;
	if ((kind != '_' && kind != '+') ||
	    !slurm_piece_number(piece, UINT32_MAX, &task, &n_task))
		return NULL;
	if (is_list ? piece.n < n_task + 1 || piece.text[piece.n - 1] == '['
		    : piece.n != n_task)
		return NULL;
	return xasprintf("%u%c%u", (unsigned)job, kind, (unsigned)task);
}

/* False for a job that is over. In an unknown state a job holds its nodes. */
static bool
read_state(struct slurm_piece piece, enum sched_job_state *ret_state)
{
	*ret_state = SCHED_ENDING;
	for (size_t i = 0; ended_states[i]; i++) {
		if (slurm_piece_is(piece, ended_states[i]))
			return false;
	}
	for (size_t i = 0; i < sizeof state_names / sizeof *state_names; i++) {
		if (slurm_piece_is(piece, state_names[i].name))
			*ret_state = state_names[i].state;
	}
	return true;
}

static uint64_t
number_of(struct slurm_piece piece, uint64_t max)
{
	uint64_t number;
	size_t n;

	return slurm_piece_number(piece, max, &number, &n) ? number : 0;
}

static bool
begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Whether our gate holds the job back, and not a later start time of its user. */
static bool
is_gated(const struct sched_job *job, int64_t at_us)
{
	const char *until;
	int64_t away_us;

	if (job->state != SCHED_WAITING || job->n_restarts ||
	    job->eligible_us <= at_us || !begins_with(job->record, SLURM_GATE_RECORD))
		return false;
	until = strstr(job->record, SLURM_GATE_UNTIL);
	if (!until)
		return true;
	away_us = (int64_t)strtoul(until + strlen(SLURM_GATE_UNTIL), NULL, 10);
	if (away_us > INT64_MAX / 2000000)
		return false;
	away_us = job->eligible_us - away_us * 1000000;
	return away_us >= -1000000 && away_us <= 1000000;
}

/* Whether a user's comment has that word for us. */
static bool
has_word(const char *comment, const char *word)
{
	static const char divider[] = " \t,;";
	const char *ours = strcasestr(comment, SLURM_COMMENT);

	if (!ours)
		return false;
	ours += strlen(SLURM_COMMENT);
	while (*ours) {
		size_t n;

		ours += strspn(ours, divider);
		n = strcspn(ours, divider);
		if (n == strlen(word) && strncasecmp(ours, word, n) == 0)
			return true;
		ours += n;
	}
	return false;
}

/* Whether nodes are all that it waits for, by the reasons of Slurm's main scheduler. */
static bool
is_queued(const struct sched_job *job, int64_t at_us)
{
	static const char *const reasons[] = { "", "Resources", "Priority", NULL };

	if (job->state != SCHED_WAITING || job->eligible_us > at_us)
		return false;
	for (size_t i = 0; reasons[i]; i++)
		if (strcmp(job->reason, reasons[i]) == 0)
			return true;
	return false;
}

/* Makes a job from its fields; the id is valid. */
static struct sched_job
make_job(char *id, enum sched_job_state state, const struct slurm_piece fields[],
	 int64_t at_us)
{
	struct sched_job job = {
		.id = id,
		.local_id = slurm_piece_clean(fields[JOB_LOCAL_ID]),
		.name = slurm_piece_clean(fields[JOB_NAME]),
		.user = slurm_piece_clean(fields[JOB_USER]),
		.partition = slurm_piece_clean(fields[JOB_PARTITION]),
		.state = state,
		.n_nodes = (uint32_t)number_of(fields[JOB_N_NODES], SCHED_MAX_NODES),
		.nodes = slurm_piece_value(fields[JOB_NODES]),
		.required = slurm_piece_value(fields[JOB_REQUIRED]),
		.excluded = xstrdup(""),
		.preferred = slurm_piece_value(fields[JOB_PREFERRED]),
		.features = slurm_piece_value(fields[JOB_FEATURES]),
		.reason = slurm_piece_value(fields[JOB_REASON]),
		.comment = slurm_piece_value(fields[JOB_COMMENT]),
		.record = slurm_piece_value(fields[JOB_RECORD]),
		.priority = (int64_t)number_of(fields[JOB_PRIORITY], INT64_MAX / 16),
		.eligible_us = read_time_us(fields[JOB_ELIGIBLE]),
		.n_restarts = (uint32_t)number_of(fields[JOB_RESTARTS], UINT32_MAX),
		.can_requeue = number_of(fields[JOB_REQUEUE], UINT32_MAX) > 0,
	};

	if (state == SCHED_RUNNING || state == SCHED_ENDING)
		job.start_us = read_time_us(fields[JOB_START]);
	job.is_movable = has_word(job.comment, SLURM_MOVABLE);
	job.is_gated = is_gated(&job, at_us);
	job.is_queued = is_queued(&job, at_us);
	job.is_pinned = slurm_record_has(job.record, SLURM_PINNED) ||
			slurm_record_has(job.record, SLURM_PREFERRED);
	return job;
}

/* Cuts the next field off 'rest'; false without a mark. */
static bool
next_marked(struct slurm_piece *rest, const char *mark, struct slurm_piece *ret_field)
{
	const char *end = memmem(rest->text, rest->n, mark, strlen(mark));

	if (!end)
		return false;
	ret_field->text = rest->text;
	ret_field->n = (size_t)(end - rest->text);
	rest->n -= ret_field->n + strlen(mark);
	rest->text = end + strlen(mark);
	return true;
}

/* Cuts a whole job off 'rest'. */
static bool
next_job(struct slurm_piece *rest, const char *mark, struct slurm_piece fields[])
{
	for (int i = 0; i < N_JOB_FIELDS; i++) {
		if (!next_marked(rest, mark, &fields[i]))
			return false;
	}
	if (rest->n == 0 || *rest->text != '\n')
		return false;
	rest->text++;
	rest->n--;
	return true;
}

struct slurm_reader {
	struct slurm_piece rest; /* Borrowed. */
	const char *mark;        /* Borrowed. */
	unsigned row;
	int64_t at_us;
	VEC(struct sched_job) jobs;
	struct sched_snapshot sorted; /* 'jobs', when all are there. */
	enum slurm_sorting sorting;
};

struct slurm_reader *
slurm_reader_new(const char *text, size_t n, const char *mark, int64_t at_us)
{
	struct slurm_reader *reader = xcalloc(1, sizeof *reader);

	reader->rest = (struct slurm_piece){ text, n };
	reader->mark = mark;
	reader->at_us = at_us;
	return reader;
}

void
slurm_reader_free(struct slurm_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->jobs.n; i++)
		sched_job_fini(&reader->jobs.items[i]);
	vec_free(&reader->jobs);
	sched_snapshot_fini(&reader->sorted);
	free(reader);
}

/* Reads a job; 0, or what is wrong. */
static int
read_job(struct slurm_reader *reader, struct err *err)
{
	struct slurm_piece fields[N_JOB_FIELDS];
	struct sched_job job, *last;
	enum sched_job_state state;
	char *id;

	reader->row++;
	if (!next_job(&reader->rest, reader->mark, fields))
		return err_set(err, NULL, 0, 0,
			       "squeue printed something else than was asked for, "
			       "at job %u of its list",
			       reader->row);
	if (!read_state(fields[JOB_STATE], &state))
		return 0;
	id = read_id(fields[JOB_ID]);
	if (!id)
		return err_set(err, NULL, 0, 0, "squeue printed '%.*s' as a job id",
			       fields[JOB_ID].n > 64 ? 64 : (int)fields[JOB_ID].n,
			       fields[JOB_ID].text);
	job = make_job(id, state, fields, reader->at_us);
	last = reader->jobs.n ? &reader->jobs.items[reader->jobs.n - 1] : NULL;
	if (last && slurm_is_same_array(last, &job) &&
	    slurm_task_of(last) < slurm_task_of(&job)) {
		sched_job_fini(&job);
		return 0;
	}
	if (reader->jobs.n == SCHED_MAX_JOBS) {
		sched_job_fini(&job);
		err_set(err, NULL, 0, 0, "squeue printed more than %d jobs",
			SCHED_MAX_JOBS);
		return -E2BIG;
	}
	vec_push(&reader->jobs, job);
	return 0;
}

int
slurm_reader_step(struct slurm_reader *reader, struct err *err)
{
	int r = 0;

	for (int i = 0; i < ROWS_A_STEP && reader->rest.n > 0 && r == 0; i++)
		r = read_job(reader, err);
	if (r < 0)
		return r;
	if (reader->rest.n > 0)
		return 1;
	if (reader->jobs.items) {
		reader->sorted.jobs = reader->jobs.items;
		reader->sorted.n_jobs = reader->jobs.n;
		reader->jobs.items = NULL;
		reader->jobs.n = reader->jobs.capacity = 0;
		return 1;
	}
	return slurm_sort_step(&reader->sorted, &reader->sorting);
}

void
slurm_reader_take(struct slurm_reader *reader, struct sched_snapshot *snapshot)
{
	snapshot->jobs = reader->sorted.jobs;
	snapshot->by_local_id = reader->sorted.by_local_id;
	snapshot->n_jobs = reader->sorted.n_jobs;
	reader->sorted = (struct sched_snapshot){ .n_jobs = 0 };
}

int
slurm_read_jobs(const char *text, size_t n, const char *mark,
		struct sched_snapshot *snapshot, struct err *err)
{
	struct slurm_reader *reader = slurm_reader_new(text, n, mark, snapshot->at_us);
	int r;

	do
		r = slurm_reader_step(reader, err);
	while (r > 0);
	if (r == 0)
		slurm_reader_take(reader, snapshot);
	else
		sched_snapshot_fini(snapshot);
	slurm_reader_free(reader);
	return r;
}

bool
slurm_next_column(struct slurm_piece *line, struct slurm_piece *ret_field)
{
	return next_marked(line, "|", ret_field);
}

bool
slurm_next_line(struct slurm_piece *rest, struct slurm_piece *ret_line)
{
	const char *end;

	if (rest->n == 0)
		return false;
	end = memchr(rest->text, '\n', rest->n);
	ret_line->text = rest->text;
	ret_line->n = end ? (size_t)(end - rest->text) : rest->n;
	rest->text += ret_line->n + (end != NULL);
	rest->n -= ret_line->n + (end != NULL);
	return true;
}

int
slurm_read_excluded(const char *text, size_t n, struct sched_snapshot *snapshot,
		    struct err *err)
{
	struct slurm_piece rest = { text, n }, line, field, excluded;

	for (unsigned row = 1; slurm_next_line(&rest, &line); row++) {
		struct sched_job *job;
		char *id;

		if (!slurm_next_column(&line, &field) ||
		    !slurm_next_column(&line, &excluded) || line.n > 0)
			return err_set(err, NULL, row, 0,
				       "squeue printed something else than was asked "
				       "for");
		id = excluded.n ? read_id(field) : NULL;
		/*
		 * The list of jobs is of another moment: a job may have come or gone.
		 */
		job = id ? (struct sched_job *)sched_find_job(snapshot, id) : NULL;
		free(id);
		if (!job)
			continue;
		free(job->excluded);
		job->excluded = slurm_piece_value(excluded);
	}
	return 0;
}

/* ---- Ids and records ------------------------------------------------------------- */

/* "4711", or with a number behind the divider: "4711_2". */
static bool
is_id(const char *id, char divider)
{
	struct slurm_piece piece = { id, strlen(id) };
	uint64_t number;
	size_t n;

	if (!slurm_piece_number(piece, UINT32_MAX, &number, &n))
		return false;
	if (n == piece.n)
		return divider == '_';
	piece = (struct slurm_piece){ id + n + 1, piece.n - n - 1 };
	return id[n] == divider && slurm_piece_number(piece, UINT32_MAX, &number, &n) &&
	       n == piece.n;
}

bool
slurm_is_job_id(const char *id)
{
	return is_id(id, '_');
}

bool
slurm_is_het_id(const char *id)
{
	return is_id(id, '+');
}

bool
slurm_record_has(const char *record, const char *word)
{
	size_t n_word = strlen(word);

	if (!begins_with(record, "antiphase:v1"))
		return false;
	while (*record) {
		size_t n = strcspn(record, ";");

		if (n == n_word && strncmp(record, word, n) == 0)
			return true;
		record += n + (record[n] == ';');
	}
	return false;
}

unsigned
slurm_version(const char *text)
{
	struct slurm_piece piece;
	uint64_t year, month;
	size_t n;

	text += strcspn(text, "0123456789");
	piece = (struct slurm_piece){ text, strlen(text) };
	if (!slurm_piece_number(piece, 99, &year, &n) || text[n] != '.')
		return 0;
	piece = (struct slurm_piece){ text + n + 1, piece.n - n - 1 };
	if (!slurm_piece_number(piece, 12, &month, &n))
		return 0;
	return (unsigned)(year * 100 + month);
}
