// Ids as Python objects: their hashes, and whether two of them are equal.
//
// Nearly all ids are strings of ASCII characters, whose hash and characters stand in the
// object itself. Calls of the interpreter for them would take more time than the rest.
// All functions need the interpreter to be held.
#pragma once

#include <Python.h>

#include <cstdint>
#include <cstring>

namespace skrank {

inline bool is_string(PyObject *id) { return PyUnicode_Check(id); }
inline bool is_exact_string(PyObject *id) { return PyUnicode_CheckExact(id); }
inline bool is_plain_string(PyObject *id) {
    return PyUnicode_CheckExact(id) && PyUnicode_IS_COMPACT_ASCII(id);
}

// The hash of an id; -1 with an exception set where it has none.
inline Py_hash_t hash_of_id(PyObject *id) {
    if (is_plain_string(id)) {
        const Py_hash_t hash = reinterpret_cast<PyASCIIObject *>(id)->hash;
        if (hash != -1) return hash;
    }
    return PyObject_Hash(id);
}

// 1 or 0; -1 with an exception set.
inline int same_id(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    if (is_plain_string(a) && is_plain_string(b)) {
        const Py_ssize_t length = PyUnicode_GET_LENGTH(a);
        return length == PyUnicode_GET_LENGTH(b) &&
               !std::memcmp(PyUnicode_1BYTE_DATA(a), PyUnicode_1BYTE_DATA(b), length);
    }
    return PyObject_RichCompareBool(a, b, Py_EQ);
}

// Below, at or above 0 as string `a` comes before `b`, is equal, or comes after it.
inline int compare_strings(PyObject *a, PyObject *b) {
    if (!is_plain_string(a) || !is_plain_string(b)) return PyUnicode_Compare(a, b);
    const Py_ssize_t m = PyUnicode_GET_LENGTH(a), n = PyUnicode_GET_LENGTH(b);
    const int order = std::memcmp(PyUnicode_1BYTE_DATA(a), PyUnicode_1BYTE_DATA(b),
                                  m < n ? m : n);
    return order ? order : (m > n) - (m < n);
}

// Objects are spread over memory: the processor is told early what will be read, and
// where references will be counted.
inline void prefetch_id(PyObject *id) {
    __builtin_prefetch(id);
    __builtin_prefetch(reinterpret_cast<const char *>(id) + 48);  // the characters
}
inline void prefetch_count(PyObject *id) { __builtin_prefetch(id, 1); }

}  // namespace skrank
