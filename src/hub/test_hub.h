#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/sha256.h"
#include "hub/hub.h"
#include "hub/test_http_server.h"

namespace lattice::hub {

/// A hub with one model, someone/model, served by a TestHttpServer. A fault may answer in its
/// place.
class TestHub {
 public:
  using Fault = std::function<std::optional<TestResponse>(const TestRequest&)>;

  static constexpr char kCommit[] = "0123456789abcdef0123456789abcdef01234567";

  explicit TestHub(Fault fault = {})
      : fault_(std::move(fault)), server_([this](const TestRequest& r) { return Answer(r); }) {}

  const TestHttpServer& server() const { return server_; }
  static std::string Weights() {
    std::string text;
    for (int i = 0; text.size() < 200'000; ++i) text += std::to_string(i) + ",";
    return text;
  }

  static std::string Sha256Of(const std::string& text) {
    Sha256 hash;
    hash.Update(std::string_view(text));
    return ToHex(hash.Finish());
  }

  /// config.json and 1_Pooling/config.json hold "{}\n", whose blob git calls 0967ef42...
  static std::string Listing() {
    const std::string small = R"("size":3,"blobId":"0967ef424bce6791893e9a57bb952f80fd536e93"})";
    return R"({"sha":")" + std::string(kCommit) + R"(","siblings":[)" +
           R"({"rfilename":".gitattributes","size":9},)" + R"({"rfilename":"config.json",)" +
           small + R"(,{"rfilename":"1_Pooling/config.json",)" + small +
           R"(,{"rfilename":"pytorch_model.bin","size":10},)" +
           R"({"rfilename":"onnx/model.onnx","size":10},)" +
           R"({"rfilename":"model.safetensors","blobId":"x","lfs":{"sha256":")" +
           Sha256Of(Weights()) + R"(","size":)" + std::to_string(Weights().size()) + "}}]}";
  }

  static TestResponse File(const TestRequest& request, const std::string& content) {
    const std::string range = request.Header("range");
    if (!range.starts_with("bytes=")) return {.body = content};
    const std::size_t from = std::strtoull(range.c_str() + 6, nullptr, 10);
    if (from >= content.size()) return {.status = 416};
    return {.status = 206,
            .body = content.substr(from),
            .headers = {"Content-Range: bytes " + std::to_string(from) + "-" +
                        std::to_string(content.size() - 1) + "/" + std::to_string(content.size())}};
  }

 private:
  TestResponse Answer(const TestRequest& request) const {
    if (fault_) {
      if (auto response = fault_(request)) return *std::move(response);
    }
    if (request.target == "/api/models/someone/model/revision/main?blobs=true") {
      return {.body = Listing()};
    }
    const std::string files = "/someone/model/resolve/" + std::string(kCommit) + "/";
    if (request.target == files + "config.json" ||
        request.target == files + "1_Pooling/config.json") {
      return File(request, "{}\n");
    }
    if (request.target == files + "model.safetensors") return File(request, Weights());
    return {.status = 404};
  }

  Fault fault_;
  TestHttpServer server_;
};

inline HubOptions TestOptions(const std::filesystem::path& cache, const std::string& endpoint) {
  HubOptions options;
  options.cache = cache;
  options.endpoint = endpoint;
  options.retry_delay = std::chrono::milliseconds(1);
  return options;
}

}  // namespace lattice::hub
