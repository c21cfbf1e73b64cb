#include "chat/jinja/json_value.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <memory>
#include <string_view>
#include <utility>

namespace lattice::chat::jinja {
namespace {

Value MakeText(std::string_view text, Origin origin, std::size_t& n_bytes) {
  n_bytes += text.size();
  return Text(text, origin);
}

Value MakeList(const boost::json::array& array, Origin origin, std::size_t& n_bytes) {
  auto list = std::make_shared<List>();
  list->items.reserve(array.size());
  for (const auto& item : array) {
    list->items.push_back(FromJson(item, origin, n_bytes));
    list->depth = std::max(list->depth, list->items.back().depth() + 1);
  }
  return ListRef(std::move(list));
}

Value MakeDict(const boost::json::object& object, Origin origin, std::size_t& n_bytes) {
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, value] : object) {
    Value name = MakeText({key.data(), key.size()}, origin, n_bytes);
    dict->Set(std::move(name), FromJson(value, origin, n_bytes));
  }
  return DictRef(std::move(dict));
}

}  // namespace

Value FromJson(const boost::json::value& json, Origin origin, std::size_t& n_bytes) {
  n_bytes += sizeof(Value);
  switch (json.kind()) {
    case boost::json::kind::null:
      return None{};
    case boost::json::kind::bool_:
      return json.get_bool();
    case boost::json::kind::int64:
      return static_cast<Int>(json.get_int64());
    case boost::json::kind::uint64:
      return static_cast<Int>(json.get_uint64());
    case boost::json::kind::double_:
      return json.get_double();
    case boost::json::kind::string: {
      const auto& text = json.get_string();
      return MakeText({text.data(), text.size()}, origin, n_bytes);
    }
    case boost::json::kind::array:
      return MakeList(json.get_array(), origin, n_bytes);
    case boost::json::kind::object:
      return MakeDict(json.get_object(), origin, n_bytes);
  }
  return None{};
}

}  // namespace lattice::chat::jinja
