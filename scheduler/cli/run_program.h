/*
 * run_program.h - verbs that are programs of their own.
 */
#ifndef SCHEDULER_CLI_RUN_PROGRAM_H
#define SCHEDULER_CLI_RUN_PROGRAM_H

/*
 * Becomes 'program' with 'argv', whose first word is replaced by its name: first the
 * one beside this program, so that a build tree works, then one in the directory
 * "../sbin" of it, then the one on the path.  Returns only if there is none, the exit
 * status.
 */
int run_program(const char *program, char **argv);

#endif
