// TREC text as a source: one line per row, query Q0 doc rank score tag, in memory as a whole (mapped or decompressed).
#pragma once

#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "fields.hpp"
#include "qrels_index.hpp"

namespace rankscope {

constexpr int kRunFields = 6;

class TextSource {
 public:
  using IdRef = Bytes;

  TextSource(Bytes text, bool with_ranks) : text_(text), with_ranks_(with_ranks) {
    if (text_.substr(0, 3) == "\xef\xbb\xbf") start_ = 3;  // a byte order mark
  }

  Bytes text() const { return text_; }

  static Bytes view(IdRef id, char*) { return id; }

  static const JudgedDoc* find(const QrelsIndex& qrels, int32_t query, IdRef doc, uint64_t hash, char*) {
    return qrels.find_doc(query, doc, hash);
  }

  // Pieces of about equal size that begin at the beginning of a line.
  std::vector<size_t> split(size_t n_pieces) const {
    std::vector<size_t> bounds{start_};
    const size_t size = text_.size();
    for (size_t i = 1; i < n_pieces; ++i) {
      const size_t line_end = text_.find('\n', start_ + (size - start_) / n_pieces * i);
      const size_t bound = line_end == Bytes::npos ? size : line_end + 1;
      if (bound > bounds.back() && bound < size) bounds.push_back(bound);
    }
    bounds.push_back(size);
    return bounds;
  }

  template <class Rows>
  void scan(size_t from, size_t to, Rows& rows) const {
    Scan<Rows> scan{*this, rows};
    while (from < to && !rows.stopped()) from = scan.block(from, to);
    if (scan.has_tag) rows.tag(scan.tag);
  }

 private:
  static constexpr size_t kBlock = 1 << 14;

  // The state of reading one piece.
  template <class Rows>
  struct Scan {
    const TextSource& source;
    Rows& rows;
    std::vector<uint32_t> blanks{};
    Bytes tag{};
    bool has_tag = false;

    // Reads whole lines from about kBlock bytes and returns where the next block starts.
    size_t block(size_t from, size_t to) {
      const char* const text = source.text_.data();
      size_t stop = std::min(from + kBlock, to);
      if (stop < to) {
        const void* last_end = find_last_line_end(text + from, stop - from);
        if (!last_end) last_end = std::memchr(text + stop, '\n', to - stop);
        stop = last_end ? static_cast<size_t>(static_cast<const char*>(last_end) - text) + 1 : to;
      }
      size_t here = from;
      if (index_blanks(text + from, stop - from)) here = plain_lines(text, from);
      while (here < stop) here = any_line(text, here, stop);
      return stop;
    }

    // In plain text every sixth blank ends a line and no two stand together: fields lie between known positions.
    size_t plain_lines(const char* text, size_t from) {
      const char* const block = text + from;
      size_t start = 0;
      for (size_t i = 0; i + kRunFields <= blanks.size(); i += kRunFields) {
        const uint32_t* at = &blanks[i];
        const bool ends_line = block[at[5]] == '\n';
        const bool ends_early = block[at[0]] == '\n' || block[at[1]] == '\n' || block[at[2]] == '\n' ||
                                block[at[3]] == '\n' || block[at[4]] == '\n';
        if (!ends_line || ends_early || block[start] == '#') break;
        take(from + start, from + at[5] + 1, Bytes(block + start, at[0] - start),
             Bytes(block + at[1] + 1, at[2] - at[1] - 1), Bytes(block + at[2] + 1, at[3] - at[2] - 1),
             Bytes(block + at[3] + 1, at[4] - at[3] - 1), Bytes(block + at[4] + 1, at[5] - at[4] - 1));
        start = at[5] + 1;
      }
      return from + start;
    }

    // Any line at all: blank, comment, malformed, or with blanks as its writer liked.
    size_t any_line(const char* text, size_t from, size_t stop) {
      const void* found = std::memchr(text + from, '\n', stop - from);
      const size_t end = found ? static_cast<size_t>(static_cast<const char*>(found) - text) : stop;
      Bytes fields[kRunFields];
      const int n_fields = split_fields(Bytes(text + from, end - from), fields, kRunFields);
      const size_t next = end < stop ? end + 1 : stop;
      if (n_fields == 0 || fields[0].front() == '#') return next;
      if (n_fields < kRunFields) {
        rows.bad(from, end);
      } else {
        take(from, next, fields[0], fields[2], fields[3], fields[4], fields[5]);
      }
      return next;
    }

    void take(size_t from, size_t next, Bytes query, Bytes doc, Bytes rank, Bytes score, Bytes row_tag) {
      double value = 0;
      if (!parse_score(score, value)) {
        rows.bad(from, next);
        return;
      }
      int64_t given = 0;
      if (source.with_ranks_ && !parse_rank(rank, given)) rows.bad_rank();
      rows.row(from, query, query, doc, doc, value, given);
      tag = row_tag;
      has_tag = true;
    }

    // Notes where the blanks are; false where two stand together or the first byte is one.
    bool index_blanks(const char* block, size_t size) {
      blanks.resize(size + 64);
      uint32_t* out = blanks.data();
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
      blanks.resize(static_cast<size_t>(out - blanks.data()));
      return !together;
    }
  };

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

  const Bytes text_;
  const bool with_ranks_;
  size_t start_ = 0;
};

}  // namespace rankscope
