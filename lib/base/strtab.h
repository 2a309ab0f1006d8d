/*
 * strtab.h - names to numbers: a hash table from strings to uint32_t.
 *
 * Numbers are dense from 0 in the order of insertion, and nothing depends on
 * the order of the hash.  A name may be removed, and its number is that of a name that
 * comes later: of several, the one that was removed last.  O(1) on average.
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
/* Forgets a name, by its number, which is to be one in use. */
void strtab_remove(struct strtab *tab, uint32_t id);
/* Name of a number; borrowed, valid until it is removed. */
const char *strtab_name(const struct strtab *tab, uint32_t id);
/* Numbers given so far: all are below this, those that are free included. */
uint32_t strtab_n(const struct strtab *tab);

#endif
