// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <string>

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

template <typename Views>
nb::list list_of(const Views& views) {
  nb::list result;
  for (const std::string_view view : views) result.append(bytes_of(view));
  return result;
}

nb::object tensor_tuple(const nb::bytes& message) {
  TensorView tensor;
  if (!decode_tensor(view_of(message), tensor)) return nb::none();
  nb::list shape;
  for (const int64_t size : tensor.shape) shape.append(size);
  // As bytes: a list of numbers would take ten times the memory of the message.
  std::string scalars;
  scalars.reserve(tensor.scalars.size() * sizeof(uint64_t));
  for (const uint64_t bits : tensor.scalars) append_little(scalars, bits);
  return nb::make_tuple(tensor.dtype, shape, bytes_of(tensor.content), list_of(tensor.packed), bytes_of(scalars),
                        list_of(tensor.strings), tensor.values_field);
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
  module.def("decode_metadata", &metadata_tuple);
  module.def("decode_value", &value_tuple);
  module.def("decode_tensor", &tensor_tuple);
  module.def("decode_fields", &fields_of);
}

}  // namespace aboard
