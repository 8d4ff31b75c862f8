/* CRC-32 by the instruction that ARMv8 has for this very polynomial. */
#include "crc32.h"

#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && \
    (defined(__linux__) || defined(__APPLE__))

#include "bytes.h"

#ifdef __linux__
#include <sys/auxv.h>
#endif

/* Through the assembler's own names: the compiler's <arm_acle.h> hides its functions unless the
 * whole file is compiled for CPUs that have them. */
static inline uint32_t crc_of_8(uint32_t state, uint64_t bytes) {
    __asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(state) : "r"(bytes));
    return state;
}

static inline uint32_t crc_of_1(uint32_t state, uint8_t byte) {
    __asm__(".arch_extension crc\n\tcrc32b %w0, %w0, %w1" : "+r"(state) : "r"((uint32_t)byte));
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

zk_crc_function zk_crc32_arm(void) {
#ifdef __linux__
    const unsigned long has_crc32 = 1ul << 7; /* HWCAP_CRC32 */
    return getauxval(AT_HWCAP) & has_crc32 ? by_instruction : 0;
#else
    return by_instruction; /* every 64-bit Apple CPU has it */
#endif
}

#else

zk_crc_function zk_crc32_arm(void) { return 0; }

#endif
