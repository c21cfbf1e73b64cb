// Judges the instances of public suites of JSON Schema: which schemas compile, and whether each
// instance is taken or not as the suite says.
//
//   schema_suites jsonschemabench FOLDER     maskbench/data of guidance-ai/jsonschemabench
//   schema_suites test-suite FOLDER DRAFT    tests/draft2020-12 (draft7, draft6, draft4) of
//                                            json-schema-org/JSON-Schema-Test-Suite
//
// The keys of an instance stand in no order, while a grammar has one: an instance is taken when
// some order of its keys is. Undecided is what takes too many orders to tell, or more than an
// automaton's limits.
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "grammar/automaton.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/json_schema/string_expr.h"

namespace {

using namespace lattice;
namespace json = boost::json;

constexpr std::size_t kMaxSteps = 100'000;
constexpr double kSlowUs = 20'000;

// The shortest spelling without exponent: the only kind that bounds of numbers leave. What is
// beyond 64 bits and whole was an integer before it was read.
std::string Decimal(double number) {
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed)
          .ptr;
  std::string text(buffer.data(), end);
  const bool is_big = number >= 0x1p64 || number <= -0x1p63;
  return is_big || text.find('.') != std::string::npos ? text : text + ".0";
}

// Keys in the order in which a schema names them, which is that of its texts nearly everywhere.
class KeyOrder {
 public:
  explicit KeyOrder(const json::value& schema) { Add(schema); }

  std::size_t operator()(std::string_view key) const {
    const auto at = ranks_.find(key);
    return at != ranks_.end() ? at->second : ranks_.size();
  }

 private:
  void Add(const json::value& value) {
    if (value.is_array()) {
      for (const json::value& item : value.get_array()) Add(item);
    }
    if (!value.is_object()) return;
    for (const char* keyword : {"properties", "required"}) {
      const json::value* found = value.get_object().if_contains(keyword);
      if (found == nullptr) continue;
      if (found->is_object()) {
        for (const auto& member : found->get_object()) Name(member.key());
      } else if (found->is_array()) {
        for (const json::value& name : found->get_array()) {
          if (name.is_string()) Name(name.get_string());
        }
      }
    }
    for (const auto& member : value.get_object()) Add(member.value());
  }
  void Name(std::string_view key) { ranks_.emplace(key, ranks_.size()); }

  std::map<std::string, std::size_t, std::less<>> ranks_;
};

// Reads an instance byte by byte, with all orders of keys.
class Judge {
 public:
  Judge(std::shared_ptr<const grammar::Grammar> grammar, const json::value& schema)
      : grammar_(std::move(grammar)), order_(schema) {}

  // Absent: undecided.
  std::optional<bool> Takes(const json::value& value) {
    // The first order that an object can have is all that is needed nearly always.
    for (const bool all_orders : {false, true}) {
      n_steps_ = 0;
      all_orders_ = all_orders;
      if (!automaton_ || automaton_->has_failed()) automaton_.emplace(grammar_, nullptr);
      for (const grammar::State end : After({automaton_->start()}, value)) {
        if (automaton_->is_complete(end)) return true;
      }
    }
    if (n_steps_ > kMaxSteps || automaton_->has_failed()) return std::nullopt;
    return false;
  }

 private:
  using States = std::vector<grammar::State>;
  using Members = std::vector<const json::key_value_pair*>;
  using Ends = std::map<std::pair<States, Members>, States>;

  static void Merge(States& to, const States& from) {
    for (const grammar::State state : from) {
      if (std::ranges::find(to, state) == to.end()) to.push_back(state);
    }
  }

  States Read(const States& from, std::string_view text) {
    States to;
    for (const grammar::State state : from) {
      const auto next = ++n_steps_ > kMaxSteps ? grammar::kNoState : Next(state, text);
      if (next != grammar::kNoState && std::ranges::find(to, next) == to.end()) to.push_back(next);
    }
    return to;
  }

  grammar::State Next(grammar::State state, std::string_view text) {
    const auto next = automaton_->Next(state, text);
    return next ? *next : grammar::kNoState;
  }

  States After(const States& from, const json::value& value) {
    if (from.empty()) return from;
    if (value.is_string()) {
      return Read(from,
                  grammar::SpellString({value.get_string().data(), value.get_string().size()}));
    }
    if (value.is_array()) {
      States at = Read(from, "[");
      bool first = true;
      for (const json::value& item : value.get_array()) {
        at = After(first ? at : Read(at, ","), item);
        first = false;
      }
      return Read(at, "]");
    }
    if (!value.is_object()) {
      return Read(from, value.is_double() ? Decimal(value.get_double()) : json::serialize(value));
    }
    Members left;
    for (const auto& member : value.get_object()) left.push_back(&member);
    std::ranges::stable_sort(left, {},
                             [this](const auto* member) { return order_(member->key()); });
    Ends known;
    return AfterMembers(Read(from, "{"), left, true, known);
  }

  // After all members of `left` and the brace, in one order of theirs or in all.
  States AfterMembers(const States& from, Members& left, bool first, Ends& known) {
    if (left.empty()) return Read(from, "}");
    if (n_steps_ > kMaxSteps) return {};
    if (const auto at = known.find({from, left}); at != known.end()) return at->second;
    States ends;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const json::key_value_pair* member = left[i];
      std::string key = first ? "" : ",";
      key += grammar::SpellString({member->key().data(), member->key().size()}) + ":";
      const States after = After(Read(from, key), member->value());
      if (after.empty()) continue;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      Merge(ends, AfterMembers(after, left, false, known));
      left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), member);
      if (!all_orders_ && !ends.empty()) break;
    }
    known.emplace(std::pair{from, left}, ends);
    return ends;
  }

  std::shared_ptr<const grammar::Grammar> grammar_;
  KeyOrder order_;
  std::optional<grammar::Automaton> automaton_;
  bool all_orders_ = false;
  std::size_t n_steps_ = 0;
};

struct Totals {
  std::size_t schemas = 0, passing = 0, refused = 0;
  std::size_t wrong_accepts = 0, wrong_rejects = 0, undecided = 0;
  std::map<std::string, std::size_t> reasons;
  std::vector<double> compile_us;
};

// Of this thread, so that the machine's other work does not count.
double ProcessorUs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

std::string ReasonOf(std::string message) {
  const std::size_t colon = message.find(": ");
  std::string path = message.substr(0, colon);
  const std::string why = colon == std::string::npos ? "" : message.substr(colon);
  return path.substr(path.rfind('/') + 1).substr(0, 40) + why.substr(0, 90);
}

void JudgeOne(const json::value& schema, const json::array& tests, const std::string& name,
              const grammar::JsonSchemaOptions& options, Totals& totals) {
  ++totals.schemas;
  const double start = ProcessorUs();
  const auto compiled = grammar::CompileJsonSchema(schema, options);
  const double us = ProcessorUs() - start;
  totals.compile_us.push_back(us);
  if (us > kSlowUs) std::printf("slow %s: %.0f us\n", name.c_str(), us);
  const bool none_valid =
      std::ranges::none_of(tests, [](const json::value& t) { return t.at("valid").as_bool(); });
  if (!compiled) {
    if (compiled.error().code == ErrorCode::kInvalidArgument && none_valid &&
        compiled.error().message.find("no text") != std::string::npos) {
      ++totals.passing;  // No value satisfies it, and the suite says so too.
      return;
    }
    ++totals.refused;
    ++totals.reasons[ReasonOf(compiled.error().message)];
    std::printf("refused %s: %s\n", name.c_str(), compiled.error().message.c_str());
    return;
  }
  Judge judge(*compiled, schema);
  bool right = true;
  for (const json::value& test : tests) {
    const bool valid = test.at("valid").as_bool();
    const auto takes = judge.Takes(test.at("data"));
    if (takes == valid) continue;
    right = false;
    ++(!takes ? totals.undecided : valid ? totals.wrong_rejects : totals.wrong_accepts);
    std::printf("%s %s: %s\n",
                !takes  ? "undecided"
                : valid ? "wrong reject"
                        : "WRONG ACCEPT",
                name.c_str(), json::serialize(test.at("data")).substr(0, 200).c_str());
  }
  totals.passing += right;
}

void Print(Totals& t) {
  std::ranges::sort(t.compile_us);
  const auto at = [&](double q) {
    return t.compile_us.empty() ? 0.0
                                : t.compile_us[static_cast<std::size_t>(
                                      q * static_cast<double>(t.compile_us.size() - 1))];
  };
  std::printf(
      "schemas %zu  passing %zu  refused %zu  wrong accepts %zu  wrong rejects %zu  "
      "undecided %zu\n",
      t.schemas, t.passing, t.refused, t.wrong_accepts, t.wrong_rejects, t.undecided);
  std::printf("compile us of processor time: p50 %.0f  p99 %.0f  max %.0f\n", at(0.5), at(0.99),
              at(1));
  std::vector<std::pair<std::size_t, std::string>> by_count;
  for (const auto& [reason, n] : t.reasons) by_count.emplace_back(n, reason);
  std::ranges::sort(by_count, std::greater<>());
  for (std::size_t i = 0; i < by_count.size() && i < 60; ++i) {
    std::printf("%6zu  %s\n", by_count[i].first, by_count[i].second.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool is_suite = std::string_view(argv[1]) == "test-suite";
  grammar::JsonSchemaOptions options;
  options.integers_with_point = true;
  const std::string_view draft = argc > 3 ? argv[3] : "";
  if (draft == "draft7") options.dialect = grammar::Dialect::kDraft7;
  if (draft == "draft6") options.dialect = grammar::Dialect::kDraft6;
  if (draft == "draft4") options.dialect = grammar::Dialect::kDraft4;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[2])) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  Totals totals;
  for (const auto& file : files) {
    const auto text = ReadFile(file, 64u << 20);
    if (!text) continue;
    const auto document = ParseJson(*text, 400);
    if (!document) {
      std::printf("unreadable %s\n", file.c_str());
      continue;
    }
    if (!is_suite) {
      JudgeOne(document->at("schema"), document->at("tests").as_array(), file.filename(), options,
               totals);
      continue;
    }
    options.check_formats =
        file.parent_path().filename() == "format" || file.filename() == "content.json";
    for (const json::value& group : document->as_array()) {
      JudgeOne(group.at("schema"), group.at("tests").as_array(),
               file.filename().string() + ": " + std::string(group.at("description").as_string()),
               options, totals);
    }
  }
  Print(totals);
}
