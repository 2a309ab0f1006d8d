/*
 * strtab.h - names to numbers: a hash table from strings to uint32_t.
 *
 * Numbers are dense from 0 in the order of insertion, and nothing depends on
 * the order of the hash.  O(1) on average.
 */
#ifndef LIB_BASE_STRTAB_H
#define LIB_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#define STRTAB_NONE UINT32_MAX

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *tab); /* Accepts NULL. */

/* Number of 'name', which is added (copied) if it is new. */
uint32_t strtab_intern(struct strtab *tab, const char *name);
/* Number of 'name', or STRTAB_NONE. */
uint32_t strtab_find(const struct strtab *tab, const char *name);
/* Name of a number; borrowed, valid as long as the table. */
const char *strtab_name(const struct strtab *tab, uint32_t id);
uint32_t strtab_n(const struct strtab *tab);

#endif
