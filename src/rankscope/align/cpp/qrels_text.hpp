// TREC qrels as text: query, iteration, doc and grade, one judgment a line.
#pragma once

#include <memory>

#include "lines.hpp"
#include "parallel.hpp"
#include "qrels_index.hpp"

namespace rankscope {

constexpr int kQrelsFields = 4;

// Reads whole lines; returns false where one is malformed.
inline bool read_judgments(Bytes text, size_t max_line, Judgments& judgments) {
  constexpr size_t kUsualLine = 20;
  judgments.docs.reserve(text.size() / kUsualLine);
  LineScanner<kQrelsFields> lines(max_line);
  bool is_fine = true;
  auto take = [&](const char*, const char*, const Bytes* fields, int n_fields) {
    double grade = 0;
    is_fine = is_fine && n_fields == kQrelsFields && parse_score(fields[3], grade) && std::isfinite(grade);
    if (is_fine) judgments.add(fields[0], fields[2], grade);
  };
  const char *here = text.data(), *const end = here + text.size();
  while (here < end && is_fine) here = lines.block(here, end, take);
  return is_fine;
}

// Text that is copied, so that what was read from it stays whatever becomes of the original.
class QrelsText {
 public:
  QrelsText(Bytes original, int n_threads, size_t max_line) {
    drop_byte_order_mark(original);
    text_.reset(new char[original.size()]);
    const std::vector<Bytes> parts = split_at_lines(original, static_cast<size_t>(n_threads));
    judgments_.resize(parts.size());
    std::atomic<bool> is_fine{true};
    in_parallel(n_threads, parts.size(), [&](size_t i) {
      char* const copy = text_.get() + (parts[i].data() - original.data());
      std::memcpy(copy, parts[i].data(), parts[i].size());
      if (!read_judgments(Bytes(copy, parts[i].size()), max_line, judgments_[i])) is_fine = false;
    });
    is_fine_ = is_fine;
  }

  // Whether no line is malformed.
  bool is_fine() const { return is_fine_; }

  // The judgments in the order of the text; they point into it.
  std::vector<Judgments> take() { return std::move(judgments_); }

 private:
  std::unique_ptr<char[]> text_;
  std::vector<Judgments> judgments_;
  bool is_fine_ = false;
};

}  // namespace rankscope
