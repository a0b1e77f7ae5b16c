// Functions that GCC on x86-64 builds for three sets of instructions.
//
// Which one runs is picked when the module is loaded, so that one binary runs everywhere
// and still uses wide registers where they exist.
#pragma once

#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && \
    !defined(__clang__) && __GNUC__ >= 12
#define SKRANK_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SKRANK_CLONES
#endif
#if defined(__GNUC__)
#define SKRANK_MEMBER inline __attribute__((always_inline))
#else
#define SKRANK_MEMBER inline
#endif
#define SKRANK_INLINE static SKRANK_MEMBER
