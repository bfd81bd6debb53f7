// One query's rows become ranks of its judged docs; docs are only compared where a tie makes their order matter.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "qrels_index.hpp"

namespace rankscope {

enum class Ties { trec, given, ascending };

struct Options {
  Ties ties = Ties::trec;
  bool single_precision = false;
  bool keep_first_duplicate = false;
  bool drop_self = false;
  int64_t depth = std::numeric_limits<int64_t>::max();
};

struct Hit {
  int64_t rank;
  double grade;
};

struct QueryResult {
  int64_t n_retrieved = 0;
  std::vector<Hit> hits;
};

// The rows of one query as they are read. `Source` knows how to show the bytes of a doc it has referred to.
template <class Source>
class Ranker {
 public:
  using DocRef = typename Source::IdRef;

  Ranker(const Source& source, const QrelsIndex& qrels, const Options& options)
      : source_(source), qrels_(qrels), options_(options) {}

  void start(int32_t query) {
    query_ = query;
    rows_.clear();
    scores_.clear();
    given_.clear();
  }

  void add(DocRef doc, Bytes id, double score, int64_t given_rank) {
    rows_.push_back(Row{hash_of(id), doc});
    scores_.push_back(options_.single_precision ? static_cast<double>(static_cast<float>(score)) : score);
    if (options_.ties == Ties::given) given_.push_back(given_rank);
  }

  // Returns false, and the doc, where one is listed twice and that is not allowed.
  bool finish(QueryResult& result, DocRef& duplicate) {
    if (has_duplicates(duplicate)) {
      if (!options_.keep_first_duplicate) return false;
      keep_first_rows();
    }
    if (options_.drop_self) drop_row_of(qrels_.query_id(query_));
    result.n_retrieved = std::min<int64_t>(static_cast<int64_t>(rows_.size()), options_.depth);
    result.hits.clear();
    find_judged();
    if (judged_.empty()) return true;
    if (is_sorted()) {
      rank_by_groups(nullptr, result.hits);
    } else if (judged_.size() <= kFew) {
      rank_by_counting(result.hits);
    } else {
      sort_rows();
      rank_by_groups(order_.data(), result.hits);
    }
    std::sort(result.hits.begin(), result.hits.end(), [](const Hit& a, const Hit& b) { return a.rank < b.rank; });
    while (!result.hits.empty() && result.hits.back().rank > options_.depth) result.hits.pop_back();
    return true;
  }

 private:
  static constexpr size_t kFew = 16;  // up to so many docs, comparing each with all rows beats sorting the rows

  struct Row {
    uint64_t hash;
    DocRef doc;
  };

  struct Judged {
    uint32_t row;
    double grade;
  };

  bool same_doc(const Row& a, const Row& b) const {
    return a.hash == b.hash && source_.view(a.doc, buffer_a_) == source_.view(b.doc, buffer_b_);
  }

  // A bit set of hashes tells most docs apart; only where two bits meet are ids compared.
  bool has_duplicates(DocRef& duplicate) {
    const size_t n = rows_.size();
    if (n < 2) return false;
    if (n > kManyRows) return first_duplicate_by_table(duplicate);
    size_t n_words = 1;
    while (n_words * 64 < 256 * n) n_words *= 2;
    seen_.assign(n_words, 0);
    for (size_t i = 0; i < n; ++i) {
      uint64_t& word = seen_[(rows_[i].hash >> 14) & (n_words - 1)];
      const uint64_t bit = uint64_t{1} << ((rows_[i].hash >> 8) & 63);
      if (word & bit)
        for (size_t j = 0; j < i; ++j)
          if (same_doc(rows_[j], rows_[i])) {
            duplicate = rows_[i].doc;
            return true;
          }
      word |= bit;
    }
    return false;
  }

  static constexpr size_t kManyRows = 1 << 14;

  bool first_duplicate_by_table(DocRef& duplicate) {
    std::vector<uint32_t> first_row;
    return fill_table(first_row, [&](size_t i) {
      duplicate = rows_[i].doc;
      return true;
    });
  }

  // Enters the rows into a hash table; `on_duplicate` is told of every repeated row and may stop by returning true.
  template <class OnDuplicate>
  bool fill_table(std::vector<uint32_t>& table, OnDuplicate on_duplicate) {
    table.assign(table_size_for(rows_.size()), 0);  // row + 1, so that 0 is free
    for (size_t i = 0; i < rows_.size(); ++i) {
      size_t slot = rows_[i].hash & (table.size() - 1);
      while (table[slot] && !same_doc(rows_[table[slot] - 1], rows_[i])) slot = (slot + 1) & (table.size() - 1);
      if (table[slot] && on_duplicate(i)) return true;
      if (!table[slot]) table[slot] = static_cast<uint32_t>(i) + 1;
    }
    return false;
  }

  void keep_first_rows() {
    std::vector<uint32_t> table;
    std::vector<char> repeated(rows_.size(), 0);
    fill_table(table, [&](size_t i) {
      repeated[i] = 1;
      return false;
    });
    remove_rows([&](size_t i) { return repeated[i] != 0; });
  }

  void drop_row_of(Bytes id) {
    const uint64_t hash = hash_of(id);
    remove_rows([&](size_t i) { return rows_[i].hash == hash && source_.view(rows_[i].doc, buffer_a_) == id; });
  }

  template <class Unwanted>
  void remove_rows(Unwanted unwanted) {
    size_t n_kept = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (unwanted(i)) continue;
      rows_[n_kept] = rows_[i];
      scores_[n_kept] = scores_[i];
      if (!given_.empty()) given_[n_kept] = given_[i];
      ++n_kept;
    }
    rows_.resize(n_kept);
    scores_.resize(n_kept);
    if (!given_.empty()) given_.resize(n_kept);
  }

  void find_judged() {
    judged_.clear();
    for (size_t i = 0; i < rows_.size(); ++i)
      if (const JudgedDoc* doc = source_.find(qrels_, query_, rows_[i].doc, rows_[i].hash, buffer_a_))
        judged_.push_back(Judged{static_cast<uint32_t>(i), doc->grade});
  }

  bool is_sorted() const {
    for (size_t i = 1; i < scores_.size(); ++i)
      if (scores_[i - 1] < scores_[i]) return false;
    return true;
  }

  // Tells whether one of two equally scored rows stands before the other.
  bool before(uint32_t a, uint32_t b) const {
    if (options_.ties == Ties::given) return given_[a] != given_[b] ? given_[a] < given_[b] : a < b;
    const Bytes id_a = source_.view(rows_[a].doc, buffer_a_), id_b = source_.view(rows_[b].doc, buffer_b_);
    return options_.ties == Ties::trec ? id_a > id_b : id_a < id_b;
  }

  void rank_by_counting(std::vector<Hit>& hits) const {
    for (const Judged& judged : judged_) {
      const double score = scores_[judged.row];
      int64_t rank = 1;
      for (uint32_t i = 0; i < scores_.size(); ++i)
        rank += scores_[i] > score || (scores_[i] == score && i != judged.row && before(i, judged.row));
      hits.push_back(Hit{rank, judged.grade});
    }
  }

  void sort_rows() {
    order_.resize(rows_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [this](uint32_t a, uint32_t b) {
      return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
    });
    place_.resize(rows_.size());
    for (uint32_t place = 0; place < order_.size(); ++place) place_[order_[place]] = place;
    std::sort(judged_.begin(), judged_.end(),
              [this](const Judged& a, const Judged& b) { return place_[a.row] < place_[b.row]; });
  }

  // Rows are in the order of their scores (through `order`, if given); judged rows likewise.
  void rank_by_groups(const uint32_t* order, std::vector<Hit>& hits) {
    auto row_at = [order](uint32_t place) { return order ? order[place] : place; };
    auto place_of = [order, this](uint32_t row) { return order ? place_[row] : row; };
    for (size_t j = 0; j < judged_.size();) {
      const double score = scores_[judged_[j].row];
      uint32_t first = place_of(judged_[j].row), last = first + 1;
      while (first > 0 && scores_[row_at(first - 1)] == score) --first;
      while (last < rows_.size() && scores_[row_at(last)] == score) ++last;
      size_t next = j + 1;
      while (next < judged_.size() && place_of(judged_[next].row) < last) ++next;
      rank_group(row_at, first, last, j, next, hits);
      j = next;
    }
  }

  // Ranks the judged rows j to next within a group of equal scores: by counting where they are few, else by sorting.
  template <class RowAt>
  void rank_group(RowAt row_at, uint32_t first, uint32_t last, size_t j, size_t next, std::vector<Hit>& hits) {
    if (next - j <= kFew) {
      for (; j < next; ++j) {
        int64_t rank = int64_t{first} + 1;
        for (uint32_t place = first; place < last; ++place)
          rank += row_at(place) != judged_[j].row && before(row_at(place), judged_[j].row);
        hits.push_back(Hit{rank, judged_[j].grade});
      }
      return;
    }
    group_.clear();
    for (uint32_t place = first; place < last; ++place) group_.push_back(row_at(place));
    // A heap stays within its bounds also where the text of a file changes meanwhile, and the order with it.
    auto by_id = [this](uint32_t a, uint32_t b) { return before(a, b); };
    std::make_heap(group_.begin(), group_.end(), by_id);
    std::sort_heap(group_.begin(), group_.end(), by_id);
    rank_of_row_.resize(rows_.size());
    for (size_t i = 0; i < group_.size(); ++i) rank_of_row_[group_[i]] = static_cast<uint32_t>(first + i + 1);
    for (; j < next; ++j) hits.push_back(Hit{rank_of_row_[judged_[j].row], judged_[j].grade});
  }

  const Source& source_;
  const QrelsIndex& qrels_;
  const Options& options_;
  int32_t query_ = kNone;
  std::vector<Row> rows_;
  std::vector<double> scores_;
  std::vector<int64_t> given_;
  std::vector<Judged> judged_;
  std::vector<uint64_t> seen_;
  std::vector<uint32_t> order_, place_, group_, rank_of_row_;
  mutable char buffer_a_[24], buffer_b_[24];  // for ids that are numbers and have no bytes of their own
};

}  // namespace rankscope
