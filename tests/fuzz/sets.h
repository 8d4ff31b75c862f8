/* Record sets, sound and damaged, by chance: the same chance for the same seed. */
#ifndef FUZZ_SETS_H
#define FUZZ_SETS_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_SET_BYTES = 1 << 17 };

typedef struct {
    uint8_t *data; /* a block of exactly this size */
    size_t size;
} bytes;

/* Of the thread that calls: each has its own. */
void begin_chance(uint64_t seed);
uint64_t chance(void);
size_t below(size_t bound);

bytes new_bytes(size_t size);
bytes copy(bytes from);

/* One of the sets to begin with; not to be changed or freed. The harness has it. */
bytes a_seed(void);
bytes a_batch_seed(void); /* of magic 2 */

/* These take their argument over. */
bytes damaged(bytes set);
bytes wrapped(bytes inner); /* into a message of a random codec; its sizes may lie */

/* The bytes as a codec has them, gzip, snappy or lz4; their sizes may lie. Does not take them over. */
bytes compressed(int codec, bytes inner);

/* Makes the CRC of every whole entry right. */
void repair(bytes set);

#endif
