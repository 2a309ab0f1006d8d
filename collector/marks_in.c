#include "collector/marks_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/wire/mark.h"

/* Datagrams taken in one marks_in_read(). */
#define MAX_READ 4096
/* What the kernel may hold for us: some ten thousand marks. */
#define RECEIVE_BYTES (4 << 20)
/* Senders of which we know how much they lost; later ones are not asked. */
#define MAX_SENDERS 4096

/* A process and its job, for the time of one frame: pids are used again. */
struct process {
	uint32_t pid, job;
};

struct sender {
	uint32_t pid;
	uint64_t lost; /* Last told. */
};

struct marks_in {
	int fd;
	char path[MARK_MAX_PATH];
	char *sysroot; /* Owned. */
	marks_in_job_fn *job_of;
	void *ctx;
	struct tele_frame waiting; /* Its jobs and marks. */
	VEC(struct process) processes;
	VEC(struct sender) senders;
	struct marks_in_counts counts;
};

/* ---- The socket ----------------------------------------------------------------- */

/* Takes away a socket on which nobody listens. */
static int
clear_path(const struct sockaddr_un *at, struct err *err)
{
	struct stat st;
	int fd, error;

	if (lstat(at->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set_errno(err, at->sun_path, EEXIST, "is not a socket");
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, at->sun_path, errno, "socket");
	error = connect(fd, (const struct sockaddr *)at, sizeof *at) < 0 ? errno : 0;
	close(fd);
	if (!error)
		return err_set_errno(err, at->sun_path, EADDRINUSE,
				     "another collector listens here");
	if (unlink(at->sun_path) < 0)
		return err_set_errno(err, at->sun_path, errno, "cannot remove");
	return 0;
}

static int
bind_socket(const char *path, int *ret_fd, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd, yes = 1, bytes = RECEIVE_BYTES, error;

	if (strlen(path) >= sizeof at.sun_path)
		return err_set_errno(err, path, ENAMETOOLONG, "bind");
	strcpy(at.sun_path, path);
	error = clear_path(&at, err);
	if (error < 0)
		return error;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, path, errno, "socket");
	/* As much as we are let; the default does, too. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof at) < 0) {
		error = err_set_errno(err, path, errno, "cannot bind");
		close(fd);
		return error;
	}
	if (chmod(path, 0666) < 0) {
		error = err_set_errno(err, path, errno, "cannot let everybody write");
		unlink(path);
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

int
marks_in_open(const char *path, const char *sysroot, marks_in_job_fn *job_of, void *ctx,
	      struct marks_in **ret_marks, struct err *err)
{
	struct marks_in *m;
	int fd, error = bind_socket(path, &fd, err);

	if (error < 0)
		return error;
	m = xcalloc(1, sizeof *m);
	m->fd = fd;
	strcpy(m->path, path);
	m->sysroot = xstrdup(sysroot ? sysroot : "");
	m->job_of = job_of;
	m->ctx = ctx;
	*ret_marks = m;
	return 0;
}

void
marks_in_close(struct marks_in *m)
{
	if (!m)
		return;
	unlink(m->path);
	close(m->fd);
	free(m->sysroot);
	tele_fini(&m->waiting);
	vec_free(&m->processes);
	vec_free(&m->senders);
	free(m);
}

int
marks_in_fd(const struct marks_in *m)
{
	return m->fd;
}

const struct marks_in_counts *
marks_in_counts(const struct marks_in *m)
{
	return &m->counts;
}

/* ---- Whose is it? --------------------------------------------------------------- */

/* The path of the unified hierarchy, "0::PATH", in what /proc/PID/cgroup says. */
static char *
unified_path(char *text)
{
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strncmp(line, "0::/", 4))
			return line + 3;
	}
	return NULL;
}

static bool
read_cgroup(const struct marks_in *m, uint32_t pid, char *ret_text, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof path, "%s/proc/%u/cgroup", m->sysroot, pid) >=
	    (int)sizeof path)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, ret_text, size - 1);
	close(fd);
	ret_text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The job's index in 'waiting', or TELE_OTHER. */
static uint32_t
find_job(struct marks_in *m, uint32_t pid)
{
	char text[8192], name[TELE_MAX_NAME + 1], *path;

	if (!read_cgroup(m, pid, text, sizeof text))
		return TELE_OTHER;
	path = unified_path(text);
	if (!path || !m->job_of(m->ctx, path, name))
		return TELE_OTHER;
	/* Processes of more jobs than a frame has room for may speak in one second. */
	if (m->waiting.jobs.n >= TELE_MAX_JOBS)
		return TELE_OTHER;
	return tele_add_job(&m->waiting, name);
}

/* As find_job(), but asks once a frame.  O(processes with marks). */
static uint32_t
job_of_process(struct marks_in *m, uint32_t pid)
{
	uint32_t job;

	for (size_t i = m->processes.n; i-- > 0;)
		if (m->processes.items[i].pid == pid)
			return m->processes.items[i].job;
	job = find_job(m, pid);
	vec_push(&m->processes, ((struct process){ pid, job }));
	return job;
}

static void
note_lost(struct marks_in *m, uint32_t pid, uint64_t lost)
{
	struct sender *sender = NULL;

	for (size_t i = 0; i < m->senders.n && !sender; i++)
		if (m->senders.items[i].pid == pid)
			sender = &m->senders.items[i];
	if (!sender && !lost)
		return;
	if (!sender) {
		if (m->senders.n >= MAX_SENDERS)
			return;
		vec_push(&m->senders, ((struct sender){ pid, 0 }));
		sender = &m->senders.items[m->senders.n - 1];
	}
	/* Less than before: the pid is another process now. */
	m->counts.lost += lost >= sender->lost ? lost - sender->lost : lost;
	sender->lost = lost;
}

/* ---- Reading -------------------------------------------------------------------- */

static void
take(struct marks_in *m, const uint8_t *bytes, size_t n, const struct ucred *from)
{
	bool is_trusted = from->uid == 0 || from->uid == geteuid();
	struct mark mark;
	uint32_t pid, job;

	if (mark_decode(bytes, n, &mark) < 0) {
		m->counts.refused++;
		return;
	}
	note_lost(m, (uint32_t)from->pid, mark.lost);
	if (m->waiting.marks.n >= MARKS_IN_MAX) {
		m->counts.dropped++;
		return;
	}
	pid = mark.pid && is_trusted ? mark.pid : (uint32_t)from->pid;
	job = job_of_process(m, pid);
	m->counts.marks++;
	m->counts.homeless += job == TELE_OTHER;
	vec_push(&m->waiting.marks, ((struct tele_mark){
					    .job = job,
					    .source = mark.source,
					    .is_launch = mark.is_launch,
					    .pid = pid,
					    .begin_ns = mark.begin_ns,
					    .end_ns = mark.end_ns,
					    .bytes = mark.bytes,
				    }));
}

static const struct ucred *
credentials(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(struct ucred)))
			return (const struct ucred *)CMSG_DATA(c);
	return NULL;
}

/* A stranger may pass descriptors along; they are not kept. */
static void
close_descriptors(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
	     c = CMSG_NXTHDR(message, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i + sizeof(int) <= n; i += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i, sizeof fd);
			close(fd);
		}
	}
}

void
marks_in_read(struct marks_in *m)
{
	for (int i = 0; i < MAX_READ; i++) {
		uint8_t bytes[MARK_BYTES + 1];

		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(struct ucred))];
		} control;
		struct iovec piece = { bytes, sizeof bytes };
		struct msghdr message = {
			.msg_iov = &piece,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof control,
		};
		ssize_t n = recvmsg(m->fd, &message, MSG_CMSG_CLOEXEC);
		const struct ucred *from;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		close_descriptors(&message);
		from = credentials(&message);
		if (from)
			take(m, bytes, (size_t)n, from);
		else
			m->counts.refused++;
	}
}

bool
marks_in_fill(struct marks_in *m, struct tele_frame *frame)
{
	bool is_any = m->waiting.marks.n > 0;

	for (size_t i = 0; i < m->waiting.marks.n; i++) {
		struct tele_mark mark = m->waiting.marks.items[i];

		if (mark.job != TELE_OTHER)
			mark.job = tele_add_job(frame,
						m->waiting.jobs.items[mark.job].name);
		vec_push(&frame->marks, mark);
	}
	tele_clear(&m->waiting);
	m->processes.n = 0;
	return is_any;
}
