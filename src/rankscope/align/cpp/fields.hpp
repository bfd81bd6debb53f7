// A line of text, split where C sees blanks.
#pragma once

#include "bytes.hpp"

namespace rankscope {

// Splits a line into at most n fields and returns how many there are, counting at most one more.
inline int split_fields(Bytes line, Bytes* fields, int n) {
  int n_fields = 0;
  for (const char *p = line.data(), *end = p + line.size();;) {
    while (p < end && is_blank(*p)) ++p;
    if (p == end || n_fields > n) return n_fields;
    const char* const start = p;
    while (p < end && !is_blank(*p)) ++p;
    if (n_fields < n) fields[n_fields] = Bytes(start, static_cast<size_t>(p - start));
    ++n_fields;
  }
}

}  // namespace rankscope
