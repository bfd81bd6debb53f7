// The judged docs, by query: hash tables in which a retrieved doc is looked up by its bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "bytes.hpp"
#include "parallel.hpp"

namespace rankscope {

constexpr int32_t kNone = -1;

// At most two thirds full; with very few entries rather emptier, since most of what is sought is not there.
inline size_t table_size_for(size_t n_entries) {
  size_t size = 16;
  while (size < n_entries + n_entries / 2) size *= 2;
  return size;
}

struct JudgedDoc {
  Bytes id;
  double grade;
};

// Judgments in the order in which they are given. The bytes of all ids are kept by whoever makes them.
struct Judgments {
  // Consecutive judgments of one query.
  struct Segment {
    Bytes query;
    size_t from, to;
  };

  std::vector<JudgedDoc> docs;
  std::vector<Segment> segments;
  double max_grade = 0;
  int64_t fractional = kNone;  // the first judgment whose grade is not a whole number

  void start(Bytes query) { segments.push_back(Segment{query, docs.size(), docs.size()}); }

  void add(Bytes query, Bytes doc, double grade) {
    if (segments.empty() || segments.back().query != query) start(query);
    if (grade > max_grade) max_grade = grade;
    if (fractional == kNone && std::floor(grade) != grade) fractional = static_cast<int64_t>(docs.size());
    docs.push_back(JudgedDoc{doc, grade});
    segments.back().to = docs.size();
  }
};

struct BytesHash {
  size_t operator()(Bytes id) const { return hash_of(id); }
};

// Queries are numbered in the order of their bytes. A query may be there without any judgment.
class QrelsIndex {
 public:
  QrelsIndex(std::vector<Judgments> pieces, int n_threads) : pieces_(std::move(pieces)) {
    place_docs(collect_queries());
    size_t n_slots = 0;
    for (Query& query : queries_) {
      query.first_slot = n_slots;
      query.mask = table_size_for(query.n_docs) - 1;
      n_slots += query.mask + 1;
    }
    slots_.reset(static_cast<Slot*>(std::calloc(std::max<size_t>(n_slots, 1), sizeof(Slot))));
    if (!slots_) throw std::bad_alloc();
    const size_t n_batches = (queries_.size() + kQueriesPerBatch - 1) / kQueriesPerBatch;
    in_parallel(n_threads, n_batches, [this](size_t batch) {
      const size_t end = std::min(queries_.size(), (batch + 1) * kQueriesPerBatch);
      for (size_t query = batch * kQueriesPerBatch; query < end; ++query) fill_table(queries_[query]);
    });
    index_queries();
  }

  // Whether a doc is judged twice for a query; then its first judgment is the one that is found.
  bool has_duplicates() const { return has_duplicates_; }

  size_t n_queries() const { return queries_.size(); }

  size_t n_docs() const {
    return std::accumulate(pieces_.begin(), pieces_.end(), size_t{0},
                           [](size_t n, const Judgments& piece) { return n + piece.docs.size(); });
  }

  double max_grade() const {
    double highest = 0;
    for (const Judgments& piece : pieces_) highest = std::max(highest, piece.max_grade);
    return highest;
  }

  // The first judgment, as they were given, whose grade is not a whole number.
  int64_t fractional_row() const {
    int64_t n_before = 0;
    for (const Judgments& piece : pieces_) {
      if (piece.fractional != kNone) return n_before + piece.fractional;
      n_before += static_cast<int64_t>(piece.docs.size());
    }
    return kNone;
  }

  Bytes query_id(int32_t query) const { return queries_[query].id; }

  int32_t find_query(Bytes id) const {
    const size_t mask = query_slots_.size() - 1;
    for (size_t slot = hash_of(id) & mask;; slot = (slot + 1) & mask) {
      if (query_slots_[slot] == kNone) return kNone;
      if (queries_[query_slots_[slot]].id == id) return query_slots_[slot];
    }
  }

  const JudgedDoc* find_doc(int32_t query, Bytes id, uint64_t hash) const {
    const Query& in = queries_[query];
    const Slot* const slots = slots_.get() + in.first_slot;
    for (size_t place = hash & in.mask;; place = (place + 1) & in.mask) {
      const Slot& slot = slots[place];
      if (!slot.doc) return nullptr;
      if (slot.tag == tag_of(hash) && in.docs[slot.doc - 1].id == id) return &in.docs[slot.doc - 1];
    }
  }

  template <class Visit>
  void for_each_doc(size_t query, Visit visit) const {
    std::for_each(queries_[query].docs, queries_[query].docs + queries_[query].n_docs, visit);
  }

  // Appends the grades of a query from 0 up, best first: where there are few different ones, they are counted.
  void append_ideal_grades(size_t query, std::vector<double>& grades) const {
    std::vector<std::pair<double, size_t>> counts;
    std::vector<double> others;
    for_each_doc(query, [&](const JudgedDoc& doc) {
      if (doc.grade < 0) return;
      size_t i = 0;
      while (i < counts.size() && counts[i].first != doc.grade) ++i;
      if (i < counts.size()) {
        ++counts[i].second;
      } else if (counts.size() < kFewGrades) {
        counts.emplace_back(doc.grade, 1);
      } else {
        others.push_back(doc.grade);
      }
    });
    std::sort(counts.begin(), counts.end(), std::greater<std::pair<double, size_t>>());
    const auto from = static_cast<ptrdiff_t>(grades.size());
    for (const auto& [grade, n] : counts) grades.insert(grades.end(), n, grade);
    if (others.empty()) return;
    grades.insert(grades.end(), others.begin(), others.end());
    std::sort(grades.begin() + from, grades.end(), std::greater<double>());
  }

 private:
  static constexpr size_t kQueriesPerBatch = 16;
  static constexpr size_t kFewGrades = 16;

  struct Query {
    Bytes id;
    const JudgedDoc* docs = nullptr;
    size_t n_docs = 0;
    size_t first_slot = 0, mask = 0;  // its hash table, in slots_
  };

  // Most docs that are sought are not there: a part of the hash beside the entry tells without a look at the id.
  struct Slot {
    uint32_t tag;
    uint32_t doc;  // entry in the query's docs + 1, so that 0 is free
  };

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  struct Part {
    const JudgedDoc* docs;
    size_t n_docs;
  };
  using Parts = std::vector<std::vector<Part>>;  // for each query, where its docs are

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // Fills queries_ in the order of their ids.
  Parts collect_queries() {
    std::unordered_map<Bytes, size_t, BytesHash> met;
    std::vector<Bytes> ids;
    Parts parts;
    for (const Judgments& piece : pieces_)
      for (const Judgments::Segment& segment : piece.segments) {
        const auto [entry, is_new] = met.emplace(segment.query, ids.size());
        if (is_new) {
          ids.push_back(segment.query);
          parts.emplace_back();
        }
        if (segment.to > segment.from)
          parts[entry->second].push_back(Part{&piece.docs[segment.from], segment.to - segment.from});
      }
    std::vector<size_t> order(ids.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ids[a] < ids[b]; });
    Parts ordered;
    for (size_t number : order) {
      queries_.emplace_back();
      queries_.back().id = ids[number];
      ordered.push_back(std::move(parts[number]));
    }
    return ordered;
  }

  // Docs stay where they were read; those of a query that was judged in several places are gathered in one.
  void place_docs(const Parts& parts) {
    size_t n_gathered = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      for (const Part& part : parts[i]) queries_[i].n_docs += part.n_docs;
      if (parts[i].size() > 1) n_gathered += queries_[i].n_docs;
    }
    gathered_.reserve(n_gathered);  // so that it stays where it is
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].empty()) continue;
      queries_[i].docs = parts[i].size() == 1 ? parts[i][0].docs : gathered_.data() + gathered_.size();
      if (parts[i].size() > 1)
        for (const Part& part : parts[i]) gathered_.insert(gathered_.end(), part.docs, part.docs + part.n_docs);
    }
  }

  void fill_table(const Query& query) {
    Slot* const slots = slots_.get() + query.first_slot;
    for (size_t i = 0; i < query.n_docs; ++i) {
      const Bytes id = query.docs[i].id;
      const uint64_t hash = hash_of(id);
      size_t place = hash & query.mask;
      bool is_new = true;
      for (; is_new && slots[place].doc; place = (place + 1) & query.mask)
        is_new = slots[place].tag != tag_of(hash) || query.docs[slots[place].doc - 1].id != id;
      if (is_new) {
        slots[place] = Slot{tag_of(hash), static_cast<uint32_t>(i + 1)};
      } else {
        has_duplicates_ = true;
      }
    }
  }

  void index_queries() {
    query_slots_.assign(table_size_for(queries_.size()), kNone);
    const size_t mask = query_slots_.size() - 1;
    for (size_t i = 0; i < queries_.size(); ++i) {
      size_t slot = hash_of(queries_[i].id) & mask;
      while (query_slots_[slot] != kNone) slot = (slot + 1) & mask;
      query_slots_[slot] = static_cast<int32_t>(i);
    }
  }

  const std::vector<Judgments> pieces_;
  std::vector<JudgedDoc> gathered_;
  std::vector<Query> queries_;
  std::unique_ptr<Slot[], Free> slots_;
  std::vector<int32_t> query_slots_;
  std::atomic<bool> has_duplicates_{false};
};

}  // namespace rankscope
