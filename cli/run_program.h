/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_program.h - verbs that run another program.
 */
#ifndef CLI_RUN_PROGRAM_H
#define CLI_RUN_PROGRAM_H

/*
 * Replaces this process with 'program' and the 'argc' words of 'argv'.  'typed' is the
 * text typed before them ("antiphase"), which the program shows in its help
 * (cli_typed()).  Looks for the program beside this one (so that a build tree works),
 * in "../sbin" of that directory, then on $PATH.  Returns only if none is found: the
 * exit status.
 */
int run_program(const char *program, const char *typed, int argc, char **argv);

/* The directory of this program, with its slash; NULL if unknown.  Free with free(). */
char *program_directory(void);

#endif
