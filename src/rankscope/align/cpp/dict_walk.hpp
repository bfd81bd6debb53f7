// A dict of dicts, walked as it is: scores are read from the dict's own entries, judged docs are looked up in it.
#pragma once

#include <Python.h>

#include <vector>

#include "ranking.hpp"

namespace rankscope {

// The judged docs as Python objects, whose hashes are already known.
struct JudgedObjects {
  PyObject* query;
  std::vector<std::pair<PyObject*, double>> docs;
};

// Ranks one query after the other; anything out of the ordinary (keys that are no text, scores that are no plain
// numbers) is left to the reference implementation, which also has the words for it.
class DictWalk {
 public:
  explicit DictWalk(const Options& options) : options_(options) {}

  // Returns false where the reference has to do it.
  bool rank(PyObject* docs, const JudgedObjects& judged, QueryResult& result) {
    if (!PyDict_CheckExact(docs) || !read_scores(docs)) return false;
    if (options_.drop_self && PyDict_Contains(docs, judged.query) != 0) return false;
    result.n_retrieved = std::min<int64_t>(static_cast<int64_t>(scores_.size()), options_.depth);
    result.hits.clear();
    if (!find_judged(docs, judged)) return false;
    if (found_.empty()) return true;
    if (found_.size() > kFew) sort_scores();
    for (Found& found : found_) place(found);
    if (any_tied() && !break_ties(docs)) return false;
    take_hits(result.hits);
    return true;
  }

 private:
  static constexpr size_t kFew = 8;

  struct Found {
    PyObject* doc;
    double score, grade;
    int64_t n_above = 0, n_equal = 0;  // rows with a higher score, and with the same one (itself included)
  };

  struct Tied {
    double score;
    Bytes id;
  };

  bool read_score(PyObject* value, double& score) const {
    if (PyFloat_Check(value)) {
      score = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value)) {
      score = PyLong_AsDouble(value);
      if (score == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
    } else {
      return false;
    }
    if (options_.single_precision) score = static_cast<double>(static_cast<float>(score));
    return score == score;
  }

  bool read_scores(PyObject* docs) {
    scores_.resize(static_cast<size_t>(PyDict_GET_SIZE(docs)));
    PyObject *key, *value;
    Py_ssize_t position = 0;
    size_t i = 0;
    while (PyDict_Next(docs, &position, &key, &value)) {
      if (!PyUnicode_CheckExact(key) || PyUnicode_GET_LENGTH(key) == 0) return false;
      if (!read_score(value, scores_[i++])) return false;
    }
    return true;
  }

  bool find_judged(PyObject* docs, const JudgedObjects& judged) {
    found_.clear();
    for (const auto& [doc, grade] : judged.docs) {
      PyObject* value = PyDict_GetItemWithError(docs, doc);
      if (!value) {
        if (PyErr_Occurred()) {
          PyErr_Clear();
          return false;
        }
        continue;
      }
      Found found{doc, 0, grade};
      if (!read_score(value, found.score)) return false;
      found_.push_back(found);
    }
    return true;
  }

  void sort_scores() { std::sort(scores_.begin(), scores_.end(), std::greater<double>()); }

  void place(Found& found) const {
    if (found_.size() > kFew) {
      const auto equal = std::equal_range(scores_.begin(), scores_.end(), found.score, std::greater<double>());
      found.n_above = equal.first - scores_.begin();
      found.n_equal = equal.second - equal.first;
      return;
    }
    int64_t n_above = 0, n_equal = 0;
    for (double score : scores_) {
      n_above += score > found.score;
      n_equal += score == found.score;
    }
    found.n_above = n_above;
    found.n_equal = n_equal;
  }

  bool any_tied() const {
    return std::any_of(found_.begin(), found_.end(), [](const Found& found) { return found.n_equal > 1; });
  }

  // Puts the docs of every tied score of interest in order, and adds the place within the tie to the rank.
  bool break_ties(PyObject* docs) {
    std::vector<double> values;
    for (const Found& found : found_)
      if (found.n_equal > 1) values.push_back(found.score);
    std::sort(values.begin(), values.end(), std::greater<double>());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (!collect_tied(docs, values)) return false;
    std::sort(tied_.begin(), tied_.end(), [this](const Tied& a, const Tied& b) { return before(a, b); });
    for (Found& found : found_) {
      Bytes id;
      if (found.n_equal < 2) continue;
      if (!bytes_of(found.doc, id)) return false;
      const Tied mine{found.score, id};
      auto less = [this](const Tied& a, const Tied& b) { return before(a, b); };
      const auto first = std::lower_bound(tied_.begin(), tied_.end(), found.score,
                                          [](const Tied& tied, double score) { return tied.score > score; });
      found.n_above += std::lower_bound(first, tied_.end(), mine, less) - first;
    }
    return true;
  }

  bool collect_tied(PyObject* docs, const std::vector<double>& values) {
    tied_.clear();
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(docs, &position, &key, &value)) {
      Tied tied{};
      if (!read_score(value, tied.score)) return false;
      if (!std::binary_search(values.begin(), values.end(), tied.score, std::greater<double>())) continue;
      if (!bytes_of(key, tied.id)) return false;
      tied_.push_back(tied);
    }
    return true;
  }

  bool before(const Tied& a, const Tied& b) const {
    if (a.score != b.score) return a.score > b.score;
    return options_.ties == Ties::trec ? a.id > b.id : a.id < b.id;
  }

  static bool bytes_of(PyObject* text, Bytes& bytes) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text, &size);
    if (!data) {
      PyErr_Clear();  // an id that is no UTF-8
      return false;
    }
    bytes = Bytes(data, static_cast<size_t>(size));
    return true;
  }

  void take_hits(std::vector<Hit>& hits) const {
    for (const Found& found : found_)
      if (found.n_above < options_.depth) hits.push_back(Hit{found.n_above + 1, found.grade});
    std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.rank < b.rank; });
  }

  const Options& options_;
  std::vector<double> scores_;
  std::vector<Found> found_;
  std::vector<Tied> tied_;
};

}  // namespace rankscope
