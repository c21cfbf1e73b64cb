// Runs a fuzz target over a corpus folder, each file also cut short at several lengths, so that the
// targets work as ordinary tests.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::size_t n_files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
      for (const std::size_t parts : {8u, 4u, 3u, 2u, 1u}) {
        // Exactly sized copies, so that a sanitizer sees any read past the end.
        const std::vector<std::uint8_t> input(
            bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / parts));
        LLVMFuzzerTestOneInput(input.data(), input.size());
      }
      ++n_files;
    }
  }
  std::printf("replayed %zu files\n", n_files);
  return n_files > 0 ? 0 : 1;
}
