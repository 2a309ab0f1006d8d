/* SPDX-License-Identifier: Apache-2.0 */
/* advice_moves.h - the advised moves of an advice, a line each with its bill */
#ifndef CLI_ADVICE_MOVES_H
#define CLI_ADVICE_MOVES_H

#include <stdio.h>

struct advice_doc;

/* For two jobs that move together, both lines have the bill of the two. */
void advice_moves_print(const struct advice_doc *doc, FILE *out);

#endif
