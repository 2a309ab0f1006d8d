/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - metrics of the process: version, CPU, memory, files; with the standard
 * names of Prometheus clients.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/daemon/metrics.h"

/* Splits cli_version()'s "antiphase-x 0.1.0 (a1b2c3d)" into labels. */
static void
build_info(struct metrics *m, const char *version)
{
	char program[64], number[64], revision[64];

	if (sscanf(version, "%63s %63s (%63[^)])", program, number, revision) != 3) {
		snprintf(program, sizeof program, "unknown");
		snprintf(number, sizeof number, "%s", version);
		snprintf(revision, sizeof revision, "unknown");
	}
	metrics_family(m, "antiphase_build_info", METRICS_GAUGE,
		       "Always 1; labels have program and version.");
	metrics_sample(m, 1, "program", program, "version", number, "revision",
		       revision, "libbpf", cli_libbpf(), NULL);
}

static void
memory(struct metrics *m)
{
	unsigned long long virtual_pages, resident_pages;
	double page_bytes = (double)sysconf(_SC_PAGESIZE);
	FILE *in = fopen("/proc/self/statm", "re");

	if (!in)
		return;
	if (fscanf(in, "%llu %llu", &virtual_pages, &resident_pages) == 2) {
		metrics_family(m, "process_virtual_memory_bytes", METRICS_GAUGE,
			       "Virtual memory size.");
		metrics_sample(m, (double)virtual_pages * page_bytes, NULL);
		metrics_family(m, "process_resident_memory_bytes", METRICS_GAUGE,
			       "Resident memory size.");
		metrics_sample(m, (double)resident_pages * page_bytes, NULL);
	}
	fclose(in);
}

/* Seconds from the boot to the start of this process, or -1. */
static double
started_after_boot_s(void)
{
	char text[1024];
	unsigned long long ticks;
	const char *end;
	FILE *in = fopen("/proc/self/stat", "re");
	size_t n;

	if (!in)
		return -1;
	n = fread(text, 1, sizeof text - 1, in);
	fclose(in);
	text[n] = '\0';
	/* Field 2, the name, may contain blanks and parentheses. */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u"
			   " %*u %*d %*d %*d %*d %*d %*d %llu",
			   &ticks) != 1)
		return -1;
	return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static void
start_time(struct metrics *m)
{
	double after_s = started_after_boot_s(), up_s;
	FILE *in = fopen("/proc/uptime", "re");

	if (!in)
		return;
	if (fscanf(in, "%lf", &up_s) == 1 && after_s >= 0) {
		metrics_family(m, "process_start_time_seconds", METRICS_GAUGE,
			       "Start time, in seconds since 1970, UTC.");
		metrics_sample(m, (double)clk_wall_us() * 1e-6 - up_s + after_s, NULL);
	}
	fclose(in);
}

static void
files(struct metrics *m)
{
	DIR *directory = opendir("/proc/self/fd");
	struct rlimit limit;
	int n = 0;

	if (directory) {
		while (readdir(directory))
			n++;
		closedir(directory);
		metrics_family(m, "process_open_fds", METRICS_GAUGE,
			       "Open file descriptors.");
		/* Without ".", ".." and the descriptor of this directory. */
		metrics_sample(m, n - 3, NULL);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		metrics_family(m, "process_max_fds", METRICS_GAUGE,
			       "The most file descriptors that may be open.");
		metrics_sample(m, (double)limit.rlim_cur, NULL);
	}
}

void
metrics_process(struct metrics *m, const char *version)
{
	build_info(m, version);
	metrics_family(m, "process_cpu_seconds_total", METRICS_COUNTER,
		       "CPU time, user and system.");
	metrics_sample(m, (double)clk_cpu_ns() * 1e-9, NULL);
	memory(m);
	start_time(m);
	files(m);
}
