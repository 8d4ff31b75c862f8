/* CRC-32 by carry-less multiplication, for x86-64 CPUs that have PCLMULQDQ.
 *
 * A CRC is a remainder of polynomials over GF(2). 128 bits A in front of N more bits are congruent
 * to (A.low * x^(N+64) + A.high * x^N) mod P: two multiplications by constants "fold" A into what
 * comes N bits later. Four folds run side by side, 64 bytes at a time, then one, 16 bytes at a time.
 * The last 16 bytes are a message with the same CRC as the whole, which the tables finish.
 *
 * Method: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009. */
#include "crc32.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <immintrin.h>

#define PCLMUL __attribute__((target("pclmul,sse2")))

/* x^(512+32), x^(512-32), x^(128+32), x^(128-32) mod P, all bit-reflected. */
static const uint64_t OVER_64_BYTES[2] = {0x0154442bd4, 0x01c6e41596};
static const uint64_t OVER_16_BYTES[2] = {0x01751997d0, 0x00ccaa009e};

PCLMUL static inline __m128i load(const uint8_t *at) { return _mm_loadu_si128((const void *)at); }

PCLMUL static inline __m128i fold(__m128i from, __m128i constants, __m128i into) {
    __m128i low = _mm_clmulepi64_si128(from, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(from, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), into);
}

PCLMUL static uint32_t by_folding(uint32_t crc, const uint8_t *data, size_t size) {
    if (size < 32) /* nothing to fold into */
        return zk_crc32_portable(crc, data, size);
    const __m128i over_16 = load((const uint8_t *)OVER_16_BYTES);
    __m128i first = _mm_xor_si128(load(data), _mm_cvtsi32_si128((int)~crc));
    if (size >= 128) {
        const __m128i over_64 = load((const uint8_t *)OVER_64_BYTES);
        __m128i second = load(data + 16), third = load(data + 32), fourth = load(data + 48);
        for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
            first = fold(first, over_64, load(data));
            second = fold(second, over_64, load(data + 16));
            third = fold(third, over_64, load(data + 32));
            fourth = fold(fourth, over_64, load(data + 48));
        }
        first = fold(fold(fold(first, over_16, second), over_16, third), over_16, fourth);
    } else {
        data += 16;
        size -= 16;
    }
    for (; size >= 16; data += 16, size -= 16)
        first = fold(first, over_16, load(data));
    uint8_t folded[16];
    _mm_storeu_si128((void *)folded, first);
    return ~zk_crc32_tables(zk_crc32_tables(0, folded, sizeof folded), data, size);
}

zk_crc_function zk_crc32_x86(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("pclmul") ? by_folding : 0;
}

#else

zk_crc_function zk_crc32_x86(void) { return 0; }

#endif
