/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strtab.h - hash table from strings to numbers.
 *
 * Numbers are dense from 0 in the order of insertion; nothing depends on the order of
 * the hash.  A new name takes the number that was removed last, if any.  O(1) on
 * average.
 */
#ifndef LIB_BASE_STRTAB_H
#define LIB_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#define STRTAB_NONE UINT32_MAX

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *tab); /* Accepts NULL. */

/* Number of 'name'; adds a copy if it is new. */
uint32_t strtab_intern(struct strtab *tab, const char *name);
/* Number of 'name', or STRTAB_NONE. */
uint32_t strtab_find(const struct strtab *tab, const char *name);
/* Removes the name with that number, which is in use. */
void strtab_remove(struct strtab *tab, uint32_t id);
/* Name of a number; borrowed until it is removed. */
const char *strtab_name(const struct strtab *tab, uint32_t id);
/* Above all numbers, including those of removed names. */
uint32_t strtab_n(const struct strtab *tab);

#endif
