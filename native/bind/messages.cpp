// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "event.hpp"
#include "little_endian.hpp"
#include "wire.hpp"

namespace nb = nanobind;

namespace aboard {
namespace {

nb::tuple metadata_tuple(const nb::bytes& message) {
  MetadataView metadata;
  decode_metadata(view_of(message), metadata);  // what is readable before damage is used
  return nb::make_tuple(text_of(metadata.plugin_name), bytes_of(metadata.plugin_content),
                        text_of(metadata.display_name), text_of(metadata.description), metadata.data_class);
}

nb::object value_tuple(const nb::bytes& message) {
  ValueView value;
  if (!decode_value(view_of(message), value)) return nb::none();
  return nb::make_tuple(static_cast<int>(value.kind), bytes_of(value.payload), value.simple_value);
}

using BytesList = nb::typed<nb::list, nb::bytes>;

template <typename Views>
BytesList list_of(const Views& views) {
  BytesList result;
  for (const std::string_view view : views) result.append(bytes_of(view));
  return result;
}

// A decoded tensor, and the message that it looks into.
struct TensorFields {
  nb::bytes message;
  TensorView tensor;
};

// As bytes: a list of numbers would take ten times the memory of the message.
nb::bytes scalars_of(const TensorFields& self) {
  std::string scalars;
  scalars.reserve(self.tensor.scalars.size() * sizeof(uint64_t));
  for (const uint64_t bits : self.tensor.scalars) append_little(scalars, bits);
  return bytes_of(scalars);
}

std::optional<TensorFields> tensor_fields(const nb::bytes& message) {
  TensorFields found{message, {}};
  return decode_tensor(view_of(message), found.tensor) ? std::optional(std::move(found)) : std::nullopt;
}

// All fields of a message as (number, wire type, scalar bits or bytes), for messages that are read seldom.
nb::object fields_of(const nb::bytes& message) {
  nb::list result;
  wire::Decoder decoder(view_of(message));
  for (wire::Field field; decoder.next(field);) {
    const nb::object content =
        field.type == wire::WireType::bytes ? nb::object(bytes_of(field.bytes)) : nb::object(nb::int_(field.scalar));
    result.append(nb::make_tuple(field.number, static_cast<int>(field.type), content));
  }
  return decoder.ok() ? nb::object(result) : nb::none();
}

}  // namespace

void bind_messages(nb::module_& module) {
  nb::class_<TensorFields>(module, "TensorFields", "The fields of a TensorProto.")
      .def_prop_ro("dtype", [](const TensorFields& self) { return self.tensor.dtype; })
      .def_prop_ro("shape", [](const TensorFields& self) { return self.tensor.shape; })
      .def_prop_ro(
          "content", [](const TensorFields& self) { return bytes_of(self.tensor.content); },
          "All elements as raw bytes, when present.")
      .def_prop_ro(
          "packed", [](const TensorFields& self) { return list_of(self.tensor.packed); },
          "Elements of the typed field that arrived packed.")
      .def_prop_ro("scalars", &scalars_of, "Those that arrived one by one, eight bytes each.")
      .def_prop_ro(
          "strings", [](const TensorFields& self) { return list_of(self.tensor.strings); },
          "The elements of a tensor of strings.")
      .def_prop_ro(
          "values_field", [](const TensorFields& self) { return self.tensor.values_field; },
          "The number of the typed field.");

  module.def("decode_metadata", &metadata_tuple,
             nb::sig("def decode_metadata(message: bytes, /) -> tuple[str, bytes, str, str, int]"),
             "Plugin name, plugin content, display name, description and data class of a SummaryMetadata.");
  module.def("decode_value", &value_tuple,
             nb::sig("def decode_value(message: bytes, /) -> tuple[int, bytes, float] | None"),
             "Kind (the field number of its content), content message and simple_value of a Summary.Value.");
  module.def("decode_tensor", &tensor_fields, nb::sig("def decode_tensor(message: bytes, /) -> TensorFields | None"),
             "None when the message is damaged.");
  module.def("decode_fields", &fields_of,
             nb::sig("def decode_fields(message: bytes, /) -> list[tuple[int, int, int | bytes]] | None"),
             "Every field of any message as (number, wire type, raw bits or bytes); None when it is damaged.");
}

}  // namespace aboard
