// Included last by compiled modules: what follows is Cython's handling of arguments, which
// takes a fifth of the time to compile and gains nothing from more than -O1.
#pragma once
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif
