// The docs with the largest products so far, query by query, while products come in block by block.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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

// Tells which of up to 64 products reach the bar, a bit each.
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

// Tells at which groups of kTogether products one reaches the bar at least. Few do, so that this takes most of the time:
// it is written so that compilers compare many at a time.
constexpr size_t kTogether = 64;
RANKSCOPE_WIDE inline size_t groups_that_reach(const float* products, size_t n_groups, float bar, uint32_t* groups) {
  size_t n_found = 0;
  for (size_t group = 0; group < n_groups; ++group) {
    const float* own = products + group * kTogether;
    int32_t any = 0;
    for (size_t i = 0; i < kTogether; ++i) any |= -static_cast<int32_t>(own[i] >= bar);
    groups[n_found] = static_cast<uint32_t>(group);
    n_found += any != 0;
  }
  return n_found;
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

// Asks for a vector that is needed soon: vectors that are far apart take longer to arrive than to multiply.
constexpr size_t kAhead = 4;
inline void fetch_ahead(const float* vector, size_t n) {
#if defined(__GNUC__)
  for (size_t i = 0; i < n; i += 64 / sizeof(float)) __builtin_prefetch(vector + i);
#else
  (void)vector, (void)n;
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
    size_t n_groups = n / kTogether;
    groups_.resize(n_groups + 1);
    for (size_t query = 0; query < of_.size(); ++query) {
      const float* own = products + query * n;
      size_t n_found = groups_that_reach(own, n_groups, of_[query].bar, groups_.data());
      groups_[n_found] = static_cast<uint32_t>(n_groups);  // those that are left over are always looked at
      for (size_t i = 0; i <= n_found; ++i) {
        size_t start = groups_[i] * kTogether;
        take(of_[query], own + start, std::min(kTogether, n - start), first + static_cast<int64_t>(start));
      }
    }
  }

  // Drops all that has been overtaken.
  void finish() {
    for (Best& best : of_) raise_bar(best, true);
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

  void take(Best& best, const float* products, size_t n, int64_t first) {
    for (uint64_t bits = which_reach(products, n, best.bar); bits; bits &= bits - 1) {
      size_t i = lowest_bit(bits);
      best.products.push_back(products[i]);
      best.rows.push_back(first + static_cast<int64_t>(i));
    }
    if (best.rows.size() >= best.limit) raise_bar(best);
  }

  // Raises the bar to the k-th best, or to a little less, and drops what is below it.
  void raise_bar(Best& best, bool is_last = false) {
    if (best.rows.size() >= k_ && k_ > 0) {
      float kth = is_last ? kth_of(best.products) : at_most_kth_of(best.products);
      best.bar = std::max(best.bar, kth - best.margin);
      size_t kept = 0;
      for (size_t i = 0; i < best.rows.size(); ++i) {  // written whether it is kept or not: there is nothing to guess
        best.products[kept] = best.products[i];
        best.rows[kept] = best.rows[i];
        kept += best.products[i] >= best.bar;
      }
      best.products.resize(kept);
      best.rows.resize(kept);
    }
    best.limit = 3 * std::max(best.rows.size(), k_);  // where very many are alike, it is not tried at every block
  }

  float kth_of(const std::vector<float>& products) {
    products_ = products;
    auto kth = products_.begin() + static_cast<ptrdiff_t>(k_ - 1);
    std::nth_element(products_.begin(), kth, products_.end(), std::greater<float>());
    return *kth;
  }

  // Not more than the k-th best and seldom much less: found by counting, which is quicker than comparing with one another.
  float at_most_kth_of(const std::vector<float>& products) {
    float low = products[0], high = products[0];
    for (float product : products) {
      low = std::min(low, product);
      high = std::max(high, product);
    }
    float scale = static_cast<float>(kSteps) / (high - low);
    if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(low)) return kth_of(products);
    std::array<uint32_t, kSteps> counts{};
    for (float product : products) ++counts[step_of(product, low, scale)];
    size_t step = kSteps, n = 0;
    while (n < k_) n += counts[--step];
    float least = high;  // of all that are counted so far, which are k or more
    for (float product : products)
      if (step_of(product, low, scale) >= step) least = std::min(least, product);
    return least;
  }

  static size_t step_of(float product, float low, float scale) {
    return std::min(kSteps - 1, static_cast<size_t>((product - low) * scale));
  }

  static constexpr size_t kSteps = 128;
  size_t k_;
  std::vector<Best> of_;
  std::vector<float> products_;
  std::vector<uint32_t> groups_;
};

}  // namespace rankscope
