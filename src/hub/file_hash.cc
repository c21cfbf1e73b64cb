#include "hub/file_hash.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/input_file.h"
#include "base/sha256.h"
#include "lattice/check.h"

namespace lattice::hub {
namespace {

class Sha1 {
 public:
  Sha1() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    LATTICE_CHECK(context_ != nullptr);
    LATTICE_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha1(), nullptr) == 1);
  }
  void Update(std::span<const std::byte> bytes) {
    LATTICE_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string Finish() {
    std::array<std::byte, 20> digest;
    unsigned length = 0;
    LATTICE_CHECK(EVP_DigestFinal_ex(context_.get(),
                                     reinterpret_cast<unsigned char*>(digest.data()),
                                     &length) == 1);
    LATTICE_CHECK(length == digest.size());
    return ToHex(digest);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Result<FileHashes> HashFile(const std::filesystem::path& file, const std::stop_token& stop) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  LATTICE_TRY(const InputFile input, InputFile::Open(file));
  const std::string header = "blob " + std::to_string(input.size()) + '\0';
  std::vector<std::byte> buffer(std::min(kStep, input.size()));
  Sha256 sha256;
  Sha1 git_blob;
  git_blob.Update(std::as_bytes(std::span(header)));
  for (std::size_t at = 0; at < input.size(); at += kStep) {
    if (stop.stop_requested()) {
      return Error{ErrorCode::kCancelled, "cancelled while checking " + file.string()};
    }
    const auto part = std::span(buffer).first(std::min(kStep, input.size() - at));
    LATTICE_TRY_VOID(input.Read(at, part));
    sha256.Update(part);
    git_blob.Update(part);
  }
  return FileHashes{input.size(), ToHex(sha256.Finish()), git_blob.Finish()};
}

}  // namespace lattice::hub
