// SPDX-License-Identifier: Apache-2.0
#include "event_log.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "bindings.hpp"
#include "log_keeper.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

// What `try_scalar` tells its caller.
enum Outcome : int { kDone = 0, kDoneWithReport = 1, kNotTaken = 2 };

double now() noexcept {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What a conversion in Python raised is of no interest here, unless the person interrupted it.
void forget_python_error() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
  PyErr_Clear();
}

bool plain_double(nb::handle object, double& value) {
  if (PyFloat_Check(object.ptr())) {
    value = PyFloat_AS_DOUBLE(object.ptr());
    return true;
  }
  if (!PyLong_Check(object.ptr())) return false;
  value = PyLong_AsDouble(object.ptr());
  if (value != -1.0 || !PyErr_Occurred()) return true;
  forget_python_error();
  return false;
}

// Numbers of Python, and what numpy, torch and jax hold in scalars and arrays of one element.
bool as_double(nb::handle object, double& value) {
  if (plain_double(object, value)) return true;
  const PyNumberMethods* numbers = Py_TYPE(object.ptr())->tp_as_number;
  if (numbers == nullptr || numbers->nb_float == nullptr) return false;
  static PyObject* const item = PyUnicode_InternFromString("item");
  const nb::object element = nb::steal(PyObject_CallMethodNoArgs(object.ptr(), item));
  if (!element.is_valid()) {
    forget_python_error();
    return false;
  }
  return plain_double(element, value);
}

bool as_step(nb::handle object, int64_t& step) {
  if (object.is_none()) {
    step = 0;
    return true;
  }
  if (!PyIndex_Check(object.ptr())) return false;
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) {
    forget_python_error();
    return false;
  }
  int overflow = 0;
  step = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  return overflow == 0;
}

bool as_wall_time(nb::handle object, double& wall_time) {
  if (object.is_none()) {
    wall_time = now();
    return true;
  }
  return as_double(object, wall_time) && std::isfinite(wall_time);
}

// Above the memory limit an add of `bytes` writes to disk itself, for which other Python threads need not wait.
template <typename Add>
bool add_without_stalling(size_t bytes, Add add) {
  constexpr size_t kOverhead = 1024;  // what the log counts besides the bytes
  if (LogKeeper::instance().fits(bytes + kOverhead)) return add();
  const WithoutGil release;
  return add();
}

// The common case of add_scalar, decided without calling back into Python.
int try_scalar(EventLog& log, nb::handle tag, nb::handle value, nb::handle step, nb::handle wall_time) {
  double number, seconds;
  int64_t at;
  if (!PyUnicode_Check(tag.ptr()) || !as_double(value, number) || !as_step(step, at) ||
      !as_wall_time(wall_time, seconds)) {
    return kNotTaken;
  }
  // NaN, infinities and what float32 cannot hold are written too, but the person hears of it.
  if (!(std::fabs(number) <= std::numeric_limits<float>::max())) return kNotTaken;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(tag.ptr(), &size);
  if (text == nullptr) {
    forget_python_error();
    return kNotTaken;
  }
  const std::string_view name(text, static_cast<size_t>(size));
  if (name.empty()) return kNotTaken;
  const bool report =
      add_without_stalling(name.size(), [&] { return log.add_scalar(name, static_cast<float>(number), at, seconds); });
  return report ? kDoneWithReport : kDone;
}

template <typename Value>
using Flat = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Value>
bool add_histogram(EventLog& log, std::string_view tag, const Flat<Value>& values, int64_t step, double wall_time) {
  const WithoutGil release;
  return log.add_histogram(tag, std::span<const Value>(values.data(), values.size()), step, wall_time);
}

// Raises what the operating system said as the matching OSError, with the path.
void translate_system_error(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const std::filesystem::filesystem_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path1().c_str());
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.what());
  }
}

}  // namespace

void bind_event_log(nb::module_& module) {
  nb::register_exception_translator(translate_system_error);

  nb::class_<EventLog>(
      module, "EventLog",
      "An append-only event file fed from any thread; each adding method returns whether a report waits.")
      .def(nb::new_([](const nb::bytes& directory, std::string host, std::string suffix,
                       std::optional<int64_t> purge_step, double flush_seconds, size_t wake_entries) {
             EventLogOptions options{.directory = std::string(view_of(directory)),
                                     .host = std::move(host),
                                     .suffix = std::move(suffix),
                                     .purge_step = purge_step,
                                     .flush_seconds = flush_seconds,
                                     .wake_entries = wake_entries};
             return ending_without_gil(without_gil([&] { return EventLog::open(std::move(options)); }));
           }),
           nb::arg("directory"), nb::arg("host"), nb::arg("suffix") = "", nb::arg("purge_step") = nb::none(),
           nb::arg("flush_seconds") = 0.5, nb::arg("wake_entries") = 0)
      .def("try_scalar", &try_scalar, nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
           nb::sig("def try_scalar(self, tag: object, value: object, step: object, wall_time: object, /) -> int"),
           "Add a scalar of plain types: 0 done, 1 done and a report waits, 2 not taken (conversion needed).")
      .def(
          "add_scalar",
          [](EventLog& self, std::string_view tag, double value, int64_t step, double wall_time) {
            return add_without_stalling(
                tag.size(), [&] { return self.add_scalar(tag, static_cast<float>(value), step, wall_time); });
          },
          nb::sig("def add_scalar(self, tag: str, value: float, step: int, wall_time: float, /) -> bool"))
      .def(
          "add_summary",
          [](EventLog& self, const nb::bytes& summary, int64_t step, double wall_time) {
            std::string copy(view_of(summary));
            return add_without_stalling(copy.size(),
                                        [&] { return self.add_summary(std::move(copy), step, wall_time); });
          },
          nb::sig("def add_summary(self, summary: bytes, step: int, wall_time: float, /) -> bool"))
      .def(
          "add_event",
          [](EventLog& self, const nb::bytes& event) {
            std::string copy(view_of(event));
            return add_without_stalling(copy.size(), [&] { return self.add_event(std::move(copy)); });
          },
          nb::sig("def add_event(self, event: bytes, /) -> bool"))
      .def("add_histogram", &add_histogram<float>,
           nb::sig("def add_histogram(self, tag: str, values: numpy.typing.NDArray[numpy.float32], step: int, "
                   "wall_time: float, /) -> bool"))
      .def("add_histogram", &add_histogram<double>,
           nb::sig("def add_histogram(self, tag: str, values: numpy.typing.NDArray[numpy.float64], step: int, "
                   "wall_time: float, /) -> bool"))
      .def("flush", &EventLog::flush, nb::call_guard<WithoutGil>())
      .def("close", &EventLog::close, nb::call_guard<WithoutGil>())
      .def(
          "take_report",
          [](EventLog& self) -> nb::object {
            const auto report = without_gil([&] { return self.take_report(); });
            if (!report.has_value()) return nb::none();
            return nb::make_tuple(report->failure, text_of(report->text));
          },
          nb::sig("def take_report(self) -> tuple[bool, str] | None"),
          "The oldest report not yet taken: whether data is delayed or lost, and what happened.")
      .def("add_report", &EventLog::report, nb::call_guard<WithoutGil>(),
           nb::sig("def add_report(self, failure: bool, text: str, /) -> None"))
      .def_prop_ro(
          "paths",
          [](const EventLog& self) {
            const auto paths = without_gil([&] { return self.paths(); });
            nb::typed<nb::list, nb::bytes> result;
            for (const auto& path : paths) result.append(bytes_of(path));
            return result;
          },
          "Paths of the files that this process wrote for this log, the current one last.");

  module.def("close_all_logs", [] { LogKeeper::instance().close_all(); }, nb::call_guard<WithoutGil>());
  module.def(
      "set_memory_limit", [](size_t bytes) { LogKeeper::instance().set_memory_limit(bytes); },
      nb::sig("def set_memory_limit(bytes: int, /) -> None"));
  module.def("memory_limit", [] { return LogKeeper::instance().memory_limit(); });
}

}  // namespace aboard
