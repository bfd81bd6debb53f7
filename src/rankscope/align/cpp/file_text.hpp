// The text of a file, mapped into memory. A file that shrinks meanwhile, or a disk that fails, would end the process with
// SIGBUS at the next look at what is gone; here zeros take its place, and check() says so once the text has been read.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#if defined(_WIN32)
#include <io.h>
#else
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "bytes.hpp"

namespace rankscope {

#if !defined(_WIN32)

struct MappedText {
  std::atomic<uintptr_t> from{0}, to{0};
  std::atomic<bool> is_used{false}, has_vanished{false};
};

// The texts that are being read. The handler of the signal is in place as long as there are any, and passes on what is
// none of theirs; it only looks at atomic numbers and calls the system.
class MappedTexts {
 public:
  // Returns nothing where as many files are being read as can be watched.
  static MappedText* watch(void* memory, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex());
    for (MappedText& entry : entries_) {
      if (entry.is_used) continue;
      entry.is_used = true;
      entry.has_vanished = false;
      entry.from = reinterpret_cast<uintptr_t>(memory);
      entry.to = entry.from + size;
      if (n_used_++ == 0) {
        struct sigaction action {};
        action.sa_sigaction = &handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(SIGBUS, &action, &before_);
      }
      return &entry;
    }
    return nullptr;
  }

  static void leave(MappedText& entry) {
    const std::lock_guard<std::mutex> lock(mutex());
    entry.from = entry.to = 0;
    entry.is_used = false;
    if (--n_used_ > 0) return;
    struct sigaction now {};
    sigaction(SIGBUS, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &handle) sigaction(SIGBUS, &before_, nullptr);
  }

 private:
  static void handle(int signal, siginfo_t* info, void* context) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    for (MappedText& entry : entries_) {
      if (at < entry.from || at >= entry.to) continue;
      entry.has_vanished = true;
      const uintptr_t page = at & ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
      void* const zeros = mmap(reinterpret_cast<void*>(page), entry.to - page, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      if (zeros != MAP_FAILED) return;
    }
    if (before_.sa_flags & SA_SIGINFO) {
      before_.sa_sigaction(signal, info, context);
    } else if (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN) {
      before_.sa_handler(signal);
    } else {
      sigaction(SIGBUS, &before_, nullptr);  // the same happens again at once, without us
    }
  }

  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }

  inline static MappedText entries_[64];
  inline static size_t n_used_ = 0;
  inline static struct sigaction before_ {};
};

#endif

class FileText {
 public:
  FileText(int file, size_t size) : size_(size) {
#if !defined(_WIN32)
    void* const memory = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (memory == MAP_FAILED && size && errno == ENOMEM) throw std::bad_alloc();
    if (memory != MAP_FAILED) {
      entry_ = MappedTexts::watch(memory, size);
      if (entry_) {
        data_ = static_cast<const char*>(memory);
        return;
      }
      munmap(memory, size);
    }
#endif
    read(file);
  }

  ~FileText() {
#if !defined(_WIN32)
    if (!entry_) return;
    MappedTexts::leave(*entry_);
    munmap(const_cast<char*>(data_), size_);
#endif
  }

  FileText(const FileText&) = delete;
  FileText& operator=(const FileText&) = delete;

  Bytes text() const { return Bytes(data_, size_); }

  // Calls a function that reads the text, and refuses what it found where a part of the text was not there.
  template <class Function>
  auto reading(Function function) {
    try {
      auto found = function(text());
      check();
      return found;
    } catch (...) {
      check();
      throw;
    }
  }

 private:
  void check() const {
#if !defined(_WIN32)
    if (entry_ && entry_->has_vanished) throw std::runtime_error("a part of it could not be read");
#endif
  }

  // For what cannot be mapped.
  void read(int file) {
    memory_.reset(new char[size_]);
    data_ = memory_.get();
    for (size_t n_read = 0; n_read < size_;) {
#if defined(_WIN32)
      const auto n = _read(file, memory_.get() + n_read, static_cast<unsigned>(std::min<size_t>(size_ - n_read, 1 << 30)));
#else
      const ssize_t n = ::read(file, memory_.get() + n_read, std::min<size_t>(size_ - n_read, 1 << 30));
#endif
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw std::runtime_error(std::strerror(errno));
      if (n == 0) throw std::runtime_error("it has become shorter");
      n_read += static_cast<size_t>(n);
    }
  }

  const size_t size_;
  const char* data_ = nullptr;
  std::unique_ptr<char[]> memory_;
#if !defined(_WIN32)
  MappedText* entry_ = nullptr;
#endif
};

}  // namespace rankscope
