#include "grammar/json_schema/test_validator.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace lattice::grammar {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr int kMaxDepth = 100;
constexpr int kMaxSteps = 100'000;

Verdict And(Verdict a, Verdict b) {
  if (a == Verdict::kInvalid || b == Verdict::kInvalid) return Verdict::kInvalid;
  return a == Verdict::kUnknown ? a : b;
}
Verdict Not(Verdict a) {
  if (a == Verdict::kUnknown) return a;
  return a == Verdict::kValid ? Verdict::kInvalid : Verdict::kValid;
}
Verdict Of(bool is_valid) { return is_valid ? Verdict::kValid : Verdict::kInvalid; }

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

double Number(const value& v) { return v.to_number<double>(); }

/// Equal as JSON has it: 1 is 1.0, and members have no order.
bool Equal(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return Number(a) == Number(b);
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    return std::ranges::equal(a.get_array(), b.get_array(), Equal);
  }
  if (!a.is_object()) return a == b;
  if (a.get_object().size() != b.get_object().size()) return false;
  return std::ranges::all_of(a.get_object(), [&](const auto& member) {
    const value* other = b.get_object().if_contains(member.key());
    return other != nullptr && Equal(member.value(), *other);
  });
}

class Validator {
 public:
  Validator(const value& root, PatternSearch search) : root_(root), search_(search) {}

  Verdict Judge(const value& schema, const value& v, int depth = 0) const {
    if (schema.is_bool()) return Of(schema.get_bool());
    if (!schema.is_object() || depth > kMaxDepth || ++n_steps_ > kMaxSteps) {
      return Verdict::kUnknown;
    }
    Verdict verdict = Verdict::kValid;
    for (const auto& member : schema.get_object()) {
      const Keyword keyword{schema.get_object(), member.key(), member.value(), depth};
      verdict = And(verdict, One(keyword, v));
    }
    return verdict;
  }

 private:
  struct Keyword {
    const object& schema;
    std::string_view name;
    const value& is;
    int depth;
  };

  Verdict One(const Keyword& k, const value& v) const {
    static constexpr std::string_view kSilent[] = {
        "$defs", "title",    "description", "default",     "examples",   "then",
        "else",  "$comment", "minContains", "maxContains", "prefixItems"};
    if (std::ranges::find(kSilent, k.name) != std::end(kSilent)) {
      return k.name == "prefixItems" ? Items(k, v) : Verdict::kValid;
    }
    if (k.name == "type") return Type(k.is, v);
    if (k.name == "const") return Of(Equal(k.is, v));
    if (k.name == "enum" && k.is.is_array()) {
      return Of(std::ranges::any_of(k.is.get_array(), [&](const value& e) { return Equal(e, v); }));
    }
    if (k.name == "$ref" && k.is.is_string()) {
      const value* target = Find(k.is.get_string());
      return target == nullptr ? Verdict::kUnknown : Judge(*target, v, k.depth + 1);
    }
    if (const auto composed = Composed(k, v)) return *composed;
    if (const auto numeric = Numeric(k, v)) return *numeric;
    if (k.name == "pattern") return v.is_string() ? Pattern(k.is, v.get_string()) : Verdict::kValid;
    if (const auto list = List(k, v)) return *list;
    if (const auto members = Members(k, v)) return *members;
    return Verdict::kUnknown;
  }

  static Verdict Type(const value& type, const value& v) {
    if (type.is_array()) {
      Verdict any = Verdict::kInvalid;
      for (const value& one : type.get_array()) any = Not(And(Not(any), Not(Type(one, v))));
      return any;
    }
    if (!type.is_string()) return Verdict::kUnknown;
    const std::string_view name = type.get_string();
    if (name == "null") return Of(v.is_null());
    if (name == "boolean") return Of(v.is_bool());
    if (name == "string") return Of(v.is_string());
    if (name == "array") return Of(v.is_array());
    if (name == "object") return Of(v.is_object());
    if (name == "number") return Of(v.is_number());
    if (name != "integer") return Verdict::kUnknown;
    return Of(v.is_number() && Number(v) == std::floor(Number(v)));
  }

  Verdict Pattern(const value& pattern, std::string_view text) const {
    if (search_ == nullptr || !pattern.is_string()) return Verdict::kUnknown;
    return Of(search_(pattern.get_string(), text));
  }

  /// JSON pointers without escapes.
  const value* Find(std::string_view reference) const {
    if (reference.empty() || reference[0] != '#') return nullptr;
    if (reference.find_first_of("~%") != reference.npos) return nullptr;
    boost::system::error_code error;
    return root_.find_pointer(reference.substr(1), error);
  }

  std::optional<Verdict> Composed(const Keyword& k, const value& v) const {
    if (k.name == "not") return Not(Judge(k.is, v, k.depth + 1));
    if (k.name == "if") {
      const Verdict condition = Judge(k.is, v, k.depth + 1);
      if (condition == Verdict::kUnknown) return condition;
      const char* const name = condition == Verdict::kValid ? "then" : "else";
      const value* branch = k.schema.if_contains(name);
      return branch == nullptr ? Verdict::kValid : Judge(*branch, v, k.depth + 1);
    }
    const bool all = k.name == "allOf", any = k.name == "anyOf", one = k.name == "oneOf";
    if (!all && !any && !one) return std::nullopt;
    if (!k.is.is_array()) return Verdict::kUnknown;
    std::size_t n_valid = 0, n_unknown = 0;
    for (const value& part : k.is.get_array()) {
      const Verdict verdict = Judge(part, v, k.depth + 1);
      n_valid += verdict == Verdict::kValid ? 1 : 0;
      n_unknown += verdict == Verdict::kUnknown ? 1 : 0;
    }
    const std::size_t n = k.is.get_array().size();
    if (all && n_valid + n_unknown < n) return Verdict::kInvalid;
    if (any && n_valid > 0) return Verdict::kValid;
    if (n_unknown > 0) return Verdict::kUnknown;
    return Of(all ? n_valid == n : any ? false : n_valid == 1);
  }

  static std::optional<Verdict> Numeric(const Keyword& k, const value& v) {
    static constexpr std::string_view kKnown[] = {
        "minimum",    "maximum",   "exclusiveMinimum", "exclusiveMaximum",
        "multipleOf", "minLength", "maxLength"};
    if (std::ranges::find(kKnown, k.name) == std::end(kKnown)) return std::nullopt;
    if (!k.is.is_number()) return Verdict::kUnknown;
    const double limit = Number(k.is);
    if (k.name == "minLength" || k.name == "maxLength") {
      if (!v.is_string()) return Verdict::kValid;
      const auto n = static_cast<double>(CountCharacters(v.get_string()));
      return Of(k.name == "minLength" ? n >= limit : n <= limit);
    }
    if (!v.is_number()) return Verdict::kValid;
    const double x = Number(v);
    if (k.name == "minimum") return Of(x >= limit);
    if (k.name == "maximum") return Of(x <= limit);
    if (k.name == "exclusiveMinimum") return Of(x > limit);
    if (k.name == "exclusiveMaximum") return Of(x < limit);
    if (!(limit > 0)) return Verdict::kUnknown;
    const double times = x / limit;
    return Of(std::abs(times - std::round(times)) < 1e-9 * std::max(1.0, std::abs(times)));
  }

  Verdict Items(const Keyword& k, const value& v) const {
    if (!v.is_array()) return Verdict::kValid;
    const array& items = v.get_array();
    if (k.name == "prefixItems") {
      if (!k.is.is_array()) return Verdict::kUnknown;
      Verdict verdict = Verdict::kValid;
      const std::size_t n = std::min(items.size(), k.is.get_array().size());
      for (std::size_t i = 0; i < n; ++i) {
        verdict = And(verdict, Judge(k.is.get_array()[i], items[i], k.depth + 1));
      }
      return verdict;
    }
    const value* prefix = k.schema.if_contains("prefixItems");
    const std::size_t first =
        prefix != nullptr && prefix->is_array() ? prefix->get_array().size() : 0;
    Verdict verdict = Verdict::kValid;
    for (std::size_t i = first; i < items.size(); ++i) {
      verdict = And(verdict, Judge(k.is, items[i], k.depth + 1));
    }
    return verdict;
  }

  std::optional<Verdict> List(const Keyword& k, const value& v) const {
    if (k.name == "items") return Items(k, v);
    if (k.name == "minItems" || k.name == "maxItems") {
      if (!k.is.is_number()) return Verdict::kUnknown;
      if (!v.is_array()) return Verdict::kValid;
      const auto n = static_cast<double>(v.get_array().size());
      return Of(k.name == "minItems" ? n >= Number(k.is) : n <= Number(k.is));
    }
    if (k.name == "uniqueItems") {
      if (!v.is_array() || k.is != true) return Verdict::kValid;
      const array& items = v.get_array();
      for (std::size_t i = 0; i < items.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (Equal(items[i], items[j])) return Verdict::kInvalid;
        }
      }
      return Verdict::kValid;
    }
    if (k.name != "contains") return std::nullopt;
    if (!v.is_array()) return Verdict::kValid;
    double n = 0;
    for (const value& item : v.get_array()) {
      const Verdict verdict = Judge(k.is, item, k.depth + 1);
      if (verdict == Verdict::kUnknown) return verdict;
      n += verdict == Verdict::kValid ? 1 : 0;
    }
    const value* min = k.schema.if_contains("minContains");
    const value* max = k.schema.if_contains("maxContains");
    if ((min != nullptr && !min->is_number()) || (max != nullptr && !max->is_number())) {
      return Verdict::kUnknown;
    }
    return Of(n >= (min == nullptr ? 1 : Number(*min)) && (max == nullptr || n <= Number(*max)));
  }

  std::optional<Verdict> Members(const Keyword& k, const value& v) const {
    static constexpr std::string_view kKnown[] = {
        "properties",    "patternProperties", "additionalProperties", "propertyNames",   "required",
        "minProperties", "maxProperties",     "dependentRequired",    "dependentSchemas"};
    if (std::ranges::find(kKnown, k.name) == std::end(kKnown)) return std::nullopt;
    if (!v.is_object()) return Verdict::kValid;
    const object& members = v.get_object();
    if (k.name == "minProperties" || k.name == "maxProperties") {
      if (!k.is.is_number()) return Verdict::kUnknown;
      const auto n = static_cast<double>(members.size());
      return Of(k.name == "minProperties" ? n >= Number(k.is) : n <= Number(k.is));
    }
    if (k.name == "required") return HasAll(members, k.is);
    Verdict verdict = Verdict::kValid;
    if (k.name == "dependentRequired" || k.name == "dependentSchemas") {
      if (!k.is.is_object()) return Verdict::kUnknown;
      for (const auto& rule : k.is.get_object()) {
        if (!members.contains(rule.key())) continue;
        verdict = And(verdict, k.name == "dependentRequired" ? HasAll(members, rule.value())
                                                             : Judge(rule.value(), v, k.depth + 1));
      }
      return verdict;
    }
    for (const auto& member : members) {
      verdict = And(verdict, Member(k, member.key(), member.value()));
    }
    return verdict;
  }

  static Verdict HasAll(const object& members, const value& names) {
    if (!names.is_array()) return Verdict::kUnknown;
    return Of(std::ranges::all_of(names.get_array(), [&](const value& name) {
      return name.is_string() && members.contains(name.get_string());
    }));
  }

  Verdict Member(const Keyword& k, std::string_view key, const value& v) const {
    if (k.name == "propertyNames") return Judge(k.is, value(key), k.depth + 1);
    if (k.name == "patternProperties" || k.name == "properties") {
      if (!k.is.is_object()) return Verdict::kUnknown;
    }
    if (k.name == "properties") {
      const value* schema = k.is.get_object().if_contains(key);
      return schema == nullptr ? Verdict::kValid : Judge(*schema, v, k.depth + 1);
    }
    Verdict verdict = Verdict::kValid;
    const value* patterns = k.schema.if_contains("patternProperties");
    bool matches = false;
    if (patterns != nullptr && patterns->is_object()) {
      for (const auto& pattern : patterns->get_object()) {
        const Verdict has = Pattern(value(pattern.key()), key);
        if (has == Verdict::kUnknown) return has;
        if (has == Verdict::kInvalid) continue;
        matches = true;
        if (k.name == "patternProperties") {
          verdict = And(verdict, Judge(pattern.value(), v, k.depth + 1));
        }
      }
    }
    if (k.name == "patternProperties") return verdict;
    const value* declared = k.schema.if_contains("properties");
    if (declared != nullptr && declared->is_object() && declared->get_object().contains(key)) {
      matches = true;
    }
    return matches ? Verdict::kValid : Judge(k.is, v, k.depth + 1);
  }

  const value& root_;
  PatternSearch search_;
  mutable int n_steps_ = 0;
};

}  // namespace

Verdict Validate(const value& schema, const value& v, PatternSearch search) {
  return Validator(schema, search).Judge(schema, v);
}

}  // namespace lattice::grammar
