// Tables over Arrow's C stream interface: columns are used where their owner keeps them.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "column_source.hpp"

extern "C" {  // the structures as the Arrow C data interface defines them
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}

namespace rankscope {

template <class Structure>
struct Released {
  void operator()(Structure* structure) const {
    if (structure->release) structure->release(structure);
    delete structure;
  }
};

template <class Structure>
using Owned = std::unique_ptr<Structure, Released<Structure>>;

class ArrowTable {
 public:
  explicit ArrowTable(ArrowArrayStream* stream) : schema_(new ArrowSchema{}) {
    if (stream->get_schema(stream, schema_.get()) != 0) throw std::runtime_error("the table's schema cannot be read");
    if (std::strcmp(schema_->format, "+s") != 0) throw std::runtime_error("this is a single column, not a table");
    for (;;) {
      Owned<ArrowArray> batch(new ArrowArray{});
      if (stream->get_next(stream, batch.get()) != 0) throw std::runtime_error("the table's rows cannot be read");
      if (!batch->release) break;
      batches_.push_back(std::move(batch));
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (int64_t i = 0; i < schema_->n_children; ++i) {
      const char* name = schema_->children[i]->name;  // which the standard lets its owner leave out
      names.emplace_back(name ? name : "");
    }
    return names;
  }

  std::string format(int column) const {
    const ArrowSchema* child = schema_->children[column];
    return child->dictionary ? "dictionary" : child->format;
  }

  // Returns the columns as batches, or nothing where one of them is of a type, or has gaps, not meant for speed.
  bool batches(int query, int doc, int score, int rank, std::vector<Batch>& out) const {
    size_t first_row = 0;
    for (const Owned<ArrowArray>& array : batches_) {
      if (array->length == 0) continue;
      if (array->null_count != 0 && array->n_buffers > 0 && array->buffers[0]) return false;
      Batch batch;
      batch.first_row = first_row;
      batch.n_rows = static_cast<size_t>(array->length);
      if (!ids(*array, query, batch.query) || !ids(*array, doc, batch.doc)) return false;
      if (!scores(*array, score, batch.score)) return false;
      if (rank >= 0 && !ranks(*array, rank, batch.rank)) return false;
      out.push_back(batch);
      first_row += batch.n_rows;
    }
    return true;
  }

 private:
  static bool has_gaps(const ArrowArray& column, int64_t from, int64_t length) {
    const auto* valid = static_cast<const uint8_t*>(column.buffers[0]);
    if (!valid || column.null_count == 0) return false;
    for (int64_t i = from; i < from + length; ++i)
      if (!(valid[i / 8] >> (i % 8) & 1)) return true;
    return false;
  }

  // What a value of a type must be aligned to; 0 for types that are not meant for speed, which may have no buffers.
  static size_t alignment_of(const std::string& type) {
    if (type == "c" || type == "C") return 1;
    if (type == "s" || type == "S") return 2;
    if (type == "i" || type == "I" || type == "u" || type == "vu" || type == "f") return 4;
    return type == "l" || type == "L" || type == "U" || type == "g" ? 8 : 0;
  }

  // Whether the rows of a column can be read where they are.
  static bool is_readable(const ArrowArray& column, const std::string& type, int64_t from, int64_t length) {
    const size_t alignment = alignment_of(type);
    if (alignment == 0 || has_gaps(column, from, length)) return false;
    return reinterpret_cast<uintptr_t>(column.buffers[1]) % alignment == 0;
  }

  template <class Value>
  static const Value* values(const ArrowArray& column, int64_t from) {
    return static_cast<const Value*>(column.buffers[1]) + from;
  }

  bool ids(const ArrowArray& table, int index, IdChunk& out) const {
    const ArrowArray& column = *table.children[index];
    const std::string type = format(index);
    const int64_t from = table.offset + column.offset;
    if (!is_readable(column, type, from, table.length)) return false;
    using Kind = IdChunk::Kind;
    if (type == "u") {
      out = IdChunk{Kind::offsets32, values<int32_t>(column, from), static_cast<const char*>(column.buffers[2])};
    } else if (type == "U") {
      out = IdChunk{Kind::offsets64, values<int64_t>(column, from), static_cast<const char*>(column.buffers[2])};
    } else if (type == "vu") {
      out = IdChunk{Kind::views, values<char[16]>(column, from), nullptr, column.buffers + 2};
    } else if (type.size() == 1) {
      switch (type[0]) {
        case 'c': out = IdChunk{Kind::int8, values<int8_t>(column, from)}; break;
        case 'C': out = IdChunk{Kind::uint8, values<uint8_t>(column, from)}; break;
        case 's': out = IdChunk{Kind::int16, values<int16_t>(column, from)}; break;
        case 'S': out = IdChunk{Kind::uint16, values<uint16_t>(column, from)}; break;
        case 'i': out = IdChunk{Kind::int32, values<int32_t>(column, from)}; break;
        case 'I': out = IdChunk{Kind::uint32, values<uint32_t>(column, from)}; break;
        case 'l': out = IdChunk{Kind::int64, values<int64_t>(column, from)}; break;
        case 'L': out = IdChunk{Kind::uint64, values<uint64_t>(column, from)}; break;
        default: return false;
      }
    } else {
      return false;
    }
    return true;
  }

  bool scores(const ArrowArray& table, int index, ScoreChunk& out) const {
    const ArrowArray& column = *table.children[index];
    const std::string type = format(index);
    const int64_t from = table.offset + column.offset;
    if ((type != "g" && type != "f") || !is_readable(column, type, from, table.length)) return false;
    out.single = type == "f";
    out.values = out.single ? static_cast<const void*>(values<float>(column, from)) : values<double>(column, from);
    return true;
  }

  bool ranks(const ArrowArray& table, int index, const int64_t*& out) const {
    const ArrowArray& column = *table.children[index];
    const int64_t from = table.offset + column.offset;
    if (format(index) != "l" || !is_readable(column, "l", from, table.length)) return false;
    out = values<int64_t>(column, from);
    return true;
  }

  Owned<ArrowSchema> schema_;
  std::vector<Owned<ArrowArray>> batches_;
};

}  // namespace rankscope
