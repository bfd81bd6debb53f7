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

// Reads all arrays of a stream; the last one comes without a release function.
inline std::vector<Owned<ArrowArray>> arrays_in(ArrowArrayStream* stream) {
  std::vector<Owned<ArrowArray>> arrays;
  for (;;) {
    Owned<ArrowArray> array(new ArrowArray{});
    if (stream->get_next(stream, array.get()) != 0) throw std::runtime_error("the table's rows cannot be read");
    if (!array->release) return arrays;
    arrays.push_back(std::move(array));
  }
}

inline Owned<ArrowSchema> schema_of(ArrowArrayStream* stream) {
  Owned<ArrowSchema> schema(new ArrowSchema{});
  if (stream->get_schema(stream, schema.get()) != 0) throw std::runtime_error("the table's schema cannot be read");
  return schema;
}

class ArrowTable {
 public:
  ArrowTable(const ArrowTable&) = delete;

  // From a stream of tables.
  explicit ArrowTable(ArrowArrayStream* stream) {
    schemas_.push_back(schema_of(stream));
    if (std::strcmp(schemas_[0]->format, "+s") != 0) throw std::runtime_error("this is a single column, not a table");
    for (int64_t i = 0; i < schemas_[0]->n_children; ++i) types_.push_back(schemas_[0]->children[i]);
    arrays_.push_back(arrays_in(stream));
    for (const Owned<ArrowArray>& table : arrays_[0]) {
      has_gaps_ |= table->null_count != 0 && table->n_buffers > 0 && table->buffers[0];
      parts_.emplace_back();
      for (int64_t i = 0; i < table->n_children; ++i)
        parts_.back().push_back({table->children[i], table->offset + table->children[i]->offset, table->length});
    }
  }

  // From one stream per column, all of which must come in parts of the same lengths.
  explicit ArrowTable(const std::vector<ArrowArrayStream*>& columns) {
    for (ArrowArrayStream* stream : columns) {
      schemas_.push_back(schema_of(stream));
      types_.push_back(schemas_.back().get());
      arrays_.push_back(arrays_in(stream));
    }
    for (size_t part = 0; part < arrays_[0].size(); ++part) {
      parts_.emplace_back();
      for (const std::vector<Owned<ArrowArray>>& arrays : arrays_) {
        if (arrays.size() != arrays_[0].size() || arrays[part]->length != arrays_[0][part]->length)
          throw std::runtime_error("the columns come in different parts");
        parts_.back().push_back({arrays[part].get(), arrays[part]->offset, arrays[part]->length});
      }
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const ArrowSchema* type : types_) names.emplace_back(type->name ? type->name : "");  // it may be left out
    return names;
  }

  std::string format(int column) const { return types_[column]->dictionary ? "dictionary" : types_[column]->format; }

  // Returns the columns as batches, or nothing where one of them is of a type, or has gaps, not meant for speed.
  bool batches(int query, int doc, int score, int rank, std::vector<Batch>& out) const {
    size_t first_row = 0;
    for (const std::vector<Part>& parts : parts_) {
      if (has_gaps_) return false;
      Batch batch;
      batch.first_row = first_row;
      batch.n_rows = static_cast<size_t>(parts[query].length);
      if (batch.n_rows == 0) continue;
      if (!ids(parts[query], format(query), batch.query) || !ids(parts[doc], format(doc), batch.doc)) return false;
      if (!scores(parts[score], format(score), batch.score)) return false;
      if (rank >= 0 && !ranks(parts[rank], format(rank), batch.rank)) return false;
      out.push_back(batch);
      first_row += batch.n_rows;
    }
    return true;
  }

 private:
  // Some consecutive rows of a column.
  struct Part {
    const ArrowArray* column;
    int64_t from, length;
  };

  static bool has_gaps(const Part& part) {
    const auto* valid = static_cast<const uint8_t*>(part.column->buffers[0]);
    if (!valid || part.column->null_count == 0) return false;
    for (int64_t i = part.from; i < part.from + part.length; ++i)
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
  static bool is_readable(const Part& part, const std::string& type) {
    const size_t alignment = alignment_of(type);
    if (alignment == 0 || has_gaps(part)) return false;
    return reinterpret_cast<uintptr_t>(part.column->buffers[1]) % alignment == 0;
  }

  template <class Value>
  static const Value* values(const ArrowArray& column, int64_t from) {
    return static_cast<const Value*>(column.buffers[1]) + from;
  }

  static bool ids(const Part& part, const std::string& type, IdChunk& out) {
    if (!is_readable(part, type)) return false;
    const ArrowArray& column = *part.column;
    const int64_t from = part.from;
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

  static bool scores(const Part& part, const std::string& type, ScoreChunk& out) {
    if ((type != "g" && type != "f") || !is_readable(part, type)) return false;
    out.single = type == "f";
    out.values = out.single ? static_cast<const void*>(values<float>(*part.column, part.from))
                            : values<double>(*part.column, part.from);
    return true;
  }

  static bool ranks(const Part& part, const std::string& type, const int64_t*& out) {
    if (type != "l" || !is_readable(part, type)) return false;
    out = values<int64_t>(*part.column, part.from);
    return true;
  }

  std::vector<Owned<ArrowSchema>> schemas_;
  std::vector<std::vector<Owned<ArrowArray>>> arrays_;
  std::vector<const ArrowSchema*> types_;   // by column
  std::vector<std::vector<Part>> parts_;    // by part of the table, then by column
  bool has_gaps_ = false;                   // whether whole rows are missing
};

}  // namespace rankscope
