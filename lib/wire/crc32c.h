/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.h - the checksum of frames: CRC-32C (Castagnoli), as of iSCSI (RFC 3720,
 * appendix B.4) and SCTP: polynomial 0x1edc6f41, bits reflected, all ones before
 * and after.  By the processor's instruction where it has one.
 */
#ifndef LIB_WIRE_CRC32C_H
#define LIB_WIRE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from 'crc', the checksum of what came before; 0 at the beginning. */
uint32_t crc32c(uint32_t crc, const uint8_t *bytes, size_t n);

/* The same without the processor's help, for tests. */
uint32_t crc32c_portable(uint32_t crc, const uint8_t *bytes, size_t n);

#endif
