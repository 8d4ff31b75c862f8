/* By the instruction of SSE 4.2 or ARMv8, or by tables. The instructions take eight bytes at a time, one
 * after the other: some 2 bytes a cycle, which is never the bottleneck. */
#include "crc32c.h"

#include "crc_tables.h"

static const uint32_t POLYNOMIAL = 0x82F63B78u;
static zk_crc_tables tables;

zk_crc_function zk_crc32c = zk_crc32c_portable;
static const char *chosen_name = "portable";

uint32_t zk_crc32c_portable(uint32_t crc, const uint8_t *data, size_t size) {
    return ~zk_crc_by_tables((const uint32_t(*)[256])tables, ~crc, data, size);
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <immintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *data,
                                                                 size_t size) {
    uint64_t state = ~crc;
    for (; size >= 8; size -= 8, data += 8)
        state = _mm_crc32_u64(state, zk_le64(data));
    uint32_t rest = (uint32_t)state;
    while (size--)
        rest = _mm_crc32_u8(rest, *data++);
    return ~rest;
}

static void look_at_cpu(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2"))
        return;
    zk_crc32c = by_instruction;
    chosen_name = "sse4.2";
}

#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && \
    (defined(__linux__) || defined(__APPLE__))

/* Through the assembler's own names: see crc32_arm.c, which also knows whether they are there. */
static inline uint32_t crc_of_8(uint32_t state, uint64_t bytes) {
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(state) : "r"(bytes));
    return state;
}

static inline uint32_t crc_of_1(uint32_t state, uint8_t byte) {
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(state) : "r"((uint32_t)byte));
    return state;
}

static uint32_t by_instruction(uint32_t crc, const uint8_t *data, size_t size) {
    uint32_t state = ~crc;
    for (; size >= 8; size -= 8, data += 8)
        state = crc_of_8(state, zk_le64(data));
    while (size--)
        state = crc_of_1(state, *data++);
    return ~state;
}

static void look_at_cpu(void) {
    if (!zk_crc32_arm())
        return;
    zk_crc32c = by_instruction;
    chosen_name = "armv8";
}

#else

static void look_at_cpu(void) {}

#endif

void zk_crc32c_choose(void) {
    zk_crc_fill(tables, POLYNOMIAL);
    look_at_cpu();
}

const char *zk_crc32c_name(void) { return chosen_name; }
