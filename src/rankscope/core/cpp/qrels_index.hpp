// The judged docs, by query: hash tables in which a retrieved doc is looked up by its bytes.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "bytes.hpp"

namespace rankscope {

constexpr int32_t kNone = -1;

// At most two thirds full; with very few entries rather emptier, since most of what is sought is not there.
inline size_t table_size_for(size_t n_entries) {
  size_t size = 16;
  while (size < n_entries + n_entries / 2) size *= 2;
  return size;
}

struct Judgment {
  Bytes query, doc;
  double grade;
};

struct JudgedDoc {
  Bytes id;
  double grade;
};

struct BytesHash {
  size_t operator()(Bytes id) const { return hash_of(id); }
};

// Queries are numbered in the order of their bytes. The bytes of all ids are kept by whoever made the judgments.
class QrelsIndex {
 public:
  // `queries` may name queries that have no judgment at all.
  QrelsIndex(const std::vector<Bytes>& queries, const std::vector<Judgment>& judgments) {
    const std::vector<int32_t> query_of = number_queries(queries, judgments);
    std::vector<size_t> n_docs(queries_.size(), 0);
    for (int32_t query : query_of) ++n_docs[query];
    size_t n_slots = 0, n_before = 0;
    for (size_t i = 0; i < queries_.size(); ++i) {
      queries_[i].first_slot = n_slots;
      queries_[i].mask = table_size_for(n_docs[i]) - 1;
      queries_[i].first_doc = queries_[i].last_doc = n_before;
      n_slots += queries_[i].mask + 1;
      n_before += n_docs[i];
    }
    slots_.resize(n_slots);
    docs_.resize(judgments.size());
    for (size_t i = 0; i < judgments.size(); ++i) insert(queries_[query_of[i]], judgments[i]);
    index_queries();
  }

  // Whether a doc is judged twice for a query; then only its first judgment is in the index.
  bool has_duplicates() const { return has_duplicates_; }

  size_t n_queries() const { return queries_.size(); }

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
    for (size_t place = hash & in.mask;; place = (place + 1) & in.mask) {
      const Slot& slot = slots_[in.first_slot + place];
      if (!slot.doc) return nullptr;
      if (slot.tag == tag_of(hash) && docs_[slot.doc - 1].id == id) return &docs_[slot.doc - 1];
    }
  }

  template <class Visit>
  void for_each_doc(size_t query, Visit visit) const {
    for (size_t i = queries_[query].first_doc; i < queries_[query].last_doc; ++i) visit(docs_[i]);
  }

  // The grades of a query from 0 up, best first: there are few different ones, so they are counted, not sorted.
  std::vector<double> ideal_grades(size_t query) const {
    std::map<double, size_t, std::greater<double>> n_docs;
    for_each_doc(query, [&](const JudgedDoc& doc) {
      if (doc.grade >= 0) ++n_docs[doc.grade];
    });
    std::vector<double> grades;
    for (const auto& [grade, n] : n_docs) grades.insert(grades.end(), n, grade);
    return grades;
  }

 private:
  struct Query {
    Bytes id;
    size_t first_doc = 0, last_doc = 0;  // its docs, in docs_
    size_t first_slot = 0, mask = 0;     // its hash table, in slots_
  };

  // Most docs that are sought are not there: a part of the hash beside the entry tells without a look at the id.
  struct Slot {
    uint32_t tag = 0;
    uint32_t doc = 0;  // entry in docs_ + 1, so that 0 is free
  };

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // Fills queries_, and returns the number of the query of each judgment.
  std::vector<int32_t> number_queries(const std::vector<Bytes>& named, const std::vector<Judgment>& judgments) {
    std::unordered_map<Bytes, int32_t, BytesHash> met;
    std::vector<Bytes> ids;
    auto number = [&](Bytes id) {
      const auto [entry, is_new] = met.emplace(id, static_cast<int32_t>(ids.size()));
      if (is_new) ids.push_back(id);
      return entry->second;
    };
    for (Bytes id : named) number(id);
    std::vector<int32_t> query_of(judgments.size());
    for (size_t i = 0; i < judgments.size(); ++i) {
      const bool as_before = i > 0 && judgments[i].query == judgments[i - 1].query;
      query_of[i] = as_before ? query_of[i - 1] : number(judgments[i].query);
    }
    std::vector<int32_t> order(ids.size()), place(ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return ids[a] < ids[b]; });
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<int32_t>(i);
      queries_.emplace_back();
      queries_.back().id = ids[order[i]];
    }
    for (int32_t& query : query_of) query = place[query];
    return query_of;
  }

  void insert(Query& query, const Judgment& judgment) {
    const uint64_t hash = hash_of(judgment.doc);
    size_t place = hash & query.mask;
    for (; slots_[query.first_slot + place].doc; place = (place + 1) & query.mask) {
      const Slot& slot = slots_[query.first_slot + place];
      if (slot.tag == tag_of(hash) && docs_[slot.doc - 1].id == judgment.doc) {
        has_duplicates_ = true;
        return;
      }
    }
    docs_[query.last_doc++] = JudgedDoc{judgment.doc, judgment.grade};
    slots_[query.first_slot + place] = Slot{tag_of(hash), static_cast<uint32_t>(query.last_doc)};
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

  std::vector<Query> queries_;
  std::vector<JudgedDoc> docs_;
  std::vector<Slot> slots_;
  std::vector<int32_t> query_slots_;
  bool has_duplicates_ = false;
};

}  // namespace rankscope
