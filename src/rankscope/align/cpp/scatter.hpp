// Lines of a run dealt out by their query: all lines of a query go to the same part, in the order in which they come.
#pragma once

#include <string>
#include <vector>

#include "lines.hpp"

namespace rankscope {

// Blank lines and comments are left out; a last line without an end gets one.
inline std::vector<std::string> scatter_lines(Bytes text, size_t n_parts, size_t max_line) {
  std::vector<std::string> parts(n_parts);
  for (std::string& part : parts) part.reserve(text.size() / n_parts + text.size() / n_parts / 8);
  LineScanner<6> lines(max_line);
  auto take = [&](const char* from, const char* next, const Bytes* fields, int) {
    std::string& part = parts[shared_hash_of(fields[0]) % n_parts];
    part.append(from, static_cast<size_t>(next - from));
    if (next[-1] != '\n') part.push_back('\n');
  };
  const char *here = text.data(), *const end = here + text.size();
  while (here < end) here = lines.block(here, end, take);
  return parts;
}

}  // namespace rankscope
