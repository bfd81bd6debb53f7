// The Python module: what Python hands over, what it gets back.
//
// Results are plain tuples of bytes, numbers and lists; rankscope.align.kernel makes arrays and errors of them. Where a
// function returns None, the reference implementation has to do the work (it also has the words for what is wrong).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrow.hpp"
#include "dict_walk.hpp"
#include "engine.hpp"
#include "file_text.hpp"
#include "nearest.hpp"
#include "qrels_text.hpp"
#include "scatter.hpp"
#include "text_source.hpp"
#include "text_stream.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace rankscope {
namespace {

nb::object text_of(Bytes bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

// The qrels, indexed by bytes for text and tables, and by Python's own objects for dicts.
class Qrels {
 public:
  // From {query: {doc: grade}}, which must not change from now on; valid() is false where an id is no plain text or a
  // grade no plain number.
  explicit Qrels(nb::dict judged) : owner_(judged) {
    std::vector<Judgments> judgments(1);
    for (auto [query, docs] : judged) {
      Bytes query_id, doc_id;
      if (!nb::isinstance<nb::dict>(docs) || !view(query, query_id)) return;
      judgments[0].start(query_id);
      for (auto [doc, grade] : nb::borrow<nb::dict>(docs)) {
        double value = 0;
        if (!view(doc, doc_id) || !number(grade, value)) return;
        judgments[0].add(query_id, doc_id, value);
      }
    }
    index_.emplace(std::move(judgments), 1);
  }

  // From TREC text, which is copied; valid() is false where the reference reader has to do it.
  Qrels(Bytes text, int n_threads, size_t max_line) {
    n_threads = std::max(1, n_threads);
    text_.emplace(text, n_threads, max_line);
    if (!text_->is_fine()) return;
    index_.emplace(text_->take(), n_threads);
    if (index_->n_queries() == 0 || index_->has_duplicates()) index_.reset();
  }

  bool valid() const { return index_.has_value(); }
  const QrelsIndex& index() const { return *index_; }
  double max_grade() const { return index_->max_grade(); }
  int64_t fractional_row() const { return index_->fractional_row(); }
  size_t n_rows() const { return index_->n_docs(); }

  // Made when a dict is first to be walked.
  const std::vector<JudgedObjects>& objects() const {
    if (!objects_.empty()) return objects_;
    std::vector<JudgedObjects> objects;
    for (size_t query = 0; query < index_->n_queries(); ++query) {
      JudgedObjects entry{own(index_->query_id(static_cast<int32_t>(query))), {}};
      index_->for_each_doc(query, [&](const JudgedDoc& doc) { entry.docs.emplace_back(own(doc.id), doc.grade); });
      objects.push_back(std::move(entry));
    }
    objects_ = std::move(objects);  // only once all are there
    return objects_;
  }

 private:
  // The bytes of a text are kept by the text itself.
  static bool view(nb::handle text, Bytes& bytes) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_CheckExact(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    if (!data) PyErr_Clear();  // an id with bytes that are no UTF-8
    bytes = Bytes(data, static_cast<size_t>(size));
    return size > 0;
  }

  static bool number(nb::handle grade, double& value) {
    if (PyFloat_CheckExact(grade.ptr())) {
      value = PyFloat_AS_DOUBLE(grade.ptr());
    } else if (PyLong_CheckExact(grade.ptr())) {
      value = PyLong_AsDouble(grade.ptr());
      if (PyErr_Occurred()) PyErr_Clear(), value = HUGE_VAL;
    } else {
      return false;
    }
    return std::isfinite(value);
  }

  PyObject* own(Bytes id) const {
    owned_.push_back(text_of(id));
    return owned_.back().ptr();
  }

  nb::object owner_;  // what the views look into: a dict,
  std::optional<QrelsText> text_;  // or text
  std::optional<QrelsIndex> index_;
  mutable std::vector<nb::object> owned_;
  mutable std::vector<JudgedObjects> objects_;
};

Options options_of(const std::string& ties, bool single, bool first, bool drop_self, int64_t depth) {
  Options options;
  options.ties = ties == "given" ? Ties::given : ties == "ascending" ? Ties::ascending : Ties::trec;
  options.single_precision = single;
  options.keep_first_duplicate = first;
  options.drop_self = drop_self;
  if (depth > 0) options.depth = depth;
  return options;
}

template <class Value>
nb::bytes raw(const std::vector<Value>& values) {
  return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
}

// (answered, n_retrieved, n_hits, ranks, grades), each as the bytes of an array.
nb::tuple arrays_of(const std::vector<char>& answered, const std::vector<QueryResult>& results) {
  std::vector<int64_t> n_retrieved, n_hits, ranks;
  std::vector<double> grades;
  size_t n_all_hits = 0;
  for (const QueryResult& result : results) n_all_hits += result.hits.size();
  ranks.reserve(n_all_hits);
  grades.reserve(n_all_hits);
  for (const QueryResult& result : results) {
    n_retrieved.push_back(result.n_retrieved);
    n_hits.push_back(static_cast<int64_t>(result.hits.size()));
    for (const Hit& hit : result.hits) {
      ranks.push_back(hit.rank);
      grades.push_back(hit.grade);
    }
  }
  return nb::make_tuple(raw(answered), raw(n_retrieved), raw(n_hits), raw(ranks), raw(grades));
}

nb::list texts_of(const std::vector<std::string>& ids) {
  nb::list texts;
  for (const std::string& id : ids) texts.append(text_of(id));
  return texts;
}

template <class Source>
nb::object duplicate_of(const Aligned<Source>& aligned, const Source& source, const QrelsIndex& qrels) {
  if (!aligned.duplicate) return nb::none();
  char buffer[24];
  return nb::make_tuple(text_of(qrels.query_id(aligned.duplicate->query)),
                        text_of(source.view(aligned.duplicate->doc, buffer)));
}

template <class Source>
Aligned<Source> align(const Source& source, const Qrels& qrels, const Options& options, int n_threads) {
  nb::gil_scoped_release release;
  return Engine<Source>(source, qrels.index(), options, n_threads).run();
}

// The malformed lines: their numbers and their bytes.
nb::list bad_lines_of(const std::vector<Range>& bad, const TextSource& source) {
  nb::list lines;
  size_t number = 1, next = 0;
  for (Bytes block : source.blocks()) {
    if (next == bad.size()) break;  // lines are only counted as far as there is something to be found
    const char* counted = block.data();
    const char* const end = counted + block.size();
    for (; next < bad.size(); ++next) {
      const auto *from = reinterpret_cast<const char*>(bad[next].from), *to = reinterpret_cast<const char*>(bad[next].to);
      if (std::less<const char*>()(from, block.data()) || !std::less<const char*>()(from, end)) break;
      number += static_cast<size_t>(std::count(counted, from, '\n'));
      counted = from;
      lines.append(nb::make_tuple(number, nb::bytes(from, static_cast<size_t>(to - from))));
    }
    number += static_cast<size_t>(std::count(counted, end, '\n'));
  }
  return lines;
}

nb::tuple answer_of(const Aligned<TextSource>& aligned, const TextSource& source, const Qrels& qrels) {
  nb::object tag = aligned.last_tag ? text_of(*aligned.last_tag) : nb::none();
  return nb::make_tuple(arrays_of(aligned.answered, aligned.results), aligned.n_rows, aligned.n_other_queries,
                        texts_of(aligned.other_queries), duplicate_of(aligned, source, qrels.index()),
                        raw(aligned.other_hashes), source.uses_ranks(), tag, bad_lines_of(aligned.bad, source));
}

using Buffer = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Bytes text_in(const Buffer& data) { return Bytes(reinterpret_cast<const char*>(data.data()), data.size()); }

nb::object align_source(TextSource& source, const Qrels& qrels, const Options& options, int n_threads) {
  Aligned<TextSource> aligned = align(source, qrels, options, n_threads);
  if (!aligned.ranks_are_numbers) {  // then the rank column is not to be used at all
    source.ignore_ranks();
    aligned = align(source, qrels, options, n_threads);
  }
  return answer_of(aligned, source, qrels);
}

nb::object align_text(const Qrels& qrels, Buffer data, const std::string& ties, bool single, bool first, bool drop_self,
                      int64_t depth, int n_threads, size_t max_line, bool with_ranks) {
  const Options options = options_of(ties, single, first, drop_self, depth);
  TextSource source(options.ties == Ties::given && with_ranks, max_line);
  source.add_block(text_in(data));
  return align_source(source, qrels, options, n_threads);
}

// The file stays open until this returns.
nb::object align_file(const Qrels& qrels, int file, size_t size, const std::string& ties, bool single, bool first,
                      bool drop_self, int64_t depth, int n_threads, size_t max_line) {
  const Options options = options_of(ties, single, first, drop_self, depth);
  FileText mapped(file, size);
  return mapped.reading([&](Bytes text) {
    TextSource source(options.ties == Ties::given, max_line);
    source.add_block(text);
    return align_source(source, qrels, options, n_threads);
  });
}

// Text that is fed in as it is decompressed.
class Stream {
 public:
  Stream(nb::object qrels, const std::string& ties, bool single, bool first, bool drop_self, int64_t depth, int n_threads,
         size_t max_line)
      : owner_(qrels), qrels_(nb::cast<const Qrels&>(qrels)), n_threads_(n_threads),
        stream_(qrels_.index(), options_of(ties, single, first, drop_self, depth), n_threads, max_line) {}

  void feed(nb::bytes text) {
    const Bytes view(text.c_str(), text.size());
    nb::gil_scoped_release release;
    stream_.feed(view);
  }

  nb::object finish() {
    std::optional<Aligned<TextSource>> aligned;
    {
      nb::gil_scoped_release release;
      aligned = stream_.finish(qrels_.index(), n_threads_);
    }
    return answer_of(*aligned, stream_.source(), qrels_);
  }

 private:
  nb::object owner_;
  const Qrels& qrels_;
  const int n_threads_;
  TextStream stream_;
};

template <bool kIdsAreText>
nb::object align_columns(const Qrels& qrels, std::vector<Batch> batches, const Options& options, int n_threads) {
  const ColumnSource<kIdsAreText> source(std::move(batches));
  const Aligned<ColumnSource<kIdsAreText>> aligned = align(source, qrels, options, n_threads);
  if (!aligned.bad.empty()) return nb::none();
  return nb::make_tuple(arrays_of(aligned.answered, aligned.results), aligned.n_rows, aligned.n_other_queries,
                        texts_of(aligned.other_queries), duplicate_of(aligned, source, qrels.index()),
                        raw(aligned.other_hashes), true);
}

nb::object align_batches(const Qrels& qrels, std::vector<Batch> batches, const Options& options, int n_threads) {
  const bool are_text = std::all_of(batches.begin(), batches.end(),
                                    [](const Batch& batch) { return batch.query.is_text() && batch.doc.is_text(); });
  return are_text ? align_columns<true>(qrels, std::move(batches), options, n_threads)
                  : align_columns<false>(qrels, std::move(batches), options, n_threads);
}

nb::object align_table(const Qrels& qrels, const ArrowTable& table, int query, int doc, int score, int rank,
                       const std::string& ties, bool single, bool first, bool drop_self, int64_t depth, int n_threads) {
  std::vector<Batch> batches;
  if (!table.batches(query, doc, score, rank, batches) || batches.empty()) return nb::none();
  return align_batches(qrels, std::move(batches), options_of(ties, single, first, drop_self, depth), n_threads);
}

// The bytes of a list of texts; they are kept by the texts themselves. False where an id is no UTF-8.
bool prepare(nb::list texts, std::vector<Bytes>& prepared) {
  prepared.reserve(texts.size());
  for (nb::handle text : texts) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    if (!data) {
      PyErr_Clear();
      return false;
    }
    prepared.emplace_back(data, static_cast<size_t>(size));
  }
  return true;
}

nb::object align_rows(const Qrels& qrels, nb::list queries, nb::list docs,
                      nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores,
                      std::optional<nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>> ranks,
                      const std::string& ties, bool single, bool first, bool drop_self, int64_t depth, int n_threads) {
  if (queries.size() != docs.size() || docs.size() != scores.size() || docs.size() == 0) return nb::none();
  if (ranks && ranks->size() != docs.size()) return nb::none();
  std::vector<Bytes> query_bytes, doc_bytes;
  if (!prepare(queries, query_bytes) || !prepare(docs, doc_bytes)) return nb::none();
  Batch batch;
  batch.n_rows = scores.size();
  batch.query = IdChunk{IdChunk::Kind::prepared, query_bytes.data()};
  batch.doc = IdChunk{IdChunk::Kind::prepared, doc_bytes.data()};
  batch.score = ScoreChunk{scores.data()};
  if (ranks) batch.rank = ranks->data();
  return align_batches(qrels, {batch}, options_of(ties, single, first, drop_self, depth), n_threads);
}

nb::object align_dict(const Qrels& qrels, nb::dict docs_of, const std::string& ties, bool single, bool drop_self,
                      int64_t depth) {
  const Options options = options_of(ties, single, false, drop_self, depth);
  DictWalk walk(options);
  const std::vector<JudgedObjects>& judged = qrels.objects();
  std::vector<char> answered(judged.size(), 0);
  std::vector<QueryResult> results(judged.size());
  size_t n_answered = 0;
  for (size_t i = 0; i < judged.size(); ++i) {
    PyObject* docs = PyDict_GetItemWithError(docs_of.ptr(), judged[i].query);
    if (!docs) {
      if (PyErr_Occurred()) throw nb::python_error();
      continue;
    }
    answered[i] = 1;
    ++n_answered;
    if (!walk.rank(docs, judged[i], results[i])) return nb::none();
  }
  return nb::make_tuple(arrays_of(answered, results), docs_of.size() - n_answered);
}

// Whole lines of a run, dealt out by their query.
nb::list scatter(Buffer data, size_t n_parts, size_t max_line) {
  std::vector<std::string> parts;
  {
    nb::gil_scoped_release release;
    parts = scatter_lines(text_in(data), std::max<size_t>(1, n_parts), max_line);
  }
  nb::list texts;
  for (const std::string& part : parts) texts.append(nb::bytes(part.data(), part.size()));
  return texts;
}

nb::object if_valid(std::unique_ptr<Qrels> qrels) {
  return qrels->valid() ? nb::cast(qrels.release(), nb::rv_policy::take_ownership) : nb::none();
}

nb::object qrels_of_text(Buffer data, int n_threads, size_t max_line) {
  std::unique_ptr<Qrels> qrels;
  {
    nb::gil_scoped_release release;
    qrels = std::make_unique<Qrels>(text_in(data), n_threads, max_line);
  }
  return if_valid(std::move(qrels));
}

nb::object qrels_of_file(int file, size_t size, int n_threads, size_t max_line) {
  std::unique_ptr<Qrels> qrels;
  {
    nb::gil_scoped_release release;
    FileText mapped(file, size);
    qrels = mapped.reading([&](Bytes text) { return std::make_unique<Qrels>(text, n_threads, max_line); });
  }
  return if_valid(std::move(qrels));
}

nb::object qrels_of_dict(nb::dict judged) { return if_valid(std::make_unique<Qrels>(judged)); }

nb::list query_ids_of(const Qrels& qrels) {
  nb::list ids;
  for (size_t query = 0; query < qrels.index().n_queries(); ++query)
    ids.append(text_of(qrels.index().query_id(static_cast<int32_t>(query))));
  return ids;
}

// (grades per query, all grades best first), each as the bytes of an array.
nb::tuple ideal_of(const Qrels& qrels) {
  std::vector<int64_t> n_grades;
  std::vector<double> grades;
  grades.reserve(qrels.index().n_docs());
  for (size_t query = 0; query < qrels.index().n_queries(); ++query) {
    const size_t before = grades.size();
    qrels.index().append_ideal_grades(query, grades);
    n_grades.push_back(static_cast<int64_t>(grades.size() - before));
  }
  return nb::make_tuple(raw(n_grades), raw(grades));
}

ArrowArrayStream* stream_in(nb::handle capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (!stream) throw nb::python_error();
  return stream;
}

ArrowTable* table_of(nb::capsule capsule) {
  ArrowArrayStream* stream = stream_in(capsule);
  nb::gil_scoped_release release;  // the table's owner may compute it on threads of its own that need the lock
  return new ArrowTable(stream);
}

ArrowTable* table_of_columns(nb::list capsules) {
  std::vector<ArrowArrayStream*> streams;
  for (nb::handle capsule : capsules) streams.push_back(stream_in(capsule));
  if (streams.empty()) throw std::runtime_error("a table needs columns");
  nb::gil_scoped_release release;
  return new ArrowTable(streams);
}

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Nearest* nearest_of(size_t k, nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> margins) {
  return new Nearest(k, margins.data(), margins.shape(0));
}

void add_products(Nearest& nearest, Matrix products, int64_t first) {
  if (products.shape(0) != nearest.n_queries()) throw std::runtime_error("there must be a row of products per query");
  nb::gil_scoped_release release;
  nearest.add(products.data(), products.shape(1), first);
}

// How many docs each query keeps, and the numbers of these, query by query: as the bytes of 64-bit integers.
nb::tuple found_nearest(Nearest& nearest) {
  std::vector<int64_t> counts, rows;
  {
    nb::gil_scoped_release release;
    nearest.finish();
    for (size_t query = 0; query < nearest.n_queries(); ++query) {
      const std::vector<int64_t>& own = nearest.rows(query);
      counts.push_back(static_cast<int64_t>(own.size()));
      rows.insert(rows.end(), own.begin(), own.end());
    }
  }
  auto bytes = [](const std::vector<int64_t>& all) { return nb::bytes(all.data(), all.size() * sizeof(int64_t)); };
  return nb::make_tuple(bytes(counts), bytes(rows));
}

// Products of pairs of a doc and a query, by their rows, summed in double precision.
void exact_products(Matrix docs, Matrix queries, Numbers of_docs, Numbers of_queries,
                    nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu> products) {
  size_t n = of_docs.shape(0), n_dims = docs.shape(1);
  if (queries.shape(1) != n_dims || of_queries.shape(0) != n || products.shape(0) != n)
    throw std::runtime_error("pairs, vectors and products must fit together");
  const int64_t *doc = of_docs.data(), *query = of_queries.data();
  for (size_t i = 0; i < n; ++i)
    if (doc[i] < 0 || query[i] < 0 || doc[i] >= static_cast<int64_t>(docs.shape(0)) ||
        query[i] >= static_cast<int64_t>(queries.shape(0)))
      throw std::runtime_error("there is no such row");
  nb::gil_scoped_release release;
  auto doc_vector = [&](size_t i) { return docs.data() + static_cast<size_t>(doc[i]) * n_dims; };
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) fetch_ahead(doc_vector(i + kAhead), n_dims);
    const float* asked = queries.data() + static_cast<size_t>(query[i]) * n_dims;
    products.data()[i] = static_cast<float>(exact_product(doc_vector(i), asked, n_dims));
  }
}

// Rankings of queries, (id, score) by (id, score), from the rows and scores of their docs one after the other.
nb::list ranked_docs(nb::list ids, Numbers rows, nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu> scores,
                     Numbers ends) {
  const int64_t *row = rows.data(), *end = ends.data();
  int64_t n = static_cast<int64_t>(rows.shape(0)), i = 0;
  if (static_cast<int64_t>(scores.shape(0)) != n) throw std::runtime_error("every row needs a score");
  nb::list rankings;
  for (size_t query = 0; query < ends.shape(0); ++query) {
    if (end[query] < i || end[query] > n) throw std::runtime_error("rankings must follow one another");
    nb::object ranking = nb::steal(PyList_New(end[query] - i));
    if (!ranking.is_valid()) throw nb::python_error();
    for (Py_ssize_t place = 0; i < end[query]; ++i, ++place) {
      PyObject* id = PyList_GetItem(ids.ptr(), row[i]);
      PyObject* pair = id ? PyTuple_New(2) : nullptr;
      PyObject* score = pair ? PyFloat_FromDouble(static_cast<double>(scores.data()[i])) : nullptr;
      if (!score) {
        Py_XDECREF(pair);
        throw nb::python_error();
      }
      Py_INCREF(id);
      PyTuple_SET_ITEM(pair, 0, id);
      PyTuple_SET_ITEM(pair, 1, score);
      if (PyUnicode_CheckExact(id)) PyObject_GC_UnTrack(pair);  // it can be in no circle: nobody has to look
      PyList_SET_ITEM(ranking.ptr(), place, pair);
    }
    rankings.append(ranking);
  }
  return rankings;
}

}  // namespace
}  // namespace rankscope

NB_MODULE(_kernel, m) {
  using namespace rankscope;
  // What is still referred to when Python ends, as by the traceback of an interruption, is no concern of users.
  nb::set_leak_warnings(false);
  m.doc() = "Finds judged docs and their ranks in runs; rankscope.align.kernel is its only caller.";
  nb::class_<Qrels>(m, "Qrels")
      .def_prop_ro("query_ids", &query_ids_of)
      .def_prop_ro("ideal", &ideal_of)
      .def_prop_ro("max_grade", &Qrels::max_grade)
      .def_prop_ro("fractional_row", &Qrels::fractional_row)
      .def_prop_ro("n_rows", &Qrels::n_rows);
  m.def("qrels_of_text", &qrels_of_text, "data"_a, "threads"_a, "max_line"_a);
  m.def("qrels_of_file", &qrels_of_file, "file"_a, "size"_a, "threads"_a, "max_line"_a);
  m.def("qrels_of_dict", &qrels_of_dict, "judged"_a);
  nb::class_<ArrowTable>(m, "ArrowTable")
      .def_prop_ro("names", &ArrowTable::names)
      .def("format", &ArrowTable::format, "column"_a);
  m.def("table_of", &table_of, "stream"_a, nb::rv_policy::take_ownership);
  m.def("table_of_columns", &table_of_columns, "streams"_a, nb::rv_policy::take_ownership);
  m.def("align_text", &align_text, "qrels"_a, "data"_a, "ties"_a, "single"_a, "first"_a, "drop_self"_a, "depth"_a,
        "threads"_a, "max_line"_a, "with_ranks"_a = true);
  m.def("scatter", &scatter, "data"_a, "n_parts"_a, "max_line"_a);
  m.def("align_file", &align_file, "qrels"_a, "file"_a, "size"_a, "ties"_a, "single"_a, "first"_a, "drop_self"_a,
        "depth"_a, "threads"_a, "max_line"_a);
  nb::class_<Stream>(m, "TextStream")
      .def(nb::init<nb::object, const std::string&, bool, bool, bool, int64_t, int, size_t>(), "qrels"_a, "ties"_a,
           "single"_a, "first"_a, "drop_self"_a, "depth"_a, "threads"_a, "max_line"_a)
      .def("feed", &Stream::feed, "text"_a)
      .def("finish", &Stream::finish);
  m.def("align_table", &align_table, "qrels"_a, "table"_a, "query"_a, "doc"_a, "score"_a, "rank"_a, "ties"_a,
        "single"_a, "first"_a, "drop_self"_a, "depth"_a, "threads"_a);
  m.def("align_rows", &align_rows, "qrels"_a, "queries"_a, "docs"_a, "scores"_a, "ranks"_a.none(), "ties"_a,
        "single"_a, "first"_a, "drop_self"_a, "depth"_a, "threads"_a);
  nb::class_<Nearest>(m, "Nearest")
      .def("add", &add_products, "products"_a, "first"_a)
      .def("finish", &found_nearest);
  m.def("nearest", &nearest_of, "k"_a, "margins"_a, nb::rv_policy::take_ownership);
  m.def("exact_products", &exact_products, "docs"_a, "queries"_a, "of_docs"_a, "of_queries"_a, "products"_a);
  m.def("ranked_docs", &ranked_docs, "ids"_a, "rows"_a, "scores"_a, "ends"_a);
  m.def("align_dict", &align_dict, "qrels"_a, "docs_of"_a, "ties"_a, "single"_a, "drop_self"_a, "depth"_a);
}
