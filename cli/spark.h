/*
 * spark.h - a small history in one line: U+2581 to U+2588 where the locale's
 * characters are UTF-8, ASCII elsewhere.
 */
#ifndef CLI_SPARK_H
#define CLI_SPARK_H

#include <stddef.h>

struct strbuf;

/*
 * Appends 'columns' characters for the n values, of which each stands for the mean
 * of its share of them; 'full' is the highest block.  Less than a sixteenth of it is
 * a blank, a value below 0 is unknown: '?'; 'values' NULL: all of them.
 */
void spark_add(const float *values, size_t n, double full, size_t columns,
	       struct strbuf *out);

/* What spark_add() writes for a full column. */
const char *spark_full(void);

#endif
