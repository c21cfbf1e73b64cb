#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/backend.h"

namespace lattice::kernels {

/// Passes every call on to another backend and adds up the time of each kind of operation. For one
/// thread at a time; a product is told apart by its shape and epilogue.
class TimedBackend : public Backend {
 public:
  struct Entry {
    double seconds = 0;
    std::size_t calls = 0;
  };

  /// `inner` outlives this.
  explicit TimedBackend(Backend& inner) : inner_(inner) {}

  /// Operations by name, the slowest first.
  std::vector<std::pair<std::string, Entry>> Entries() const {
    std::vector<std::pair<std::string, Entry>> entries(entries_.begin(), entries_.end());
    std::ranges::sort(
        entries, [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    return entries;
  }
  void Reset() { entries_.clear(); }

  std::string Describe() const override { return inner_.Describe(); }
  Result<std::unique_ptr<LinearWeights>> MakeLinear(std::span<const HostTensor> matrices,
                                                    std::span<const HostTensor> biases,
                                                    Precision precision) override {
    return inner_.MakeLinear(matrices, biases, precision);
  }
  Result<std::unique_ptr<LinearWeights>> MakeStoredLinear(std::span<const HostTensor> matrices,
                                                          std::span<const HostTensor> biases,
                                                          Precision precision,
                                                          WeightMemory& memory) override {
    return inner_.MakeStoredLinear(matrices, biases, precision, memory);
  }
  Result<std::unique_ptr<ExpertWeights>> MakeExperts(std::span<const ExpertTensors> experts,
                                                     Precision precision,
                                                     WeightMemory& memory) override {
    return inner_.MakeExperts(experts, precision, memory);
  }
  bool Packs(Dtype dtype, Precision precision) const override {
    return inner_.Packs(dtype, precision);
  }
  Result<std::unique_ptr<Table>> MakeTable(const HostTensor& table) override {
    return inner_.MakeTable(table);
  }
  std::unique_ptr<Table> MakeTable(std::shared_ptr<const LinearWeights> rows) override {
    return inner_.MakeTable(std::move(rows));
  }
  std::unique_ptr<Vector> MakeVector(std::span<const float> values) override {
    return inner_.MakeVector(values);
  }
  std::unique_ptr<Buffer> MakeBuffer() override { return inner_.MakeBuffer(); }
  void Embed(std::span<const Lookup> terms, float scale, Buffer& out) override {
    Time("embed", [&] { inner_.Embed(terms, scale, out); });
  }
  void LayerNorm(const Buffer& x, const Buffer* residual, const Vector& gain, const Vector* bias,
                 float eps, Buffer& out) override {
    Time("layer norm", [&] { inner_.LayerNorm(x, residual, gain, bias, eps, out); });
  }
  void RmsNorm(const Buffer& x, const Vector& gain, float eps, Buffer& out) override {
    Time("rms norm", [&] { inner_.RmsNorm(x, gain, eps, out); });
  }
  void RmsNormAdd(const Buffer& x, const Buffer& y, const Vector& gain, float eps,
                  Buffer& out) override {
    Time("rms norm", [&] { inner_.RmsNormAdd(x, y, gain, eps, out); });
  }
  void HeadRmsNorm(Buffer& x, const HeadColumns& heads, const Vector& gain, float eps) override {
    Time("head norm", [&] { inner_.HeadRmsNorm(x, heads, gain, eps); });
  }
  void Linear(const Buffer& x, const LinearWeights& w, const Epilogue& epilogue,
              Buffer& y) override {
    Time(NameOf(w, epilogue), [&] { inner_.Linear(x, w, epilogue, y); });
  }
  void GatedLinear(const Buffer& x, const LinearWeights& w, Activation activation, Buffer& product,
                   Buffer& y) override {
    Time(NameOf(w, {}) + ", gated", [&] { inner_.GatedLinear(x, w, activation, product, y); });
  }
  void Gate(const Buffer& x, Activation activation, GateHalf activated, Buffer& out) override {
    Time("gates", [&] { inner_.Gate(x, activation, activated, out); });
  }
  void Activate(Activation activation, Buffer& x) override {
    Time("activation", [&] { inner_.Activate(activation, x); });
  }
  void ApplyRope(Buffer& x, const HeadColumns& heads, std::span<const std::int32_t> positions,
                 const Rope& rope) override {
    Time("rope", [&] { inner_.ApplyRope(x, heads, positions, rope); });
  }
  void Attention(const AttentionArgs& args, Buffer& out) override {
    Time("attention", [&] { inner_.Attention(args, out); });
  }
  void StoreKv(const Buffer& kv, std::size_t k_col, std::size_t v_col,
               std::span<const std::uint32_t> slots, KvPages& pages) override {
    Time("store keys and values", [&] { inner_.StoreKv(kv, k_col, v_col, slots, pages); });
  }
  void PagedAttention(const PagedAttentionArgs& args, Buffer& out) override {
    Time("paged attention", [&] { inner_.PagedAttention(args, out); });
  }
  void DeltaNet(const DeltaNetArgs& args, Buffer& out) override {
    Time("delta net", [&] { inner_.DeltaNet(args, out); });
  }
  void SigmoidGate(Buffer& x, const Buffer& gate, std::size_t gate_col) override {
    Time("gates", [&] { inner_.SigmoidGate(x, gate, gate_col); });
  }
  void AddSigmoidGated(const Buffer& x, const Buffer& gate, std::size_t gate_col,
                       Buffer& out) override {
    Time("gates", [&] { inner_.AddSigmoidGated(x, gate, gate_col, out); });
  }
  void ActivateMultiply(Activation activation, Buffer& x, const Buffer& y,
                        std::size_t y_col) override {
    Time("gates", [&] { inner_.ActivateMultiply(activation, x, y, y_col); });
  }
  void SoftCap(float c, Buffer& x) override {
    Time("soft cap", [&] { inner_.SoftCap(c, x); });
  }
  void AddScaled(Buffer& x, const Buffer* y, float scale) override {
    Time("add", [&] { inner_.AddScaled(x, y, scale); });
  }
  void Experts(const Buffer& x, const Buffer& router, const ExpertWeights& experts,
               const ExpertChoice& choice, Buffer& out) override {
    Time("experts", [&] { inner_.Experts(x, router, experts, choice, out); });
  }
  Result<std::unique_ptr<KvPages>> MakeKvPages(const KvShape& shape, std::size_t n_pages) override {
    return inner_.MakeKvPages(shape, n_pages);
  }
  void CopyKvPage(std::uint32_t from, std::uint32_t to, KvPages& pages) override {
    inner_.CopyKvPage(from, to, pages);
  }
  void ReadKvPage(const KvPages& pages, std::uint32_t page, std::span<std::byte> out) override {
    inner_.ReadKvPage(pages, page, out);
  }
  void WriteKvPage(std::span<const std::byte> bytes, std::uint32_t page, KvPages& pages) override {
    inner_.WriteKvPage(bytes, page, pages);
  }
  std::unique_ptr<DeltaNetState> MakeDeltaNetState(const DeltaNetShape& shape) override {
    return inner_.MakeDeltaNetState(shape);
  }
  void CopyDeltaNetState(const DeltaNetState& from, DeltaNetState& to) override {
    inner_.CopyDeltaNetState(from, to);
  }
  void TruncateDeltaNetState(std::size_t n, DeltaNetState& state) override {
    inner_.TruncateDeltaNetState(n, state);
  }
  void ReadDeltaNetState(const DeltaNetState& state, std::span<std::byte> out) override {
    inner_.ReadDeltaNetState(state, out);
  }
  Status WriteDeltaNetState(std::span<const std::byte> bytes, DeltaNetState& state) override {
    return inner_.WriteDeltaNetState(bytes, state);
  }
  void GatherRows(const Buffer& x, std::span<const std::uint32_t> rows, Buffer& out) override {
    Time("gather rows", [&] { inner_.GatherRows(x, rows, out); });
  }
  void Write(std::span<const float> values, std::size_t rows, std::size_t cols,
             Buffer& x) override {
    Time("write", [&] { inner_.Write(values, rows, cols, x); });
  }
  void Read(const Buffer& x, std::span<float> values) override {
    Time("read", [&] { inner_.Read(x, values); });
  }

 private:
  static std::string NameOf(const LinearWeights& w, const Epilogue& epilogue) {
    std::string name =
        "linear " + std::to_string(w.inputs()) + " to " + std::to_string(w.outputs());
    if (epilogue.activation != Activation::kNone) name += ", activation";
    if (epilogue.residual != nullptr) name += ", residual";
    return name;
  }

  template <typename Call>
  void Time(const std::string& name, Call call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    Entry& entry = entries_[name];
    entry.seconds += taken.count();
    ++entry.calls;
  }

  Backend& inner_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lattice::kernels
