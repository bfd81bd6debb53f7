// The docs with the largest products so far, query by query, while products come in block by block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Wider registers where the processor has them; the sums are the same, as nothing is added in another order.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define RANKSCOPE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define RANKSCOPE_WIDE
#endif

namespace rankscope {

// Tells which of up to 64 products reach the bar, a bit each; almost none do, so that this takes most of the time.
inline uint64_t which_reach(const float* products, size_t n, float bar) {
  uint64_t found = 0;
  size_t i = 0;
#if defined(__SSE2__)
  __m128 least = _mm_set1_ps(bar);
  for (; i + 4 <= n; i += 4)
    found |= static_cast<uint64_t>(_mm_movemask_ps(_mm_cmpge_ps(_mm_loadu_ps(products + i), least))) << i;
#endif
  for (; i < n; ++i) found |= static_cast<uint64_t>(products[i] >= bar) << i;
  return found;
}

inline size_t lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
  return static_cast<size_t>(__builtin_ctzll(bits));
#else
  size_t place = 0;
  while (!(bits >> place & 1)) ++place;
  return place;
#endif
}

// The product of two vectors of single precision, summed in double precision.
RANKSCOPE_WIDE inline double exact_product(const float* a, const float* b, size_t n) {
  double sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t j = 0; j < 8; ++j) sums[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
  for (; i < n; ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Keeps of every query whatever may belong to its best k: all that is not below the k-th best by more than a margin.
class Nearest {
 public:
  Nearest(size_t k, const float* margins, size_t n_queries) : k_(k), of_(n_queries) {
    for (size_t i = 0; i < n_queries; ++i) of_[i].margin = margins[i];
  }

  size_t n_queries() const { return of_.size(); }

  // Takes the products of all queries (rows) with n docs (columns), the first of which has this number.
  void add(const float* products, size_t n, int64_t first) {
    for (size_t query = 0; query < of_.size(); ++query) {
      Best& best = of_[query];
      const float* own = products + query * n;
      for (size_t start = 0; start < n; start += kAtOnce) {
        size_t stop = std::min(start + kAtOnce, n);
        for (uint64_t bits = which_reach(own + start, stop - start, best.bar); bits; bits &= bits - 1) {
          size_t i = start + lowest_bit(bits);
          best.products.push_back(own[i]);
          best.rows.push_back(first + static_cast<int64_t>(i));
        }
        if (best.rows.size() >= best.limit) raise_bar(best);
      }
    }
  }

  // Drops all that has been overtaken.
  void finish() {
    for (Best& best : of_) raise_bar(best);
  }

  const std::vector<int64_t>& rows(size_t query) const { return of_[query].rows; }

 private:
  struct Best {
    float margin = 0;
    float bar = -std::numeric_limits<float>::infinity();
    size_t limit = 0;
    std::vector<float> products;
    std::vector<int64_t> rows;
  };
  static constexpr size_t kAtOnce = 64;

  void raise_bar(Best& best) {
    size_t n = best.rows.size();
    if (n >= k_ && k_ > 0) {
      products_ = best.products;
      auto kth = products_.begin() + static_cast<ptrdiff_t>(k_ - 1);
      std::nth_element(products_.begin(), kth, products_.end(), std::greater<float>());
      best.bar = std::max(best.bar, *kth - best.margin);
      size_t kept = 0;
      for (size_t i = 0; i < n; ++i) {  // written whether it is kept or not: there is nothing to guess
        best.products[kept] = best.products[i];
        best.rows[kept] = best.rows[i];
        kept += best.products[i] >= best.bar;
      }
      best.products.resize(kept);
      best.rows.resize(kept);
    }
    best.limit = 2 * std::max(best.rows.size(), k_);  // where very many are alike, it is not tried at every block
  }

  size_t k_;
  std::vector<Best> of_;
  std::vector<float> products_;
};

}  // namespace rankscope
