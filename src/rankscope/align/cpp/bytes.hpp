// Bytes: hashing, white space and decimal numbers, exactly as the reference reader sees them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace rankscope {

using Bytes = std::string_view;

// Positions in a source, the last one not included.
struct Range {
  size_t from, to;
};

inline void drop_byte_order_mark(Bytes& text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
}

inline uint64_t load(const char* from, size_t n_bytes) {
  uint64_t word = 0;
  std::memcpy(&word, from, n_bytes);
  return word;
}

// The product of two words, its upper half laid over the lower one.
inline uint64_t fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
  const uint64_t low = (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu), high = (a >> 32) * (b >> 32);
  const uint64_t cross = (a >> 32) * (b & 0xFFFFFFFFu), other = (a & 0xFFFFFFFFu) * (b >> 32);
  const uint64_t middle = (low >> 32) + (cross & 0xFFFFFFFFu) + other;
  return ((middle << 32) | (low & 0xFFFFFFFFu)) ^ (high + (cross >> 32) + (middle >> 32));
#endif
}

// Hashes depend on a key that nobody knows, so that no file can hold ids made to meet in one place of a table. It is
// drawn once per process; RANKSCOPE_HASH_SEED chooses it, to see the same again.
struct HashKey {
  uint64_t first, second;

  static HashKey of_process() {
    uint64_t state = 0;
    if (const char* seed = std::getenv("RANKSCOPE_HASH_SEED")) {
      state = std::strtoull(seed, nullptr, 10);
    } else {
      std::random_device device;
      state = (uint64_t{device()} << 32) | device();
    }
    auto next = [&state] {  // splitmix64
      state += 0x9E3779B97F4A7C15ull;
      uint64_t word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
      word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
      return word ^ (word >> 31);
    };
    const uint64_t first = next();
    return HashKey{first, next()};
  }
};

inline const HashKey kHashKey = HashKey::of_process();

// Never reads outside of the bytes given: the last words of a long id overlap those before them.
inline uint64_t hash_with(const HashKey& key, Bytes id) {
  const char* p = id.data();
  const size_t n = id.size();
  uint64_t hash = key.second + n * 0x9E3779B97F4A7C15ull;
  if (n >= 8) {
    for (size_t i = 0; i + 16 < n; i += 16) hash = fold(load(p + i, 8) ^ key.first, load(p + i + 8, 8) ^ hash);
    return fold(load(p + (n >= 16 ? n - 16 : 0), 8) ^ key.first, load(p + n - 8, 8) ^ hash);
  }
  if (n >= 4) return fold(load(p, 4) ^ key.first, load(p + n - 4, 4) ^ hash);
  uint64_t word = 0;
  for (size_t i = 0; i < n; ++i) word = (word << 8) | static_cast<unsigned char>(p[i]);
  return fold(word ^ key.first, hash);
}

// For tables in memory: nobody outside of the process can make ids that collide.
inline uint64_t hash_of(Bytes id) { return hash_with(kHashKey, id); }

// The same in every process and on every machine, for what several of them must agree on.
constexpr HashKey kSharedKey{0x243F6A8885A308D3ull, 0x13198A2E03707344ull};
inline uint64_t shared_hash_of(Bytes id) { return hash_with(kSharedKey, id); }

// What C's isspace takes for a blank, whatever the locale.
inline bool is_blank(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kExactPower = 22;                       // the largest power of ten that a double holds exactly
constexpr uint64_t kExactMantissa = uint64_t{1} << 53;  // whole numbers up to here are exact, too

inline void drop_plus(Bytes& text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
}

// The exponent of a decimal number, cut off at a size that no number of digits outweighs.
inline int64_t exponent_in(Bytes text) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  const size_t mark = text.find_first_of("eE");
  if (mark == Bytes::npos) return 0;
  text.remove_prefix(mark + 1);
  drop_plus(text);
  int64_t exponent = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec == std::errc())
    return std::max(-kHuge, std::min(exponent, kHuge));
  return text.substr(0, 1) == "-" ? -kHuge : kHuge;
}

// A number that no double can hold: infinite where its first digit stands before the point, else 0, with its sign.
inline double out_of_range(Bytes text) {
  const Bytes digits = text.substr(0, text.find_first_of("eE"));
  const size_t point = std::min(digits.find('.'), digits.size()), first = digits.find_first_of("123456789");
  const int64_t n_whole = static_cast<int64_t>(point) - static_cast<int64_t>(first) + exponent_in(text);
  const double value = n_whole > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return text.substr(0, 1) == "-" ? -value : value;
}

// Any decimal number, rounded correctly; the text has been checked to be one.
inline double slow_decimal(Bytes text) {
  drop_plus(text);
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : out_of_range(text);
#else
  return std::strtod(std::string(text).c_str(), nullptr);  // older libraries have nothing that ignores the locale
#endif
}

inline bool same_word(Bytes text, const char* lower_case) {
  for (char c : text)
    if ((c | 0x20) != *lower_case++) return false;
  return *lower_case == '\0';
}

inline bool parse_infinity(Bytes unsigned_text, bool negative, double& value) {
  if (!same_word(unsigned_text, "inf") && !same_word(unsigned_text, "infinity")) return false;
  value = negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  return true;
}

// Skips digits, collecting as many as fit; says how many there were.
struct Digits {
  uint64_t mantissa = 0;
  int64_t n_digits = 0;
  bool fits = true;

  const char* collect(const char* p, const char* end) {
    for (; p < end && is_digit(*p); ++p, ++n_digits) {
      if (mantissa >= kExactMantissa) fits = false;
      if (fits) mantissa = mantissa * 10 + static_cast<uint64_t>(*p - '0');
    }
    return p;
  }
};

// Reads the common case fast: up to 15 digits with at most one point among them, all of which a double holds exactly.
inline bool parse_plain_score(Bytes text, double& value) {
  if (text.size() > 16) return false;
  uint64_t mantissa = 0;
  int n_digits = 0, point = -1;
  for (char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (digit < 10) {
      mantissa = mantissa * 10 + digit;
      ++n_digits;
    } else if (c == '.' && point < 0) {
      point = n_digits;
    } else {
      return false;
    }
  }
  if (n_digits == 0 || n_digits > 15) return false;
  value = static_cast<double>(mantissa) / kPowersOfTen[point < 0 ? 0 : n_digits - point];
  return true;
}

// Reads [+-] digits [. digits] [e [+-] digits], or inf[inity]; anything else is not a number.
inline bool parse_score(Bytes text, double& value) {
  if (parse_plain_score(text, value)) return true;
  const char* p = text.data();
  const char* const end = p + text.size();
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* const unsigned_start = p;

  Digits digits;
  p = digits.collect(p, end);
  int64_t n_decimals = 0;
  if (p < end && *p == '.') {
    const int64_t n_whole = digits.n_digits;
    p = digits.collect(p + 1, end);
    n_decimals = digits.n_digits - n_whole;
  }
  if (digits.n_digits == 0) return parse_infinity(Bytes(unsigned_start, end - unsigned_start), negative, value);
  if (p == end && digits.fits && digits.mantissa <= kExactMantissa && n_decimals <= kExactPower) {
    value = static_cast<double>(digits.mantissa) / kPowersOfTen[n_decimals];  // one exact division: correctly rounded
    if (negative) value = -value;
    return true;
  }
  if (p < end) {
    if ((*p | 0x20) != 'e') return false;
    ++p;
    if (p < end && (*p == '-' || *p == '+')) ++p;
    Digits exponent;
    if (exponent.collect(p, end) != end || exponent.n_digits == 0) return false;
  }
  value = slow_decimal(text);
  return true;
}

// Reads [+-] and up to 19 digits that fit 64 bits.
inline bool parse_rank(Bytes text, int64_t& value) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) return false;
  }
  if (text.size() > 20 || (text.size() > 19 && text.front() != '-')) return false;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

}  // namespace rankscope
