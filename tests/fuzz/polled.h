/* Readers of batches under whatever sets come, and the slices that are taken of what they find. */
#ifndef FUZZ_POLLED_H
#define FUZZ_POLLED_H

#include "sets.h"

/* Reads a set as a poll does, in slices, and aborts where what was checked can't be read, comes out
 * of order, or gets lost. Takes the set over. */
void read_batches(bytes set);

/* What came of it so far. */
extern uint64_t batch_sets, batch_records, batch_refusals, headers_read;

#endif
