/* CRC-32 by carry-less multiplication, for x86-64 CPUs that have PCLMULQDQ.
 *
 * A CRC is a remainder of polynomials over GF(2). 128 bits A, followed by N more bits, are congruent to
 * (A.low * x^(N+64) + A.high * x^N) mod P: two multiplications by constants "fold" A into the
 * bits N further on. Four folds run side by side, 64 bytes at a time, then one, 16 bytes at a time.
 * The last bytes, fewer than 16, are completed to 16 by the end of the last block, and the rest of that
 * block is folded over them. The 16 bytes that remain have the same CRC as the whole: two more
 * multiplications halve them, and Barrett's method takes the remainder without a division.
 *
 * Method: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009. */
#include "crc32.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))

#include <immintrin.h>

#define PCLMUL __attribute__((target("pclmul,ssse3")))

/* x^(512+32), x^(512-32), x^(128+32), x^(128-32) mod P, all bit-reflected. */
static const uint64_t OVER_64_BYTES[2] = {0x0154442bd4, 0x01c6e41596};
static const uint64_t OVER_16_BYTES[2] = {0x01751997d0, 0x00ccaa009e};
/* x^64 mod P; then P and floor(x^64 / P), bit-reflected in 33 bits. */
static const uint64_t OVER_4_BYTES[2] = {0x0163cd6124, 0};
static const uint64_t BARRETT[2] = {0x01db710641, 0x01f7011641};

/* Shuffles: 16 bytes from index n move a block by 16 - n towards its end; from index 16 + n, by n towards
 * its front. 0x80 makes a zero. */
#define NOTHING 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
static const uint8_t MOVES[48] = {
    NOTHING, NOTHING, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, NOTHING, NOTHING};

PCLMUL static inline __m128i load(const uint8_t *at) { return _mm_loadu_si128((const void *)at); }

PCLMUL static inline __m128i fold(__m128i from, __m128i constants, __m128i into) {
    __m128i low = _mm_clmulepi64_si128(from, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(from, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), into);
}

/* Folds in the last `size` bytes, 1 to 15; at least 16 - size bytes precede them. */
PCLMUL static inline __m128i fold_last(__m128i block, __m128i over_16, const uint8_t *data,
                                       size_t size) {
    const __m128i to_end = load(MOVES + size), to_front = load(MOVES + 16 + size);
    const __m128i is_last = _mm_cmpgt_epi8(to_end, _mm_set1_epi8(-1));
    const __m128i last = _mm_and_si128(is_last, load(data + size - 16));
    const __m128i into = _mm_or_si128(_mm_shuffle_epi8(block, to_front), last);
    return fold(_mm_shuffle_epi8(block, to_end), over_16, into);
}

/* The CRC of a last block of 16 bytes, without the inversion. */
PCLMUL static inline uint32_t remainder_of(__m128i block, __m128i over_16) {
    const __m128i half = _mm_set_epi32(0, 0, 0, -1);
    block = _mm_xor_si128(_mm_clmulepi64_si128(block, over_16, 0x10), _mm_srli_si128(block, 8));
    block = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(block, half),
                                               load((const uint8_t *)OVER_4_BYTES), 0x00),
                          _mm_srli_si128(block, 4));
    const __m128i barrett = load((const uint8_t *)BARRETT);
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(block, half), barrett, 0x10);
    block = _mm_xor_si128(
        block, _mm_clmulepi64_si128(_mm_and_si128(quotient, half), barrett, 0x00));
    return (uint32_t)_mm_cvtsi128_si32(_mm_srli_si128(block, 4));
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
    if (size)
        first = fold_last(first, over_16, data, size);
    return ~remainder_of(first, over_16);
}

zk_crc_function zk_crc32_x86(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3") ? by_folding : 0;
}

#else

zk_crc_function zk_crc32_x86(void) { return 0; }

#endif
