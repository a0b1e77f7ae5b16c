// Functions that GCC on x86-64 builds for three sets of instructions.
//
// Which one runs is picked when the module is loaded, so that one binary runs everywhere
// and still uses wide registers where they exist: v3 has AVX2 and fused multiply-add, v4
// AVX-512. A cloned function is called through a pointer and never inlined, so it must
// hold a whole loop; what it calls inside must be inlined into it (SKRANK_INLINE), or it
// would be built for the oldest processors. Clang does not know these names, and GCC
// before version 12 does not know the levels v3 and v4. Under the address sanitizer there
// is one version: the choice would be made before the sanitizer is ready.
#pragma once

#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && \
    !defined(__clang__) && __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__)
#define SKRANK_CLONES \
    __attribute__((unused, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SKRANK_CLONES [[maybe_unused]]
#endif
#if defined(__GNUC__)
#define SKRANK_MEMBER inline __attribute__((always_inline))
#else
#define SKRANK_MEMBER inline
#endif
#define SKRANK_INLINE static SKRANK_MEMBER
