// TREC text as a source: one line per row, query Q0 doc rank score tag. Positions are addresses, so that the text may
// lie in memory as a whole or in several blocks of whole lines.
#pragma once

#include <vector>

#include "lines.hpp"
#include "qrels_index.hpp"

namespace rankscope {

constexpr int kRunFields = 6;

class TextSource {
 public:
  using IdRef = Bytes;

  TextSource(bool with_ranks, size_t max_line) : with_ranks_(with_ranks), max_line_(max_line) {}

  // Adds text that stays where it is, and returns its range. Only the very first block may have a byte order mark.
  Range add_block(Bytes block) {
    if (blocks_.empty()) drop_byte_order_mark(block);
    blocks_.push_back(block);
    return range_of(block);
  }

  void ignore_ranks() { with_ranks_ = false; }
  bool uses_ranks() const { return with_ranks_; }

  const std::vector<Bytes>& blocks() const { return blocks_; }

  static Bytes view(IdRef id, char*) { return id; }

  static const JudgedDoc* find(const QrelsIndex& qrels, int32_t query, IdRef doc, uint64_t hash, char*) {
    return qrels.find_doc(query, doc, hash);
  }

  std::vector<Range> split(size_t n_pieces) const {
    std::vector<Range> pieces;
    for (Bytes block : blocks_)
      for (Bytes piece : split_at_lines(block, n_pieces)) pieces.push_back(range_of(piece));
    return pieces;
  }

  template <class Rows>
  void scan(size_t from, size_t to, Rows& rows) const {
    LineScanner<kRunFields> lines(max_line_);
    Bytes tag;
    bool has_tag = false;
    auto take = [&](const char* start, const char* next, const Bytes* fields, int n_fields) {
      double score = 0;
      if (n_fields < kRunFields || !parse_score(fields[4], score)) {
        rows.bad(address(start), address(next));
        return;
      }
      int64_t rank = 0;
      if (with_ranks_ && !parse_rank(fields[3], rank)) rows.bad_rank();
      rows.row(address(start), fields[0], fields[0], fields[2], fields[2], score, rank);
      tag = fields[5];
      has_tag = true;
    };
    const auto *here = reinterpret_cast<const char*>(from), *end = reinterpret_cast<const char*>(to);
    while (here < end && !rows.stopped()) here = lines.block(here, end, take);
    if (has_tag) rows.tag(tag);
  }

 private:
  static size_t address(const char* at) { return reinterpret_cast<size_t>(at); }

  static Range range_of(Bytes text) { return Range{address(text.data()), address(text.data() + text.size())}; }

  std::vector<Bytes> blocks_;
  bool with_ranks_;
  const size_t max_line_;
};

}  // namespace rankscope
