// Text line by line. Blanks are found 64 bytes at a time; in plain text the fields lie between them.
#pragma once

#include <stdexcept>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "fields.hpp"

namespace rankscope {

// Lines may not be longer than this, their end included: a small compressed file can hold one that fills the memory. The
// reader of lines in Python has the words for it.
inline void check_line(size_t n_bytes, size_t max_line) {
  if (n_bytes > max_line) throw std::length_error("a line is too long");
}

// About n pieces of equal size that begin at the beginning of a line.
inline std::vector<Bytes> split_at_lines(Bytes text, size_t n_pieces) {
  std::vector<Bytes> pieces;
  size_t from = 0;
  for (size_t i = 1; i <= n_pieces && from < text.size(); ++i) {
    const size_t line_end = i == n_pieces ? Bytes::npos : text.find('\n', text.size() / n_pieces * i);
    const size_t to = line_end == Bytes::npos ? text.size() : line_end + 1;
    if (to > from) pieces.push_back(text.substr(from, to - from));
    from = std::max(from, to);
  }
  return pieces;
}

// Reads lines that should have kFields fields.
template <int kFields>
class LineScanner {
 public:
  explicit LineScanner(size_t max_line) : max_line_(max_line) {}

  // Reads whole lines from about kBlock bytes and returns where the next block starts. Lines that are neither blank nor
  // a comment are handed over as line(from, next, fields, n_fields), where n_fields counts at most one too many.
  template <class Line>
  const char* block(const char* from, const char* to, Line line) {
    const char* stop = to - from > static_cast<ptrdiff_t>(kBlock) ? from + kBlock : to;
    if (stop < to) {
      const void* last_end = find_last_line_end(from, static_cast<size_t>(stop - from));
      const bool is_long = !last_end;
      if (is_long) last_end = std::memchr(stop, '\n', static_cast<size_t>(to - stop));
      stop = last_end ? static_cast<const char*>(last_end) + 1 : to;
      if (is_long) check_line(static_cast<size_t>(stop - from), max_line_);
    }
    const char* here = from;
    if (stop - from <= kLongBlock && index_blanks(from, static_cast<size_t>(stop - from))) here = plain_lines(from, line);
    while (here < stop) here = any_line(here, stop, line);
    return stop;
  }

 private:
  static constexpr size_t kBlock = 1 << 14;
  static constexpr ptrdiff_t kLongBlock = 1 << 20;  // one huge line, whose blanks need not all be remembered

  // In plain text the last of every kFields blanks ends a line and no two stand together: fields lie between them.
  template <class Line>
  const char* plain_lines(const char* block, Line& line) {
    size_t start = 0;
    for (size_t i = 0; i + kFields <= n_blanks_; i += kFields) {
      const uint32_t* at = &blanks_[i];
      bool is_plain = block[at[kFields - 1]] == '\n' && block[start] != '#';
      for (int field = 0; field < kFields - 1; ++field) is_plain = is_plain & (block[at[field]] != '\n');
      if (!is_plain) break;
      Bytes fields[kFields];
      size_t from = start;
      for (int field = 0; field < kFields; ++field) {
        fields[field] = Bytes(block + from, at[field] - from);
        from = at[field] + 1;
      }
      line(block + start, block + from, fields, kFields);
      start = from;
    }
    return block + start;
  }

  // Any line at all: blank, comment, malformed, or with blanks as its writer liked.
  template <class Line>
  static const char* any_line(const char* from, const char* stop, Line& line) {
    const auto* end = static_cast<const char*>(std::memchr(from, '\n', static_cast<size_t>(stop - from)));
    const char* const next = end ? end + 1 : stop;
    Bytes fields[kFields];
    const int n_fields = split_fields(Bytes(from, static_cast<size_t>((end ? end : stop) - from)), fields, kFields);
    if (n_fields > 0 && fields[0].front() != '#') line(from, next, fields, n_fields);
    return next;
  }

  // Notes where the blanks are; false where two stand together or the first byte is one.
  bool index_blanks(const char* block, size_t size) {
    if (blanks_.size() < size) blanks_.resize(size);
    uint32_t* out = blanks_.data();
    uint64_t after_blank = 1, together = 0;
    size_t i = 0;
    for (; i + 64 <= size; i += 64) {
      const uint64_t mask = blank_mask(block + i);
      together |= mask & ((mask << 1) | after_blank);
      after_blank = mask >> 63;
      for (uint64_t left = mask; left; left &= left - 1) *out++ = static_cast<uint32_t>(i) + lowest_bit(left);
    }
    for (; i < size; ++i) {
      const bool blank = is_blank(block[i]);
      together |= blank && after_blank;
      after_blank = blank;
      if (blank) *out++ = static_cast<uint32_t>(i);
    }
    n_blanks_ = static_cast<size_t>(out - blanks_.data());
    return !together;
  }

  static uint32_t lowest_bit(uint64_t word) {
#if defined(__GNUC__)
    return static_cast<uint32_t>(__builtin_ctzll(word));
#else
    uint32_t bit = 0;
    for (; !(word & 1); word >>= 1) ++bit;
    return bit;
#endif
  }

  // One bit per byte: is it a blank?
  static uint64_t blank_mask(const char* bytes) {
    uint64_t mask = 0;
#if defined(__SSE2__)
    const __m128i space = _mm_set1_epi8(' '), tab = _mm_set1_epi8('\t'), width = _mm_set1_epi8('\r' - '\t');
    for (int part = 0; part < 4; ++part) {
      const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
      const __m128i above_tab = _mm_sub_epi8(chunk, tab);
      const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(above_tab, width), above_tab);
      const __m128i blank = _mm_or_si128(_mm_cmpeq_epi8(chunk, space), control);
      mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(blank))) << (16 * part);
    }
#else
    for (int i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(is_blank(bytes[i])) << i;
#endif
    return mask;
  }

  static const char* find_last_line_end(const char* from, size_t size) {
    for (const char* p = from + size; p > from;)
      if (*--p == '\n') return p;
    return nullptr;
  }

  const size_t max_line_;
  std::vector<uint32_t> blanks_;  // grows to the largest block: some scans are of a few lines only
  size_t n_blanks_ = 0;
};

}  // namespace rankscope
