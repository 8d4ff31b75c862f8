/* Record sets of magic 2, sound and damaged, by chance. */
#ifndef FUZZ_BATCH_SETS_H
#define FUZZ_BATCH_SETS_H

#include "sets.h"

/* Takes the set over: damages numbers where batches have theirs, in heads and among records. */
bytes damaged_batches(bytes set);

/* Takes the set over: packs the records of its first batch with one of the codecs, if they are
 * plain. */
bytes packed_batch(bytes set);

#endif
