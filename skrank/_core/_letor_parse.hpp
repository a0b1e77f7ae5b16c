// Reading and writing of LETOR text and of other lines of separated fields.
//
// One pass over the text finds the number of lines and of features, a second one parses.
// Both work on chunks cut at line ends, so threads never share a line. The second pass
// trusts the counts of the first one, and writes beyond its arrays if they are wrong: the
// text must be memory that nobody changes, never a mapped file.
//
// Most of a file is short tokens such as "17:0.125". One 16-byte comparison finds where
// such a token ends, so the next one can start before the digits of this one are summed,
// and these are summed eight at a time without a branch. Everything that is not plain
// (many digits, exponents, mistakes) takes a slower road that ends in std::from_chars.
// Either way a number becomes the double nearest to its text.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "_for_each_query.hpp"

namespace letor {

enum Error : int32_t {
    OK = 0,
    BAD_LABEL,
    NO_QID,
    EMPTY_QID,
    BAD_INDEX,
    NO_COLON,
    INDEX_BELOW_ONE,
    INDEX_TOO_LARGE,
    NOT_ASCENDING,
    BAD_VALUE,
    NOT_FINITE,
    FLOAT32_OVERFLOW,
    TRAILING,
    TOO_FEW_FIELDS,
};

struct Fault {
    int32_t code = OK;
    int64_t at = -1;
};

// ---------------------------------------------------------------- characters, digits

// Digits are read in words of eight bytes that may reach beyond the end of a line.
constexpr int64_t MARGIN = 16;

inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool ends_line(char c) { return c == '\n' || c == '\r'; }
inline bool ends_token(char c) {
    return (unsigned char)c <= ' ' ? is_blank(c) || ends_line(c) : c == '#';
}

// End of the content of a line: before "\n" and any "\r" in front of it.
inline const char* line_end(const char* p, const char* end) {
    const char* z = (const char*)memchr(p, '\n', end - p);
    return z ? z : end;
}
inline const char* without_return(const char* p, const char* z) {
    while (z > p && z[-1] == '\r') z--;
    return z;
}

struct Digits {
    uint64_t value;
    int count;
};

inline uint64_t load_word(const char* p) {
    uint64_t word;
    memcpy(&word, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word ^ 0x3030303030303030u;
}

// A mark (0x80) on every byte of a word that is not a digit; the sum cannot carry.
inline uint64_t non_digits(uint64_t word) {
    return (((word & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | word) &
           0x8080808080808080u;
}

// Moves the first `count` digits to the end; zeros before them do not change the value.
inline uint64_t keep_digits(uint64_t word, int count) {
    int half = 4 * (8 - count);  // shifting by 64 at once is undefined
    return word << half << half;
}

// Joins eight digits pairwise: by 10, by 100 and by 10000.
inline uint64_t join_digits(uint64_t word) {
    word = word * 10 + (word >> 8);
    return ((word & 0x000000ff000000ffu) * 0x000f424000000064u +
            ((word >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
           32;
}

// Up to eight digits at p.
inline Digits eight_digits(const char* p) {
    uint64_t word = load_word(p);
    uint64_t stop = non_digits(word);
    int count = stop ? __builtin_ctzll(stop) >> 3 : 8;
    return {join_digits(keep_digits(word, count)), count};
}

// ---------------------------------------------------------------- numbers

constexpr double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr uint64_t TENS[] = {1,      10,      100,      1000,     10000,
                             100000, 1000000, 10000000, 100000000};

inline bool same_word(const char* p, const char* end, const char* lower) {
    for (; *lower; p++, lower++)
        if (p == end || (*p | 0x20) != *lower) return false;
    return p == end;
}

// Where the number at p ends if its form is that of a decimal number, else null.
// `tiny` tells the side on which a number out of range lies.
inline const char* decimal_end(const char* p, const char* end, bool* tiny) {
    int64_t n_digits = 0, magnitude = 0, exponent = 0;
    bool significant = false;
    for (; p < end && is_digit(*p); p++, n_digits++) {
        significant |= *p != '0';
        magnitude += significant;
    }
    if (p < end && *p == '.')
        for (p++; p < end && is_digit(*p); p++, n_digits++) {
            if (!significant && *p == '0') magnitude--;
            significant |= *p != '0';
        }
    if (!n_digits) return nullptr;
    if (p < end && (*p | 0x20) == 'e') {
        bool negative = ++p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+')) p++;
        if (p == end || !is_digit(*p)) return nullptr;
        for (; p < end && is_digit(*p); p++)
            if (exponent < 1000000000) exponent = exponent * 10 + (*p - '0');
        if (negative) exponent = -exponent;
    }
    *tiny = magnitude + exponent < 0;
    return p;
}

// A whole token as a number: any number of digits, any exponent, NaN and NULL.
inline int32_t parse_token(const char* p, const char* end, double* out) {
    bool negative = false;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    if (same_word(p, end, "nan") || same_word(p, end, "null")) {
        *out = std::numeric_limits<double>::quiet_NaN();
        return OK;
    }
    if (same_word(p, end, "inf") || same_word(p, end, "infinity")) return NOT_FINITE;
    bool tiny = false;
    if (decimal_end(p, end, &tiny) != end) return BAD_VALUE;
    double value = 0.0;
    std::from_chars_result r = std::from_chars(p, end, value);
    if (r.ec == std::errc::result_out_of_range) {
        if (!tiny) return NOT_FINITE;
        value = 0.0;
    }
    if (std::isinf(value)) return NOT_FINITE;
    *out = negative ? -value : value;
    return OK;
}

// The number at p. Returns the end of its token.
//
// An integer up to 2^53 divided by a power of ten up to 10^22 is one operation on exact
// operands, hence correctly rounded [Clinger1990].
inline const char* parse_number(const char* p, double* out, int32_t* error) {
    const char* start = p;
    bool negative = *p == '-';
    p += negative;
    Digits whole = eight_digits(p);
    p += whole.count;
    uint64_t mantissa = whole.value;
    int scale = 0;
    if (whole.count && *p == '.') {
        Digits part = eight_digits(++p);
        mantissa = mantissa * TENS[part.count] + part.value;
        scale = part.count;
        p += part.count;
        if (part.count == 8 && whole.count < 4) {  // below 10^19, so it fits the word
            part = eight_digits(p);
            mantissa = mantissa * TENS[part.count] + part.value;
            scale += part.count;
            p += part.count;
        }
    }
    if (whole.count && ends_token(*p) && mantissa <= (uint64_t(1) << 53)) {
        double value = (double)mantissa;
        if (scale) value /= POWERS[scale];
        *out = negative ? -value : value;
        return p;
    }
    while (!ends_token(*p)) p++;
    *error = parse_token(start, p, out);
    return p;
}

// ---------------------------------------------------------------- short features

// Where the token at p ends, and its first colon and point, counted from p; 16 or more
// stands for "not within 16 bytes".
struct Marks {
    int end, colon, point;
};

inline Marks find_marks(const char* p) {
#if defined(__SSE2__)
    __m128i bytes = _mm_loadu_si128((const __m128i*)p);
    auto first = [](__m128i found) {
        return __builtin_ctz((unsigned)_mm_movemask_epi8(found) | 0x10000u);
    };
    return {first(_mm_cmplt_epi8(bytes, _mm_set1_epi8('!'))),
            first(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(':'))),
            first(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('.')))};
#else
    Marks marks{0, 16, 16};
    for (; marks.end < 16 && !ends_token(p[marks.end]); marks.end++) {
        if (p[marks.end] == ':' && marks.colon == 16) marks.colon = marks.end;
        if (p[marks.end] == '.' && marks.point == 16) marks.point = marks.end;
    }
    return marks;
#endif
}

// The digit words of the indices 1, 2, …: in dense files the next index is known, so its
// digits are compared instead of summed.
class IndexWords {
  public:
    explicit IndexWords(int64_t n_features) {
        for (int64_t i = 0; i <= n_features + 1 && i < LIMIT; i++) {
            std::string digits = std::to_string(i);
            int n = (int)digits.size();
            digits.append(8, '0');
            words_.push_back(keep_digits(load_word(digits.data()), n));
        }
    }
    bool is(int64_t index, uint64_t word) const {
        return index < (int64_t)words_.size() && words_[index] == word;
    }

  private:
    static constexpr int64_t LIMIT = 4096;
    std::vector<uint64_t> words_;
};

// "index:value" in less than 16 bytes, with at most 7 digits of index and no exponent.
// Returns the end of the token, or null if it is anything else.
inline const char* short_feature(const char* p, const IndexWords& words, int64_t previous,
                                 int64_t* index, double* value) {
    const Marks marks = find_marks(p);
    if (marks.end >= 16 || marks.colon >= marks.end) return nullptr;
    const int negative = p[marks.colon + 1] == '-';
    const int start = marks.colon + 1 + negative;
    const int point = marks.point < marks.end ? marks.point : marks.end;
    const int n_whole = point - start;
    const int n_part = marks.end - point - (point < marks.end);
    if (unsigned(marks.colon - 1) > 6 || unsigned(n_whole - 1) > 7 || n_part > 8)
        return nullptr;
    const uint64_t whole = keep_digits(load_word(p + start), n_whole);
    const uint64_t part = keep_digits(load_word(p + point + 1), n_part);
    if (non_digits(whole) | non_digits(part) || !ends_token(p[marks.end])) return nullptr;
    const uint64_t head = keep_digits(load_word(p), marks.colon);
    if (words.is(previous + 1, head))
        *index = previous + 1;
    else if (!non_digits(head))
        *index = (int64_t)join_digits(head);
    else
        return nullptr;
    // Whole digits go before the decimals in one word, unless some would fall out.
    const uint64_t before = whole >> 4 * n_part >> 4 * n_part;
    const uint64_t digits = (before << 4 * n_part << 4 * n_part) == whole
                                ? join_digits(before | part)
                                : join_digits(whole) * TENS[n_part] + join_digits(part);
    // At most 13 digits, hence exact, and one division rounds correctly.
    constexpr double SIGN[] = {1.0, -1.0};
    *value = SIGN[negative] * (double)(int64_t)digits / POWERS[n_part];
    return p + marks.end;
}

// ---------------------------------------------------------------- chunks

// Start of the last lines: those that end within MARGIN of the end of the text.
inline const char* tail_start(const char* text, int64_t length) {
    const char* p = text + (length > MARGIN ? length - MARGIN : 0);
    while (p > text && p[-1] != '\n') p--;
    return p;
}

// Bounds of chunks at line starts. The tail stays in one chunk, since it is parsed from
// a copy that has a margin after it.
inline std::vector<const char*> cut(const char* text, int64_t length, int n_chunks) {
    const char* end = text + length;
    const char* tail = tail_start(text, length);
    std::vector<const char*> bounds(n_chunks + 1, end);
    bounds[0] = text;
    for (int k = 1; k < n_chunks; k++) {
        const char* p = text + length / n_chunks * k;
        if (p < bounds[k - 1]) p = bounds[k - 1];
        if (p < end) p = line_end(p, end) + 1;
        bounds[k] = p > tail ? end : p;
    }
    return bounds;
}

// First character of the content of a line, or null for blank lines and comments.
inline const char* content(const char* p, const char* z) {
    while (p < z && is_blank(*p)) p++;
    return p < z && *p != '#' ? p : nullptr;
}

struct ChunkSize {
    int64_t lines = 0;
    int64_t max_index = 0;
    int64_t colons = 0;
};

// Feature index of the last "index:value" before the comment of a line; 0 if none, and
// INT32_MAX for any that is larger. Indices ascend, so it is the largest one of a
// well-formed line.
inline int64_t last_index(const char* p, const char* z) {
    const char* hash = (const char*)memchr(p, '#', z - p);
    const char* colon = (hash ? hash : z) - 1;
    while (colon > p && *colon != ':') colon--;
    const char* d = colon;
    while (d > p && is_digit(d[-1])) d--;
    if (d == p || !is_blank(d[-1])) return 0;
    while (d < colon && *d == '0') d++;
    if (colon - d > 10) return INT32_MAX;
    int64_t index = 0;
    for (; d < colon; d++) index = index * 10 + (*d - '0');
    return std::min<int64_t>(index, INT32_MAX);
}

inline ChunkSize measure(const char* p, const char* end, bool count_colons) {
    ChunkSize size;
    while (p < end) {
        const char* z = line_end(p, end);
        const char* stop = without_return(p, z);
        if (const char* q = content(p, stop)) {
            size.lines++;
            int64_t index = last_index(q, stop);
            if (index > size.max_index) size.max_index = index;
            if (count_colons)
                for (const char* c = q; c < stop; c++) size.colons += *c == ':';
        }
        p = z + 1;
    }
    return size;
}

// ---------------------------------------------------------------- rows

// What is known of every row besides its features. Spans are byte offsets in the text.
struct Rows {
    double* label;
    int64_t* qid;
    int64_t* qid_start;
    int64_t* qid_length;
    int64_t* comment_start;
    int64_t* comment_length;
};

struct Rules {
    int64_t n_features;
    bool clip;  // values out of range become the largest of their sign
};

template <class T>
struct DenseSink {
    T* X;
    int64_t n_features;
    T* row = nullptr;
    int64_t filled = 0;

    void begin(int64_t r) {
        row = X + r * n_features;
        filled = 0;
    }
    void put(int64_t column, double value) {
        while (filled < column) row[filled++] = 0;
        row[column] = (T)value;
        filled = column + 1;
    }
    void finish(int64_t) {
        while (filled < n_features) row[filled++] = 0;
    }
};

template <class T>
struct SparseSink {
    T* data;
    int32_t* indices;
    int64_t* row_counts;
    int64_t n = 0;
    int64_t row_start = 0;

    void begin(int64_t) { row_start = n; }
    void put(int64_t column, double value) {
        data[n] = (T)value;
        indices[n] = (int32_t)column;
        n += value != 0;  // zeros are overwritten by what follows
    }
    void finish(int64_t r) { row_counts[r] = n - row_start; }
};

// Decimal integers in their only spelling become numbers: "7" does, "07" and "+7" do not.
inline bool canonical_integer(const char* p, int64_t length, int64_t* out) {
    const char* end = p + length;
    bool negative = length > 1 && *p == '-';
    const char* first = p + negative;
    if (!is_digit(*first) || (*first == '0' && length > 1)) return false;
    std::from_chars_result r = std::from_chars(p, end, *out);
    return r.ec == std::errc() && r.ptr == end;
}

template <class T>
class LineParser {
  public:
    LineParser(const char* text, Rules rules, Rows rows, const IndexWords& words)
        : origin_(text), rules_(rules), rows_(rows), words_(words) {}

    bool integer_qids = true;
    Fault fault;

    // Go on in a copy of the text from byte `base` on.
    void move_to(const char* copy, int64_t base) {
        origin_ = copy;
        base_ = base;
    }

    // Parse the line at p as row r and return its end.
    template <class Sink>
    const char* line(const char* p, int64_t r, Sink& sink) {
        p = skip(head(p, r));
        if (fault.code) return p;
        sink.begin(r);
        int64_t previous = 0;
        rows_.comment_start[r] = 0;
        rows_.comment_length[r] = 0;
        while (!ends_line(*p)) {
            if (*p == '#') {
                p = comment(p, r);
                break;
            }
            int64_t index = 0;
            double value = 0.0;
            const char* end = short_feature(p, words_, previous, &index, &value);
            if (!end || index <= previous || index > rules_.n_features) {
                end = feature(p, previous, &index, &value);
                if (fault.code) return end;
            }
            sink.put(index - 1, value);
            previous = index;
            p = skip(end);
        }
        sink.finish(r);
        while (*p != '\n') {
            if (*p != '\r') return fail(TRAILING, p);
            p++;
        }
        return p;
    }

  private:
    const char* origin_;
    int64_t base_ = 0;
    Rules rules_;
    Rows rows_;
    const IndexWords& words_;

    static const char* skip(const char* p) {
        while (is_blank(*p)) p++;
        return p;
    }

    int64_t offset(const char* p) const { return p - origin_ + base_; }

    const char* fail(int32_t code, const char* p) {
        fault = {code, offset(p)};
        return p;
    }

    const char* head(const char* p, int64_t r) {
        int32_t error = OK;
        const char* start = p = skip(p);
        p = parse_number(p, &rows_.label[r], &error);
        if (error || std::isnan(rows_.label[r])) return fail(BAD_LABEL, start);
        p = skip(p);
        if (memcmp(p, "qid:", 4)) return fail(NO_QID, p);
        const char* id = p += 4;
        while (!ends_token(*p)) p++;
        if (p == id) return fail(EMPTY_QID, id - 4);
        rows_.qid_start[r] = offset(id);
        rows_.qid_length[r] = p - id;
        rows_.qid[r] = 0;
        if (integer_qids && !canonical_integer(id, p - id, &rows_.qid[r]))
            integer_qids = false;
        return p;
    }

    // Any feature, or the reason why it is none.
    const char* feature(const char* p, int64_t previous, int64_t* index, double* value) {
        const char* start = p;
        int64_t i = 0;
        for (; is_digit(*p); p++) i = i < INT32_MAX ? i * 10 + (*p - '0') : i;
        if (*p != ':' || p == start)
            return fail(p > start && ends_token(*p) ? NO_COLON : BAD_INDEX, start);
        if (i <= previous) return fail(i < 1 ? INDEX_BELOW_ONE : NOT_ASCENDING, start);
        if (i > rules_.n_features) return fail(INDEX_TOO_LARGE, start);
        *index = i;
        int32_t error = OK;
        p = parse_number(p + 1, value, &error);
        if (!error && !std::isinf((T)*value)) return p;
        if (error && error != NOT_FINITE) return fail(error, start);
        if (!rules_.clip) return fail(error ? error : FLOAT32_OVERFLOW, start);
        const char* number = (const char*)memchr(start, ':', p - start) + 1;
        *value = *number == '-' ? std::numeric_limits<T>::lowest()
                                : std::numeric_limits<T>::max();
        return p;
    }

    // Ends at the line feed, or where a carriage return alone would have to end the line:
    // all lines behind it would become part of the comment.
    const char* comment(const char* hash, int64_t r) {
        const char* z = hash + 1;
        for (; *z != '\n'; z++)
            if (*z == '\r' && !ends_line(z[1])) return fail(TRAILING, z + 1);
        const char* stop = without_return(hash + 1, z);
        rows_.comment_start[r] = offset(hash + 1);
        rows_.comment_length[r] = stop - hash - 1;
        return z;
    }
};

// ---------------------------------------------------------------- whole texts

struct Text {
    const char* start;
    int64_t length;
    int n_chunks;
    int n_threads;
};

template <class Body>
void for_each_chunk(const Text& text, Body body) {
    skrank::for_each(text.n_chunks, 1, text.n_threads, {},
                     [&](skrank::Index k, skrank::Scratch& s) { body((int)k, s); });
}

inline void measure_text(Text text, bool count_colons, ChunkSize* sizes) {
    std::vector<const char*> bounds = cut(text.start, text.length, text.n_chunks);
    for_each_chunk(text, [&](int k, skrank::Scratch&) {
        sizes[k] = measure(bounds[k], bounds[k + 1], count_colons);
    });
}

// Lines from p to end, the first of them as row *r. The text must be readable for MARGIN
// bytes after each line, and the last line must end in a line feed.
template <class T, class Sink>
int64_t parse_lines(const char* p, const char* end, int64_t r, LineParser<T>& parser,
                    Sink& sink, skrank::Scratch& scratch) {
    while (p < end && !parser.fault.code) {
        const char* q = p;
        while (is_blank(*q)) q++;
        const char* blank = q;
        while (*blank == '\r') blank++;
        if (*q == '#')
            p = line_end(q, end) + 1;
        else if (*blank == '\n')
            p = blank + 1;
        else
            p = parser.line(q, r++, sink) + 1;
        if (scratch.spend(p - q)) break;
    }
    return r;
}

// Parse every chunk with its own sink, beginning at its own row. Returns the first fault.
template <class T, class Sink>
Fault parse_text(Text text, const int64_t* first_rows, Rules rules, Rows rows,
                 std::vector<Sink>& sinks, int* integer_qids) {
    std::vector<const char*> bounds = cut(text.start, text.length, text.n_chunks);
    const char* tail = tail_start(text.start, text.length);
    std::string copy(tail, text.start + text.length);
    const int64_t copied = (int64_t)copy.size();
    copy += '\n';
    copy.append(MARGIN, '\0');
    const IndexWords words(rules.n_features);
    std::vector<Fault> faults(text.n_chunks);
    std::vector<char> integer(text.n_chunks, 1);
    for_each_chunk(text, [&](int k, skrank::Scratch& scratch) {
        if (bounds[k] == bounds[k + 1]) return;
        LineParser<T> parser(text.start, rules, rows, words);
        bool last = bounds[k + 1] == text.start + text.length;
        int64_t r = parse_lines(bounds[k], last ? tail : bounds[k + 1], first_rows[k], parser,
                                sinks[k], scratch);
        if (last && !parser.fault.code) {
            parser.move_to(copy.data(), tail - text.start);
            parse_lines(copy.data(), copy.data() + copied, r, parser, sinks[k],
                        scratch);
        }
        faults[k] = parser.fault;
        integer[k] = parser.integer_qids;
    });
    *integer_qids = 1;
    for (char all : integer) *integer_qids &= all;
    for (const Fault& fault : faults)
        if (fault.code) return fault;
    return Fault();
}

template <class T>
Fault parse_dense(Text text, const int64_t* first_rows, Rules rules, Rows rows, T* X,
                  int* integer_qids) {
    std::vector<DenseSink<T>> sinks(text.n_chunks, DenseSink<T>{X, rules.n_features});
    return parse_text<T>(text, first_rows, rules, rows, sinks, integer_qids);
}

// CSR parts; chunk k writes from entry first_entries[k] on, where there is room for as
// many entries as the chunk has colons, and the gaps are closed at the end.
template <class T>
Fault parse_sparse(Text text, const int64_t* first_rows, const int64_t* first_entries,
                   Rules rules, Rows rows, T* data, int32_t* indices,
                   int64_t* row_counts, int* integer_qids, int64_t* n_entries) {
    std::vector<SparseSink<T>> sinks;
    for (int k = 0; k < text.n_chunks; k++)
        sinks.push_back({data + first_entries[k], indices + first_entries[k], row_counts});
    Fault fault = parse_text<T>(text, first_rows, rules, rows, sinks, integer_qids);
    *n_entries = 0;
    for (const SparseSink<T>& sink : sinks) {
        memmove(data + *n_entries, sink.data, sink.n * sizeof(T));
        memmove(indices + *n_entries, sink.indices, sink.n * sizeof(int32_t));
        *n_entries += sink.n;
    }
    return fault;
}

// ---------------------------------------------------------------- separated fields

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Spans of the first n_fields fields of every line that is neither blank nor a comment
// ("#" first). With starts == nullptr only counts the lines; the arrays of a second call
// have the size that the first one found, so that the text must not change in between.
inline Fault split_fields(const char* text, int64_t length, int n_fields, int64_t* starts,
                          int64_t* lengths, int64_t* n_lines) {
    const char* end = text + length;
    *n_lines = 0;
    skrank::Watch watch;
    for (const char* p = text; p < end && !watch.stopped();) {
        if (*n_lines % 4096 == 0) watch.look();
        const char* z = line_end(p, end);
        const char* q = p;
        while (q < z && is_space(*q)) q++;
        if (q < z && *q != '#') {
            for (int f = 0; starts && f < n_fields; f++) {
                if (q == z) return {TOO_FEW_FIELDS, p - text};
                const char* field = q;
                while (q < z && !is_space(*q)) q++;
                starts[*n_lines * n_fields + f] = field - text;
                lengths[*n_lines * n_fields + f] = q - field;
                while (q < z && is_space(*q)) q++;
            }
            ++*n_lines;
        }
        p = z + 1;
    }
    watch.finish();
    return Fault();
}

// ---------------------------------------------------------------- writing

// The shortest text that reads back as the same value.
inline char* write_number(char* p, char* end, double value) {
    return std::to_chars(p, end, value).ptr;
}
inline char* write_number(char* p, char* end, float value) {
    // Readers round the text to double first; where rounding twice would miss the value,
    // its exact double is written.
    char* z = std::to_chars(p, end, value).ptr;
    double read = 0.0;
    std::from_chars(p, z, read);
    return (float)read == value ? z : write_number(p, end, (double)value);
}

// " index:value" for n stored entries; column numbers count from 0, indices null = all.
template <class T>
void append_features(std::string& out, const T* values, const int32_t* indices, int64_t n,
                     bool skip_zeros) {
    char buffer[64];
    char* end = buffer + sizeof buffer;
    for (int64_t j = 0; j < n; j++) {
        if (skip_zeros && values[j] == 0) continue;
        char* p = buffer;
        *p++ = ' ';
        p = std::to_chars(p, end, (indices ? (int64_t)indices[j] : j) + 1).ptr;
        *p++ = ':';
        p = write_number(p, end, values[j]);
        out.append(buffer, p - buffer);
    }
}

}  // namespace letor
