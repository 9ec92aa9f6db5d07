// SPDX-License-Identifier: Apache-2.0
// Lets other Python threads run while C++ works or waits.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace aboard {

// Unlike nanobind's guard it outlives the interpreter: up to Python 3.13 a daemon thread that comes back after the end
// is ended by pthread_exit, which unwinds the stack and would abort the process at the first noexcept function. Such a
// thread sleeps instead, as it does from Python 3.14 on, until the process is gone.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      while (true) ::pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// What `work` returns, which takes a lock, reads a file or takes long otherwise.
template <typename Work>
auto without_gil(const Work& work) {
  const WithoutGil release;
  return work();
}

// The same object, which ends without the GIL wherever its last owner lets it go: it may wait for a disk, or give back
// much memory. Python lets it go when it collects garbage.
template <typename Object>
std::shared_ptr<Object> ending_without_gil(std::shared_ptr<Object> object) {
  Object* const at = object.get();
  return std::shared_ptr<Object>(at, [owner = std::move(object)](Object*) mutable {
    if (PyGILState_Check() == 0) return owner.reset();
    const WithoutGil release;
    owner.reset();
  });
}

}  // namespace aboard
