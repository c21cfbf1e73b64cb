#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "check_tokenizer.h"
#include "tokenizers/vocabulary_data.h"

namespace {

// Takes everything up to the next `separator` away from `rest`.
std::string_view TakeUntil(char separator, std::string_view& rest) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::vector<std::string_view> TakeLines(std::string_view part) {
  std::vector<std::string_view> lines;
  while (!part.empty()) lines.push_back(TakeUntil('\n', part));
  return lines;
}

}  // namespace

// Parts with a zero byte between them: model, pre, tokens (one a line, the first byte for type and
// score), merges, ids and switches (a byte each), text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65536) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  lattice::tokenizers::VocabularyData vocabulary;
  vocabulary.model = TakeUntil('\0', rest);
  vocabulary.pre = TakeUntil('\0', rest);
  for (std::string_view line : TakeLines(TakeUntil('\0', rest))) {
    const auto first = line.empty() ? 0 : static_cast<unsigned char>(line[0]);
    vocabulary.types.push_back(1 + first % 6);
    const int rank = first / 6;
    vocabulary.scores.push_back(static_cast<float>(-rank));
    vocabulary.tokens.push_back(line.substr(line.empty() ? 0 : 1));
  }
  vocabulary.merges = TakeLines(TakeUntil('\0', rest));
  const std::string_view numbers = TakeUntil('\0', rest);
  const auto number = [&](std::size_t i) { return static_cast<int>(numbers[i]) - 1; };
  if (!numbers.empty()) vocabulary.bos = number(0);
  if (numbers.size() > 1) vocabulary.eos = number(1);
  if (numbers.size() > 2) vocabulary.unknown = number(2);
  if (numbers.size() > 3) vocabulary.add_bos = (numbers[3] & 1) != 0;
  if (numbers.size() > 4) vocabulary.add_space_prefix = (numbers[4] & 1) != 0;
  const auto tokenizer = lattice::tokenizers::Tokenizer::FromVocabulary(vocabulary);
  if (tokenizer) lattice::tokenizers::CheckTokenizer(**tokenizer, rest);
  return 0;
}
