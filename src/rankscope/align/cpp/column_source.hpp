// Columns as a source: ids as text or whole numbers and scores, each where its owner keeps it.
#pragma once

#include <type_traits>
#include <vector>

#include "qrels_index.hpp"

namespace rankscope {

// A part of a column of ids as it lies in memory; Arrow tables have one per record batch.
struct IdChunk {
  enum class Kind { prepared, offsets32, offsets64, views, int8, int16, int32, int64, uint8, uint16, uint32, uint64 };

  Kind kind = Kind::int64;
  const void* values = nullptr;        // bytes, offsets, views or numbers, the first one being of the first row
  const char* bytes = nullptr;         // the text that offsets point into
  const void* const* buffers = nullptr;  // the texts that views point into

  bool is_text() const { return kind <= Kind::views; }

  Bytes at(size_t row, char* buffer) const {
    switch (kind) {
      case Kind::prepared: return static_cast<const Bytes*>(values)[row];
      case Kind::offsets32: return between(static_cast<const int32_t*>(values), row);
      case Kind::offsets64: return between(static_cast<const int64_t*>(values), row);
      case Kind::views: return viewed(row);
      case Kind::int8: return digits(static_cast<const int8_t*>(values)[row], buffer);
      case Kind::int16: return digits(static_cast<const int16_t*>(values)[row], buffer);
      case Kind::int32: return digits(static_cast<const int32_t*>(values)[row], buffer);
      case Kind::int64: return digits(static_cast<const int64_t*>(values)[row], buffer);
      case Kind::uint8: return digits(static_cast<const uint8_t*>(values)[row], buffer);
      case Kind::uint16: return digits(static_cast<const uint16_t*>(values)[row], buffer);
      case Kind::uint32: return digits(static_cast<const uint32_t*>(values)[row], buffer);
      case Kind::uint64: return digits(static_cast<const uint64_t*>(values)[row], buffer);
    }
    return {};
  }

 private:
  template <class Offset>
  Bytes between(const Offset* offsets, size_t row) const {
    return Bytes(bytes + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row]));
  }

  // Arrow's view: a length, then up to 12 bytes in place, or a prefix, a buffer and an offset.
  Bytes viewed(size_t row) const {
    struct View {
      int32_t length;
      char prefix[4];
      int32_t buffer, offset;
    };
    const View& view = static_cast<const View*>(values)[row];
    const auto length = static_cast<size_t>(view.length);
    if (length <= 12) return Bytes(view.prefix, length);
    return Bytes(static_cast<const char*>(buffers[view.buffer]) + view.offset, length);
  }

  template <class Number>
  static Bytes digits(Number number, char* buffer) {
    const auto written = std::to_chars(buffer, buffer + 24, number);
    return Bytes(buffer, static_cast<size_t>(written.ptr - buffer));
  }
};

struct ScoreChunk {
  const void* values = nullptr;
  bool single = false;

  double at(size_t row) const {
    return single ? static_cast<double>(static_cast<const float*>(values)[row])
                  : static_cast<const double*>(values)[row];
  }
};

// The parts of all three columns that have the same rows.
struct Batch {
  size_t first_row = 0;
  size_t n_rows = 0;
  IdChunk query, doc;
  ScoreChunk score;
  const int64_t* rank = nullptr;
};

// The number of a row, and which of its two ids is meant.
struct RowRef {
  uint64_t row_and_kind = 0;
};

// Ids that are text are referred to by their bytes, which lie in memory; ids that are numbers by their rows.
template <bool kIdsAreText>
class ColumnSource {
 public:
  using IdRef = std::conditional_t<kIdsAreText, Bytes, RowRef>;

  explicit ColumnSource(std::vector<Batch> batches) : batches_(std::move(batches)) {
    for (const Batch& batch : batches_) n_rows_ = batch.first_row + batch.n_rows;
  }

  Bytes view(IdRef ref, [[maybe_unused]] char* buffer) const {
    if constexpr (kIdsAreText) {
      return ref;
    } else {
      const size_t row = ref.row_and_kind >> 1;
      const Batch& batch = batch_of(row);
      const IdChunk& chunk = ref.row_and_kind & 1 ? batch.doc : batch.query;
      return chunk.at(row - batch.first_row, buffer);
    }
  }

  const JudgedDoc* find(const QrelsIndex& qrels, int32_t query, IdRef doc, uint64_t hash, char* buffer) const {
    return qrels.find_doc(query, view(doc, buffer), hash);
  }

  std::vector<Range> split(size_t n_pieces) const {
    std::vector<Range> pieces;
    for (size_t i = 0; i < n_pieces; ++i) {
      const size_t from = n_rows_ / n_pieces * i, to = i + 1 == n_pieces ? n_rows_ : n_rows_ / n_pieces * (i + 1);
      if (to > from) pieces.push_back(Range{from, to});
    }
    return pieces;
  }

  template <class Rows>
  void scan(size_t from, size_t to, Rows& rows) const {
    char query_buffer[24], doc_buffer[24];
    while (from < to && !rows.stopped()) {
      const Batch& batch = batch_of(from);
      const size_t end = std::min(to, batch.first_row + batch.n_rows);
      for (; from < end; ++from) {
        const size_t i = from - batch.first_row;
        const Bytes query = batch.query.at(i, query_buffer), doc = batch.doc.at(i, doc_buffer);
        const double score = batch.score.at(i);
        if (query.empty() || doc.empty() || score != score) {
          rows.bad(from, from + 1);
        } else {
          rows.row(from, ref_to(query, from << 1), query, ref_to(doc, from << 1 | 1), doc, score,
                   batch.rank ? batch.rank[i] : 0);
        }
        if (rows.stopped()) return;
      }
    }
  }

 private:
  static IdRef ref_to([[maybe_unused]] Bytes id, [[maybe_unused]] uint64_t row_and_kind) {
    if constexpr (kIdsAreText) {
      return id;
    } else {
      return IdRef{row_and_kind};
    }
  }

  const Batch& batch_of(size_t row) const {
    if (batches_.size() == 1) return batches_[0];
    size_t low = 0, high = batches_.size();
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      (batches_[middle].first_row <= row ? low : high) = middle;
    }
    return batches_[low];
  }

  std::vector<Batch> batches_;
  size_t n_rows_ = 0;
};

}  // namespace rankscope
