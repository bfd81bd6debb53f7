// TREC text that arrives bit by bit, as it does from decompression: blocks of whole lines are read while more arrive.
#pragma once

#include <condition_variable>

#include "engine.hpp"
#include "text_source.hpp"

namespace rankscope {

class TextStream {
 public:
  TextStream(const QrelsIndex& qrels, const Options& options, int n_threads, size_t max_line)
      : options_(options), max_line_(max_line), source_(options.ties == Ties::given, max_line) {
    engine_ = std::make_unique<Engine<TextSource>>(source_, qrels, options_, n_threads);
    const int n_readers = std::max(1, n_threads);
    readers_.reserve(static_cast<size_t>(n_readers));
    try {
      for (int i = 0; i < n_readers; ++i) readers_.emplace_back([this] { read_pieces(); });
    } catch (const std::system_error&) {  // the system gives no more of them: those that there are do all the work
    }
  }

  ~TextStream() { stop_readers(); }

  const TextSource& source() const { return source_; }

  void feed(Bytes text) {
    const size_t line_end = text.rfind('\n');
    if (line_end != Bytes::npos) whole_lines_ = unfinished_.size() + line_end + 1;
    unfinished_.append(text);
    check_line(unfinished_.size() - whole_lines_, max_line_);
    if (unfinished_.size() < kBlockSize || whole_lines_ == 0) return;
    std::string rest = unfinished_.substr(whole_lines_);
    unfinished_.resize(whole_lines_);
    add_block();
    unfinished_ = std::move(rest);
    unfinished_.reserve(2 * kBlockSize);
    whole_lines_ = 0;
  }

  Aligned<TextSource> finish(const QrelsIndex& qrels, int n_threads) {
    if (!unfinished_.empty()) add_block();
    stop_readers();
    read_pieces();  // where there are no readers at all
    if (error_) std::rethrow_exception(error_);
    Aligned<TextSource> aligned = engine_->finish();
    if (aligned.ranks_are_numbers) return aligned;
    source_.ignore_ranks();  // the rank column is not to be used at all, so the text is read once more
    return Engine<TextSource>(source_, qrels, options_, n_threads).run();
  }

 private:
  static constexpr size_t kBlockSize = 1 << 22;

  void add_block() {
    unfinished_.shrink_to_fit();
    texts_.push_back(std::move(unfinished_));
    unfinished_.clear();
    const Range range = source_.add_block(texts_.back());
    engine_->add_piece(range);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++n_pieces_;
    }
    wake_.notify_one();
  }

  void read_pieces() {
    for (;;) {
      size_t piece;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return next_ < n_pieces_ || complete_; });
        if (next_ == n_pieces_) return;
        piece = next_++;
      }
      try {
        engine_->read_piece(piece);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex_);
        error_ = std::current_exception();
      }
    }
  }

  void stop_readers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      complete_ = true;
    }
    wake_.notify_all();
    for (std::thread& reader : readers_) reader.join();
    readers_.clear();
  }

  const Options options_;
  const size_t max_line_;
  TextSource source_;
  std::unique_ptr<Engine<TextSource>> engine_;
  std::string unfinished_;         // what has arrived since the last whole block
  size_t whole_lines_ = 0;         // how much of it are whole lines
  std::deque<std::string> texts_;  // a deque, so that a block stays where it is while others are added
  std::mutex mutex_;
  std::condition_variable wake_;
  size_t n_pieces_ = 0, next_ = 0;
  bool complete_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> readers_;
};

}  // namespace rankscope
