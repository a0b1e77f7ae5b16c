// Words of texts: runs of letters, digits and underscores, numbered by first occurrence.
//
// The scan agrees with the pattern \w+ of Python to the character, because it asks the
// tables of the interpreter what a letter or a digit is. These functions look at constant
// tables only, so that the interpreter need not be held. What a word becomes is left to
// Python, which sees each distinct word once.
#pragma once

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../_core/_for_each_query.hpp"

namespace skrank {

// Characters of a string, in one, two or four bytes each.
struct Text {
    const void *data;
    Index length;
    int kind;
};

inline Text text_of(PyObject *string) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(string) < 0) throw std::bad_alloc();
#endif
    return {PyUnicode_DATA(string), PyUnicode_GET_LENGTH(string),
            static_cast<int>(PyUnicode_KIND(string))};
}

inline bool is_word_character(Py_UCS4 c) { return c == '_' || Py_UNICODE_ISALNUM(c); }

struct WordCharacters {
    bool is[256];
    WordCharacters() {
        for (int c = 0; c < 256; c++) is[c] = is_word_character(c);
    }
};
static const WordCharacters word_characters;

inline bool is_word(uint8_t c) { return word_characters.is[c]; }
inline bool is_word(uint16_t c) {
    return c < 256 ? word_characters.is[c] : is_word_character(c);
}
inline bool is_word(uint32_t c) {
    return c < 256 ? word_characters.is[c] : is_word_character(c);
}

inline uint64_t mixed(uint64_t x) {
    x *= 0x9E3779B97F4A7C15u;
    return x ^ (x >> 32);
}

inline uint64_t hash_of(const char *word, Index length, uint64_t seed) {
    uint64_t hash = seed ^ static_cast<uint64_t>(length), part;
    for (; length > 8; length -= 8, word += 8) {
        std::memcpy(&part, word, 8);
        hash = mixed(hash ^ part);
    }
    part = 0;
    std::memcpy(&part, word, length);
    return mixed(mixed(hash ^ part));
}

// Distinct words in UTF-8, numbered in the order in which they were added.
class WordTable {
    struct Entry {
        uint64_t hash;
        int32_t number;  // counted from 1; 0 where there is none
    };
    uint64_t seed;
    std::vector<Entry> table;
    std::vector<uint64_t> starts{0};
    std::string letters;

    void grow() {
        std::vector<Entry> old(2 * table.size());
        old.swap(table);
        const uint64_t mask = table.size() - 1;
        for (const Entry &entry : old) {
            if (!entry.number) continue;
            uint64_t place = entry.hash & mask;
            while (table[place].number) place = (place + 1) & mask;
            table[place] = entry;
        }
    }

   public:
    explicit WordTable(uint64_t seed) : seed(seed), table(1 << 12) {}

    Index size() const { return static_cast<Index>(starts.size()) - 1; }
    const char *word(Index i) const { return letters.data() + starts[i]; }
    Index length(Index i) const { return static_cast<Index>(starts[i + 1] - starts[i]); }

    int32_t number_of(const char *word, Index length) {
        const uint64_t hash = hash_of(word, length, seed), mask = table.size() - 1;
        uint64_t place = hash & mask;
        for (; table[place].number; place = (place + 1) & mask) {
            const int32_t number = table[place].number - 1;
            if (table[place].hash == hash && this->length(number) == length &&
                !std::memcmp(this->word(number), word, length))
                return number;
        }
        if (size() == INT32_MAX) throw std::length_error("too many different words");
        letters.append(word, length);
        starts.push_back(letters.size());
        table[place] = {hash, static_cast<int32_t>(size())};
        if (2 * size() > static_cast<Index>(table.size())) grow();
        return static_cast<int32_t>(size()) - 1;
    }
};

inline void append_utf8(std::string &out, uint32_t c) {
    const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6), put(0x80 | (c & 63));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    } else {
        put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 63));
        put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    }
}

// Consecutive texts with the words of their own, which threads collect independently.
struct TextPart {
    Index first, last;
    WordTable words;
    std::vector<int32_t> numbers;  // of the words of all its texts
    std::string buffer;

    TextPart(Index first, Index last, uint64_t seed)
        : first(first), last(last), words(seed) {}

    // A word of ASCII letters has one form in every string; others are encoded.
    int32_t number_of(const uint8_t *word, Index length) {
        uint8_t all = 0;
        for (Index i = 0; i < length; i++) all |= word[i];
        if (all >= 0x80) return encoded(word, length);
        return words.number_of(reinterpret_cast<const char *>(word), length);
    }
    int32_t number_of(const uint16_t *word, Index length) { return encoded(word, length); }
    int32_t number_of(const uint32_t *word, Index length) { return encoded(word, length); }

    template <class Character>
    int32_t encoded(const Character *word, Index length) {
        buffer.clear();
        for (Index i = 0; i < length; i++) append_utf8(buffer, word[i]);
        return words.number_of(buffer.data(), static_cast<Index>(buffer.size()));
    }

    template <class Character>
    void scan(const Character *text, Index length) {
        Index i = 0;
        while (i < length) {
            if (!is_word(text[i])) {
                i++;
                continue;
            }
            const Index start = i;
            while (i < length && is_word(text[i])) i++;
            numbers.push_back(number_of(text + start, i - start));
        }
    }

    void scan(const Text &text) {
        if (text.kind == 1) {
            scan(static_cast<const uint8_t *>(text.data), text.length);
        } else if (text.kind == 2) {
            scan(static_cast<const uint16_t *>(text.data), text.length);
        } else {
            scan(static_cast<const uint32_t *>(text.data), text.length);
        }
    }
};

// The words of texts: `ptr[i]:ptr[i + 1]` are those of text i.
class WordScan {
    std::vector<TextPart> parts;
    std::vector<std::vector<int32_t>> joined_number;  // of the words of each part

   public:
    WordTable words;
    std::vector<Index> ptr;

    explicit WordScan(uint64_t seed) : words(seed) {}

    void scan(const std::vector<Text> &texts, int n_threads, uint64_t seed) {
        const Index n = static_cast<Index>(texts.size());
        ptr.assign(n + 1, 0);
        split(texts, n_threads, seed);
        for_each(static_cast<Index>(parts.size()), HEAVY_CHUNK, n_threads, Room{},
                 [&](Index p, Scratch &scratch) {
                     TextPart &part = parts[p];
                     for (Index i = part.first; i < part.last; i++) {
                         const size_t before = part.numbers.size();
                         part.scan(texts[i]);
                         ptr[i + 1] = static_cast<Index>(part.numbers.size() - before);
                         if (scratch.spend(4 * texts[i].length)) return;
                     }
                 });
        for (Index i = 0; i < n; i++) ptr[i + 1] += ptr[i];
        join();
    }

    Index n_tokens() const { return ptr.back(); }

    // Writes the number of each word of all texts.
    void numbers(int32_t *out, int n_threads) const {
        for_each(static_cast<Index>(parts.size()), HEAVY_CHUNK, n_threads, Room{},
                 [&](Index p, Scratch &) {
                     int32_t *at = out + ptr[parts[p].first];
                     for (const int32_t number : parts[p].numbers)
                         *at++ = joined_number[p][number];
                 });
    }

   private:
    // Parts of about equal length, one for each thread.
    void split(const std::vector<Text> &texts, int n_threads, uint64_t seed) {
        double total = 0.0, passed = 0.0;
        for (const Text &text : texts) total += static_cast<double>(text.length) + 1;
        const Index n = static_cast<Index>(texts.size());
        Index first = 0;
        for (Index i = 0; i < n; i++) {
            passed += static_cast<double>(texts[i].length) + 1;
            const double wanted =
                total * static_cast<double>(parts.size() + 1) / std::max(n_threads, 1);
            if (i + 1 == n || passed >= wanted) {
                parts.emplace_back(first, i + 1, seed);
                first = i + 1;
            }
        }
    }

    // The words of the parts are joined in their order, so that the numbers are those of
    // the first occurrences in all texts, however many parts there are.
    void join() {
        for (const TextPart &part : parts) {
            std::vector<int32_t> numbers(part.words.size());
            for (Index i = 0; i < part.words.size(); i++)
                numbers[i] = words.number_of(part.words.word(i), part.words.length(i));
            joined_number.push_back(std::move(numbers));
        }
    }
};

}  // namespace skrank
