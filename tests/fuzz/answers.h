/* Responses of brokers, sound and damaged, for the native fetch loop. */
#ifndef FUZZ_ANSWERS_H
#define FUZZ_ANSWERS_H

#include <stdint.h>

/* A pump without a socket: some partitions and queues, responses in pieces, queues that fill and are
 * emptied, claims that are given up, loans that come back and go out again, memory that runs out. What
 * comes out of a queue must follow what came before, to the offset; anything else aborts. */
void answer_some(void);

/* How many responses ended well so far. */
extern uint64_t answers_taken;

#endif
