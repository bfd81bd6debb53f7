// TREC qrels as text: query, iteration, doc and grade, one judgment a line.
#pragma once

#include <cmath>

#include "fields.hpp"
#include "qrels_index.hpp"

namespace rankscope {

constexpr int kQrelsFields = 4;

// Returns false where a line is malformed.
inline bool read_qrels_text(Bytes text, std::vector<Judgment>& judgments) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  judgments.reserve(text.size() / 20);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Bytes fields[kQrelsFields];
    const int n_fields = split_fields(text.substr(0, end), fields, kQrelsFields);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (n_fields == 0 || fields[0].front() == '#') continue;
    double grade = 0;
    if (n_fields != kQrelsFields || !parse_score(fields[3], grade) || !std::isfinite(grade)) return false;
    judgments.push_back(Judgment{fields[0], fields[2], grade});
  }
  return true;
}

}  // namespace rankscope
