/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spank_antiphase.c - a plug-in for Slurm (SPANK): gives jobs the pacer, and users an
 * option.
 *
 * In plugstack.conf, on one line:
 *
 *	optional /usr/local/lib/antiphase/spank_antiphase.so
 *		preload=/usr/local/lib/libantiphase-pacer.so [default=on|off|profile]
 *		[endpoint=PATH] [dir=/run/antiphase] [cgroup=/sys/fs/cgroup/slurm_antiphase]
 *
 * Then sbatch, salloc and srun accept --antiphase=on|off|profile. Tasks, and the batch
 * script, get ANTIPHASE_MODE and ANTIPHASE_JOB, ANTIPHASE_ENDPOINT (endpoint=),
 * ANTIPHASE_SHIFT_US (if DIR/JOB/shift has a number when they start) and, unless the
 * mode is off or the library is missing, LD_PRELOAD with the pacer first. The gate
 * (job_submit.lua) reads the mode in the job's SPANK environment.
 *
 * cgroup=DIR is for clusters where Slurm makes no control group for each job: tasks are
 * put into DIR/job_ID, so that the collector can tell jobs apart (DIR's last part must
 * be "slurm" or begin with "slurm_"). DIR is in a cgroup v2 tree, and is made if
 * needed.
 *
 * The plug-in never fails a job: it logs errors and goes on. Slurm loads only plug-ins
 * of its own release, so compile this for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT 4096

SPANK_PLUGIN(antiphase, 1)

static const char *const modes[] = { "on", "off", "profile", NULL };

/* The value of --antiphase; NULL: not given. */
static const char *asked_mode;

static const char *
find_mode(const char *text)
{
	for (int i = 0; modes[i]; i++) {
		if (text && strcmp(text, modes[i]) == 0)
			return modes[i];
	}
	return NULL;
}

static int
take_option(int val, const char *arg, int remote)
{
	(void)val;
	(void)remote;
	asked_mode = find_mode(arg);
	if (asked_mode)
		return 0;
	slurm_error("antiphase: --antiphase is on, off or profile, and not '%s'",
		    arg ? arg : "");
	return -1;
}

/* Registered here: sbatch and salloc ignore a table of options. */
int
slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	static struct spank_option option = {
		(char *)"antiphase",
		(char *)"on|off|profile",
		(char *)"take part in time-shifting: on, off, or be measured only",
		1,
		0,
		take_option,
	};

	(void)argc;
	(void)argv;
	if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
		slurm_error("antiphase: --antiphase could not be registered");
	return 0;
}

/* The value of "KEY=VALUE" among the words of plugstack.conf, or NULL. */
static const char *
word_of(int argc, char *argv[], const char *key)
{
	size_t n = strlen(key);

	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=')
			return argv[i] + n + 1;
	}
	return NULL;
}

static const char *
mode_of(int argc, char *argv[])
{
	const char *mode = find_mode(word_of(argc, argv, "default"));

	return asked_mode ? asked_mode : mode ? mode : "on";
}

/*
 * ---- Where the job is submitted ---------------------------------------------------
 */

/* Exports the mode for the gate, which cannot see the option otherwise. */
int
slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
	spank_context_t context = spank_context();

	(void)argc;
	(void)argv;
	if (asked_mode && (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR))
		spank_job_control_setenv(spank, "ANTIPHASE_MODE", asked_mode, 1);
	return 0;
}

/*
 * ---- Where it runs ----------------------------------------------------------------
 */

static void
set_job(spank_t spank, uint32_t job)
{
	uint32_t array = 0, task = 0;
	char name[32];

	/* Slurm's values for "no array" are 0 and NO_VAL. */
	if (spank_get_item(spank, S_JOB_ARRAY_ID, &array) == ESPANK_SUCCESS && array &&
	    spank_get_item(spank, S_JOB_ARRAY_TASK_ID, &task) == ESPANK_SUCCESS &&
	    task < 0xfffffffe)
		snprintf(name, sizeof name, "%u_%u", (unsigned)array, (unsigned)task);
	else
		snprintf(name, sizeof name, "%u", (unsigned)job);
	spank_setenv(spank, "ANTIPHASE_JOB", name, 1);
}

/* The number in DIR/JOB/shift, if that file exists and holds one. */
static void
set_shift(spank_t spank, uint32_t job, const char *dir)
{
	char path[MAX_TEXT], text[32] = "";
	FILE *in;

	if (snprintf(path, sizeof path, "%s/%u/shift", dir, (unsigned)job) >=
	    (int)sizeof path)
		return;
	in = fopen(path, "re");
	if (!in)
		return;
	if (fgets(text, sizeof text, in))
		text[strcspn(text, "\n")] = '\0';
	fclose(in);
	if (text[0] && text[strspn(text, "0123456789")] == '\0')
		spank_setenv(spank, "ANTIPHASE_SHIFT_US", text, 1);
}

/*
 * Puts the pacer in front of the user's LD_PRELOAD. A missing library is left out,
 * because the loader would complain in each process.
 */
static void
set_preload(spank_t spank, const char *library)
{
	char before[MAX_TEXT] = "", now[2 * MAX_TEXT];

	if (access(library, R_OK) != 0) {
		slurm_error("antiphase: %s: %s; the job runs without it", library,
			    strerror(errno));
		return;
	}
	if (spank_getenv(spank, "LD_PRELOAD", before, sizeof before) ==
	    ESPANK_NOSPACE) {
		slurm_error("antiphase: LD_PRELOAD is too long; the job runs without "
			    "the pacer");
		return;
	}
	/* Steps inherit the batch script's environment. */
	if (strstr(before, library))
		return;
	snprintf(now, sizeof now, "%s%s%s", library, before[0] ? ":" : "", before);
	spank_setenv(spank, "LD_PRELOAD", now, 1);
}

int
slurm_spank_task_init(spank_t spank, int argc, char *argv[])
{
	const char *mode = mode_of(argc, argv);
	const char *dir = word_of(argc, argv, "dir");
	const char *endpoint = word_of(argc, argv, "endpoint");
	const char *preload = word_of(argc, argv, "preload");
	uint32_t job = 0;

	if (spank_context() != S_CTX_REMOTE ||
	    spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return 0;
	spank_setenv(spank, "ANTIPHASE_MODE", mode, 1);
	if (strcmp(mode, "off") == 0)
		return 0;
	set_job(spank, job);
	if (endpoint)
		spank_setenv(spank, "ANTIPHASE_ENDPOINT", endpoint, 1);
	set_shift(spank, job, dir ? dir : "/run/antiphase");
	if (preload)
		set_preload(spank, preload);
	return 0;
}

/*
 * ---- A control group for each job --------------------------------------------------
 */

static bool
group_path(char *path, size_t size, const char *dir, uint32_t job, const char *file)
{
	int n = snprintf(path, size, "%s/job_%u%s", dir, (unsigned)job, file);

	return n > 0 && (size_t)n < size;
}

/* Puts this process, which becomes the task, into the job's group. */
static int
join_group(const char *dir, uint32_t job)
{
	char path[MAX_TEXT];
	int fd, r = 0;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (!group_path(path, sizeof path, dir, job, ""))
		return -ENAMETOOLONG;
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (!group_path(path, sizeof path, dir, job, "/cgroup.procs"))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, "0", 1) != 1)
		r = -errno;
	close(fd);
	return r;
}

int
slurm_spank_task_init_privileged(spank_t spank, int argc, char *argv[])
{
	const char *dir = word_of(argc, argv, "cgroup");
	uint32_t job = 0;
	int r;

	if (!dir || spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
		return 0;
	r = join_group(dir, job);
	if (r < 0)
		slurm_error("antiphase: job %u has no control group in %s: %s",
			    (unsigned)job, dir, strerror(-r));
	return 0;
}

/* At the job's end, on each of its nodes; a group still in use stays. */
int
slurm_spank_job_epilog(spank_t spank, int argc, char *argv[])
{
	const char *dir = word_of(argc, argv, "cgroup");
	char path[MAX_TEXT];
	uint32_t job = 0;

	if (dir && spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS &&
	    group_path(path, sizeof path, dir, job, ""))
		rmdir(path);
	return 0;
}
