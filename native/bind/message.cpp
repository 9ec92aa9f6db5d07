// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "wire.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

template <typename Value>
using Column = nb::ndarray<const Value, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Value>
std::span<const Value> span_of(const Column<Value>& column) {
  return {column.data(), column.size()};
}

// A message under construction.
class Message {
 public:
  wire::Encoder encoder() noexcept { return wire::Encoder(bytes_); }
  std::string_view view() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

void bind_message(nb::module_& module) {
  nb::class_<Message>(module, "Message", "A protobuf message under construction: each call appends one field.")
      .def(nb::init<>())
      .def(
          "varint", [](Message& self, uint32_t field, int64_t value) { self.encoder().signed_varint(field, value); },
          nb::sig("def varint(self, field: int, value: typing.SupportsIndex, /) -> None"))
      .def(
          "float",
          [](Message& self, uint32_t field, double value) { self.encoder().float32(field, static_cast<float>(value)); },
          nb::sig("def float(self, field: int, value: typing.SupportsFloat, /) -> None"))
      .def(
          "double", [](Message& self, uint32_t field, double value) { self.encoder().float64(field, value); },
          nb::sig("def double(self, field: int, value: typing.SupportsFloat, /) -> None"))
      .def(
          "string", [](Message& self, uint32_t field, std::string_view value) { self.encoder().bytes(field, value); },
          nb::sig("def string(self, field: int, value: str, /) -> None"))
      .def(
          "bytes",
          [](Message& self, uint32_t field, const nb::bytes& value) { self.encoder().bytes(field, view_of(value)); },
          nb::sig("def bytes(self, field: int, value: bytes, /) -> None"))
      .def(
          "message",
          [](Message& self, uint32_t field, const Message& value) {
            // A copy first: a message that is put into itself must not read what it is writing.
            const std::string content(value.view());
            self.encoder().bytes(field, content);
          },
          nb::sig("def message(self, field: int, value: Message, /) -> None"))
      .def(
          "packed_doubles",
          [](Message& self, uint32_t field, const Column<double>& values) {
            self.encoder().packed_float64(field, span_of(values));
          },
          nb::sig("def packed_doubles(self, field: int, values: numpy.typing.NDArray[numpy.float64], /) -> None"))
      .def(
          "packed_floats",
          [](Message& self, uint32_t field, const Column<float>& values) {
            self.encoder().packed_float32(field, span_of(values));
          },
          nb::sig("def packed_floats(self, field: int, values: numpy.typing.NDArray[numpy.float32], /) -> None"))
      .def(
          "packed_varints",
          [](Message& self, uint32_t field, const std::vector<int64_t>& values) {
            self.encoder().packed_varints(field, values);
          },
          nb::sig("def packed_varints(self, field: int, values: list[int], /) -> None"))
      .def("__bytes__", [](const Message& self) { return bytes_of(self.view()); })
      .def("__len__", [](const Message& self) { return self.view().size(); });
}

}  // namespace aboard
