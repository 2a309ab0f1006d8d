/*
 * run_program.h - verbs that are programs of their own.
 */
#ifndef CLI_RUN_PROGRAM_H
#define CLI_RUN_PROGRAM_H

/*
 * Becomes 'program' with the 'argc' words of 'argv', where 'typed' is what was typed ahead
 * of them ("antiphase"), by which it speaks of itself in help (cli_typed()): first the one
 * beside this program, so that a build tree works, then one in the directory "../sbin" of
 * it, then the one on the path.  Returns only if there is none, the exit status.
 */
int run_program(const char *program, const char *typed, int argc, char **argv);

#endif
