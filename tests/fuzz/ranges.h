/* A range of a log, read over a socket by a pump that ends with it. */
#ifndef FUZZ_RANGES_H
#define FUZZ_RANGES_H

#include <stdint.h>

/* Makes a log by chance, and reads a range of it. Each record in front of the end must come once and in
 * order, the pump must end by itself with nothing in flight, and no request may be without use: what is behind
 * the end may be damaged. Runs end early, at odd sets and in the middle of others; it is loaded again. */
void read_a_range(void);

/* How many were read to their ends, their requests, and their records. */
extern uint64_t ranges_read, range_requests, range_records, range_reclaims;

#endif
