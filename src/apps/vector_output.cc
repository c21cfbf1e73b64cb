#include "apps/vector_output.h"

#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/command.h"
#include "apps/json_text.h"
#include "apps/named_values.h"
#include "apps/similarity_table.h"
#include "base/atomic_file.h"

namespace lattice::apps {
namespace {

constexpr Named<VectorFormat> kFormats[] = {{"json", VectorFormat::kJson},
                                            {"jsonl", VectorFormat::kJsonl},
                                            {"npy", VectorFormat::kNpy},
                                            {"table", VectorFormat::kTable}};

/// Standard output, or a file that appears whole.
class Sink {
 public:
  static Result<Sink> Open(const std::string& file) {
    if (file.empty()) return Sink(std::nullopt);
    LATTICE_TRY(AtomicFile opened, AtomicFile::Create(file));
    return Sink(std::move(opened));
  }
  bool is_file() const { return file_.has_value(); }
  Status Write(std::string_view text) { return file_ ? file_->Append(text) : Print(text); }
  Status Overwrite(std::size_t offset, std::string_view text) {
    return file_->Overwrite(offset, text);
  }
  Status Finish() { return file_ ? file_->Commit() : Ok(); }

 private:
  explicit Sink(std::optional<AtomicFile> file) : file_(std::move(file)) {}
  std::optional<AtomicFile> file_;
};

void AppendUsage(const TextUsage& usage, std::string& out) {
  out += "\"n_tokens\":" + std::to_string(usage.n_tokens);
  out += ",\"truncated\":";
  out += usage.truncated() ? "true" : "false";
  if (usage.truncated()) {
    out += ",\"n_tokens_untruncated\":" + std::to_string(usage.n_tokens_untruncated);
  }
}

class JsonOutput : public VectorOutput {
 public:
  JsonOutput(Sink sink, const EmbeddingModelInfo& model, std::size_t dimensions)
      : sink_(std::move(sink)) {
    head_ = "{\"model\":";
    AppendJson(model.name, head_);
    head_ += ",\"dimensions\":" + std::to_string(dimensions) + ",\"embeddings\":[";
  }

  Status Append(const std::vector<std::string>& texts, const Embeddings& embeddings) override {
    std::string out = std::exchange(head_, {});
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (n_++ != 0) {
        out += ",\n";
        usage_ += ',';
      }
      AppendJson(embeddings[i], out);
      usage_ += '{';
      AppendUsage(embeddings.usage[i], usage_);
      usage_ += '}';
    }
    return sink_.Write(out);
  }

  Status Finish() override {
    LATTICE_TRY_VOID(sink_.Write(head_ + "],\"usage\":[" + usage_ + "]}\n"));
    return sink_.Finish();
  }

 private:
  Sink sink_;
  std::string head_, usage_;
  std::size_t n_ = 0;
};

class JsonlOutput : public VectorOutput {
 public:
  explicit JsonlOutput(Sink sink) : sink_(std::move(sink)) {}

  Status Append(const std::vector<std::string>& texts, const Embeddings& embeddings) override {
    std::string out;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      out += "{\"index\":" + std::to_string(n_++) + ",\"embedding\":";
      AppendJson(embeddings[i], out);
      out += ',';
      AppendUsage(embeddings.usage[i], out);
      out += "}\n";
    }
    return sink_.Write(out);
  }

  Status Finish() override { return sink_.Finish(); }

 private:
  Sink sink_;
  std::size_t n_ = 0;
};

/// NumPy's format puts the number of rows in front: a file gets it at the end, standard output is
/// held back.
class NpyOutput : public VectorOutput {
 public:
  NpyOutput(Sink sink, std::size_t dimensions) : sink_(std::move(sink)), dimensions_(dimensions) {}

  Status Append(const std::vector<std::string>&, const Embeddings& embeddings) override {
    const std::string_view bytes(reinterpret_cast<const char*>(embeddings.values.data()),
                                 embeddings.values.size() * sizeof(float));
    if (!sink_.is_file()) {
      held_ += bytes;
    } else {
      if (n_ == 0) LATTICE_TRY_VOID(sink_.Write(Header()));
      LATTICE_TRY_VOID(sink_.Write(bytes));
    }
    n_ += embeddings.size();
    return Ok();
  }

  Status Finish() override {
    if (!sink_.is_file() || n_ == 0) return Write();
    LATTICE_TRY_VOID(sink_.Overwrite(0, Header()));
    return sink_.Finish();
  }

 private:
  Status Write() {
    LATTICE_TRY_VOID(sink_.Write(Header()));
    LATTICE_TRY_VOID(sink_.Write(held_));
    return sink_.Finish();
  }

  // Source: numpy.lib.format, version 1.0. Padded to 128 bytes, so that its length never changes.
  std::string Header() const {
    constexpr std::size_t kBytes = 128;
    std::string header("\x93NUMPY\x01\x00\x76\x00", 10);
    header += "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(n_) + ", " +
              std::to_string(dimensions_) + "), }";
    header.resize(kBytes - 1, ' ');
    return header + '\n';
  }

  Sink sink_;
  std::size_t dimensions_;
  std::size_t n_ = 0;
  std::string held_;
};

class TableOutput : public VectorOutput {
 public:
  explicit TableOutput(Sink sink) : sink_(std::move(sink)) {}

  Status Append(const std::vector<std::string>& texts, const Embeddings& embeddings) override {
    if (texts_.size() + texts.size() > kMaxTableTexts) {
      return Error{ErrorCode::kInvalidArgument, "a table holds at most " +
                                                    std::to_string(kMaxTableTexts) +
                                                    " texts; use --format json, jsonl or npy"};
    }
    texts_.insert(texts_.end(), texts.begin(), texts.end());
    all_.dimensions = embeddings.dimensions;
    all_.values.insert(all_.values.end(), embeddings.values.begin(), embeddings.values.end());
    all_.usage.insert(all_.usage.end(), embeddings.usage.begin(), embeddings.usage.end());
    return Ok();
  }

  Status Finish() override {
    LATTICE_TRY_VOID(sink_.Write(SimilarityTable(texts_, all_)));
    return sink_.Finish();
  }

 private:
  Sink sink_;
  std::vector<std::string> texts_;
  Embeddings all_;
};

}  // namespace

Result<VectorFormat> ParseVectorFormat(std::string_view name) {
  return FindNamed(kFormats, "format", name);
}
std::vector<std::string> VectorFormatNames() { return NamesOf(kFormats); }

Result<std::unique_ptr<VectorOutput>> OpenVectorOutput(VectorFormat format, const std::string& file,
                                                       const EmbeddingModelInfo& model,
                                                       std::size_t dimensions) {
  LATTICE_TRY(Sink sink, Sink::Open(file));
  std::unique_ptr<VectorOutput> output;
  switch (format) {
    case VectorFormat::kJson:
      output = std::make_unique<JsonOutput>(std::move(sink), model, dimensions);
      break;
    case VectorFormat::kJsonl:
      output = std::make_unique<JsonlOutput>(std::move(sink));
      break;
    case VectorFormat::kNpy:
      output = std::make_unique<NpyOutput>(std::move(sink), dimensions);
      break;
    case VectorFormat::kTable:
      output = std::make_unique<TableOutput>(std::move(sink));
      break;
  }
  return output;
}

}  // namespace lattice::apps
