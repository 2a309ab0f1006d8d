/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.c - servers by name.  The first five are those of MAPA (SC 2021), power8 is the
 * one of the topology-aware scheduler of BSC and IBM (SC 2017).
 */
#include "policies/inside.h"

#include <string.h>

const struct pol_inside inside_table[] = {
	{ .name = "dgx-v",
	  .n_gpus = 8,
	  .n_sockets = 2,
	  .gb_s = { 10, 25, 50 },
	  .sockets = "00001111",
	  .links = { "01122000", "10210200", "12020010", "21200001", "20000112",
		     "02001021", "00101202", "00012120" } },
	{ .name = "dgx-p",
	  .n_gpus = 8,
	  .n_sockets = 2,
	  .gb_s = { 10, 20, 40 },
	  .sockets = "00001111",
	  .links = { "01111000", "10110100", "11010010", "11100001", "10000111",
		     "01001011", "00101101", "00011110" } },
	{ .name = "summit",
	  .n_gpus = 6,
	  .n_sockets = 2,
	  .gb_s = { 10, 25, 50 },
	  .sockets = "000111",
	  .links = { "022000", "202000", "220000", "000022", "000202", "000220" } },
	{ .name = "torus",
	  .n_gpus = 16,
	  .n_sockets = 4,
	  .gb_s = { 10, 25, 50 },
	  .sockets = "0000111122223333",
	  .links = { "0201000000002000", "2020010000000100", "0202001000000010",
		     "1020000100000002", "0000020110000000", "0100202001000000",
		     "0010020200100000", "0001102000010000", "0000100002011000",
		     "0000010020200100", "0000001002020010", "0000000110200001",
		     "2000000010000201", "0100000001002020", "0010000000100202",
		     "0002000000011020" } },
	{ .name = "cube-mesh-16",
	  .n_gpus = 16,
	  .n_sockets = 4,
	  .gb_s = { 10, 25, 50 },
	  .sockets = "0000111122223333",
	  .links = { "0112000000010000", "1021010000000000", "1200001001000000",
		     "2100000010000000", "0000021100000002", "0100201100000000",
		     "0010110200000100", "0000112000002000", "0001000001210000",
		     "0010000010210100", "0000000022000010", "1000000011000000",
		     "0000000200000212", "0000001001002011", "0000000000101102",
		     "0000200000002120" } },
	{ .name = "power8",
	  .n_gpus = 4,
	  .n_sockets = 2,
	  .gb_s = { 10, 20, 40 },
	  .sockets = "0011",
	  .links = { "0200", "2000", "0002", "0020" } },
	{ 0 },
};

const struct pol_inside *
inside_find(const char *name)
{
	for (const struct pol_inside *inside = inside_table; inside->name; inside++)
		if (strcmp(inside->name, name) == 0)
			return inside;
	return NULL;
}

uint64_t
inside_on_socket(const struct pol_inside *inside, uint32_t socket)
{
	uint64_t gpus = 0;

	for (uint32_t i = 0; i < inside->n_gpus; i++)
		if (inside_socket(inside, i) == socket)
			gpus |= UINT64_C(1) << i;
	return gpus;
}

bool
inside_share_socket(const struct pol_inside *inside, uint64_t a, uint64_t b)
{
	for (uint32_t k = 0; k < inside->n_sockets; k++) {
		uint64_t socket = inside_on_socket(inside, k);

		if ((a & socket) && (b & socket))
			return true;
	}
	return false;
}
