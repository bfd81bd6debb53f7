// TREC text as a source: one line per row, query Q0 doc rank score tag. Positions are addresses, so that the text may
// lie in memory as a whole or in several blocks of whole lines.
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

  explicit TextSource(bool with_ranks) : with_ranks_(with_ranks) {}

  // Adds text that stays where it is, and returns its range. Only the very first block may have a byte order mark.
  Range add_block(Bytes block) {
    if (blocks_.empty() && block.substr(0, 3) == "\xef\xbb\xbf") block.remove_prefix(3);
    blocks_.push_back(block);
    return Range{address(block.data()), address(block.data() + block.size())};
  }

  void ignore_ranks() { with_ranks_ = false; }

  const std::vector<Bytes>& blocks() const { return blocks_; }

  static Bytes view(IdRef id, char*) { return id; }

  static const JudgedDoc* find(const QrelsIndex& qrels, int32_t query, IdRef doc, uint64_t hash, char*) {
    return qrels.find_doc(query, doc, hash);
  }

  // Pieces of about equal size that begin at the beginning of a line.
  std::vector<Range> split(size_t n_pieces) const {
    std::vector<Range> pieces;
    for (Bytes block : blocks_) {
      size_t from = 0;
      for (size_t i = 1; i <= n_pieces && from < block.size(); ++i) {
        const size_t line_end = i == n_pieces ? Bytes::npos : block.find('\n', block.size() / n_pieces * i);
        const size_t to = line_end == Bytes::npos ? block.size() : line_end + 1;
        if (to > from) pieces.push_back(Range{address(block.data() + from), address(block.data() + to)});
        from = std::max(from, to);
      }
    }
    return pieces;
  }

  template <class Rows>
  void scan(size_t from, size_t to, Rows& rows) const {
    Scan<Rows> scan{*this, rows};
    const auto *here = reinterpret_cast<const char*>(from), *end = reinterpret_cast<const char*>(to);
    while (here < end && !rows.stopped()) here = scan.block(here, end);
    if (scan.has_tag) rows.tag(scan.tag);
  }

 private:
  static constexpr size_t kBlock = 1 << 14;
  static constexpr ptrdiff_t kLongBlock = 1 << 20;  // one huge line, whose blanks need not all be remembered

  static size_t address(const char* at) { return reinterpret_cast<size_t>(at); }

  // The state of reading one piece.
  template <class Rows>
  struct Scan {
    const TextSource& source;
    Rows& rows;
    std::vector<uint32_t> blanks{};  // grows to the largest block: some scans are of a few lines only
    size_t n_blanks = 0;
    Bytes tag{};
    bool has_tag = false;

    // Reads whole lines from about kBlock bytes and returns where the next block starts.
    const char* block(const char* from, const char* to) {
      const char* stop = to - from > static_cast<ptrdiff_t>(kBlock) ? from + kBlock : to;
      if (stop < to) {
        const void* last_end = find_last_line_end(from, static_cast<size_t>(stop - from));
        if (!last_end) last_end = std::memchr(stop, '\n', static_cast<size_t>(to - stop));
        stop = last_end ? static_cast<const char*>(last_end) + 1 : to;
      }
      const char* here = from;
      if (stop - from <= kLongBlock && index_blanks(from, static_cast<size_t>(stop - from))) here = plain_lines(from);
      while (here < stop) here = any_line(here, stop);
      return stop;
    }

    // In plain text every sixth blank ends a line and no two stand together: fields lie between known positions.
    const char* plain_lines(const char* block) {
      size_t start = 0;
      for (size_t i = 0; i + kRunFields <= n_blanks; i += kRunFields) {
        const uint32_t* at = &blanks[i];
        const bool ends_line = block[at[5]] == '\n';
        const bool ends_early = block[at[0]] == '\n' || block[at[1]] == '\n' || block[at[2]] == '\n' ||
                                block[at[3]] == '\n' || block[at[4]] == '\n';
        if (!ends_line || ends_early || block[start] == '#') break;
        take(block + start, block + at[5] + 1, Bytes(block + start, at[0] - start),
             Bytes(block + at[1] + 1, at[2] - at[1] - 1), Bytes(block + at[2] + 1, at[3] - at[2] - 1),
             Bytes(block + at[3] + 1, at[4] - at[3] - 1), Bytes(block + at[4] + 1, at[5] - at[4] - 1));
        start = at[5] + 1;
      }
      return block + start;
    }

    // Any line at all: blank, comment, malformed, or with blanks as its writer liked.
    const char* any_line(const char* from, const char* stop) {
      const auto* end = static_cast<const char*>(std::memchr(from, '\n', static_cast<size_t>(stop - from)));
      const char* const next = end ? end + 1 : stop;
      Bytes fields[kRunFields];
      const Bytes line(from, static_cast<size_t>((end ? end : stop) - from));
      const int n_fields = split_fields(line, fields, kRunFields);
      if (n_fields == 0 || fields[0].front() == '#') return next;
      if (n_fields < kRunFields) {
        rows.bad(address(from), address(next));
      } else {
        take(from, next, fields[0], fields[2], fields[3], fields[4], fields[5]);
      }
      return next;
    }

    void take(const char* from, const char* next, Bytes query, Bytes doc, Bytes rank, Bytes score, Bytes row_tag) {
      double value = 0;
      if (!parse_score(score, value)) {
        rows.bad(address(from), address(next));
        return;
      }
      int64_t given = 0;
      if (source.with_ranks_ && !parse_rank(rank, given)) rows.bad_rank();
      rows.row(address(from), query, query, doc, doc, value, given);
      tag = row_tag;
      has_tag = true;
    }

    // Notes where the blanks are; false where two stand together or the first byte is one.
    bool index_blanks(const char* block, size_t size) {
      if (blanks.size() < size) blanks.resize(size);
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
      n_blanks = static_cast<size_t>(out - blanks.data());
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

  std::vector<Bytes> blocks_;
  bool with_ranks_;
};

}  // namespace rankscope
