#include "shortage.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Thread_local uint64_t state;
static _Thread_local size_t odds; /* 0: no shortage */
static _Thread_local bool has_failed;
static atomic_ullong failures;

void begin_shortage(uint64_t seed, size_t one_in) {
    state = seed * 2 + 1;
    odds = one_in;
    has_failed = false;
}

bool end_shortage(void) {
    odds = 0;
    return has_failed;
}

uint64_t failed_allocations(void) { return atomic_load(&failures); }

static bool fails(void) {
    if (!odds)
        return false;
    state ^= state >> 12; /* xorshift64* */
    state ^= state << 25;
    state ^= state >> 27;
    if ((state * 0x2545F4914F6CDD1Dull >> 32) % odds)
        return false;
    has_failed = true;
    atomic_fetch_add(&failures, 1);
    return true;
}

void *fuzz_malloc(size_t size) { return fails() ? NULL : malloc(size); }
void *fuzz_calloc(size_t count, size_t size) { return fails() ? NULL : calloc(count, size); }
void *fuzz_realloc(void *block, size_t size) { return fails() ? NULL : realloc(block, size); }
