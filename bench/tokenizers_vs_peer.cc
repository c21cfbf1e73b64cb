// Times one thread of the tokenizer on a text, for bench/tokenizers_vs_peer.py.
//
// Usage: tokenizers_vs_peer TOKENIZER_JSON TEXT_FILE
// For each line "lines" or "whole" on standard input, encodes the text so once (without offsets)
// and prints the seconds it took and the number of tokens. The first line printed is the load time.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

#include "base/files.h"
#include "tokenizers/tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

lattice::Result<std::size_t> CountTokens(const lattice::tokenizers::Tokenizer& tokenizer,
                                         std::string_view text, bool by_line) {
  std::size_t n = 0;
  while (!text.empty()) {
    const std::size_t size = by_line ? std::min(text.find('\n'), text.size()) : text.size();
    LATTICE_TRY(const auto encoding, tokenizer.Encode(text.substr(0, size), {}));
    n += encoding.ids.size();
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return n;
}

lattice::Status Run(const char* tokenizer_file, const char* text_file) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
  LATTICE_TRY(const std::string json, lattice::ReadFile(tokenizer_file, kMaxBytes));
  LATTICE_TRY(const std::string text, lattice::ReadFile(text_file, kMaxBytes));
  const auto load_begin = Clock::now();
  LATTICE_TRY(const auto tokenizer, lattice::tokenizers::Tokenizer::FromJson(json));
  std::cout << SecondsSince(load_begin) << std::endl;
  for (std::string mode; std::getline(std::cin, mode);) {
    const auto begin = Clock::now();
    LATTICE_TRY(const std::size_t n, CountTokens(*tokenizer, text, mode == "lines"));
    std::cout << SecondsSince(begin) << ' ' << n << std::endl;
  }
  return lattice::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tokenizers_vs_peer TOKENIZER_JSON TEXT_FILE\n";
    return 2;
  }
  if (const auto status = Run(argv[1], argv[2]); !status) {
    std::cerr << status.error().message << '\n';
    return 1;
  }
}
