/* Whole runs of the pump over a socket, beside a broker and a stream in threads of their own. */
#ifndef FUZZ_SOCKETS_H
#define FUZZ_SOCKETS_H

#include <stdint.h>

#include "frames.h"

/* A broker that responds in pieces, late, with damaged frames or not at all, and hangs up anywhere; a stream
 * that reads, gives claims up, calls and at last stops the pump; and memory that runs out. The rule for
 * what comes out of a queue is that of answers.h. */
void run_over_sockets(void);

/* How many connections there were so far, and how many requests came over them. */
extern uint64_t connections, requests_received;

/* Receives exactly so much; false at the end. */
bool receive_all(int socket, uint8_t *to, size_t size);

/* The parts of a request, which point into it; at most MOST_SLOTS. Aborts where it is not sound. */
size_t parse_request(const uint8_t *request, size_t size, part *parts);

#endif
