// The engine: reads a source in parallel pieces, ranks each query as soon as its rows are complete, joins the pieces.
//
// A source offers rows by position (the address of a line, or the number of a row):
//   IdRef                              a cheap reference to an id, with view(ref, buffer) -> its bytes
//   split(n) -> ranges                 about n pieces that can be read on their own
//   scan(from, to, rows)               calls rows.row(position, query, doc, score, rank) or rows.bad(from, to)
//   find(qrels, query, ref, hash, buffer) -> the judged doc, or nothing
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "parallel.hpp"
#include "ranking.hpp"

namespace rankscope {

template <class Source>
struct Duplicate {
  int32_t query;
  typename Source::IdRef doc;
};

template <class Source>
struct Aligned {
  std::vector<char> answered;
  std::vector<QueryResult> results;  // by query of the qrels
  size_t n_rows = 0;
  size_t n_other_queries = 0;                        // queries of the run that the qrels do not have
  std::vector<std::string> other_queries;            // the first of them, to be shown in an error
  std::vector<uint64_t> other_hashes;                // of all of them, to be counted once over several parts of a run
  std::vector<Range> bad;
  std::optional<Duplicate<Source>> duplicate;        // of the first query that has one
  std::optional<typename Source::IdRef> last_tag;
  bool ranks_are_numbers = true;
};

// The distinct queries that the qrels do not have, in the order in which they are met.
template <class Source>
class OtherQueries {
 public:
  using IdRef = typename Source::IdRef;

  explicit OtherQueries(const Source& source) : source_(source), slots_(16, 0) {}

  void add(IdRef ref) {
    char buffer[24];
    const Bytes id = source_.view(ref, buffer);
    const uint64_t hash = hash_of(id);
    size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot]; slot = (slot + 1) & (slots_.size() - 1)) {
      char other[24];
      const Entry& entry = entries_[slots_[slot] - 1];
      if (entry.hash == hash && source_.view(entry.ref, other) == id) return;
    }
    entries_.push_back(Entry{hash, ref});
    slots_[slot] = static_cast<uint32_t>(entries_.size());
    if (entries_.size() * 2 > slots_.size()) grow();
  }

  void add_all(const OtherQueries& others) {
    for (const Entry& entry : others.entries_) add(entry.ref);
  }

  size_t size() const { return entries_.size(); }

  std::vector<uint64_t> shared_hashes() const {
    std::vector<uint64_t> hashes;
    char buffer[24];
    hashes.reserve(entries_.size());
    for (const Entry& entry : entries_) hashes.push_back(shared_hash_of(source_.view(entry.ref, buffer)));
    return hashes;
  }

  std::vector<std::string> first(size_t n) const {
    std::vector<std::string> ids;
    char buffer[24];
    for (size_t i = 0; i < std::min(n, entries_.size()); ++i)
      ids.emplace_back(source_.view(entries_[i].ref, buffer));
    return ids;
  }

 private:
  struct Entry {
    uint64_t hash;
    IdRef ref;
  };

  void grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (size_t i = 0; i < entries_.size(); ++i) {
      size_t slot = entries_[i].hash & (slots_.size() - 1);
      while (slots_[slot]) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<uint32_t>(i) + 1;
    }
  }

  const Source& source_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // entry + 1, so that 0 is free
};

template <class Source>
class Engine {
 public:
  using IdRef = typename Source::IdRef;

  Engine(const Source& source, const QrelsIndex& qrels, const Options& options, int n_threads)
      : source_(source), qrels_(qrels), options_(options), n_threads_(std::max(1, n_threads)), others_(source) {}

  // Reads a source that is there as a whole.
  Aligned<Source> run() {
    const size_t n_pieces = n_threads_ == 1 ? 1 : static_cast<size_t>(n_threads_) * kPiecesPerThread;
    for (Range range : source_.split(n_pieces)) add_piece(range);
    in_parallel(n_threads_, pieces_.size(), [this](size_t i) { read_piece(i); });
    return finish();
  }

  // For a source that comes piece by piece: a piece may be added while others are being read.
  size_t add_piece(Range range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pieces_.emplace_back();
    pieces_.back().range = range;
    return pieces_.size() - 1;
  }

  void read_piece(size_t i) {
    Piece& piece = piece_at(i);
    PieceReader reader(*this, piece);
    source_.scan(piece.range.from, piece.range.to, reader);
    reader.end(piece.range.to);
  }

  // Joins the pieces, all of which have been read.
  Aligned<Source> finish() {
    aligned_.answered.assign(qrels_.n_queries(), 0);
    aligned_.results.resize(qrels_.n_queries());
    if (any_piece_is_scattered()) {
      read_scattered();
    } else {
      join_pieces();
    }
    aligned_.n_other_queries = others_.size();
    aligned_.other_queries = others_.first(kShownQueries);
    aligned_.other_hashes = others_.shared_hashes();
    return std::move(aligned_);
  }

 private:
  static constexpr size_t kPiecesPerThread = 4;  // so that no thread waits long for another
  static constexpr size_t kShownQueries = 1000;
  static constexpr size_t kQueriesPerBatch = 64;

  // Consecutive rows of one query.
  struct Segment {
    int32_t query;
    IdRef query_ref;
    size_t from, to;
    int32_t result = kNone;  // where its result is, if it has been ranked on its own
  };

  struct Piece {
    Range range{};
    std::vector<Segment> segments;
    std::vector<QueryResult> results;
    std::vector<Duplicate<Source>> duplicates;
    std::vector<Range> bad;
    size_t n_rows = 0;
    std::optional<IdRef> last_tag;
    bool scattered = false;
    bool ranks_are_numbers = true;
  };

  // Reads a piece, ranking each run of rows with the same query at its end. The first and the last run of a piece may
  // go on in its neighbours, so they are left for later.
  class PieceReader {
   public:
    PieceReader(const Engine& engine, Piece& piece)
        : engine_(engine), piece_(piece), ranker_(engine.source_, engine.qrels_, engine.options_) {}

    void row(size_t position, IdRef query, Bytes query_id, IdRef doc, Bytes doc_id, double score, int64_t rank) {
      ++piece_.n_rows;
      if (piece_.segments.empty() || query_id != current_) start_segment(position, query, query_id);
      if (collecting_) ranker_.add(doc, doc_id, score, rank);
    }

    void bad(size_t from, size_t to) { piece_.bad.push_back(Range{from, to}); }
    void bad_rank() { piece_.ranks_are_numbers = false; }
    void tag(IdRef tag) { piece_.last_tag = tag; }
    bool stopped() const { return piece_.scattered; }

    void end(size_t position) {
      if (!piece_.segments.empty()) piece_.segments.back().to = position;
    }

   private:
    void start_segment(size_t position, IdRef query, Bytes query_id) {
      finish_segment(position);
      current_.assign(query_id.data(), query_id.size());
      const int32_t found = engine_.qrels_.find_query(query_id);
      collecting_ = found != kNone && !piece_.segments.empty();
      if (collecting_) ranker_.start(found);
      piece_.segments.push_back(Segment{found, query, position, position});
      // Many short runs of rows mean that the rows are not grouped by query: ranking each would be wasted work.
      piece_.scattered = piece_.segments.size() > 512 && piece_.segments.size() * 8 > piece_.n_rows;
    }

    void finish_segment(size_t position) {
      if (piece_.segments.empty()) return;
      Segment& segment = piece_.segments.back();
      segment.to = position;
      if (!collecting_) return;
      segment.result = static_cast<int32_t>(piece_.results.size());
      piece_.results.emplace_back();
      IdRef doc{};
      if (!ranker_.finish(piece_.results.back(), doc)) piece_.duplicates.push_back({segment.query, doc});
    }

    const Engine& engine_;
    Piece& piece_;
    Ranker<Source> ranker_;
    std::string current_;
    bool collecting_ = false;
  };

  // Feeds the rows of one segment to a ranker; what is malformed has been noted before.
  struct SegmentReader {
    Ranker<Source>& ranker;
    void row(size_t, IdRef, Bytes, IdRef doc, Bytes doc_id, double score, int64_t rank) {
      ranker.add(doc, doc_id, score, rank);
    }
    void bad(size_t, size_t) {}
    void bad_rank() {}
    void tag(IdRef) {}
    bool stopped() const { return false; }
  };

  Piece& piece_at(size_t i) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pieces_[i];
  }

  bool any_piece_is_scattered() const {
    return std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.scattered; });
  }

  void take_totals() {
    for (Piece& piece : pieces_) {
      aligned_.n_rows += piece.n_rows;
      aligned_.bad.insert(aligned_.bad.end(), piece.bad.begin(), piece.bad.end());
      if (piece.last_tag) aligned_.last_tag = piece.last_tag;
      aligned_.ranks_are_numbers = aligned_.ranks_are_numbers && piece.ranks_are_numbers;
    }
  }

  // Takes the results of queries that stand in one place, and ranks again those whose rows are in several.
  void join_pieces() {
    take_totals();
    std::vector<std::vector<const Segment*>> segments_of(qrels_.n_queries());
    for (const Piece& piece : pieces_)
      for (const Segment& segment : piece.segments) {
        if (segment.query == kNone) {
          others_.add(segment.query_ref);
        } else {
          segments_of[segment.query].push_back(&segment);
        }
      }
    std::vector<int32_t> again = take_finished(segments_of);
    std::vector<std::optional<IdRef>> duplicates(qrels_.n_queries());
    in_parallel(n_threads_, again.size(), [&](size_t i) {
      const int32_t query = again[i];
      Ranker<Source> ranker(source_, qrels_, options_);
      ranker.start(query);
      for (const Segment* segment : segments_of[query]) {
        SegmentReader reader{ranker};
        source_.scan(segment->from, segment->to, reader);
      }
      IdRef doc{};
      if (!ranker.finish(aligned_.results[query], doc)) duplicates[query] = doc;
    });
    for (const Piece& piece : pieces_)
      for (const auto& [query, doc] : piece.duplicates)
        if (!duplicates[query] && segments_of[query].size() == 1) duplicates[query] = doc;
    take_first_duplicate(duplicates);
  }

  std::vector<int32_t> take_finished(const std::vector<std::vector<const Segment*>>& segments_of) {
    std::vector<int32_t> again;
    std::vector<char> done(qrels_.n_queries(), 0);
    for (Piece& piece : pieces_)
      for (const Segment& segment : piece.segments) {
        if (segment.query == kNone) continue;
        aligned_.answered[segment.query] = 1;
        if (segments_of[segment.query].size() == 1 && segment.result != kNone) {
          aligned_.results[segment.query] = std::move(piece.results[segment.result]);
        } else if (!done[segment.query]) {
          again.push_back(segment.query);
          done[segment.query] = 1;
        }
      }
    return again;
  }

  void take_first_duplicate(const std::vector<std::optional<IdRef>>& duplicates) {
    for (size_t query = 0; query < duplicates.size(); ++query)
      if (duplicates[query]) {
        aligned_.duplicate = Duplicate<Source>{static_cast<int32_t>(query), *duplicates[query]};
        return;
      }
  }

  // A row of a judged query, kept until all rows have been read.
  struct ScatteredRow {
    double score;
    IdRef doc;
    int32_t query;
  };

  struct ScatteredPiece {
    std::vector<ScatteredRow> rows;
    std::vector<int64_t> ranks;
    std::unique_ptr<OtherQueries<Source>> others;
  };

  struct ScatteredReader {
    const Engine& engine;
    Piece& piece;
    ScatteredPiece& kept;

    void row(size_t, IdRef query, Bytes query_id, IdRef doc, Bytes, double score, int64_t rank) {
      ++piece.n_rows;
      const int32_t found = engine.qrels_.find_query(query_id);
      if (found == kNone) {
        kept.others->add(query);
        return;
      }
      kept.rows.push_back(ScatteredRow{score, doc, found});
      if (engine.options_.ties == Ties::given) kept.ranks.push_back(rank);
    }
    void bad(size_t from, size_t to) { piece.bad.push_back(Range{from, to}); }
    void bad_rank() { piece.ranks_are_numbers = false; }
    void tag(IdRef tag) { piece.last_tag = tag; }
    bool stopped() const { return false; }
  };

  // Reads all rows, sorts references to them by query (keeping their order), then ranks query by query.
  void read_scattered() {
    for (Piece& piece : pieces_) {
      const Range range = piece.range;
      piece = Piece{};
      piece.range = range;
    }
    std::vector<ScatteredPiece> kept(pieces_.size());
    in_parallel(n_threads_, pieces_.size(), [&](size_t i) {
      kept[i].others = std::make_unique<OtherQueries<Source>>(source_);
      ScatteredReader reader{*this, pieces_[i], kept[i]};
      source_.scan(pieces_[i].range.from, pieces_[i].range.to, reader);
    });
    take_totals();
    for (const ScatteredPiece& piece : kept) others_.add_all(*piece.others);
    rank_scattered(kept);
  }

  void rank_scattered(const std::vector<ScatteredPiece>& kept) {
    std::vector<size_t> starts(qrels_.n_queries() + 1, 0);
    for (const ScatteredPiece& piece : kept)
      for (const ScatteredRow& row : piece.rows) ++starts[row.query + 1];
    for (size_t query = 0; query < qrels_.n_queries(); ++query) {
      aligned_.answered[query] = starts[query + 1] > 0;
      starts[query + 1] += starts[query];
    }
    struct Place {
      uint32_t piece, row;
    };
    std::vector<Place> places(starts.back());
    std::vector<size_t> next(starts.begin(), starts.end() - 1);
    for (size_t piece = 0; piece < kept.size(); ++piece)
      for (size_t row = 0; row < kept[piece].rows.size(); ++row)
        places[next[kept[piece].rows[row].query]++] = {static_cast<uint32_t>(piece), static_cast<uint32_t>(row)};

    std::vector<std::optional<IdRef>> duplicates(qrels_.n_queries());
    const size_t n_batches = (qrels_.n_queries() + kQueriesPerBatch - 1) / kQueriesPerBatch;
    in_parallel(n_threads_, n_batches, [&](size_t batch) {
      Ranker<Source> ranker(source_, qrels_, options_);
      char buffer[24];
      const size_t end = std::min(qrels_.n_queries(), (batch + 1) * kQueriesPerBatch);
      for (size_t query = batch * kQueriesPerBatch; query < end; ++query) {
        if (starts[query] == starts[query + 1]) continue;
        ranker.start(static_cast<int32_t>(query));
        for (size_t i = starts[query]; i < starts[query + 1]; ++i) {
          const ScatteredPiece& piece = kept[places[i].piece];
          const ScatteredRow& row = piece.rows[places[i].row];
          const int64_t rank = piece.ranks.empty() ? 0 : piece.ranks[places[i].row];
          ranker.add(row.doc, source_.view(row.doc, buffer), row.score, rank);
        }
        IdRef doc{};
        if (!ranker.finish(aligned_.results[query], doc)) duplicates[query] = doc;
      }
    });
    take_first_duplicate(duplicates);
  }

  const Source& source_;
  const QrelsIndex& qrels_;
  const Options& options_;
  const int n_threads_;
  std::mutex mutex_;
  std::deque<Piece> pieces_;  // a deque, so that a piece stays where it is while others are added
  OtherQueries<Source> others_;
  Aligned<Source> aligned_;
};

}  // namespace rankscope
