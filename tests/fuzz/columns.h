/* Arrow columns of runs that were read from damaged sets. */
#ifndef FUZZ_COLUMNS_H
#define FUZZ_COLUMNS_H

#include <stdint.h>

#include "run.h"

/* Fills columns of exactly the size that the runs announce, and compares them with the records; then
 * columns that are too small, which must be refused without a byte beyond their ends. */
void fill_columns(const zk_runs *runs);

extern uint64_t rows_filled, columns_refused;

#endif
