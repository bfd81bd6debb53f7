// Work shared out among threads.
#pragma once

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace rankscope {

// Runs a function for 0 .. n-1 on several threads; an exception in any of them is passed on.
template <class Function>
void in_parallel(int n_threads, size_t n, Function function) {
  std::atomic<size_t> next{0};
  std::vector<std::exception_ptr> errors(static_cast<size_t>(n_threads));
  auto work = [&](int thread) {
    try {
      for (size_t i; (i = next.fetch_add(1)) < n;) function(i);
    } catch (...) {
      errors[static_cast<size_t>(thread)] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(n_threads));
  try {
    for (int thread = 1; thread < n_threads && static_cast<size_t>(thread) < n; ++thread)
      threads.emplace_back(work, thread);
  } catch (const std::system_error&) {  // the system gives no more of them: those that there are do all the work
  }
  work(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace rankscope
