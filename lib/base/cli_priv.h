/*
 * cli_priv.h - cli.h between its files.
 */
#ifndef LIB_BASE_CLI_PRIV_H
#define LIB_BASE_CLI_PRIV_H

/* The program that cli_main() runs, for messages. */
const char *cli_program_name(void);

#endif
