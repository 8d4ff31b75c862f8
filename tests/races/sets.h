/* What both programs are given: how often to go round, and sound record sets. Each includes it once. */
#ifndef ZK_RACES_SETS_H
#define ZK_RACES_SETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SETS = 256, MAX_SET_BYTES = 1 << 17, MAGIC_AT = 16 };

static uint8_t *sets[MAX_SETS];
static size_t sizes[MAX_SETS], set_count;
static long rounds;

static bool load(const char *path, uint8_t most_magic) {
    FILE *file = fopen(path, "rb");
    if (!file || set_count == MAX_SETS)
        return false;
    sets[set_count] = malloc(MAX_SET_BYTES);
    sizes[set_count] = fread(sets[set_count], 1, MAX_SET_BYTES, file);
    fclose(file);
    if (sizes[set_count] <= MAGIC_AT)
        return false;
    if (sets[set_count][MAGIC_AT] > most_magic)
        free(sets[set_count]);
    else
        set_count++;
    return true;
}

/* Takes ROUNDS FILE... from the command line; leaves out what begins with a larger magic. */
static bool load_all(int count, char **words, uint8_t most_magic) {
    if (count < 3)
        return false;
    rounds = atol(words[1]);
    for (int at = 2; at < count; at++)
        if (!load(words[at], most_magic))
            return false;
    return true;
}

#endif
