// Compiles JSON Schemas and times masks along texts, for bench/grammar_vs_peers.py.
//
// Usage: grammar_masks TOKENS_FILE
// TOKENS_FILE holds for each id the length of its text (4 bytes, little endian) and the text. For
// each line {"schema": TEXT, "texts": [[id, ...], ...]} of standard input one line is printed:
// {"compile_us": X, "ok": [whether it is a text of the schema, ...], "mask_us": [X, ...]}, with
// "error" if the schema was refused. compile_us is processor time: compiling takes long enough to
// be interrupted by the machine's other work.

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/json_schema/json_schema.h"
#include "grammar/matcher.h"

namespace {

using namespace lattice;
using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double ProcessorUs() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

std::vector<std::string> ReadTokens(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::string> tokens;
  for (std::uint32_t size = 0; in.read(reinterpret_cast<char*>(&size), sizeof size);) {
    in.read(tokens.emplace_back(size, '\0').data(), size);
  }
  return tokens;
}

// Whether the tokens are a text of the grammar, with the time of each mask on the way.
Result<bool> Follow(grammar::Matcher matcher, const boost::json::array& ids,
                    grammar::TokenBits& bits, boost::json::array& mask_us) {
  for (const auto& value : ids) {
    const auto id = value.to_number<TokenId>();
    const auto begin = Clock::now();
    std::ranges::fill(bits, UINT64_MAX);
    LATTICE_TRY_VOID(matcher.Fill(bits));
    mask_us.emplace_back(MicrosecondsSince(begin));
    if ((bits[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) == 0) return false;
    LATTICE_TRY_VOID(matcher.AcceptToken(id));
  }
  return matcher.is_complete();
}

Result<boost::json::object> Answer(const boost::json::object& line,
                                   const std::shared_ptr<const grammar::Vocabulary>& vocabulary) {
  const std::string schema(line.at("schema").get_string());
  const double begin = ProcessorUs();
  LATTICE_TRY(auto compiled, grammar::CompileJsonSchemaText(schema));
  auto automaton = std::make_shared<grammar::Automaton>(std::move(compiled), vocabulary);
  boost::json::object answer{{"compile_us", ProcessorUs() - begin}};
  grammar::TokenBits bits(vocabulary->n_words());
  boost::json::array ok, mask_us;
  for (const auto& text : line.at("texts").get_array()) {
    LATTICE_TRY(const bool fits,
                Follow(grammar::Matcher(automaton), text.get_array(), bits, mask_us));
    ok.emplace_back(fits);
  }
  answer["ok"] = std::move(ok);
  answer["mask_us"] = std::move(mask_us);
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: grammar_masks TOKENS_FILE\n";
    return 2;
  }
  const auto vocabulary = std::make_shared<const grammar::Vocabulary>(ReadTokens(argv[1]));
  for (std::string line; std::getline(std::cin, line);) {
    auto parsed = ParseJson(line);
    auto answer = parsed ? Answer(parsed->get_object(), vocabulary)
                         : Result<boost::json::object>(parsed.error());
    if (!answer) answer = boost::json::object{{"error", answer.error().message}};
    std::cout << boost::json::serialize(*answer) << std::endl;
  }
  return 0;
}
