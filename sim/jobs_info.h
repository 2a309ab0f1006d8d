/*
 * jobs_info.h - what is in a trace of jobs, for people and as JSON.
 */
#ifndef SIM_JOBS_INFO_H
#define SIM_JOBS_INFO_H

#include <stdio.h>

#include "sim/joblist.h"

void jobs_info_text(const struct joblist *list, const char *path, FILE *out);
void jobs_info_json(const struct joblist *list, const char *path, FILE *out);

#endif
