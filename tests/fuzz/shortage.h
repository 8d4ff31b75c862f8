/* Memory that runs out by chance. The core is compiled with malloc, calloc and realloc under the names
 * below; the harness itself is not, and always gets what it wants. */
#ifndef FUZZ_SHORTAGE_H
#define FUZZ_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on one of about `one_in` allocations of this thread fails. */
void begin_shortage(uint64_t seed, size_t one_in);

/* Ends it; returns whether an allocation has failed since it began. */
bool end_shortage(void);

/* How many allocations have failed so far, in all threads. */
uint64_t failed_allocations(void);

void *fuzz_malloc(size_t size);
void *fuzz_calloc(size_t count, size_t size);
void *fuzz_realloc(void *block, size_t size);

#endif
