// SPDX-License-Identifier: Apache-2.0
// Lets other Python threads run while C++ works or waits.
#pragma once

#include <Python.h>
#include <unistd.h>

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

}  // namespace aboard
