#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "kernels/api/backend.h"

namespace lattice::bench {

/// Passes every call on to another backend and adds up the time of each kind of operation. For one
/// thread at a time; a product is told apart by its shape and activation.
class TimedBackend : public kernels::Backend {
 public:
  struct Entry {
    double seconds = 0;
    std::size_t calls = 0;
  };

  /// `inner` outlives this.
  explicit TimedBackend(kernels::Backend& inner) : inner_(inner) {}

  const std::map<std::string, Entry>& entries() const { return entries_; }
  void Reset() { entries_.clear(); }

  std::string Describe() const override { return inner_.Describe(); }
  Result<std::unique_ptr<kernels::LinearWeights>> MakeLinear(
      std::span<const kernels::HostTensor> matrices, std::span<const kernels::HostTensor> biases,
      kernels::Precision precision) override {
    return inner_.MakeLinear(matrices, biases, precision);
  }
  Result<std::unique_ptr<kernels::Table>> MakeTable(const kernels::HostTensor& table) override {
    return inner_.MakeTable(table);
  }
  std::unique_ptr<kernels::Vector> MakeVector(std::span<const float> values) override {
    return inner_.MakeVector(values);
  }
  std::unique_ptr<kernels::Buffer> MakeBuffer() override { return inner_.MakeBuffer(); }

  void Embed(std::span<const kernels::Lookup> terms, float scale, kernels::Buffer& out) override {
    Time("embed", [&] { inner_.Embed(terms, scale, out); });
  }
  void LayerNorm(const kernels::Buffer& x, const kernels::Buffer* residual,
                 const kernels::Vector& gain, const kernels::Vector* bias, float eps,
                 kernels::Buffer& out) override {
    Time("layer norm", [&] { inner_.LayerNorm(x, residual, gain, bias, eps, out); });
  }
  void RmsNorm(const kernels::Buffer& x, const kernels::Vector& gain, float eps,
               kernels::Buffer& out) override {
    Time("rms norm", [&] { inner_.RmsNorm(x, gain, eps, out); });
  }
  void RmsNormAdd(const kernels::Buffer& x, const kernels::Buffer& y, const kernels::Vector& gain,
                  float eps, kernels::Buffer& out) override {
    Time("rms norm", [&] { inner_.RmsNormAdd(x, y, gain, eps, out); });
  }
  void HeadRmsNorm(kernels::Buffer& x, const kernels::HeadColumns& heads,
                   const kernels::Vector& gain, float eps) override {
    Time("head norm", [&] { inner_.HeadRmsNorm(x, heads, gain, eps); });
  }
  void Linear(const kernels::Buffer& x, const kernels::LinearWeights& w,
              const kernels::Epilogue& epilogue, kernels::Buffer& y) override {
    std::string name =
        "linear " + std::to_string(w.inputs()) + " to " + std::to_string(w.outputs());
    if (epilogue.activation != kernels::Activation::kNone) name += ", activation";
    if (epilogue.residual != nullptr) name += ", residual";
    Time(name, [&] { inner_.Linear(x, w, epilogue, y); });
  }
  void Gate(const kernels::Buffer& x, kernels::Activation activation, kernels::GateHalf activated,
            kernels::Buffer& out) override {
    Time("gate", [&] { inner_.Gate(x, activation, activated, out); });
  }
  void Activate(kernels::Activation activation, kernels::Buffer& x) override {
    Time("activate", [&] { inner_.Activate(activation, x); });
  }
  void ApplyRope(kernels::Buffer& x, const kernels::HeadColumns& heads,
                 std::span<const std::int32_t> positions, const kernels::Rope& rope) override {
    Time("rope", [&] { inner_.ApplyRope(x, heads, positions, rope); });
  }
  void Attention(const kernels::AttentionArgs& args, kernels::Buffer& out) override {
    Time("attention", [&] { inner_.Attention(args, out); });
  }
  void GatherRows(const kernels::Buffer& x, std::span<const std::uint32_t> rows,
                  kernels::Buffer& out) override {
    Time("gather rows", [&] { inner_.GatherRows(x, rows, out); });
  }
  void Write(std::span<const float> values, std::size_t rows, std::size_t cols,
             kernels::Buffer& x) override {
    Time("write", [&] { inner_.Write(values, rows, cols, x); });
  }
  void Read(const kernels::Buffer& x, std::span<float> values) override {
    Time("read", [&] { inner_.Read(x, values); });
  }

 private:
  template <typename Call>
  void Time(const std::string& name, Call call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    Entry& entry = entries_[name];
    entry.seconds += taken.count();
    ++entry.calls;
  }

  kernels::Backend& inner_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lattice::bench
